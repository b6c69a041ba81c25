"""If one cause ends several tests of a stage (a syntax error, a missing file, an unwritten stub), explain it once."""

from collections import Counter
from dataclasses import replace

from autograder.grading.results import StageResult, TestResult

SAME = "Same cause as above."
# These statuses end a test before its first check; wrong results are explained for each test.
ENDINGS = ("error", "no file", "forbidden", "blocked", "timed out")


def cause_of(test: TestResult) -> tuple[str, ...]:
    """The key that two tests with the same cause share; () if the test is explained by itself."""
    if test.status not in (*ENDINGS, "not started") or test.hidden or test.hints or test.reviewed:
        return ()
    if test.status == "not started":
        return (test.status, test.message)  # the details say how the stub was reached
    return (test.status, test.message, *test.details)


def told_once(stage: StageResult) -> StageResult:
    """The stage for display: of several tests with one cause, only the first explains it, with its cost."""
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
