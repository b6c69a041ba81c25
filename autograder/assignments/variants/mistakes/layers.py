"""Known mistakes of stage 1: layer normalisation, GELU, feed-forward network."""

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
MEAN = "mean = x.mean(dim=-1, keepdim=True)"
VARIANCE = "variance = (x - mean).pow(2).mean(dim=-1, keepdim=True)"
ROOT = "torch.sqrt(variance + self.eps)"
NORMED = "self.weight * (x - mean) / torch.sqrt(variance + self.eps) + self.bias"
GELU = "0.5 * x * (1 + torch.erf(x / math.sqrt(2)))"
HIDDEN = "gelu(self.fc1(x))"
RESULT = "return self.dropout(self.fc2(hidden))"

FORMULA = "Compare your code with the formula in the docstring of the class, factor by factor."
NETWORK = "The docstring of the class has the whole network in one line; read it from the inside to the outside."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "layers.variance-unbiased",
        "layers",
        VARIANCE,
        "variance = x.var(dim=-1, keepdim=True)",
        "Your result equals a norm with the unbiased variance, which divides by one less than the number of features.",
        "That is the default of torch's functions for variance and standard deviation. A norm of one feature then "
        "divides 0 by 0. The docstring says which variance is wanted.",
    ),
    Mistake(
        "layers.variance-about-zero",
        "layers",
        VARIANCE,
        "variance = x.pow(2).mean(dim=-1, keepdim=True)",
        "Your result equals a norm whose variance is the mean of the squares of x, without its mean.",
        "A variance is about distances from the mean; only for a mean of 0 it makes no difference. " + FORMULA,
    ),
    Mistake(
        "layers.eps-outside-root",
        "layers",
        ROOT,
        "(torch.sqrt(variance) + self.eps)",
        "Your result equals a norm that adds eps to the standard deviation instead of the variance.",
        "It differs most where the variance is small. " + FORMULA,
    ),
    Mistake(
        "layers.unbiased-and-outside",
        "layers",
        ROOT,
        "(x.std(dim=-1, keepdim=True) + self.eps)",
        "Your result equals a norm with torch's standard deviation, to which eps is added.",
        "Two things differ from the docstring: which variance is wanted, and where eps stands. Such a norm circulates "
        "in many notebooks and is not the one that models are trained with.",
    ),
    Mistake(
        "layers.eps-missing",
        "layers",
        ROOT,
        "torch.sqrt(variance)",
        "Your result equals a norm without eps.",
        "Where all features are equal the variance is 0, and something must keep the division possible. " + FORMULA,
    ),
    Mistake(
        "layers.root-missing",
        "layers",
        ROOT,
        "(variance + self.eps)",
        "Your result equals a norm that divides by the variance instead of its root.",
        "After a norm the features have the spread 1, and the spread of numbers is the root of their variance. "
        + FORMULA,
    ),
    Mistake(
        "layers.mean-kept",
        "layers",
        NORMED,
        "self.weight * x / torch.sqrt(variance + self.eps) + self.bias",
        "Your result equals a norm that leaves the mean in.",
        "After a norm, before weight and bias, the features have the mean 0. " + FORMULA,
    ),
    Mistake(
        "layers.weight-missing",
        "layers",
        NORMED,
        "(x - mean) / torch.sqrt(variance + self.eps) + self.bias",
        "Your result equals a norm without its weight.",
        "The constructor makes two parameters, and both are learned. " + FORMULA,
    ),
    Mistake(
        "layers.bias-missing",
        "layers",
        NORMED,
        "self.weight * (x - mean) / torch.sqrt(variance + self.eps)",
        "Your result equals a norm without its bias.",
        "The constructor makes two parameters, and both are learned. " + FORMULA,
    ),
    Mistake(
        "layers.bias-inside",
        "layers",
        NORMED,
        "self.weight * ((x - mean) / torch.sqrt(variance + self.eps) + self.bias)",
        "Your result equals a norm that adds the bias before it multiplies by the weight.",
        "Mind which of the two comes first. " + FORMULA,
    ),
    Mistake(
        "layers.norm-over-positions",
        "layers",
        f"{MEAN}  # (..., 1): keepdim lets it broadcast against x\n        {VARIANCE}",
        "mean = x.mean(dim=-2, keepdim=True)\n        variance = (x - mean).pow(2).mean(dim=-2, keepdim=True)",
        "Your result equals a norm over the positions instead of the features.",
        "Every position is normalised by itself, whatever stands around it. See which axis holds the features.",
    ),
    Mistake(
        "layers.norm-over-everything",
        "layers",
        f"{MEAN}  # (..., 1): keepdim lets it broadcast against x\n        {VARIANCE}",
        "mean = x.mean()\n        variance = (x - mean).pow(2).mean()",
        "Your result equals a norm with one mean and one variance for the whole tensor.",
        "Every position is normalised by itself: there is one pair of mean and variance for each of them.",
    ),
    Mistake(
        "layers.absolute-deviation",
        "layers",
        ROOT,
        "((x - mean).abs().mean(dim=-1, keepdim=True) + self.eps)",
        "Your result equals a norm that divides by the mean absolute distance from the mean.",
        "The variance is a mean of squares. " + FORMULA,
    ),
    # The visible tests do not look at the inputs after the call, and compute no gradients.
    Mistake(
        "layers.norm-in-place",
        "layers",
        NORMED,
        "self.weight * x.sub_(mean) / torch.sqrt(variance + self.eps) + self.bias",
        "Your result is right, but the tensor that was passed in is changed by the call.",
        "Operators such as -= and methods whose names end in an underscore write into their tensor, which belongs to "
        "the caller: the residual connection still needs it.",
        seen_by="hidden",
    ),
    Mistake(
        "layers.norm-detached",
        "layers",
        ROOT,
        "torch.sqrt(variance.detach() + self.eps)",
        "Your result is right, but its gradient is not, as if the variance were a constant.",
        "The variance depends on the input, so gradients flow through it as well. Leave the graph of autograd alone.",
        seen_by="hidden",
    ),
    Mistake(
        "layers.gelu-tanh",
        "layers",
        GELU,
        "0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))",
        "Your result equals the approximation of GELU by tanh.",
        "GPT-2 uses that one, but here the exact form is wanted. The docstring names the function that it needs.",
    ),
    Mistake(
        "layers.gelu-sigmoid",
        "layers",
        GELU,
        "x * torch.sigmoid(1.702 * x)",
        "Your result equals the approximation of GELU by a sigmoid.",
        "It is the roughest of the usual approximations. The docstring has the exact form.",
    ),
    Mistake(
        "layers.gelu-relu",
        "layers",
        GELU,
        "torch.relu(x)",
        "Your result equals ReLU.",
        "ReLU cuts off at 0; GELU is smooth and below 0 for small negative numbers.",
    ),
    Mistake(
        "layers.gelu-not-halved",
        "layers",
        GELU,
        "x * (1 + torch.erf(x / math.sqrt(2)))",
        "Your result is twice what GELU gives.",
        "A distribution function goes from 0 to 1; the error function goes from -1 to 1.",
    ),
    Mistake(
        "layers.gelu-without-root",
        "layers",
        GELU,
        "0.5 * x * (1 + torch.erf(x))",
        "Your result equals GELU with a distribution of another width.",
        "The error function belongs to a distribution with the variance 1/2. The docstring says how to get to the "
        "standard normal distribution.",
    ),
    Mistake(
        "layers.gelu-only-phi",
        "layers",
        GELU,
        "0.5 * (1 + torch.erf(x / math.sqrt(2)))",
        "Your result equals the distribution function alone, without the factor x.",
        "GELU weights its input by the distribution function. See the first line of the docstring.",
    ),
    Mistake(
        "layers.network-relu",
        "layers",
        HIDDEN,
        "torch.relu(self.fc1(x))",
        "Your result equals a network with ReLU, as in the Transformer of 2017.",
        "The models of this assignment use GELU. " + NETWORK,
    ),
    Mistake(
        "layers.network-linear",
        "layers",
        HIDDEN,
        "self.fc1(x)",
        "Your result equals a network without an activation.",
        "Two linear maps, one after the other, are a linear map again. " + NETWORK,
    ),
    Mistake(
        "layers.network-gelu-last",
        "layers",
        f"hidden = {HIDDEN}  # (B, T, d_model) -> (B, T, d_ff)\n        {RESULT}",
        "hidden = self.fc1(x)\n        return self.dropout(gelu(self.fc2(hidden)))",
        "Your result equals a network with the activation behind the second map instead of between the two.",
        NETWORK,
    ),
    Mistake(
        "layers.network-gelu-twice",
        "layers",
        RESULT,
        "return self.dropout(gelu(self.fc2(hidden)))",
        "Your result equals a network with a second activation at its end.",
        NETWORK,
    ),
    Mistake(
        "layers.network-residual",
        "layers",
        RESULT,
        "return x + self.dropout(self.fc2(hidden))",
        "Your result equals a network with a residual connection.",
        "Residual connections go around whole sub-layers; the block of stage 3 adds them.",
    ),
    Mistake(
        "layers.network-dropout-missing",
        "layers",
        RESULT,
        "return self.fc2(hidden)",
        "In training, no dropout shows in the result of your network.",
        NETWORK,
    ),
    Mistake(
        "layers.network-dropout-inside",
        "layers",
        RESULT,
        "return self.fc2(self.dropout(hidden))",
        "Your network drops features of the hidden layer instead of its result.",
        "Many implementations do that. Here the docstring says where the one dropout stands.",
    ),
    Mistake(
        "layers.network-dropout-twice",
        "layers",
        RESULT,
        "return self.dropout(self.fc2(self.dropout(hidden)))",
        "Your network has a second dropout behind the activation.",
        "The Vision Transformer has both. Here the docstring says that there is one.",
    ),
)
