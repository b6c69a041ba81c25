"""Make the tests of a stage consistent: a shared cause is explained once, and each line has one degree of certainty."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from autograder.diagnosis.line_verdict import Confidence
from autograder.grading.results import StageResult, TestResult
from autograder.reports.short_verdict import CODE

SAME = "Same cause as above."
DEGREES = [one.value for one in Confidence]
PLACES = re.compile(rf"(?P<places>\S+:\d+(?: or \S+:\d+)*) (?P<degree>{'|'.join(DEGREES)}):")
# These statuses end a test before its first check; wrong results are explained for each test.
ENDINGS = ("error", "no file", "forbidden", "blocked", "timed out")


def cause_of(test: TestResult) -> tuple[str, ...]:
    """The key shared by tests with the same cause, or () if the test is explained on its own."""
    if test.status not in (*ENDINGS, "not started") or test.hidden or test.hints or test.reviewed:
        return ()
    if test.status == "not started":
        return (test.status, test.message)  # the details say how the stub was reached
    return (test.status, test.message, *test.details)


def one_certainty(stage: StageResult) -> StageResult:
    """Use the strongest verdict on a line in all tests that point to the line; `stage` is for one audience."""
    degrees: dict[str, int] = {}  # "mha.py:95 or mha.py:97", as in the sentences -> the strongest degree
    for test in stage.tests:
        if told := PLACES.fullmatch(test.pointed[0] if test.pointed else ""):
            degree = DEGREES.index(told["degree"])
            degrees[told["places"]] = min(degree, degrees.get(told["places"], degree))
    return replace(stage, tests=tuple(_strengthened(test, degrees) for test in stage.tests))


def _strengthened(test: TestResult, degrees: Mapping[str, int]) -> TestResult:
    told = PLACES.fullmatch(test.pointed[0] if test.pointed else "")
    if not told:
        return test
    places = told["places"].split(" or ")
    chosen = min((told["places"], *places), key=lambda place: degrees.get(place, len(DEGREES)))
    first = f"{chosen} {DEGREES[degrees[chosen]]}:"
    if chosen not in places or len(places) == 1:
        return replace(test, pointed=(first, *test.pointed[1:]))
    # Another test has determined which of these lines is wrong; the other sentences may be about a different line.
    code = [row for row in test.pointed[1:] if row.startswith(CODE)][places.index(chosen) :][:1]
    marks = [one for one in test.marks if one.state != "wrong" or f"{one.file}:{one.line}" == chosen]
    return replace(test, pointed=(first, *code), marks=tuple(marks), fault_step="")


def told_once(stage: StageResult) -> StageResult:
    """The stage for display: if tests share a cause, only the first one explains it and lists the lost points."""
    stage = one_certainty(stage)
    count = Counter(map(cause_of, stage.tests))
    shown: dict[tuple[str, ...], str] = {}  # cause -> the title of the test that explains it
    tests = []
    for test in stage.tests:
        cause = cause_of(test)
        if not cause or count[cause] < 2:
            tests.append(test)
        elif cause in shown:
            tests.append(replace(test, message=SAME, details=(), parts=(), printed="", short=""))
        else:
            shown[cause] = test.title
            if test.status == "not started":  # the cost of an unwritten stub is obvious
                tests.append(test)
                continue
            same = [other for other in stage.tests if cause_of(other) == cause]
            cost = sum(other.max_points - other.points for other in same)
            note = f"This cause costs {len(same)} tests, {cost:g} points."
            parts = tuple(replace(part, message="") for part in test.parts)
            tests.append(replace(test, details=(*test.details, note), parts=parts))
    return replace(stage, tests=tuple(tests))
