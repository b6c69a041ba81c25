"""Mistakes that can be made around any sub-layer of the encoder and the decoder."""

from dataclasses import dataclass
from typing import Literal

from autograder.diagnosis.mistakes import Mistake

POST_NORM = (
    "The docstring of the class gives the formula that applies to every sub-layer; see also section 3.1 of the paper."
)
DROPOUT = "Section 5.4 of the paper says where dropout is applied: to the output of the sub-layer, before the sum."


@dataclass(frozen=True)
class Sublayer:
    """A sub-layer in the `forward` method of a reference layer: x = LayerNorm(x + Dropout(Sublayer(x)))."""

    stage: str  # also the module
    name: str  # in ids: "self-attention"
    norm: str  # the attribute: "self_attn_layer_norm"
    result: str  # what the sub-layer computed: "attended"

    @property
    def text(self) -> str:
        return f"x = self.{self.norm}(x + self.dropout({self.result}))"

    @property
    def title(self) -> str:
        return self.name.replace("feed-forward", "the feed-forward network")

    def mistake(
        self,
        words: str,
        new: str,
        looks_like: str,
        read_again: str,
        seen_by: Literal["visible", "hidden"] = "visible",
    ) -> Mistake:
        new = new.format(norm=f"self.{self.norm}", result=self.result)
        looks_like = looks_like.format(title=self.title)
        return Mistake(
            f"{self.stage}.{self.name}-{words}", self.stage, self.text, new, looks_like, read_again, seen_by=seen_by
        )

    def no_residual(self) -> Mistake:
        return self.mistake(
            "no-residual",
            "x = {norm}(self.dropout({result}))",
            "Your result is that of a layer without the residual connection around {title}.",
            "The input to a sub-layer is added to its output. " + POST_NORM,
        )

    def no_norm(self) -> Mistake:
        return self.mistake(
            "no-norm",
            "x = x + self.dropout({result})",
            "Your result is that of a layer without the layer norm after {title}.",
            "The constructor creates one layer norm for each sub-layer; use each of them. " + POST_NORM,
        )

    def norm_before_residual(self) -> Mistake:
        return self.mistake(
            "norm-before-residual",
            "x = x + {norm}(self.dropout({result}))",
            "Your result is that of a layer that normalises only the output of {title}, before the sum.",
            "The layer norm comes last: it normalises the sum. " + POST_NORM,
        )

    def no_dropout(self) -> Mistake:
        return self.mistake(
            "no-dropout",
            "x = {norm}(x + {result})",
            "Your result is that of a layer without dropout on the output of {title}.",
            "In evaluation mode you cannot see that dropout is missing. " + DROPOUT,
        )

    def dropout_after_norm(self) -> Mistake:
        return self.mistake(
            "dropout-after-norm",
            "x = self.dropout({norm}(x + {result}))",
            "Your result is that of a layer that applies the dropout of {title} after the layer norm.",
            "In evaluation mode you cannot see where dropout is applied. " + DROPOUT,
        )

    def dropout_on_sum(self) -> Mistake:
        return self.mistake(
            "dropout-on-sum",
            "x = {norm}(self.dropout(x + {result}))",
            "Your result is that of a layer in which dropout also acts on the residual connection around {title}.",
            "In evaluation mode you cannot see where dropout is applied. " + DROPOUT,
        )

    # The visible tests check neither gradients nor whether the inputs are changed.

    def residual_in_place(self) -> Mistake:
        return self.mistake(
            "residual-in-place",
            "x += self.dropout({result})\n        x = {norm}(x)",
            "Your result is right, but the call changes the tensor that was passed in, as a += around {title} would.",
            "The operator += modifies its tensor in place, but the tensor belongs to the caller and autograd still "
            "needs it.",
            "hidden",
        )
