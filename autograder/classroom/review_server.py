"""The server for `python -m autograder review`. Its review page saves changes in a class's results folder.

It only accepts connections from this machine. Each reviewer has a link with a personal secret, which the browser keeps
in a cookie. The author of every change is therefore known. Requests from other sites are refused: the host in the
address must be this machine, and changes must come from the page itself.
"""

import hmac
import json
import re
import threading
from collections.abc import Mapping
from dataclasses import replace
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from autograder.classroom.pseudonyms import page_without_name, pseudonym, without_name
from autograder.classroom.reviewers import read_reviewers
from autograder.classroom.saved_results import read_result
from autograder.grading.results import Report
from autograder.reports.review_file import NAME as REVIEW
from autograder.reports.review_file import Decision, read_review, refuse, with_review
from autograder.reports.review_page import places, review_html
from autograder.reports.review_tables import FILES, Conflict, Row, change, decisions, read_tables
from course.errors import UserError

HERE = ("127.0.0.1", "localhost")
MOST_BYTES = 65_536  # the limit for one change
PAGE = re.compile(r"/(staff|feedback)/([\w.-]+\.html)", re.ASCII)


class Review:
    """A class under review, shared by all requests to a server.

    Raises:
        UserError: if the folder has no results, or its tables are wrong.
    """

    def __init__(self, folder: Path, anonymous: bool) -> None:
        self.folder, self.anonymous, self.changes = folder, anonymous, 0
        self._lock = threading.Lock()
        self._seen: dict[Path, tuple[int, str, Report | None]] = {}
        try:
            self._secret = str(json.loads((folder / "batch.json").read_bytes())["seed"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{folder} has no results of batch: run batch first") from error
        read_review(folder)

    def raw(self) -> dict[str, Report]:
        """Return the grader's report for each student, except students for whom the grader failed."""
        return {student: report for student, (_, report) in self._records().items()}

    def _records(self) -> dict[str, tuple[str, Report]]:
        """Return each student's page name and report; a report is reread only if it has changed."""
        found = {}
        for path in sorted((self.folder / "results").glob("*.json")):
            changed = path.stat().st_mtime_ns
            seen = self._seen.get(path)
            if seen is None or seen[0] != changed:
                entry, report = read_result(path)
                seen = self._seen[path] = changed, str(entry["student"]), report
            if seen[2] is not None:
                found[seen[1]] = f"{path.stem}.html", seen[2]
        return found

    def shown(self, student: str) -> str:
        """Return the name that reviewers see for a student."""
        return pseudonym(self._secret, student) if self.anonymous and student else student

    def real(self, shown: str) -> str:
        """Return a submission's real name, given the name that reviewers see.

        Raises:
            UserError: if there is none.
        """
        found = next((student for student in self.raw() if self.shown(student) == shown), None)
        if found is None:
            raise UserError(f"there is no submission of {shown!r}")
        return found

    def decisions(self) -> dict[str, list[Decision]]:
        """Return the staff's decisions for each student. Decisions and messages use the names that reviewers see.

        Raises:
            UserError: if the tables are wrong.
        """
        found, wrong = decisions(self.folder, self.shown)
        refuse(self.folder / REVIEW, wrong)
        return found

    def tables(self) -> dict[str, list[Row]]:
        """Return the tables, with students' names as reviewers see them."""
        return {name: [self._renamed(row) for row in rows] for name, rows in read_tables(self.folder).items()}

    def _renamed(self, row: Row) -> Row:
        return {**row, "student": self.shown(row["student"])} if "student" in row else row

    def page(self, who: str) -> str:
        """Return the page for a reviewer."""
        decided, pages, reports = self.decisions(), {}, []
        for student, (page, report) in self._records().items():
            shown = self.shown(student)
            pages[shown] = f"{shown}.html" if self.anonymous else page
            notes = tuple(without_name(note, student, shown) for note in report.review)
            reports.append(with_review(replace(report, submission=shown, review=notes), decided.get(shown, [])))
        if self.anonymous:
            reports.sort(key=lambda one: one.submission)
        reviewers = {self.shown(student): reviewer for student, reviewer in read_reviewers(self.folder).items()}
        return review_html(reports, self.tables(), pages, reviewers, who, self.anonymous)

    def file(self, folder: str, name: str) -> str | None:
        """Return a page written by batch; None if it does not exist, or would reveal students' names."""
        student = None
        if self.anonymous:
            pages = {f"{self.shown(one)}.html": (one, page) for one, (page, _) in self._records().items()}
            if name not in pages or folder != "staff":
                return None
            student, name = pages[name]
        path = self.folder / folder / name
        if not path.is_file():
            return None
        text = path.read_text(encoding="utf-8", errors="replace")
        return page_without_name(text, student, self.shown(student)) if student else text

    def places(self, shown: str) -> dict[str, Any]:
        """Return a student's current points."""
        return places(with_review(self.raw()[self.real(shown)], self.decisions().get(shown, [])))

    def change(self, who: str, asked: Mapping[str, Any]) -> None:
        """Apply a change; concurrent changes are applied one at a time.

        Raises:
            Conflict: if the row no longer exists.
            UserError: if the change is not valid.
        """
        table, before, after = asked.get("table"), asked.get("before"), asked.get("after")
        rows = [row for row in (before, after) if row is not None]
        if table not in FILES or not rows or not all(isinstance(row, dict) for row in rows):
            raise UserError("a change needs a table, and a row before or after the change")
        with self._lock:
            before, after = (row and self._with_real_name(row) for row in (before, after))
            change(self.folder, table, before, after, who, self.raw(), self.shown)
            self.changes += 1

    def _with_real_name(self, row: Row) -> Row:
        row = {str(name): str(text) for name, text in row.items()}
        if self.anonymous and "student" in row:
            rows = (one for rows in read_tables(self.folder).values() for one in rows if "student" in one)
            known = {self.shown(one["student"]): one["student"] for one in rows}
            row["student"] = known.get(row["student"]) or self.real(row["student"])
        return row


class Server(ThreadingHTTPServer):
    """Serves the pages of a class to its reviewers; it only accepts connections from this machine.

    Args:
        secrets: the secret of each reviewer's link -> the reviewer's name.
    """

    daemon_threads = True

    def __init__(self, review: Review, secrets: Mapping[str, str], port: int) -> None:
        self.review, self.secrets = review, secrets
        super().__init__(("127.0.0.1", port), Handler)

    def link(self, secret: str) -> str:
        """Return the link for the reviewer with this secret."""
        return f"http://127.0.0.1:{self.server_port}/?token={secret}"


class Handler(BaseHTTPRequestHandler):
    """Handles one request."""

    server: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        query = parse_qs(address.query)
        if not self._of_this_machine():
            return
        if secret := query.get("token", [""])[0]:
            self._sign_in(secret)
        elif who := self._who():
            self._answer(lambda: self._get(unquote(address.path), query, who))

    def _get(self, path: str, query: Mapping[str, list[str]], who: str) -> None:
        review = self.server.review
        if path == "/api/state":
            self._json(review.tables())
        elif path == "/api/places":
            self._json(review.places(query.get("student", [""])[0]))
        elif path == "/":
            self._redirect("/review.html")
        elif path == "/review.html":
            self._send(200, review.page(who), "text/html; charset=utf-8")
        elif path == "/report.html" and not review.anonymous:
            self._page(review.file("", "report.html"))
        elif matched := PAGE.fullmatch(path):
            self._page(review.file(*matched.groups()))
        else:
            self._page(None)

    def do_POST(self) -> None:
        if not self._of_this_machine() or not (who := self._who()):
            return
        length = self.headers.get("Content-Length", "")
        origin = urlsplit(self.headers.get("Origin", ""))
        if not length.isdecimal() or int(length) > MOST_BYTES:
            self._error(413, "the change is too large")
        elif origin.netloc != self.headers["Host"] or self.headers.get_content_type() != "application/json":
            self._error(403, "changes must come from the review page")
        elif self.path != "/api/change":
            self._error(404, "nothing can be written to this address")
        else:
            body = self.rfile.read(int(length))
            self._answer(lambda: self._change(body, who))

    def _change(self, body: bytes, who: str) -> None:
        try:
            asked = json.loads(body)
            if not isinstance(asked, dict):
                raise ValueError
        except ValueError:
            self._error(400, "a change must be a JSON object")
            return
        try:
            self.server.review.change(who, asked)
        except Conflict as conflict:
            self._error(409, str(conflict))
        else:
            self._json(self.server.review.tables())

    def _answer(self, work: Any) -> None:
        try:
            work()
        except UserError as error:
            self._error(422, str(error))

    def _of_this_machine(self) -> bool:
        # A page from another site, whose name was made to resolve to this machine, would send its own name.
        if urlsplit(f"//{self.headers.get('Host', '')}").hostname in HERE:
            return True
        self._error(403, "this server answers to 127.0.0.1 only")
        return False

    def _sign_in(self, secret: str) -> None:
        if any(hmac.compare_digest(secret.encode(), one.encode()) for one in self.server.secrets):
            cookie = f"{self._cookie()}={secret}; HttpOnly; SameSite=Lax; Path=/"
            self._redirect("/review.html", ("Set-Cookie", cookie))
        else:
            self._error(403, "this link is from an earlier run: use the link that the command printed")

    def _cookie(self) -> str:
        return f"review-{self.server.server_port}"  # cookies do not distinguish ports

    def _who(self) -> str:
        """Return the reviewer's name; for anybody else, send an error and return ""."""
        try:
            found = SimpleCookie(self.headers.get("Cookie", "")).get(self._cookie())
        except CookieError:
            found = None
        secret = found.value if found else ""
        for known, who in self.server.secrets.items():
            if hmac.compare_digest(secret.encode(), known.encode()):
                return who
        self._error(403, "open the link that the command printed")
        return ""

    def _page(self, html: str | None) -> None:
        if html is None:
            self._error(404, "there is no such page" + " in an anonymous review" * self.server.review.anonymous)
        else:
            self._send(200, html, "text/html; charset=utf-8")

    def _json(self, value: Any) -> None:
        self._send(200, json.dumps(value, ensure_ascii=False), "application/json")

    def _error(self, status: int, words: str) -> None:
        self.close_connection = True  # the unread rest of this request must not be read as the next request
        self._send(status, words, "text/plain; charset=utf-8")

    def _redirect(self, path: str, *headers: tuple[str, str]) -> None:
        self._send(303, "", "text/plain", ("Location", path), *headers)

    def _send(self, status: int, text: str, kind: str, *headers: tuple[str, str]) -> None:
        body = text.encode("utf-8", errors="replace")
        self.send_response(status)
        fixed = (("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"))
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(body))), *fixed, *headers):
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing; changes are logged in the results folder."""
