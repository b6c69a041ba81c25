"""Write a class's points into nbgrader's gradebook, for `nbgrader export` and formgrader.

Only the grader's results are written, as the automatic score of each stage's grade cell. Manual scores, manual extra
credit, comments and students' names stay unchanged.
"""

import contextlib
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from autograder.gradebooks.hand_in_times import timestamps
from autograder.grading.results import Report
from autograder.manifest import Assignment, Stage
from autograder.submissions.find_submissions import Found
from course.errors import UserError

CONFIG = "nbgrader_config.py"


@dataclass(frozen=True)
class Place:
    """The location of a gradebook."""

    url: str
    course: str = ""
    penalties: Any = None  # nbgrader's preprocessor for late submissions, as configured

    @property
    def name(self) -> str:
        """The address, without its password.

        Raises:
            UserError: if it is not a database address.
        """
        from sqlalchemy import make_url
        from sqlalchemy.exc import ArgumentError

        try:
            return make_url(self.url).render_as_string(hide_password=True)
        except (ArgumentError, ValueError) as error:
            raise UserError("the gradebook's address must be a database, such as sqlite:///gradebook.db") from error


def place_of(url: str) -> Place:
    """Return the gradebook at an address; "" means the gradebook that nbgrader's commands use in this folder.

    Raises:
        UserError: if this folder does not define one.
    """
    if not Path(CONFIG).is_file():
        if url:
            return Place(url)
        raise UserError(
            f"there is no {CONFIG} in this folder, so the gradebook cannot be found: run the command in the "
            "folder of the course, or give the address, for instance --gradebook sqlite:///gradebook.db"
        )
    from nbgrader.apps import NbGrader
    from nbgrader.coursedir import CourseDirectory
    from nbgrader.preprocessors import AssignLatePenalties

    app = NbGrader()
    app.raise_config_file_errors = True
    try:
        app.load_config_file()
    except Exception as error:  # the configuration file is a program
        raise UserError(f"{CONFIG} cannot be run: {type(error).__name__}: {error}") from error
    course = CourseDirectory(config=app.config)
    penalties = AssignLatePenalties(config=app.config)
    penalties.init_plugin()
    return Place(url or course.db_url, course.course_id, penalties)


@contextlib.contextmanager
def opened(place: Place, assignment: Assignment) -> Iterator[Any]:
    """Open nbgrader's gradebook. It must already contain the assignment, created by `nbgrader generate_assignment`.

    Raises:
        UserError: if it cannot be used, or has different stages or points.
    """
    from nbgrader.api import Gradebook, InvalidEntry, MissingEntry
    from sqlalchemy import make_url
    from sqlalchemy.exc import SAWarning, SQLAlchemyError

    # Without --force, nbgrader does not update the gradebook if notebooks/ exists.
    command = f"run `nbgrader generate_assignment {assignment.name} --force`"
    name, url = place.name, make_url(place.url)
    # Opening a missing file would create it.
    if url.get_backend_name() == "sqlite" and url.database and not Path(url.database).is_file():
        raise UserError(f"there is no gradebook {url.database}: {command}, or give its address after --gradebook")
    try:
        gradebook = Gradebook(place.url, place.course)
    except ModuleNotFoundError as error:
        raise UserError(f'{name} needs the package {error.name}: pip install -e ".[postgres]"') from error
    except SQLAlchemyError as error:
        raise UserError(f"cannot open the gradebook {name}: {_first_line(error)}") from error
    try:
        for stage in assignment.stages:
            notebook, cell = cell_of(stage)
            points = gradebook.find_grade_cell(cell, notebook, assignment.name).max_score
            if points != stage.max_points:
                raise UserError(f"{name} has {points:g} points for {cell}, not {stage.max_points:g}: {command} again")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SAWarning)  # nbgrader adds a submission in an odd order
            yield gradebook
    except MissingEntry as error:
        raise UserError(f"{name} does not match the current {assignment.name} ({error}): {command}") from error
    except (InvalidEntry, SQLAlchemyError) as error:
        raise UserError(f"cannot use the gradebook {name}: {_first_line(error)}") from error
    finally:
        gradebook.close()


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def cell_of(stage: Stage) -> tuple[str, str]:
    """Return nbgrader's names for the notebook and the grade cell of a stage."""
    return stage.notebook.removesuffix(".ipynb"), f"stage-{stage.name}"


def write_points(place: Place, assignment: Assignment, graded: Iterable[tuple[Found, Report]]) -> None:
    """Write students' points. Writing the same points again changes nothing.

    Args:
        graded: students with a result. If the grader failed for a student, the student's points are not changed.

    Raises:
        UserError: if the gradebook cannot be used. Points that were already written are kept.
    """
    with opened(place, assignment) as gradebook:
        for submitted, report in graded:
            gradebook.update_or_create_student(submitted.student)
            moment = {"timestamp": time} if (time := handed_in(submitted)) else {}
            submission = gradebook.update_or_create_submission(assignment.name, submitted.student, **moment)
            for result in report.stages:
                notebook, cell = cell_of(assignment.stage(result.name))
                grade = gradebook.find_grade(cell, notebook, assignment.name, submitted.student)
                if grade.manual_score is None:
                    grade.needs_manual_grade = False
                elif grade.auto_score != result.points:  # like nbgrader: a person must check a manual score again
                    grade.needs_manual_grade = True
                grade.auto_score = result.points
            gradebook.db.commit()
            if place.penalties:
                penalize(submission, place.penalties)
                gradebook.db.commit()


def penalize(submission: Any, penalties: Any) -> None:
    """Set the late penalties, which depend on the points, as `nbgrader autograde` does."""
    late = submission.total_seconds_late
    for notebook in submission.notebooks:
        plugin, score = penalties.plugin_inst, notebook.score
        penalty = plugin.late_submission_penalty(submission.student.id, score, late) if late > 0 else None
        notebook.late_submission_penalty = None if penalty is None else min(max(penalty, 0), score)


def handed_in(found: Found) -> datetime | None:
    """Return the submission time from nbgrader's timestamp next to the modules; None if there is no timestamp."""
    times, _ = timestamps([found], found.assignment.name)
    return next(iter(times.values()), None)
