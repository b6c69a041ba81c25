"""Parts of torch under the names that a manifest gives them: "F.layer_norm", "F.cross_entropy(label_smoothing)".

torch has most parts under several names: F.layer_norm, torch.layer_norm, torch.native_layer_norm, nn.LayerNorm. They
count as one part, so names are compared by their letters only, without the words that torch puts around them.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

WRITTEN = re.compile(r"[A-Za-z_][\w.]*(\([A-Za-z_]\w*\))?")  # in a manifest
_AROUND = re.compile(r"^(native|fused|lazy|sync|cudnn|miopen)+|loss$|\dd$")


class Part(NamedTuple):
    """A part of torch."""

    name: str  # the last one of its path, as `plain` gives it
    argument: str  # only this argument of it; "" for all of it


@cache
def plain(name: str) -> str:
    """What the names of one part have in common: "layernorm" for layer_norm, LayerNorm and native_layer_norm."""
    letters = name.replace("_", "").lower()
    return _AROUND.sub("", letters) or letters


@cache
def part(written: str) -> Part:
    """The part that a manifest names."""
    path, _, argument = written.rstrip(")").partition("(")
    return Part(plain(path.rpartition(".")[2]), argument)


def named(path: str, parts: Iterable[str]) -> tuple[str, ...]:
    """Those of the parts that a path of torch ends in; not those of which only an argument counts."""
    name = plain(path.rpartition(".")[2])
    return tuple(written for written in parts if part(written) == (name, ""))


def named_arguments(path: str, argument: str, parts: Iterable[str]) -> tuple[str, ...]:
    """Those of the parts that are an argument of a function of torch, or of one that only adds to its name."""
    name = plain(path.rpartition(".")[2])
    asked = [written for written in parts if argument and part(written).argument == argument]
    return tuple(written for written in asked if name.endswith(part(written).name))
