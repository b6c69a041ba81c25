"""The seed of the hidden tests: one for a class, or one for each submission."""

from types import SimpleNamespace
from typing import Any

import pytest

from autograder.classroom.hidden_seed import seed_of_student
from autograder.classroom.job_processes import Grader, Settings
from autograder.submissions.read_submission import nothing_readable
from tests.support.batches import ASSIGNMENT
from tests.support.pages import make_report


def test_seeds_of_students_depend_on_class_and_name_only():
    seeds = {(seed, name): seed_of_student(seed, name) for seed in (1, 2) for name in ("anna", "bob", "Übung")}
    assert len(set(seeds.values())) == 6
    assert seeds[1, "anna"] == seed_of_student(1, "anna") == 3314799647284161285
    assert all(0 <= seed < 2**63 for seed in seeds.values())


@pytest.mark.parametrize("per_student", [False, True])
def test_by_default_all_have_the_same_inputs(monkeypatch, per_student):
    seen = []

    def grade(submission: Any, *_: Any, book: Any, **more: Any) -> Any:
        seen.append(book.hidden_seed)
        return make_report(name=submission.name)

    monkeypatch.setattr("autograder.grading.grade_submission.grade", grade)
    monkeypatch.setattr("autograder.sandbox.worker_processes.make_workers", lambda **_: SimpleNamespace())
    grader = Grader(Settings(ASSIGNMENT.name, 5, 60.0, True, "hash", per_student))
    for name in ("anna", "bob", "anna"):
        assert not grader.grade(nothing_readable(name, "nothing", ASSIGNMENT)).fault
    own = [seed_of_student(5, name) for name in ("anna", "bob", "anna")]
    assert seen == (own if per_student else [5, 5, 5])
