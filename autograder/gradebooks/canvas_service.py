"""An assignment on Canvas, accessed through its REST API.

This requires a teacher's token (from Account, Settings, New Access Token).
"""

import time
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from autograder.gradebooks.canvas import best_way, canvas_roster
from autograder.gradebooks.class_grades import Details
from autograder.gradebooks.grading_policy import Policy
from autograder.gradebooks.hand_in_times import read_moment
from autograder.gradebooks.match_students import normal
from autograder.gradebooks.push import Change, Held
from autograder.gradebooks.roster import Roster
from autograder.gradebooks.web_service import NotThere, Service
from autograder.reports.csv_sheet import Sheet
from course.errors import UserError

TOKEN = "CANVAS_TOKEN"
PATIENCE, POLL = 600.0, 1.0  # seconds for Canvas to process one call
HEADER = ("Student", "ID", "SIS User ID", "SIS Login ID", "Email", "Section")


class CanvasAssignment:
    """See `push.Platform`.

    Raises:
        UserError: if there is no such assignment, or it cannot be graded with points.
    """

    def __init__(self, url: str, course: str, assignment: str) -> None:
        self._service = Service(url, TOKEN)
        self._course = f"/api/v1/courses/{course}"
        self._place = f"{self._course}/assignments/{assignment}"
        try:
            self._about, _ = self._service.ask(self._place)
        except NotThere:
            raise UserError(self._unknown(course, assignment)) from None
        self.title, self.notes = f"{self._about['name']!r} on Canvas", list[str]()
        if self._about.get("grading_type", "points") != "points":
            raise UserError(f"{self.title} is graded with {self._about['grading_type']}: set it to points in Canvas")
        if not self._about.get("published", True):
            raise UserError(f"{self.title} is not published: Canvas accepts no grades for it")
        if self._about.get("moderated_grading") and not self._about.get("grades_published"):
            raise UserError(f"{self.title} is moderated: Canvas accepts no grades until the moderator releases them")
        self._criteria = self._about.get("rubric") or []

    def _unknown(self, course: str, assignment: str) -> str:
        """Return an error message that names the unknown course or assignment."""
        try:
            there = self._all(f"{self._course}/assignments")
        except NotThere:
            return f"there is no course {course} on Canvas: check course in [lms] of course.toml, or --course"
        listed = ", ".join(f"{one['name']!r} ({one['id']})" for one in there) or "none"
        return f"there is no assignment {assignment} in course {course} on Canvas; assignments: {listed}"

    def _all(self, path: str, *fields: tuple[str, str]) -> list[Any]:
        """Return the entries from all pages of a list."""
        found, following = self._service.ask(path, [*fields, ("per_page", "100")])
        while following:
            page, following = self._service.ask(following)
            found += page
        return list(found)

    def _submissions(self) -> list[Any]:
        fields = [("include[]", "submission_comments"), ("include[]", "rubric_assessment")]
        found = self._all(f"{self._place}/submissions", *fields)
        if any("user_id" not in one for one in found):
            raise UserError(f"{self.title} is graded anonymously: Canvas does not show who made a submission")
        return found

    def roster(self, students: Sequence[str], match: str | None, policy: Policy) -> Roster:
        handed_in = {str(one["user_id"]): one for one in self._submissions()}
        column = f"{self._about['name']} ({self._about['id']})"
        rows = [
            [*HEADER, column],
            ["    Points Possible", *[""] * (len(HEADER) - 1), str(self._about["points_possible"])],
        ]
        for user in self._all(f"{self._course}/users", ("enrollment_type[]", "student")):
            number = str(user["id"])
            held = handed_in.get(number)
            cell = "N/A" if held is None else "EX" if held.get("excused") else ""
            known = (user.get(key) or "" for key in ("sis_user_id", "login_id", "email"))
            rows.append([user.get("sortable_name") or user["name"], number, *map(str, known), "", cell])
        sheet = Sheet(Path("Canvas"), rows)
        roster = canvas_roster(sheet, column, match or best_way(sheet, column, students))
        if policy.late:
            moments = {user: one["submitted_at"] for user, one in handed_in.items() if one.get("submitted_at")}
            roster.times = {
                row: read_moment(moments[number], None) for row, number in roster.numbers.items() if number in moments
            }
        return roster

    def held(self, users: Sequence[str]) -> dict[str, Held]:
        found, wanted = {}, set(users)
        for one in self._submissions() if users else ():
            # Canvas' own late policy deducts points from the score; we compare with the score that was entered.
            score = one["entered_score"] if one.get("entered_score") is not None else one.get("score")
            if str(one["user_id"]) in wanted:
                rubric = {
                    key: Decimal(str(given["points"]))
                    for key, given in (one.get("rubric_assessment") or {}).items()
                    if given.get("points") is not None
                }
                comments = tuple(str(said["comment"]) for said in one.get("submission_comments") or ())
                found[str(one["user_id"])] = Held(None if score is None else _cents(score), comments, rubric)
        return found

    def criteria(self, details: Details) -> dict[str, Decimal]:
        named = {normal(name): stage for stage in details.stages for name in (stage.name, stage.title)}
        found = {}
        for criterion in self._criteria:
            stage = named.get(normal(criterion["description"]))
            if stage is None or Decimal(str(criterion["points"])) != _cents(stage.full):
                self._leave_rubric(f"its criterion {criterion['description']!r} is not a stage with the same points")
                return {}
            found[str(criterion["id"])] = _cents(stage.points)
        if found and self._about.get("use_rubric_for_grading"):
            self._leave_rubric("it is used for grading, so its sum would replace the grade")
            return {}
        return found

    def _leave_rubric(self, why: str) -> None:
        if (note := f"the rubric on Canvas is left alone: {why}") not in self.notes:
            self.notes.append(note)

    def send(self, changes: Sequence[Change]) -> None:
        """Send all changes in one call, and wait until Canvas has processed the call."""
        fields = []
        for change in changes:
            data = f"grade_data[{change.user}]"
            fields.append((f"{data}[posted_grade]", str(change.grade)))
            if change.comment:
                fields.append((f"{data}[text_comment]", change.comment))
            for criterion, points in change.rubric.items():
                fields.append((f"{data}[rubric_assessment][{criterion}][points]", str(points)))
        progress, _ = self._service.ask(f"{self._place}/submissions/update_grades", fields, post=True, once=True)
        until = time.monotonic() + PATIENCE
        while progress["workflow_state"] in ("queued", "running"):
            if time.monotonic() > until:
                raise UserError(f"Canvas is still working after {PATIENCE:g} seconds: run the same command again later")
            time.sleep(POLL)
            progress, _ = self._service.ask(f"/api/v1/progress/{progress['id']}")
        if progress["workflow_state"] == "failed":
            self.notes.append(f"Canvas reports a failure: {progress.get('message') or 'no message'}")


def _cents(value: object) -> Decimal:
    return Decimal(str(float(value))).quantize(Decimal("0.01"))  # type: ignore[arg-type]
