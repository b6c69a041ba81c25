"""A term with every assignment in one course: release, hand in, nbgrader, batch, grade book, export (`make term`)."""

import csv
import shutil
from dataclasses import dataclass

import pytest

from autograder.diagnosis.mistakes import all_mistakes
from autograder.manifest import Assignment, assignment, assignments
from autograder.submissions.read_submission import read_submission
from tests.support.nbgrading import ROOT, Course

pytestmark = pytest.mark.slow
GOALS = [assignment(name) for name in assignments()]
STUDENTS = ("right", "nothing", "slips")


def slips(goal: Assignment) -> dict[str, str]:
    """The solution with a known mistake in the last stage, one that its visible tests see."""
    mistakes = [one for one in all_mistakes(goal.name) if one.seen_by == "visible" and not one.random]
    return mistakes[-1].apply(read_submission(goal.solution, goal).sources)


@dataclass
class Term:
    course: Course
    graded: dict[str, dict[str, dict[str, str]]]  # by assignment and student, the row of grades.csv
    book: dict[str, dict[str, float]]  # of nbgrader, before batch writes into it


def scores(course: Course) -> dict[str, dict[str, float]]:
    """By assignment and student the points in nbgrader's grade book."""
    from nbgrader.api import Gradebook

    with Gradebook(course.database) as gradebook:
        return {
            goal.name: {one.student.id: one.score for one in gradebook.assignment_submissions(goal.name)}
            for goal in GOALS
        }


@pytest.fixture(scope="module")
def term(tmp_path_factory: pytest.TempPathFactory) -> Term:
    course = Course(tmp_path_factory.mktemp("term"))
    for goal in GOALS:
        course.nbgrader("generate_assignment", goal.name)
        for student in STUDENTS:
            target = course.folder / "submitted" / student / goal.name
            shutil.copytree(course.folder / "notebooks" / goal.name, target)
            sources = {"right": read_submission(goal.solution, goal).sources, "nothing": {}, "slips": slips(goal)}
            for module, text in sources[student].items():
                (target / f"{module}.py").write_text(text, encoding="utf-8")
        course.nbgrader("autograde", goal.name)
        course.nbgrader("generate_feedback", goal.name)
    book, graded = scores(course), {}
    for goal in GOALS:
        command = ["batch", "submitted", "--assignment", goal.name, "--out", f"graded/{goal.name}", "--gradebook"]
        done = course.run("-m", "autograder", *command)
        assert done.returncode == 0, done.stdout + done.stderr
        with (course.folder / "graded" / goal.name / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
            graded[goal.name] = {row["student"]: row for row in csv.DictReader(file)}
    return Term(course, graded, book)


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: goal.name)
def test_every_way_of_grading_gives_the_same_points(term: Term, goal: Assignment):
    full = sum(stage.max_points for stage in goal.stages)
    rows = term.graded[goal.name]
    assert set(rows) == set(STUDENTS)
    points = {student: sum(float(rows[student][stage.name]) for stage in goal.stages) for student in STUDENTS}
    assert (points["right"], points["nothing"]) == (full, 0)
    last = goal.stages[-1]
    assert full - last.max_points <= points["slips"] < full
    assert term.book[goal.name]["right"] == full
    assert term.book[goal.name]["nothing"] == 0
    assert points["slips"] <= term.book[goal.name]["slips"] < full  # the hidden tests may see more
    assert scores(term.course)[goal.name] == points


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: goal.name)
def test_every_student_gets_feedback_on_every_notebook(term: Term, goal: Assignment):
    for student in STUDENTS:
        pages = {page.stem for page in (term.course.folder / "feedback" / student / goal.name).glob("*.html")}
        assert pages >= {stage.notebook.removesuffix(".ipynb") for stage in goal.stages}


def test_one_export_has_all_assignments(term: Term):
    term.course.nbgrader("export", "--to=exported.csv")
    with (term.course.folder / "exported.csv").open(encoding="utf-8", newline="") as file:
        rows = {(row["assignment"], row["student_id"]): float(row["score"]) for row in csv.DictReader(file)}
    assert rows == {
        (goal.name, student): points for goal in GOALS for student, points in scores(term.course)[goal.name].items()
    }


def test_the_modules_of_the_assignments_do_not_shadow_each_other():
    """One folder may hold the modules of all of them, and one kernel load them."""
    names = [module for goal in GOALS for module in goal.modules]
    assert len(names) == len(set(names))
    assert not set(names) & {path.name for path in ROOT.iterdir()}
