"""nbgrader on a shared server: an instructor and students, users of their own, hand work over through the exchange."""

import csv
import time
from collections.abc import Iterator
from datetime import datetime, timezone

import pytest

from tests.support.shared_server import COURSE, Server, a_server, cannot
from tests.support.worth import FULL

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(cannot()), reason=cannot())]
NAME = "transformer"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with a_server("anna", "ben") as made:
        yield made


def hand_in_time(server: Server, student: str) -> datetime:
    """What nbgrader wrote down when it collected."""
    folder = server.home("prof") / "course" / "submitted" / server.users[student] / NAME
    text = (folder / "timestamp.txt").read_text(encoding="utf-8").strip()
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f UTC").replace(tzinfo=timezone.utc)


def points(server: Server) -> dict[str, float]:
    """What batch gives, by student."""
    server.run("prof", "-m", "autograder", "batch", "submitted", "--out", "graded", cwd="course")
    with (server.home("prof") / "course" / "graded" / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["student"]: float(row["total"]) for row in csv.DictReader(file)}


def test_a_round_through_the_exchange(server: Server):
    # The instructor hands out.
    server.nbgrader("prof", "generate_assignment", NAME, "--force", cwd="course")
    server.nbgrader("prof", "release_assignment", NAME, cwd="course")
    assert f"{COURSE} {NAME}" in server.nbgrader("anna", "list")

    # Students fetch: notebooks, modules, and the page to start from. Nothing else of the course is theirs to read.
    for student in ("anna", "ben"):
        server.nbgrader(student, "fetch_assignment", NAME)
        fetched = {path.name for path in (server.home(student) / NAME).iterdir()}
        assert {"0_start.ipynb", "1_mha.ipynb", "mha.py", "transformer.py"} <= fetched
    assert "raise NotImplementedError" in (server.home("anna") / NAME / "mha.py").read_text(encoding="utf-8")
    solution = server.home("prof") / "course" / "solutions" / NAME / "mha.py"
    assert "PermissionError" in server.run("anna", "-c", f"open({str(solution)!r})", code=1)

    # They work with the course that the server has for all.
    server.solve("anna", NAME, "mha")
    said = server.run("anna", "-m", "autograder", "mha", cwd=NAME)
    assert f"{FULL['mha']:g} of {FULL['mha']:g} points" in said

    # They hand in, one of them again; the instructor collects, and again with --update.
    before = datetime.now(timezone.utc)
    for student in ("anna", "ben"):
        server.nbgrader(student, "submit", NAME)
    after = datetime.now(timezone.utc)
    server.nbgrader("prof", "collect", NAME, cwd="course")
    assert before <= hand_in_time(server, "anna") <= after
    first = points(server)
    assert first == {server.users["anna"]: FULL["mha"], server.users["ben"]: 0}

    time.sleep(1.1)
    server.solve("ben", NAME, "mha", "pe")
    server.nbgrader("ben", "submit", NAME)
    server.nbgrader("prof", "collect", NAME, "--update", cwd="course")
    assert hand_in_time(server, "ben") > after
    assert points(server) == {server.users["anna"]: FULL["mha"], server.users["ben"]: FULL["mha"] + FULL["pe"]}

    # Nobody reads what others handed in, nor lists it.
    inbound = server.exchange / COURSE / "inbound"
    assert "PermissionError" in server.run("anna", "-c", f"import os; os.listdir({str(inbound)!r})", code=1)

    # Feedback goes back the same way.
    server.nbgrader("prof", "autograde", NAME, cwd="course")
    server.nbgrader("prof", "generate_feedback", NAME, cwd="course")
    server.nbgrader("prof", "release_feedback", NAME, cwd="course")
    server.nbgrader("anna", "fetch_feedback", NAME)
    pages = list((server.home("anna") / NAME / "feedback").rglob("*.html"))
    assert {"1_mha.html"} <= {page.name for page in pages}
