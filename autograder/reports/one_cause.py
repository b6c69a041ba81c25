"""One cause that ends several tests of a stage (a syntax error, a missing file, nothing written yet) is told once."""

from collections import Counter
from dataclasses import replace

from autograder.grading.results import StageResult, TestResult

SAME = "Same cause as above."
# What ends a test before it says anything of its own; a wrong result is told test by test.
ENDINGS = ("error", "no file", "forbidden", "blocked", "timed out")


def cause_of(test: TestResult) -> tuple[str, ...]:
    """What has to be the same for two tests to end of one cause, or nothing if this is not told together."""
    if test.status not in (*ENDINGS, "not started") or test.hidden or test.hints or test.reviewed:
        return ()
    if test.status == "not started":
        return (test.status, test.message)  # the details say how the stub was reached
    return (test.status, test.message, *test.details)


def told_once(stage: StageResult) -> StageResult:
    """The stage as it is shown: the first test of several that one cause ended says what it is and what it costs."""
    count = Counter(map(cause_of, stage.tests))
    shown: dict[tuple[str, ...], str] = {}  # cause -> the title of the test that says it
    tests = []
    for test in stage.tests:
        cause = cause_of(test)
        if not cause or count[cause] < 2:
            tests.append(test)
        elif cause in shown:
            tests.append(replace(test, message=SAME, details=(), parts=(), printed="", short=""))
        else:
            shown[cause] = test.title
            if test.status == "not started":  # which costs what it costs: that is no news
                tests.append(test)
                continue
            same = [one for one in stage.tests if cause_of(one) == cause]
            cost = sum(one.max_points - one.points for one in same)
            note = f"This cause costs {len(same)} tests, {cost:g} points."
            parts = tuple(replace(part, message="") for part in test.parts)
            tests.append(replace(test, details=(*test.details, note), parts=parts))
    return replace(stage, tests=tuple(tests))
