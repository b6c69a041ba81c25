"""The hostile archives: read one by one, then graded as a class together with an honest student."""

import csv
import json
import resource
import shutil

import pytest

from autograder.__main__ import main
from autograder.manifest import assignment
from autograder.sandbox.confine import unsupported
from autograder.submissions.find_submissions import find_submissions
from tests.attacks.archives import ATTACKS
from tests.support.worth import FULL, TOTAL

ASSIGNMENT = assignment("transformer")
# Names of students that attack whoever reads the reports.
EVIL_NAMES = ("=HYPERLINK(1)", "<img src=x onerror=alert(51)>", "\x1b[2J\x07", "..%2f", "con", "-rf", "{{7*7}}")


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_a_hostile_archive_is_read_without_harm(attack, world, tmp_path):
    mark = str(world.temporary / world.mark)
    attack.write(tmp_path / "student.zip", mark)
    files, memory = world.files(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (found,) = find_submissions(tmp_path, ASSIGNMENT)
    submission = found.read()
    said = " ".join([*submission.unreadable.values(), *submission.review])
    assert attack.says in said
    assert all(char.isprintable() for char in said)
    if attack.earned:
        assert set(submission.sources) == {"pe"}
    assert world.files() == files
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 300_000


@pytest.mark.slow
@pytest.mark.skipif(bool(unsupported()), reason=unsupported())
def test_a_class_of_hostile_archives_does_not_touch_the_honest_student(world, tmp_path):
    submissions, out = tmp_path / "submissions", tmp_path / "out"
    submissions.mkdir()
    for number, attack in enumerate(ATTACKS):
        attack.write(submissions / f"{number:02}.zip", str(world.temporary / world.mark))
    for name in EVIL_NAMES:
        (submissions / name).mkdir()
        (submissions / name / "pe.py").write_text("raise ValueError('<script>alert(51)</script>\\x1b[2J')")
    (submissions / "link").symlink_to(ASSIGNMENT.solution)
    shutil.copytree(ASSIGNMENT.solution, submissions / "honest", ignore=shutil.ignore_patterns("*.ipynb"))
    files, before = world.files(), sorted(submissions.rglob("*"))

    assert main(["batch", str(submissions), "--out", str(out), "--jobs", "1", "--seed", "3"]) == 0
    assert world.files() == files
    assert sorted(submissions.rglob("*")) == before
    with (out / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert float(rows["honest"]["total"]) == TOTAL
    assert float(rows["link"]["total"]) == 0
    for number, attack in enumerate(ATTACKS):
        assert float(rows[f"{number:02}"]["total"]) == attack.earned * FULL["pe"], attack
    assert not any(name.startswith(("=", "+", "-", "@")) for name in rows)
    folders = {path.parent for path in out.rglob("*")} - {out}
    assert {folder.name for folder in folders} <= {"results", "feedback", "verdicts", "staff"}
    for page in (out / "report.html", *(out / "feedback").iterdir()):
        text = page.read_text(encoding="utf-8")
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "\x1b" not in text
    for record in (out / "results").iterdir():
        assert json.loads(record.read_bytes())["fault"] == ""
