"""Where it does not follow which line is wrong, a verdict names none."""

from autograder.grading.grade_submission import grade
from autograder.grading.results import TestResult
from autograder.manifest import assignment
from autograder.submissions.read_submission import Submission, read_submission

ASSIGNMENT = assignment("variants")
SOURCES = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources


def failed(workers, stage: str, module: str, old: str, new: str) -> TestResult:
    """The first failed test of the solution with a text replaced where it stands first."""
    assert old in SOURCES[module]
    sources = {**SOURCES, module: SOURCES[module].replace(old, new, 1)}
    report = grade(Submission("", sources), ASSIGNMENT, workers, [ASSIGNMENT.stage(stage)])
    return next(test for test in report.tests if test.status != "passed")


def test_numbers_too_small_to_be_told_apart_prove_no_line_right(workers):
    """The variance of the first inputs is near 1e-6, with either divisor: not the line behind it is to blame."""
    biased = "(x - mean).pow(2).mean(dim=-1, keepdim=True)"
    test = failed(workers, "layers", "layers", biased, "x.var(dim=-1, keepdim=True)")
    assert test.mistake
    assert test.marks == ()


def test_nan_names_no_line(workers):
    """Some correct programs come upon NaN on their way, and end without."""
    test = failed(workers, "heads", "heads", "torch.finfo(scores.dtype).min", 'float("-inf")')
    assert "NaN" in test.message
    assert test.pointed == ()


def test_what_an_exception_kept_from_being_called_is_not_missed(workers):
    test = failed(workers, "lm", "language_model", "self(tokens[:, :-1])", "self(tokens)[:, :-1]")
    assert test.message.startswith("ValueError")
    assert "never called" not in " ".join(test.pointed)
