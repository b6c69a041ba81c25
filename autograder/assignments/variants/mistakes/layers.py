"""Known mistakes in stage 1: layer normalisation, GELU, feed-forward network."""

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
NETWORK = "The docstring of the class shows the whole network in one line; read it from the inside out."

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "layers.variance-unbiased",
        "layers",
        VARIANCE,
        "variance = x.var(dim=-1, keepdim=True)",
        "Your result is that of a norm with the unbiased variance, which divides by one less than the number of "
        "features.",
        "This is the default of PyTorch's variance and standard deviation; with one feature, it divides 0 by 0. The "
        "docstring says which variance to use.",
    ),
    Mistake(
        "layers.variance-about-zero",
        "layers",
        VARIANCE,
        "variance = x.pow(2).mean(dim=-1, keepdim=True)",
        "Your result is that of a norm whose variance is the mean of the squares of x, without subtracting the mean.",
        "A variance measures distances from the mean; yours is only right if the mean is 0. " + FORMULA,
    ),
    Mistake(
        "layers.eps-outside-root",
        "layers",
        ROOT,
        "(torch.sqrt(variance) + self.eps)",
        "Your result is that of a norm that adds eps to the standard deviation instead of the variance.",
        "The difference is largest where the variance is small. " + FORMULA,
    ),
    Mistake(
        "layers.unbiased-and-outside",
        "layers",
        ROOT,
        "(x.std(dim=-1, keepdim=True) + self.eps)",
        "Your result is that of a norm that adds eps to PyTorch's standard deviation.",
        "Two things differ from the docstring: the kind of variance and the position of eps. Many notebooks contain "
        "this norm, but models are not trained with it.",
    ),
    Mistake(
        "layers.eps-missing",
        "layers",
        ROOT,
        "torch.sqrt(variance)",
        "Your result is that of a norm without eps.",
        "If all features are equal, the variance is 0, and the division fails without eps. " + FORMULA,
    ),
    Mistake(
        "layers.root-missing",
        "layers",
        ROOT,
        "(variance + self.eps)",
        "Your result is that of a norm that divides by the variance instead of its square root.",
        "After a norm, the features have a standard deviation of 1, which is the square root of the "
        "variance. " + FORMULA,
    ),
    Mistake(
        "layers.mean-kept",
        "layers",
        NORMED,
        "self.weight * x / torch.sqrt(variance + self.eps) + self.bias",
        "Your result is that of a norm that does not subtract the mean.",
        "After a norm, before weight and bias, the features have a mean of 0. " + FORMULA,
    ),
    Mistake(
        "layers.weight-missing",
        "layers",
        NORMED,
        "(x - mean) / torch.sqrt(variance + self.eps) + self.bias",
        "Your result is that of a norm without its weight.",
        "The constructor creates two parameters, and both are learned. " + FORMULA,
    ),
    Mistake(
        "layers.bias-missing",
        "layers",
        NORMED,
        "self.weight * (x - mean) / torch.sqrt(variance + self.eps)",
        "Your result is that of a norm without its bias.",
        "The constructor creates two parameters, and both are learned. " + FORMULA,
    ),
    Mistake(
        "layers.bias-inside",
        "layers",
        NORMED,
        "self.weight * ((x - mean) / torch.sqrt(variance + self.eps) + self.bias)",
        "Your result is that of a norm that adds the bias before it multiplies by the weight.",
        "Check which of the two comes first. " + FORMULA,
    ),
    Mistake(
        "layers.norm-over-positions",
        "layers",
        f"{MEAN}  # (..., 1): keepdim lets it broadcast against x\n        {VARIANCE}",
        "mean = x.mean(dim=-2, keepdim=True)\n        variance = (x - mean).pow(2).mean(dim=-2, keepdim=True)",
        "Your result is that of a norm over the positions instead of the features.",
        "Every position is normalised separately, whatever is around it. Which axis is the feature axis?",
    ),
    Mistake(
        "layers.norm-over-everything",
        "layers",
        f"{MEAN}  # (..., 1): keepdim lets it broadcast against x\n        {VARIANCE}",
        "mean = x.mean()\n        variance = (x - mean).pow(2).mean()",
        "Your result is that of a norm with one mean and one variance for the whole tensor.",
        "Every position is normalised separately, with its own mean and variance.",
    ),
    Mistake(
        "layers.absolute-deviation",
        "layers",
        ROOT,
        "((x - mean).abs().mean(dim=-1, keepdim=True) + self.eps)",
        "Your result is that of a norm that divides by the mean absolute distance from the mean.",
        "The variance is a mean of squares. " + FORMULA,
    ),
    # The visible tests do not check the inputs after the call, and compute no gradients.
    Mistake(
        "layers.norm-in-place",
        "layers",
        NORMED,
        "self.weight * x.sub_(mean) / torch.sqrt(variance + self.eps) + self.bias",
        "Your result is right, but the call changes the tensor that was passed in.",
        "Operators such as -= and methods whose names end in an underscore change the caller's tensor: the residual "
        "connection still needs it.",
        seen_by="hidden",
    ),
    Mistake(
        "layers.norm-detached",
        "layers",
        ROOT,
        "torch.sqrt(variance.detach() + self.eps)",
        "Your result is right, but its gradient is not, as if the variance were a constant.",
        "The variance depends on the input, so gradients must flow through it too. Keep it in the autograd graph.",
        seen_by="hidden",
    ),
    Mistake(
        "layers.gelu-tanh",
        "layers",
        GELU,
        "0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))",
        "Your result is that of the tanh approximation of GELU.",
        "GPT-2 uses this approximation, but here you need the exact form. The docstring names the function for it.",
    ),
    Mistake(
        "layers.gelu-sigmoid",
        "layers",
        GELU,
        "x * torch.sigmoid(1.702 * x)",
        "Your result is that of the sigmoid approximation of GELU.",
        "This is the roughest of the usual approximations. The docstring gives the exact form.",
    ),
    Mistake(
        "layers.gelu-relu",
        "layers",
        GELU,
        "torch.relu(x)",
        "Your result is that of ReLU.",
        "ReLU cuts off at 0; GELU is smooth and below 0 for small negative numbers.",
    ),
    Mistake(
        "layers.gelu-not-halved",
        "layers",
        GELU,
        "x * (1 + torch.erf(x / math.sqrt(2)))",
        "Your result is twice that of GELU.",
        "A cumulative distribution function goes from 0 to 1; the error function goes from -1 to 1.",
    ),
    Mistake(
        "layers.gelu-without-root",
        "layers",
        GELU,
        "0.5 * x * (1 + torch.erf(x))",
        "Your result is that of GELU with a normal distribution of the wrong width.",
        "The error function belongs to a normal distribution with variance 1/2. The docstring says how to get to the "
        "standard normal distribution.",
    ),
    Mistake(
        "layers.gelu-only-phi",
        "layers",
        GELU,
        "0.5 * (1 + torch.erf(x / math.sqrt(2)))",
        "Your result is only the distribution function, without the factor x.",
        "GELU multiplies its input by the distribution function. See the first line of the docstring.",
    ),
    Mistake(
        "layers.network-relu",
        "layers",
        HIDDEN,
        "torch.relu(self.fc1(x))",
        "Your result is that of a network with ReLU, as in the 2017 Transformer.",
        "The models of this assignment use GELU. " + NETWORK,
    ),
    Mistake(
        "layers.network-linear",
        "layers",
        HIDDEN,
        "self.fc1(x)",
        "Your result is that of a network without an activation.",
        "Two linear maps in a row are just one linear map. " + NETWORK,
    ),
    Mistake(
        "layers.network-gelu-last",
        "layers",
        f"hidden = {HIDDEN}  # (B, T, d_model) -> (B, T, d_ff)\n        {RESULT}",
        "hidden = self.fc1(x)\n        return self.dropout(gelu(self.fc2(hidden)))",
        "Your result is that of a network with the activation after the second map instead of between the two.",
        NETWORK,
    ),
    Mistake(
        "layers.network-gelu-twice",
        "layers",
        RESULT,
        "return self.dropout(gelu(self.fc2(hidden)))",
        "Your result is that of a network with a second activation at its end.",
        NETWORK,
    ),
    Mistake(
        "layers.network-residual",
        "layers",
        RESULT,
        "return x + self.dropout(self.fc2(hidden))",
        "Your result is that of a network with a residual connection.",
        "The block of stage 3 adds the residual connections, around whole sub-layers.",
    ),
    Mistake(
        "layers.network-dropout-missing",
        "layers",
        RESULT,
        "return self.fc2(hidden)",
        "During training, your network applies no dropout.",
        NETWORK,
    ),
    Mistake(
        "layers.network-dropout-inside",
        "layers",
        RESULT,
        "return self.fc2(self.dropout(hidden))",
        "Your network applies dropout to the hidden layer instead of its result.",
        "Many implementations do that. Here the docstring says where the only dropout is applied.",
    ),
    Mistake(
        "layers.network-dropout-twice",
        "layers",
        RESULT,
        "return self.dropout(self.fc2(self.dropout(hidden)))",
        "Your network has a second dropout after the activation.",
        "The Vision Transformer has both. Here the docstring says that there is only one.",
    ),
)
