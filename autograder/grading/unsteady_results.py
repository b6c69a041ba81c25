"""Messages about results that change from call to call, or depend on earlier calls."""

from autograder.diagnosis.compare_tensors import Wrong

# The answers of `Student.changing`, in words.
CHANGING = {
    "random": Wrong(
        "two calls with the same inputs give different numbers",
        (
            "The model is in evaluation mode, and random numbers are drawn. Most likely dropout is left on: F.dropout",
            "always drops unless it gets training=self.training, and a module nn.Dropout that is created in the call,",
            "not in the constructor, is not switched off by eval().",
        ),
    ),
    "unfilled": Wrong(
        "two calls with the same inputs give different numbers",
        (
            "They do so even with the same random numbers. Most likely a tensor is created without values",
            "(torch.empty, empty_like, new_empty): it holds whatever was in memory, until every element is written.",
        ),
    ),
    "kept": Wrong(
        "the result depends on earlier calls",
        (
            "The same call on a new object, or a second time, gives different numbers, so something is kept from one",
            "call to the next, on self or in a variable of the module.",
        ),
    ),
}
