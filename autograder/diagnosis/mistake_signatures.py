"""Name the mistake behind a failed test: compare what the student's code gave with what known mistakes give.

What a failed test shows is reduced to a signature: at which check it failed and how, and a few random projections of
the wrong tensor. Two pieces of code with the same mistake have the same signature, however they are written. For the
visible tests the signatures of all known mistakes are stored; neither the mistakes' code nor the solution can be read
from them. For hidden tests, whose inputs are new each time, the mistakes are run on the same inputs.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from autograder import manifest
from autograder.diagnosis.compare_tensors import Incorrect
from autograder.sandbox.faults import Raised

PROJECTIONS = 8
MAX_PROJECTED = 1_000_000  # elements
# Rounding changes a projection far less than this, another mistake far more.
LIMITS = {"float64": 1e-5, "float32": 1e-3}


@dataclass(frozen=True)
class Signature:
    """What a failed test shows."""

    check: int  # the how-manieth check of the test failed
    what: str  # the message, or the exception with its message
    shape: tuple[int, ...] = ()
    projections: tuple[float, ...] = ()


def signature(error: BaseException | None, check: int) -> Signature | None:
    """The signature of what a test ended with, or None if it says nothing about a mistake.

    Args:
        error: the exception that ended the test.
        check: the number of checks until then.
    """
    if isinstance(error, Raised):
        return Signature(check, error.message.partition("\n")[0][:200])
    if not isinstance(error, Incorrect):
        return None
    actual = error.actual
    # No right tensor is as large as a hostile one; projections would take many times its memory.
    if not isinstance(actual, np.ndarray) or actual.dtype.kind not in "fiub" or actual.size > MAX_PROJECTED:
        return Signature(check, error.wrong.message)
    counted = actual if error.where is None else np.where(error.where, actual, 0)
    return Signature(check, error.wrong.message, actual.shape, project(counted))


def project(values: np.ndarray) -> tuple[float, ...]:
    """A few random projections of all numbers; NaN and infinity count as 0."""
    finite = np.nan_to_num(values.astype(np.float64).ravel(), nan=0.0, posinf=0.0, neginf=0.0)
    if finite.size == 0:
        return ()
    directions = np.random.Generator(np.random.PCG64(finite.size)).standard_normal((PROJECTIONS, finite.size))
    with np.errstate(over="ignore", invalid="ignore"):  # a wrong number may be the largest there is
        return tuple(round(float(value), 9) for value in directions @ finite / np.sqrt(finite.size))


def same(a: Signature, b: Signature, dtype: str) -> bool:
    """Whether two signatures are those of one mistake."""
    if (a.check, a.what, a.shape, len(a.projections)) != (b.check, b.what, b.shape, len(b.projections)):
        return False
    return all(abs(x - y) <= LIMITS[dtype] * (1 + abs(y)) for x, y in zip(a.projections, b.projections, strict=True))


Known = list[tuple[str, Signature]]  # what each known mistake shows in a test; a mistake that it passes is left out


def matching(found: Signature, known: Iterable[tuple[str, Signature]], dtype: str) -> Iterator[str]:
    """The ids of the known mistakes with this signature, the likelier ones first."""
    return (mistake for mistake, other in known if same(found, other, dtype))


def name_mistakes(
    failed: Mapping[str, Signature], passed: Iterable[str], known: Mapping[str, Known], dtype: str
) -> dict[str, str]:
    """Name the mistake behind the failed tests of a stage.

    A mistake that explains all tests, those that passed too, is named for all of them. If there is none, each test
    gets the first mistake that explains it.

    Args:
        failed: what each failed test shows.
        passed: the tests that passed.
        known: for each test what the known mistakes show.
        dtype: the precision that the tests ran in.

    Returns:
        the ids of mistakes by test; a test without a known mistake is left out.
    """
    matches = {test: list(matching(found, known[test], dtype)) for test, found in failed.items()}
    refuted = {mistake for test in passed for mistake, _ in known[test]}
    for mistake in next(iter(matches.values()), []):
        if mistake not in refuted and all(mistake in others for others in matches.values()):
            return dict.fromkeys(failed, mistake)
    return {test: mistakes[0] for test, mistakes in matches.items() if mistakes}


def stored_file(assignment: str) -> Path:
    """Where the signatures of the visible tests and the hints are stored."""
    return manifest.assignment(assignment).expected / "mistakes.json"


@cache
def _stored(assignment: str) -> dict[str, Any]:
    path = stored_file(assignment)
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return stored


def hints(assignment: str, mistake: str) -> tuple[str, ...]:
    """The hints for a known mistake: what it looks like, where to read again."""
    return tuple(_stored(assignment)["hints"][mistake])


def known_signatures(assignment: str, test: str) -> Known:
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
