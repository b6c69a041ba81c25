"""Name the mistake behind a failed test: compare the student's result with the results of known mistakes.

The outcome of a failed test is reduced to a signature: the failed check, its message, and a few random projections of
the wrong tensor. Two programs with the same mistake have the same signature, however they are written. If the
projections are equal, the mistake is almost certainly the same. An identical message proves little: other code may fail
with the same message, and the verdict then says "Possible cause" (see `Named`). For the visible tests, the signatures
of all known mistakes are stored; they reveal neither the solution nor the code of the mistakes. Hidden tests have new
inputs each time, so the mistakes are run on these inputs.
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
MAX_PROJECTED = 1_000_000  # elements; only the first ones of a larger tensor are projected
ELSEWHERE = "elsewhere"
RESULT = "Your result is that of "  # begins a hint that describes code with the same numbers
# Rounding changes a projection far less than this; a different mistake changes it far more.
LIMITS = {"float64": 1e-5, "float32": 1e-3}


@dataclass(frozen=True)
class Signature:
    """How a test failed."""

    check: int  # the number of the check that failed, in the order of the test
    what: str  # the message, or the exception with its message
    shape: tuple[int, ...] = ()
    projections: tuple[float, ...] = ()
    place: str = ""  # the student's modules in the traceback, "transformer.py decoder.py"


@dataclass(frozen=True)
class Named:
    """A known mistake that explains a failed test: certainly if the numbers agree, perhaps if only the messages do."""

    mistake: str
    sure: bool
    not_in: tuple[str, ...] = ()  # failed tests in which this mistake would look different


def signature(error: BaseException | None, check: int) -> Signature | None:
    """The signature of a test's outcome, or None if the outcome reveals nothing about a mistake.

    Args:
        error: the exception that ended the test.
        check: the number of checks made up to that point.
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


def only_through(module: str, observed: Signature) -> Signature:
    """The signature of a mistake in `module`, for comparison. Its place is `ELSEWHERE` if the traceback lacks `module`.

    In that case, other code raised the exception because of a wrong value, which any module may have computed.
    """
    if not observed.place or f"{module}.py" in observed.place.split():
        return observed
    return replace(observed, place=ELSEWHERE)


def project(values: np.ndarray) -> tuple[float, ...]:
    """A few random projections of all numbers; NaN and infinity count as 0."""
    finite = np.nan_to_num(values.astype(np.float64).ravel(), nan=0.0, posinf=0.0, neginf=0.0)
    if finite.size == 0:
        return ()
    directions = np.random.Generator(np.random.PCG64(finite.size)).standard_normal((PROJECTIONS, finite.size))
    with np.errstate(over="ignore", invalid="ignore"):  # a wrong number may be as large as floats allow
        return tuple(round(float(value), 9) for value in directions @ finite / np.sqrt(finite.size))


def same(first: Signature, second: Signature, dtype: str) -> bool:
    """Whether two signatures belong to the same mistake."""
    if (first.check, first.what, first.shape, first.place) != (second.check, second.what, second.shape, second.place):
        return False
    if len(first.projections) != len(second.projections):
        return False
    return all(
        abs(value - other) <= LIMITS[dtype] * (1 + abs(other))
        for value, other in zip(first.projections, second.projections, strict=True)
    )


Known = list[tuple[str, Signature]]  # the known mistakes that fail a test, with their signatures


def matching(observed: Signature, known: Iterable[tuple[str, Signature]], dtype: str) -> Iterator[str]:
    """The ids of the known mistakes with this signature, the most likely ones first."""
    return (mistake for mistake, other in known if same(observed, other, dtype))


def name_mistakes(
    failed: Mapping[str, Signature], passed: Iterable[str], known: Mapping[str, Known], dtype: str
) -> dict[str, Named]:
    """Name the mistake behind the failed tests of a stage.

    A mistake that would make a passing test fail is not named. A mistake that explains all failed tests is named for
    all of them. If there is no such mistake, each test is assigned a known mistake that produces the same wrong
    numbers. If there are several, the mistake that explains the most tests is chosen. An identical message is not
    enough here. If different tests are assigned different mistakes, all of these mistakes are named. The verdict then
    lists the tests in which the mistake would look different.

    Args:
        failed: the signature of each failed test.
        passed: the tests that passed.
        known: for each test, the signatures of the known mistakes.
        dtype: the precision that the tests ran in.

    Returns:
        the named mistakes by test; a test without a known mistake is left out.
    """
    refuted = {mistake for test in passed for mistake, _ in known[test]}
    matches = {
        test: [mistake for mistake in matching(observed, known[test], dtype) if mistake not in refuted]
        for test, observed in failed.items()
    }
    sure = any(observed.projections for observed in failed.values())
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
    """The failed tests that would fail differently with this mistake alone."""
    for test, explained in matches.items():
        if mistake not in explained and any(mistake == other for other, _ in known[test]):
            yield test


def stored_file(assignment: str) -> Path:
    """The file with the hints and the signatures of the visible tests."""
    return manifest.assignment(assignment).expected / "mistakes.json"


@cache
def _stored(assignment: str) -> dict[str, Any]:
    path = stored_file(assignment)
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return stored


def hints(assignment: str, named: Named) -> tuple[str, ...]:
    """The hints for a known mistake: a description of its effect, and advice on what to read again."""
    looks_like, *others = _stored(assignment)["hints"][named.mistake]
    if named.not_in:
        tests = " and ".join(named.not_in)
        others.append(f"This mistake explains this test. In {tests} it usually looks different: check that, too.")
    # Without numbers, perhaps there was no result at all: an exception ended the test.
    return (looks_like if named.sure else f"Possible cause: {looks_like.removeprefix(RESULT)}", *others)


def known_signatures(assignment: str, test: str) -> Known:
    """The signatures of the known mistakes in a visible test."""
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
    """Write the signatures and hints; one short line per signature keeps diffs readable."""
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
