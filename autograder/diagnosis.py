"""Name the mistake behind a failed test: compare what the student's code gave with what known mistakes give.

What a failed test shows is reduced to a signature: at which check it failed and how, and a few random projections of
the wrong tensor. Two pieces of code with the same mistake have the same signature, however they are written. For the
visible tests the signatures of all known mistakes are stored; neither the mistakes' code nor the solution can be read
from them. For hidden tests, whose inputs are new each time, the mistakes are run on the same inputs.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from autograder.student import Raised
from autograder.testcase import EXPECTED, Incorrect

PROJECTIONS = 8
# Rounding changes a projection far less than this, another mistake far more.
LIMITS = {"float64": 1e-5, "float32": 1e-3}


@dataclass(frozen=True)
class Signature:
    """What a failed test shows."""

    check: int  # the how-manieth check of the test failed
    what: str  # the message; for an exception its kind
    shape: tuple[int, ...] = ()
    projections: tuple[float, ...] = ()


def signature(error: BaseException | None, check: int) -> Signature | None:
    """The signature of what a test ended with, or None if it says nothing about a mistake.

    Args:
        error: the exception that ended the test.
        check: the number of checks until then.
    """
    if isinstance(error, Raised):
        return Signature(check, error.message.partition(":")[0])
    if not isinstance(error, Incorrect):
        return None
    actual = error.actual
    if not isinstance(actual, np.ndarray) or actual.dtype.kind not in "fiub":
        return Signature(check, error.wrong.message)
    counted = actual if error.where is None else np.where(error.where, actual, 0)
    return Signature(check, error.wrong.message, actual.shape, project(counted))


def project(values: np.ndarray) -> tuple[float, ...]:
    """A few random projections of all numbers; NaN and infinity count as 0."""
    finite = np.nan_to_num(values.astype(np.float64).ravel(), nan=0.0, posinf=0.0, neginf=0.0)
    if finite.size == 0:
        return ()
    directions = np.random.Generator(np.random.PCG64(finite.size)).standard_normal((PROJECTIONS, finite.size))
    return tuple(round(float(value), 9) for value in directions @ finite / np.sqrt(finite.size))


def same(a: Signature, b: Signature, dtype: str) -> bool:
    """Whether two signatures are those of one mistake."""
    if (a.check, a.what, a.shape, len(a.projections)) != (b.check, b.what, b.shape, len(b.projections)):
        return False
    return all(abs(x - y) <= LIMITS[dtype] * (1 + abs(y)) for x, y in zip(a.projections, b.projections, strict=True))


def diagnose(found: Signature | None, known: Iterable[tuple[str, Signature]], dtype: str) -> str | None:
    """The id of the first known mistake with this signature, or None."""
    if found is None:
        return None
    return next((mistake for mistake, other in known if same(found, other, dtype)), None)


def stored_file(assignment: str) -> Path:
    """Where the signatures of the visible tests and the hints are stored."""
    return EXPECTED / assignment / "mistakes.json"


@cache
def _stored(assignment: str) -> dict[str, Any]:
    path = stored_file(assignment)
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return stored


def hints(assignment: str, mistake: str) -> tuple[str, ...]:
    """The hints for a known mistake: what it looks like, where to read again."""
    return tuple(_stored(assignment)["hints"][mistake])


def known_signatures(assignment: str, test: str) -> list[tuple[str, Signature]]:
    """What the known mistakes show in a visible test."""
    entries = _stored(assignment).get("signatures", {}).get(test, [])
    return [
        (entry["mistake"], Signature(entry["check"], entry["what"], tuple(entry["shape"]), tuple(entry["projections"])))
        for entry in entries
    ]


def store(
    assignment: str, hint_texts: dict[str, list[str]], signatures: dict[str, list[tuple[str, Signature]]]
) -> None:
    """Write the signatures and hints; a short line for each signature keeps the file readable in a diff."""
    tests = {
        test: [{"mistake": mistake, **asdict(entry)} for mistake, entry in entries]
        for test, entries in signatures.items()
    }
    lines = ['{"hints": ' + json.dumps(hint_texts, indent=1) + ',\n"signatures": {']
    blocks = [
        f"{json.dumps(test)}: [\n" + ",\n".join(json.dumps(entry) for entry in entries) + "\n]"
        for test, entries in tests.items()
    ]
    stored_file(assignment).write_text("\n".join([*lines, ",\n".join(blocks), "}}"]) + "\n", encoding="utf-8")
    _stored.cache_clear()
