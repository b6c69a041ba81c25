"""Small stand-ins for Canvas and Moodle: what they answer, by their documentation and source, and what goes wrong."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

SECRET = "s3cret-token"
Fields = list[tuple[str, str]]


class Fake:
    """A platform: `answer` returns status, JSON and headers for a request."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[tuple[str, str, Fields]] = []
        self.trouble: list[int | str] = []  # for the next requests: a status, or "drop" to close without an answer
        self.after_writing: list[int | str] = []  # the same, after a request that has changed something

    def answer(self, method: str, path: str, fields: Fields) -> tuple[int, Any, dict[str, str]]:
        raise NotImplementedError

    def writes(self) -> list[Fields]:
        """The requests that change something."""
        raise NotImplementedError


@contextmanager
def running(fake: Fake) -> Iterator[Any]:
    """The platform at an address of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            address = urlsplit(self.path)
            length = int(self.headers.get("Content-Length", 0))
            text = self.rfile.read(length).decode() if length else address.query
            fields = parse_qsl(text, keep_blank_values=True)
            fake.asked.append((self.command, address.path, fields))
            trouble = fake.trouble.pop(0) if fake.trouble else 0
            if trouble == 0:
                before = len(fake.writes())
                token = (self.headers.get("Authorization", ""), dict(fields).get("wstoken"))
                status, value, headers = (
                    fake.answer(self.command, address.path, fields)
                    if token in ((f"Bearer {SECRET}", None), ("", SECRET))
                    else (401, {"errors": "Invalid access token."}, {})
                )
                if len(fake.writes()) > before and fake.after_writing:
                    trouble = fake.after_writing.pop(0)
            if trouble == "drop":
                self.close_connection = True
                return
            if trouble:
                status, value, headers = int(trouble), {"errors": "trouble"}, {"Location": "http://127.0.0.1:1/"}
            body = json.dumps(value).encode()
            self.send_response(status)
            for name, text in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        fake.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()


class FakeCanvas(Fake):
    """A course of Canvas with one assignment, 12. Lists have pages of two."""

    def __init__(self, students: dict[int, str], **about: Any) -> None:
        super().__init__()
        self.about = {"id": 12, "name": "Transformer", "points_possible": 100.0, "published": True, **about}
        self.users = [
            {"id": number, "name": name, "sortable_name": name, "login_id": name, "sis_user_id": None}
            for number, name in students.items()
        ]
        self.submissions: dict[int, dict[str, Any]] = {
            number: {"user_id": number, "score": None, "submission_comments": [], "submitted_at": None}
            for number in students
        }
        self.bulk: list[Fields] = []
        self.refuses: set[int] = set()  # students whose grades get lost, as Canvas does without a word
        self.waiting = 2  # how often a progress is still running

    def writes(self) -> list[Fields]:
        return self.bulk

    def answer(self, method: str, path: str, fields: Fields) -> tuple[int, Any, dict[str, str]]:
        place = path.removeprefix("/api/v1")
        if (method, place) == ("POST", "/courses/7/assignments/12/submissions/update_grades"):
            self.bulk.append(fields)
            for key, text in fields:
                self._write(key, text)
            return 200, {"id": 99, "workflow_state": "queued"}, {}
        if place == "/progress/99":
            self.waiting -= 1
            return 200, {"id": 99, "workflow_state": "running" if self.waiting >= 0 else "completed"}, {}
        lists = {
            "/courses/7/assignments": [self.about],
            "/courses/7/users": self.users,
            "/courses/7/assignments/12/submissions": [*self.submissions.values()],
        }
        if place in lists:
            page = int(dict(fields).get("page", "1"))
            following = f'<{self.url}{path}?page={page + 1}>; rel="next", <{self.url}{path}>; rel="first"'
            more = len(lists[place]) > 2 * page
            return 200, lists[place][2 * page - 2 : 2 * page], {"Link": following} if more else {}
        if place == "/courses/7/assignments/12":
            return 200, self.about, {}
        return 404, {"errors": [{"message": "The specified resource does not exist."}]}, {}

    def _write(self, key: str, text: str) -> None:
        user, what, *more = re.findall(r"\[([^]]*)\]", key)
        held = self.submissions[int(user)]
        if int(user) in self.refuses:
            return
        if what == "posted_grade":
            held["score"] = float(text)
        elif what == "text_comment":
            held["submission_comments"].append({"comment": text})
        else:
            assert (what, more[1]) == ("rubric_assessment", "points")
            held.setdefault("rubric_assessment", {})[more[0]] = {"points": float(text)}


class FakeMoodle(Fake):
    """A course of Moodle with one assignment, number 5, at view.php?id=55. Participants have numbers of their own."""

    def __init__(self, students: dict[int, str], **about: Any) -> None:
        super().__init__()
        settings = {"plugin": "comments", "subtype": "assignfeedback", "name": "enabled", "value": "1"}
        self.about = {"id": 5, "cmid": 55, "name": "Transformer", "grade": 100, "configs": [settings], **about}
        self.students = students
        self.group_of: dict[int, int] = {}  # the team of a student
        self.grades: dict[int, str] = {}
        self.texts: dict[int, str] = {}
        self.handed_in: list[dict[str, Any]] = []
        self.calls: list[Fields] = []

    def writes(self) -> list[Fields]:
        return self.calls

    def answer(self, method: str, path: str, fields: Fields) -> tuple[int, Any, dict[str, str]]:
        assert (method, path) == ("POST", "/webservice/rest/server.php")
        given = dict(fields)
        assert given["moodlewsrestformat"] == "json"
        assert len(fields) < 1000  # PHP drops the rest
        name = given["wsfunction"].removeprefix("mod_assign_")
        if not hasattr(self, f"_{name}"):
            return 200, {"exception": "x", "errorcode": "accessexception", "message": "Access control exception"}, {}
        return 200, getattr(self, f"_{name}")(given), {}

    def _get_assignments(self, given: dict[str, str]) -> Any:
        return {"courses": [{"id": 7, "assignments": [self.about]}] if given["courseids[0]"] == "7" else []}

    def _list_participants(self, given: dict[str, str]) -> Any:
        assert given["assignid"] == "5"
        groups = {number: self.group_of.get(number, 0) for number in self.students}
        return [{"id": number, "fullname": name, "groupid": groups[number]} for number, name in self.students.items()]

    def _get_user_mappings(self, given: dict[str, str]) -> Any:
        mappings = [{"id": number + 1000, "userid": number} for number in self.students]
        return {"assignments": [{"assignmentid": 5, "mappings": mappings}]}

    def _get_submissions(self, given: dict[str, str]) -> Any:
        return {"assignments": [{"assignmentid": 5, "submissions": self.handed_in}]}

    def _get_grades(self, given: dict[str, str]) -> Any:
        grades = [{"userid": number, "attemptnumber": 0, "grade": text} for number, text in self.grades.items()]
        return {"assignments": [{"assignmentid": 5, "grades": grades}] if grades else []}

    def _get_submission_status(self, given: dict[str, str]) -> Any:
        text = self.texts.get(int(given["userid"]), "")
        field = {"name": "comments", "text": f"<p>{text}</p>" if text else ""}
        return {"feedback": {"plugins": [{"type": "comments", "editorfields": [field]}]}} if text else {}

    def _save_grades(self, given: dict[str, str]) -> Any:
        self.calls.append(list(given.items()))
        at = 0
        while (user := given.get(f"grades[{at}][userid]")) is not None:
            self.grades[int(user)] = f"{float(given[f'grades[{at}][grade]']):.5f}"
            if self.about["configs"]:  # Moodle fails where the plugin is on and its text is not sent
                editor = f"grades[{at}][plugindata][assignfeedbackcomments_editor]"
                assert given[f"{editor}[format]"] == "1"
                self.texts[int(user)] = given[f"{editor}[text]"]
            at += 1
