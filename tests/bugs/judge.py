"""What the verdict says about a bug, compared with the truth."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from autograder.grading.grade_submission import grade
from autograder.grading.results import TestResult
from autograder.localization import repair
from autograder.manifest import assignment
from autograder.sandbox.worker_processes import Workers
from autograder.submissions.read_submission import Submission
from tests.bugs.corpus import Bug, Faulty

# exact: every line called wrong is faulty. next: beside the place of a missing statement, or two lines from a faulty
# one. mixed: a faulty line and a right one. another: right lines only. none: no line.
LINES = ("exact", "next", "mixed", "another", "none")
NEAR = 2


repair.SECONDS, repair.CALL_SECONDS = 60.0, 2.0  # the verdicts of an idle machine


@dataclass(frozen=True)
class Outcome:
    """What becomes of a bug."""

    id: str
    assignment: str
    stage: str
    held: bool
    double: bool
    visible: str  # "fails", "warns" or "silent"
    hidden: str  # "fails" or "silent"
    lines: str  # one of LINES: what the visible tests say
    named: tuple[tuple[str, int], ...]
    false: tuple[str, ...]  # claims that the truth refutes
    words: tuple[str, ...]
    seconds: float


def outcome(bug: Bug, workers: Workers, seed: int = 1) -> Outcome:
    """Grade a bug with the visible tests, then with the hidden ones."""
    chosen = assignment(bug.assignment)
    submission = Submission("", bug.sources())
    hidden = grade(submission, chosen, workers, [chosen.stage(bug.stage)], hidden_seed=seed)
    found = "silent" if hidden.points == hidden.max_points else "fails"
    return replace(visible_outcome(bug, workers), hidden=found)


def visible_outcome(bug: Bug, workers: Workers) -> Outcome:
    """Grade a bug with the visible tests."""
    chosen = assignment(bug.assignment)
    stage = chosen.stage(bug.stage)
    submission = Submission("", bug.sources())
    report = grade(submission, chosen, workers, [stage])
    failed = [test for test in report.tests if test.status != "passed"]
    warned = any(test.message or test.details for test in report.tests if test.status == "passed")
    truth = bug.faulty_lines()
    named = tuple(sorted({line for test in failed for line in named_lines(test)}))
    return Outcome(
        id=bug.id,
        assignment=bug.assignment,
        stage=bug.stage,
        held=bug.held,
        double=len(bug.patches) > 1,
        visible="fails" if failed else "warns" if warned else "silent",
        hidden="",
        lines=judged(named, truth) if failed else "",
        named=named,
        false=tuple(refuted(failed, truth)),
        words=tuple(line for test in report.tests for line in (test.message, *test.pointed) if line),
        seconds=report.seconds,
    )


def named_lines(test: TestResult) -> list[tuple[str, int]]:
    """The lines that a verdict calls wrong."""
    return [(mark.file, mark.line) for mark in test.marks if mark.state == "wrong"]


def judged(named: Iterable[tuple[str, int]], truth: dict[str, Faulty]) -> str:
    """How the lines that are called wrong compare with those that are."""
    kinds = {_kind(file, line, truth) for file, line in named}
    if not kinds:
        return "none"
    if "another" in kinds:
        return "another" if kinds == {"another"} else "mixed"
    return "exact" if "exact" in kinds else "next"


def _kind(file: str, line: int, truth: dict[str, Faulty]) -> str:
    faulty = truth.get(file)
    if faulty is None:
        return "another"
    if line in faulty.lines:
        return "exact"
    close = any(abs(line - other) <= NEAR for other in faulty.lines)
    return "next" if close or any(before - NEAR <= line <= after + NEAR for before, after in faulty.gaps) else "another"


def refuted(tests: Iterable[TestResult], truth: dict[str, Faulty]) -> list[str]:
    """Claims about lines that the truth refutes: a faulty line is called right, a right one wrong.

    "may be wrong" claims nothing; if it names correct lines only, the outcome is "another".
    """
    found = []
    for test in tests:
        hedged = any(sentence.endswith("may be wrong:") for sentence in test.pointed)
        for mark in test.marks:
            kind = _kind(mark.file, mark.line, truth)
            if mark.state == "right" and kind == "exact":
                found.append(f"{test.name}: {mark.file}:{mark.line} is called right and is faulty")
            if mark.state == "wrong" and kind == "another" and not hedged:
                found.append(f"{test.name}: {mark.file}:{mark.line} is called wrong and is right")
    return found


def table(outcomes: Iterable[Outcome]) -> str:
    """A row for each assignment, and one for all: single bugs first, then doubles."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for one in outcomes:
        for name in (one.assignment, "all"):
            count = counts.setdefault(("two" if one.double else "one", name), Counter())
            count.update(["bugs", f"visible {one.visible}", f"hidden {one.hidden}"])
            count.update([one.lines] if one.lines else [])
            count["false"] += bool(one.false)
            count["seconds"] += round(one.seconds * 1000)
    columns = ("bugs", "visible fails", "visible warns", "hidden fails", *LINES, "false")
    rows = [f"| mistakes | assignment | {' | '.join(columns)} | seconds each |", "|---" * (len(columns) + 3) + "|"]
    for (kind, name), count in sorted(counts.items(), key=lambda row: (row[0][0], row[0][1] == "all", row[0][1])):
        numbers = " | ".join(str(count[column]) for column in columns)
        rows.append(f"| {kind} | {name} | {numbers} | {count['seconds'] / 1000 / count['bugs']:.2f} |")
    return "\n".join(rows)


def as_entry(one: Outcome) -> dict[str, object]:
    """An outcome as an object for JSON."""
    return asdict(one)
