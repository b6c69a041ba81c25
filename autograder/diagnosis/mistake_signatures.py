"""Name the mistake behind a failed test: compare what the student's code gave with what known mistakes give.

What a failed test shows is reduced to a signature: at which check it failed and how, and a few random projections of
the wrong tensor. Two pieces of code with the same mistake have the same signature, however they are written. Where
there are numbers, the same numbers are as good as a proof. A message proves little: other code may fail in the same
words, so a mistake that only a message points to is said to be one perhaps (see `Named`). For the
visible tests the signatures of all known mistakes are stored; neither the mistakes' code nor the solution can be read
from them. For hidden tests, whose inputs are new each time, the mistakes are run on the same inputs.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from autograder import manifest
from autograder.diagnosis.compare_tensors import Incorrect
from autograder.sandbox.student_faults import Raised

PROJECTIONS = 8
MAX_PROJECTED = 1_000_000  # elements; of a larger tensor, these are the first ones
ELSEWHERE = "elsewhere"
# Rounding changes a projection far less than this, another mistake far more.
LIMITS = {"float64": 1e-5, "float32": 1e-3}


@dataclass(frozen=True)
class Signature:
    """What a failed test shows."""

    check: int  # the how-manieth check of the test failed
    what: str  # the message, or the exception with its message
    shape: tuple[int, ...] = ()
    projections: tuple[float, ...] = ()
    place: str = ""  # the student's modules on the way of an exception, "transformer.py decoder.py"


@dataclass(frozen=True)
class Named:
    """A known mistake that explains a failed test: for sure if the numbers agree, perhaps if only the words do."""

    mistake: str
    sure: bool
    not_in: tuple[str, ...] = ()  # failed tests in which it would show, but in which something else is seen


def signature(error: BaseException | None, check: int) -> Signature | None:
    """The signature of what a test ended with, or None if it says nothing about a mistake.

    Args:
        error: the exception that ended the test.
        check: the number of checks until then.
    """
    if isinstance(error, Raised):
        files = " ".join(dict.fromkeys(place.file for place in error.where))
        return Signature(check, error.message.partition("\n")[0][:200], place=files)
    if not isinstance(error, Incorrect):
        return None
    actual = error.actual
    if not isinstance(actual, np.ndarray) or actual.dtype.kind not in "fiub":
        return Signature(check, " | ".join((error.wrong.message, *error.wrong.details))[:400])
    # A hostile tensor may be large; projections would take many times its memory.
    if actual.size > MAX_PROJECTED:
        return Signature(check, error.wrong.message, actual.shape, project(actual.reshape(-1)[:MAX_PROJECTED]))
    counted = actual if error.where is None else np.where(error.where, actual, 0)
    return Signature(check, error.wrong.message, actual.shape, project(counted))


def only_through(module: str, shown: Signature) -> Signature:
    """What a mistake in a module shows, for comparison: an exception that names it comes through that module.

    Elsewhere it hits code that got something wrong from it, and other code may be to blame.
    """
    if not shown.place or f"{module}.py" in shown.place.split():
        return shown
    return replace(shown, place=ELSEWHERE)


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
    if (a.check, a.what, a.shape, a.place) != (b.check, b.what, b.shape, b.place):
        return False
    if len(a.projections) != len(b.projections):
        return False
    return all(abs(x - y) <= LIMITS[dtype] * (1 + abs(y)) for x, y in zip(a.projections, b.projections, strict=True))


Known = list[tuple[str, Signature]]  # what each known mistake shows in a test; a mistake that it passes is left out


def matching(found: Signature, known: Iterable[tuple[str, Signature]], dtype: str) -> Iterator[str]:
    """The ids of the known mistakes with this signature, the likelier ones first."""
    return (mistake for mistake, other in known if same(found, other, dtype))


def name_mistakes(
    failed: Mapping[str, Signature], passed: Iterable[str], known: Mapping[str, Known], dtype: str
) -> dict[str, Named]:
    """Name the mistake behind the failed tests of a stage.

    A mistake that a passed test would show is not named. One that explains all other tests is named for all of them.
    If there is none, each test gets a mistake that explains it by its numbers, the one that explains most tests: there
    may be several. Words alone are not enough for that. It is said with it in which other tests it would look
    different.

    Args:
        failed: what each failed test shows.
        passed: the tests that passed.
        known: for each test what the known mistakes show.
        dtype: the precision that the tests ran in.

    Returns:
        the ids of mistakes by test; a test without a known mistake is left out.
    """
    refuted = {mistake for test in passed for mistake, _ in known[test]}
    matches = {
        test: [mistake for mistake in matching(found, known[test], dtype) if mistake not in refuted]
        for test, found in failed.items()
    }
    sure = any(found.projections for found in failed.values())
    for mistake in next(iter(matches.values()), []):
        if all(mistake in others for others in matches.values()):
            return dict.fromkeys(failed, Named(mistake, sure))
    explains = Counter(mistake for mistakes in matches.values() for mistake in mistakes)
    likeliest = {test: max(mistakes, key=explains.__getitem__) for test, mistakes in matches.items() if mistakes}
    return {
        test: Named(mistake, True, tuple(_otherwise(mistake, matches, known)))
        for test, mistake in likeliest.items()
        if failed[test].projections
    }


def _otherwise(mistake: str, matches: Mapping[str, list[str]], known: Mapping[str, Known]) -> Iterator[str]:
    """The failed tests in which a mistake would show, and does not show as it would alone."""
    for test, explained in matches.items():
        if mistake not in explained and any(mistake == other for other, _ in known[test]):
            yield test


def stored_file(assignment: str) -> Path:
    """Where the signatures of the visible tests and the hints are stored."""
    return manifest.assignment(assignment).expected / "mistakes.json"


@cache
def _stored(assignment: str) -> dict[str, Any]:
    path = stored_file(assignment)
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return stored


def hints(assignment: str, named: Named) -> tuple[str, ...]:
    """The hints for a known mistake: what it looks like, where to read again."""
    looks_like, *others = _stored(assignment)["hints"][named.mistake]
    if named.not_in:
        tests = " and ".join(named.not_in)
        others.append(f"That is so in this test. In {tests} it mostly looks different: look at that, too.")
    return (looks_like if named.sure else f"Perhaps this: {looks_like}", *others)


def known_signatures(assignment: str, test: str) -> Known:
    """What the known mistakes show in a visible test."""
    entries = _stored(assignment).get("signatures", {}).get(test, [])
    return [
        (
            entry["mistake"],
            Signature(
                entry["check"], entry["what"], tuple(entry["shape"]), tuple(entry["projections"]), entry["place"]
            ),
        )
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
