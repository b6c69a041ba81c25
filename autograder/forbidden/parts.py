"""Parts of torch, as named in a manifest: "F.layer_norm", "F.cross_entropy(label_smoothing)".

torch offers most parts under several names: F.layer_norm, torch.layer_norm, torch.native_layer_norm, nn.LayerNorm. They
count as one part, so names are compared by their letters only, without torch's prefixes and suffixes.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

WRITTEN = re.compile(r"[A-Za-z_][\w.]*(\([A-Za-z_]\w*\))?")  # in a manifest
_AROUND = re.compile(r"^(native|fused|lazy|sync|cudnn|miopen)+|loss$|\dd$")


class Part(NamedTuple):
    """A part of torch."""

    name: str  # the last name of its path, normalised by `plain`
    argument: str  # only this argument is meant; "" for the whole part


@cache
def plain(name: str) -> str:
    """Normalise a name: "layernorm" for layer_norm, LayerNorm and native_layer_norm."""
    letters = name.replace("_", "").lower()
    return _AROUND.sub("", letters) or letters


@cache
def part(written: str) -> Part:
    """Parse the name of a part in a manifest."""
    path, _, argument = written.rstrip(")").partition("(")
    return Part(plain(path.rpartition(".")[2]), argument)


def named(path: str, parts: Iterable[str]) -> tuple[str, ...]:
    """Return the parts that a path in torch refers to, except parts that name an argument.

    Private variants have longer names: `torch._native_batch_norm_legit`.
    """
    last = path.rpartition(".")[2]
    name, private = plain(last), re.match("_[a-z]", last)
    wanted = ((written, part(written)) for written in parts)
    return tuple(written for written, (base, of) in wanted if not of and (base == name or (private and base in name)))


def named_arguments(path: str, argument: str, parts: Iterable[str]) -> tuple[str, ...]:
    """Return the parts that name this argument of a function, or of a variant with a longer name."""
    name = plain(path.rpartition(".")[2])
    asked = [written for written in parts if argument and part(written).argument == argument]
    return tuple(written for written in asked if name.endswith(part(written).name))
