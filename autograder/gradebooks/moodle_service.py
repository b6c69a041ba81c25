"""An assignment on Moodle, accessed through its web service.

An administrator must enable the service and issue a token.

Functions that the token must be allowed to call: mod_assign_get_assignments, mod_assign_list_participants,
mod_assign_get_user_mappings, mod_assign_get_submissions, mod_assign_get_grades, mod_assign_get_submission_status,
mod_assign_save_grades.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timezone
from decimal import Decimal
from html import escape, unescape
from pathlib import Path
from typing import Any

from autograder.gradebooks.class_grades import Details
from autograder.gradebooks.grading_policy import Policy
from autograder.gradebooks.moodle import moodle_roster
from autograder.gradebooks.push import Change, Held
from autograder.gradebooks.roster import FEEDBACK, Roster
from autograder.gradebooks.web_service import Service
from autograder.reports.csv_sheet import Sheet
from course.errors import UserError

TOKEN = "MOODLE_TOKEN"
AT_ONCE = 50  # students in a call: by default PHP silently drops everything beyond 1,000 fields
HEADER = (
    *("Identifier", "Full name", "Email address", "Grade", "Maximum Grade", "Grade can be changed"),
    "Last modified (grade)",
)
HTML = "1"  # Moodle's number for the format
NO_GRADE = Decimal("-1.00")


class MoodleAssignment:
    """See `push.Platform`.

    Args:
        assignment: its number in the address of its page (view.php?id=...), or its name.

    Raises:
        UserError: if there is no such assignment, or it cannot be graded with points.
    """

    def __init__(self, url: str, course: str, assignment: str) -> None:
        self._service = Service(url, TOKEN)
        self.notes: list[str] = []
        found = self._call("mod_assign_get_assignments", ("courseids[0]", course))
        there = [one for entry in found["courses"] for one in entry["assignments"]]
        fitting = [one for one in there if assignment in (str(one["cmid"]), one["name"])]
        if len(fitting) != 1:
            listed = ", ".join(f"{one['name']!r} ({one['cmid']})" for one in there) or "none"
            raise UserError(f"course {course} needs exactly one assignment {assignment!r}; assignments: {listed}")
        self._about = fitting[0]
        self._id = str(self._about["id"])
        self.title = f"{self._about['name']!r} on Moodle"
        if Decimal(str(self._about["grade"])) <= 0:
            raise UserError(f"{self.title} is graded with a scale, or not at all: set its grade type to points")
        enabled = ("assignfeedback", "comments", "enabled", "1")
        settings = (
            tuple(one.get(key) for key in ("subtype", "plugin", "name", "value")) for one in self._about["configs"]
        )
        self._takes_comments = enabled in settings
        self._texts: dict[str, str] = {}  # the existing feedback, as HTML

    def _call(self, function: str, *fields: tuple[str, str]) -> Any:
        every = [("wstoken", self._service.token), ("wsfunction", function), ("moodlewsrestformat", "json"), *fields]
        once = function == "mod_assign_save_grades"
        answer, _ = self._service.ask("/webservice/rest/server.php", every, post=True, once=once, bearer=False)
        if isinstance(answer, dict) and "exception" in answer:
            raise UserError(f"Moodle refuses {function}: {answer.get('message')} ({answer.get('errorcode')})")
        return answer

    def _of_assignment(self, function: str, what: str) -> list[Any]:
        answer = self._call(function, ("assignmentids[0]", self._id))
        return [one for entry in answer["assignments"] for one in entry[what]]

    def roster(self, students: Sequence[str], match: str | None, policy: Policy) -> Roster:
        users = self._call("mod_assign_list_participants", ("assignid", self._id), ("groupid", "0"), ("filter", ""))
        number = {one["userid"]: one["id"] for one in self._of_assignment("mod_assign_get_user_mappings", "mappings")}
        rows = [list(HEADER)]
        for user in users:
            identifier = f"Participant {number.get(user['id'], user['id'])}"
            known = [identifier, user["fullname"], user.get("email") or "", "", str(self._about["grade"]), "Yes", "-"]
            rows.append(known)
        roster = moodle_roster(Sheet(Path("Moodle"), rows), match or "id", None)
        roster.numbers = {row: str(user["id"]) for row, user in enumerate(users, start=1)}
        if policy.late:
            roster.times = self._times(users)
        return roster

    def _times(self, users: Sequence[Any]) -> dict[int, datetime]:
        """Return the submission times; a team's time applies to all its members."""
        handed_in = [
            one
            for one in self._of_assignment("mod_assign_get_submissions", "submissions")
            if one["status"] == "submitted"
        ]
        of_user = {one["userid"]: one["timemodified"] for one in handed_in}
        of_group = {one["groupid"]: one["timemodified"] for one in handed_in if not one["userid"]}
        times = {}
        for row, user in enumerate(users, start=1):
            moment = of_user.get(user["id"]) or of_group.get(user.get("groupid") or 0)
            if moment:
                times[row] = datetime.fromtimestamp(moment, timezone.utc)
        return times

    def held(self, users: Sequence[str]) -> dict[str, Held]:
        latest: dict[str, Any] = {}
        for one in self._of_assignment("mod_assign_get_grades", "grades"):
            user = str(one["userid"])
            if user not in latest or one["attemptnumber"] >= latest[user]["attemptnumber"]:
                latest[user] = one
        found = {}
        for user in users:
            grade = Decimal(latest[user]["grade"] or "-1").quantize(NO_GRADE) if user in latest else NO_GRADE
            text = self._texts[user] = self._text(user) if self._takes_comments and user in latest else ""
            takes_comment = self._takes_comments and (not text or FEEDBACK in text)
            found[user] = Held(None if grade == NO_GRADE else grade, (_plain(text),), takes_comment=takes_comment)
        return found

    def _text(self, user: str) -> str:
        answer = self._call("mod_assign_get_submission_status", ("assignid", self._id), ("userid", user))
        plugins = (answer.get("feedback") or {}).get("plugins") or ()
        texts = [one["text"] for plugin in plugins if plugin["type"] == "comments" for one in plugin["editorfields"]]
        return texts[0] if texts else ""

    def criteria(self, details: Details) -> dict[str, Decimal]:
        return {}

    def send(self, changes: Sequence[Change]) -> None:
        """Send the grades, `AT_ONCE` per call. Feedback from other people is kept."""
        state = "readyforrelease" if self._about.get("markingworkflow") else ""
        if state:
            self.notes.append("the assignment has a marking workflow: release the grades in Moodle")
        for first in range(0, len(changes), AT_ONCE):
            fields = [("assignmentid", self._id), ("applytoall", "0")]
            for at, change in enumerate(changes[first : first + AT_ONCE]):
                entry = {
                    "userid": change.user,
                    "grade": str(change.grade),
                    "attemptnumber": "-1",
                    "addattempt": "0",
                    "workflowstate": state,
                }
                fields += [(f"grades[{at}][{key}]", value) for key, value in entry.items()]
                if self._takes_comments:
                    editor = f"grades[{at}][plugindata][assignfeedbackcomments_editor]"
                    fields += [(f"{editor}[text]", self._feedback(change)), (f"{editor}[format]", HTML)]
            self._call("mod_assign_save_grades", *fields)

    def _feedback(self, change: Change) -> str:
        return escape(change.comment).replace("\n", "<br>") or self._texts.get(change.user, "")


def _plain(html: str) -> str:
    """Return the text of feedback that we sent, without the HTML that Moodle added."""
    return unescape(re.sub(r"<[^>]*>", "", re.sub(r"<br\s*/?>\n?", "\n", html))).strip()
