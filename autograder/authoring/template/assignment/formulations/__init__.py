"""Formulations (correct ways of writing the solution). A folder that contains modules is a whole submission."""

from autograder.authoring.formulations import Formulation

FORWARD = "LayerNorm.forward"

FORMULATIONS: tuple[Formulation, ...] = (
    Formulation(
        "norm-by-moments",
        "NEWNAME",
        {
            FORWARD: (
                """
                centred = x - x.sum(-1, keepdim=True) / x.size(-1)
                return centred / (centred.square().mean(-1, keepdim=True) + self.eps) ** 0.5 * self.weight + self.bias
                """,
            )
        },
    ),
    Formulation(
        "norm-by-reciprocal-root",
        "NEWNAME",
        {
            FORWARD: (
                """
                variance, mean = torch.var_mean(x, dim=-1, keepdim=True, unbiased=False)
                return torch.addcmul(self.bias, (x - mean) * (variance + self.eps).rsqrt(), self.weight)
                """,
            )
        },
    ),
)
