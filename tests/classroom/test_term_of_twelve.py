"""A term of twelve students from release to the grade books, through nbgrader and through batch: `make term`.

Each student stands for something that happens in every class. What they get is written down beside them: the points of
nbgrader, which runs the visible tests, and those of batch, which count.
"""

import csv
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from autograder.__main__ import main
from autograder.diagnosis.mistakes import all_mistakes
from autograder.sandbox.confine import unsupported
from tests.authoring.test_release import solution_lines
from tests.support.nbgrading import ASSIGNMENT, MASK, NAME, ROOT, SOLUTIONS, Course, code_in
from tests.support.programs import write_program
from tests.support.worth import FULL, NOTHING, REQUIRED, TOTAL, WRONG_MASK

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(unsupported()), reason=f"one of the students is hostile: {unsupported()}"),
]
STUBS = ROOT / "notebooks" / NAME
MISTAKES = {mistake.id: mistake for mistake in all_mistakes("transformer")}
DUE = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(days=1)
SHORTCUT = "import torch.nn as ready\nREADY = ready.MultiheadAttention\n"
ENDLESS = "return x + self.pe[:, :T]", "while True:\n            pass"
SYNTAX = "def forward(", "def forward)"
ATTACK = """
import os

for harm in (
    lambda: open({gradebook!r}, "wb").write(b"mine"),
    lambda: open({victim!r}, "w").write("raise ImportError"),
    lambda: os.kill(os.getppid(), 9),
):
    try:
        harm()
    except BaseException:
        pass
"""


@dataclass(frozen=True)
class Student:
    """What somebody hands in, and the points for it."""

    points: dict[str, float]
    source: Path = SOLUTIONS
    changes: tuple[tuple[str, str, str], ...] = ()  # module, old, new
    spoil: Callable[[Path], Any] = lambda folder: None
    late: timedelta = timedelta(days=-1)
    nbgrader: dict[str, float] | None = None  # where they differ


def mistake(name: str) -> tuple[str, str, str]:
    return MISTAKES[name].module, MISTAKES[name].old, MISTAKES[name].new


def keep_stubs_of(*modules: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        for module in modules:
            shutil.copy(STUBS / f"{module}.py", folder)

    return spoil


def break_notebooks(folder: Path) -> None:
    for number, path in enumerate(sorted(folder.glob("*.ipynb"))):
        path.write_text('{"cells": [' if number % 2 else "", encoding="utf-8")


def use_ready_made_part(folder: Path) -> None:
    module = folder / "mha.py"
    module.write_text(f"{module.read_text(encoding='utf-8')}\n\n{SHORTCUT}", encoding="utf-8")


def attack(folder: Path) -> None:
    course = folder.parent.parent.parent
    victim = course / "submitted" / "stubs" / NAME / "mha.py"
    text = ATTACK.format(gradebook=str(course / "gradebook.db"), victim=str(victim))
    (folder / "pe.py").write_text(text + (STUBS / "pe.py").read_text(encoding="utf-8"), encoding="utf-8")


TERM = {
    "perfect": Student(FULL, spoil=lambda folder: write_program(folder, "einsum")),
    "partial": Student(
        {**NOTHING, "mha": FULL["mha"], "pe": FULL["pe"]}, spoil=keep_stubs_of("encoder", "decoder", "transformer")
    ),
    "stubs": Student(NOTHING, source=STUBS),
    "mistakes": Student({**FULL, "mha": WRONG_MASK, "pe": 0}, changes=(("mha", *MASK), mistake("pe.base-1000"))),
    "broken-notebook": Student(FULL, spoil=break_notebooks),
    "late": Student({**FULL, "pe": 0}, spoil=keep_stubs_of("pe"), late=timedelta(hours=30)),
    "resubmission": Student(FULL),
    "attack": Student({**FULL, "pe": 0}, spoil=attack),
    "syntax-error": Student({**FULL, "decoder": 0, "inference": 0}, changes=(("decoder", *SYNTAX),)),
    "shortcut": Student({**FULL, "mha": 0}, spoil=use_ready_made_part),
    "endless": Student({**FULL, "pe": 0}, changes=(("pe", *ENDLESS),)),
    # Only the hidden tests see it.
    "hidden-mistake": Student({**FULL, "pe": 0}, changes=(mistake("pe.input-changed-in-place"),), nbgrader=FULL),
}
DOWNLOADED, EXCHANGED = ("perfect", "partial"), "resubmission"


def write(course: Course, name: str, folder: Path) -> None:
    """Put what a student has done into a folder."""
    student = TERM[name]
    course.hand_in(folder, student.source)
    for module, old, new in student.changes:
        path = folder / f"{module}.py"
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
    student.spoil(folder)


@dataclass
class Term:
    """The course and what the tools said."""

    course: Course
    first: dict[str, Any]  # scores after the first round
    second: dict[str, Any]
    exported: dict[str, dict[str, str]]  # before batch
    codes: tuple[int, ...]


@pytest.fixture(scope="module")
def term(tmp_path_factory) -> Term:
    """Release, hand in, collect, grade, hand in again, grade again with nbgrader, then with batch."""
    base = tmp_path_factory.mktemp("term")
    for folder in ("course", "exchange", "home"):
        (base / folder).mkdir()
    course = Course(base / "course")
    exchange = ["--course=term", f"--Exchange.root={base / 'exchange'}"]
    course.nbgrader("generate_assignment", NAME)
    course.nbgrader("db", "assignment", "add", NAME, f"--duedate={DUE:%Y-%m-%d %H:%M:%S} UTC")
    course.nbgrader("release_assignment", NAME, *exchange)
    # Two are in a download of the class, one uses nbgrader's exchange, the others come as folders.
    archive = course.folder / "downloaded" / NAME / "archive" / "download.zip"
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as download:
        for name in DOWNLOADED:
            write(course, name, base / "download" / name)
            for path in (base / "download" / name).iterdir():
                download.write(path, f"{name}/{path.name}")
    course.nbgrader("zip_collect", NAME)
    home = base / "home"
    course.nbgrader("fetch_assignment", NAME, *exchange, cwd=home)
    course.nbgrader("submit", NAME, *exchange, f"--student={EXCHANGED}", cwd=home)
    course.nbgrader("collect", NAME, *exchange)
    for name, student in TERM.items():
        if name not in (*DOWNLOADED, EXCHANGED):
            write(course, name, course.submitted(name))
        if name != EXCHANGED:
            moment = f"{DUE + student.late:%Y-%m-%d %H:%M:%S} UTC"
            (course.submitted(name) / "timestamp.txt").write_text(moment, encoding="utf-8")
    course.nbgrader("autograde", NAME)
    first = course.scores()
    for path in SOLUTIONS.glob("*.py"):
        shutil.copy(path, home / NAME)
    course.nbgrader("submit", NAME, *exchange, f"--student={EXCHANGED}", cwd=home)
    course.nbgrader("collect", NAME, *exchange, "--update")
    log = course.nbgrader("autograde", NAME)
    assert log.count("Autograding ") == len(ASSIGNMENT.stages)  # those of the new submission only
    course.nbgrader("generate_feedback", NAME)
    course.nbgrader("export", "--to=exported.csv")
    second, exported = course.scores(), course.read_export()
    command = ["-m", "autograder", "batch", "submitted", "--out", "graded", "--gradebook"]
    codes = tuple(course.run(*command).returncode for _ in range(2))
    return Term(course, first, second, exported, codes)


def total(points: dict[str, float]) -> float:
    return sum(points.values())


def test_nbgrader_gives_the_points(term):
    expected = {name: student.nbgrader or student.points for name, student in TERM.items()}
    assert term.first == {**expected, EXCHANGED: NOTHING}
    assert term.second == expected
    assert {name: float(row["score"]) for name, row in term.exported.items()} == {
        name: total(points) for name, points in expected.items()
    }


def test_batch_gives_the_same_points_for_honest_work(term):
    assert term.codes == (0, 0)
    with (term.course.folder / "graded" / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert {name: {stage: float(row[stage]) for stage in FULL} for name, row in rows.items()} == {
        name: student.points for name, student in TERM.items()
    }
    differ = {name for name in TERM if term.second[name] != {stage: float(rows[name][stage]) for stage in FULL}}
    assert differ == {"hidden-mistake"}


def test_the_gradebook_has_the_points_of_batch(term):
    assert term.course.scores() == {name: student.points for name, student in TERM.items()}
    waiting = [name for name, grades in term.course.grades().items() if any(wait for _, wait in grades.values())]
    assert waiting == []
    term.course.nbgrader("export", "--to=exported.csv")
    exported = term.course.read_export()
    for name, student in TERM.items():
        row = exported[name]
        assert (float(row["score"]), float(row["max_score"])) == (total(student.points), TOTAL)
        assert row["duedate"] == f"{DUE:%Y-%m-%d %H:%M:%S}"
        assert (row["timestamp"] > row["duedate"]) == (name == "late")


def test_the_attack_has_changed_nothing(term):
    untouched = (term.course.submitted("stubs") / "mha.py").read_bytes()
    assert untouched == (STUBS / "mha.py").read_bytes()


def test_no_feedback_has_a_line_of_a_solution(term):
    secrets = solution_lines()
    pages = list((term.course.folder / "feedback").rglob("*.html"))
    assert len(pages) == len(TERM) * len(ASSIGNMENT.stages)
    for page in pages:
        lines = code_in(page.read_text(encoding="utf-8"))
        assert any(line.startswith("check(") for line in lines)
        assert not lines & secrets


POLICY = """
[grade]
extra_credit = "capped"
points = 33

[late]
deadline = {deadline}
grace_minutes = 15
percent_per_day = 7.5
max_percent = 50
"""


def final(student: Student) -> str:
    """The grade by hand: of 33 points, extra credit only makes up for lost ones, 7.5 % off for each day begun."""
    points = min(total(student.points) / REQUIRED, 1)
    if student.late > timedelta(0):
        points *= 0.85
    return f"{points * 33 + 1e-9:.2f}"


def test_the_exports_are_right_to_the_cent(term):
    folder = term.course.folder
    (folder / "policy.toml").write_text(POLICY.format(deadline=DUE.isoformat()), encoding="utf-8")
    names = list(TERM)
    canvas = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Transformer (77)"]]
    canvas += [["    Points Possible", "", "", "", "", "33"]]
    canvas += [[name, str(number), "", name, "One", ""] for number, name in enumerate(names)]
    moodle = [["Identifier", "Full name", "Email address", "Grade", "Maximum Grade", "Last modified (grade)"]]
    moodle += [
        [f"Participant {number}", name, f"{name}@example.org", "", "33", "-"] for number, name in enumerate(names)
    ]
    for name, rows in (("canvas", canvas), ("moodle", moodle)):
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
    common = ["--policy", str(folder / "policy.toml"), "--submissions", str(folder / "submitted")]
    results = str(folder / "graded")
    files = {
        "canvas": ["--gradebook", str(folder / "canvas.csv"), "--column", "Transformer"],
        "moodle": ["--worksheet", str(folder / "moodle.csv"), "--match", "name"],
    }
    for name, arguments in files.items():
        out = folder / f"{name}-filled.csv"
        assert main(["export", name, results, "--out", str(out), *arguments, *common]) == 0
        with out.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file))
        at = rows[0].index("Transformer (77)" if name == "canvas" else "Grade")
        who = rows[0].index("Student" if name == "canvas" else "Full name")
        filled = {row[who]: row[at] for row in rows[1:] if row[who] in TERM}
        assert filled == {name: final(student) for name, student in TERM.items()}
    assert final(TERM["late"]) == "28.05"
    assert final(TERM["perfect"]) == "33.00"
