"""Programs with one slip: what the tests of lines grade."""

from autograder.authoring.formulations import correct_submissions
from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.submissions.read_submission import Submission, read_submission


def failed(workers, name: str, stage: str, module: str, old: str, new: str, formulation: str = ""):
    """The failed tests of a solution, or of a formulation, with a text replaced where it stands first, and its line."""
    chosen = assignment(name)
    correct = correct_submissions(chosen)[formulation][0] if formulation else read_submission(chosen.solution, chosen)
    text = correct.sources[module]
    assert old in text
    changed = Submission("", {**correct.sources, module: text.replace(old, new, 1)})
    report = grade(changed, chosen, workers, [chosen.stage(stage)])
    return [test for test in report.tests if test.status != "passed"], text[: text.index(old)].count("\n") + 1


def source(name: str, module: str) -> str:
    """The text of a module of a solution."""
    chosen = assignment(name)
    return read_submission(chosen.solution, chosen).sources[module]


def graded_text(workers, name: str, stage: str, module: str, text: str):
    """The tests of a solution with another text of one module."""
    chosen = assignment(name)
    sources = {**read_submission(chosen.solution, chosen).sources, module: text}
    return grade(Submission("", sources), chosen, workers, [chosen.stage(stage)]).tests


def failed_text(workers, name: str, stage: str, module: str, text: str):
    """The failed ones of them."""
    return [test for test in graded_text(workers, name, stage, module, text) if test.status != "passed"]


def wrong_lines(test) -> list[int]:
    """The lines that a test calls wrong."""
    return [mark.line for mark in test.marks if mark.state == "wrong"]


def told(tests) -> str:
    """What tests say of lines."""
    return " ".join(sentence for test in tests for sentence in test.pointed)


def line_of(text: str, part: str) -> int:
    """The line on which a part of a text begins."""
    return text[: text.index(part)].count("\n") + 1
