"""The standard library evaluates no strings in a worker; honest dataclasses and signatures work."""

import pytest

from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.submissions.read_submission import Submission, read_submission

ASSIGNMENT = assignment("transformer")
SOURCES = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources
HEAD = "\nimport dataclasses, functools, inspect\n\nKEPT, EVAL = [], 'eval' + '_str'\n"
FIELDS = "@dataclasses.dataclass\nclass A:\n    note: str = ''\n\nfor each in dataclasses.fields(A):\n    {0}\n\n"
FIELDS += "@dataclasses.dataclass\nclass B(A):\n    pass\n\n"
ANNOTATED = "def f(x: 'KEPT' + '.append(1)'):\n    pass\n\n"
REFUSED = {
    "a field with code for a name": FIELDS.format("each.name += ' or KEPT.append(1)'") + "A() == B()\n",
    "a field with another name": FIELDS.format("each.name = 'other'"),
    "a signature": ANNOTATED + "inspect.signature(f, **{EVAL: True})\n",
    "a signature in parts": ANNOTATED + "functools.partial(inspect.signature, **{EVAL: True})(f)\n",
}
HONEST = {
    "a dataclass that inherits": FIELDS.format("KEPT.append(each.name)") + "assert A() != B() and KEPT == ['note']\n",
    "a signature": ANNOTATED + "assert list(inspect.signature(f).parameters) == ['x'] and KEPT == []\n",
}


def stage_with(text, workers):
    sources = {**SOURCES, "pe": SOURCES["pe"] + HEAD + text}
    return grade(Submission("", sources), ASSIGNMENT, workers, [ASSIGNMENT.stage("pe")])


@pytest.mark.parametrize("what", REFUSED)
def test_strings_are_not_evaluated(workers, what):
    report = stage_with(REFUSED[what], workers)
    assert report.points == 0
    assert "graded code cannot" in report.tests[0].message


@pytest.mark.parametrize("what", HONEST)
def test_honest_code_works(workers, what):
    assert stage_with(HONEST[what], workers).points == 5
