"""Libraries that a graded run does not have are missing in every run, so that nobody learns of it from the grade."""

import re

import pytest

from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.sandbox.confine import unsupported
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import Submission, read_submission
from course import HOMES
from tests.support.confining import start
from tests.support.worth import FULL

ASSIGNMENT = assignment("transformer")
SOURCES = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources
FALLBACK = "try:\n    import pytest as p\nexcept ImportError:\n    p = None\n"
# At the top of mha.py: safetensors is installed wherever the grader is, sympy wherever torch is, pytest here.
MISSING = [
    "import safetensors",
    "from safetensors.torch import load",
    "import sympy",
    "import pytest",
    "import nowhere",
]
FINE = [
    FALLBACK,
    "import numpy.linalg",
    "import json, decimal, zoneinfo",
    "import typing_extensions",
    "import pe",
    "import course",
]


def graded(workers, text: str, hidden: int | None = None):
    changed = {**SOURCES, "pe": text + "\n" + SOURCES["pe"]}
    return grade(Submission("", changed), ASSIGNMENT, workers, [ASSIGNMENT.stage("pe")], hidden_seed=hidden)


@pytest.fixture(scope="module", params=["free", "confined"])
def some_workers(request):
    confined = request.param == "confined"
    if confined and unsupported():
        pytest.skip(unsupported())
    workers = make_workers(confined=confined)
    yield workers
    workers.close()


@pytest.mark.parametrize("text", MISSING)
def test_other_libraries_are_missing_everywhere(text, some_workers):
    library = re.split(r"[ .]", text)[1]
    for hidden in (None, 1):
        report = graded(some_workers, text, hidden)
        assert report.points == 0
        message = report.tests[0].message
        assert message.startswith(f"ModuleNotFoundError: No module named '{library}': {library} is not available")
        assert "graded run, which offers the standard library, numpy, torch, einops, tqdm and matplotlib" in message


# Of `course` too: what a confined worker does not have is missing in a student's own run.
OF_COURSE = [
    *(
        "import course.training",
        "import course.data",
        "from course import training",
        "from course.training import loop",
    ),
    *("from course.translation import decoding", "from course import show_heatmaps, translation"),
]


@pytest.mark.parametrize("text", OF_COURSE)
def test_other_modules_of_the_course_are_missing_everywhere(text, some_workers):
    report = graded(some_workers, text)
    assert report.points == 0
    assert "a graded run has only what `from course import ...` offers" in report.tests[0].message


@pytest.mark.parametrize("name", sorted(HOMES))
def test_what_the_course_offers_is_there_everywhere(name, some_workers):
    student = start(some_workers, f"import {HOMES[name]}\nfrom course import {name}\ndef call():\n    return 1\n")
    try:
        assert student.own.call() == 1
    finally:
        student.close()


def test_what_is_available_is_so_everywhere_and_a_fallback_works(some_workers):
    for hidden in (None, 1):
        assert graded(some_workers, "\n".join(FINE), hidden).points == FULL["pe"]


def test_an_import_that_is_not_reached_costs_nothing(some_workers):
    assert graded(some_workers, "def unused():\n    import pytest\n").points == FULL["pe"]
