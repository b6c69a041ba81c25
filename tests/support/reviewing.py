"""For the tests of reviewing: results of a small class, and reviewers who speak HTTP with a server."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

from autograder.classroom.review_server import Review, Server
from autograder.grading.results import PartResult, Report, StageResult, TestResult, to_json
from autograder.reports.staff_page import staff_html
from tests.support.pages import ASSIGNMENT

NAMES = ("anna-lee", "bob-poe", "cleo-fry")


def make_report(name: str) -> Report:
    """Two stages: a test with parts and one without; 5 of 10 and 4 of 4 points."""
    parts = (PartResult("values", "failed", 0, 3), PartResult("a mask", "passed", 2, 2))
    tests = (
        TestResult("mha", "test_p", "P", "failed", 2, 5, parts=parts),
        TestResult("mha", "test_q", "Q", "failed", 3, 5),
    )
    stages = (
        StageResult("mha", 1, "Attention", False, tests),
        StageResult("pe", 2, "Positions", False, (TestResult("pe", "test_r", "R", "passed", 4, 4),)),
    )
    return Report(
        "The Transformer", name, stages, 1.0, review=(f"{name}.txt is ignored",), confined=True, hidden_seed=5
    )


def write_class(folder: Path) -> Path:
    """A folder as batch leaves it, for the class NAMES."""
    for sub in ("results", "staff", "feedback"):
        (folder / sub).mkdir(parents=True)
    (folder / "batch.json").write_text('{"assignment": "transformer", "seed": 5}')
    for name in NAMES:
        report = make_report(name)
        entry = {"student": name, "digest": name, "fault": "", "report": to_json(report)}
        (folder / "results" / f"{name}.json").write_text(json.dumps(entry))
        page = staff_html(report, {"mha": f"# by {name}\nx = 1\n"}, ASSIGNMENT)
        (folder / "staff" / f"{name}.html").write_text(page, encoding="utf-8")
        (folder / "feedback" / f"{name}.html").write_text("feedback")
    (folder / "report.html").write_text("report")
    return folder


@contextmanager
def serving(folder: Path, *reviewers: str, anonymous: bool = False) -> Iterator[Server]:
    """A running server; the secret of a reviewer is the name, written twice."""
    with Server(Review(folder, anonymous), {name * 2: name for name in reviewers}, 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class Reviewer:
    """Somebody who has opened the link."""

    def __init__(self, server: Server, name: str) -> None:
        self.address = f"http://127.0.0.1:{server.server_port}"
        self._open = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar())).open
        assert self.get(f"/?token={name * 2}")[0] == 200

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        return self._ask(urllib.request.Request(self.address + path, headers=headers))

    def post(self, body: bytes, path: str = "/api/change", **headers: str) -> tuple[int, str]:
        known = {"Origin": self.address, "Content-Type": "application/json", **headers}
        return self._ask(urllib.request.Request(self.address + path, body, known))

    def change(self, table: str, before: dict[str, str] | None, after: dict[str, str] | None) -> tuple[int, Any]:
        """The status, and the tables or what is wrong."""
        status, text = self.post(json.dumps({"table": table, "before": before, "after": after}).encode())
        return status, json.loads(text) if status == 200 else text

    def state(self) -> dict[str, list[dict[str, str]]]:
        return json.loads(self.get("/api/state")[1])

    def _ask(self, request: urllib.request.Request) -> tuple[int, str]:
        try:
            with self._open(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
