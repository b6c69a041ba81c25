"""Packed autograders in faked folders of the platforms: full marks, tricks of students, faults of the grader, leaks."""

import hashlib
import json
import os
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from autograder.__main__ import main
from autograder.authoring.release import TRIVIAL, find_leaks, secret_lines
from tests.platforms.test_formats import autolab_scores, vpl_grade
from tests.support.platforms import ASSIGNMENT, SEED, STUBS, hand_in, needs_bash, pack, run

pytestmark = needs_bash
FAILS = "exit 1"  # what `python3` does where the grader fails
# A module of that name in the folder of the submission would be imported by a careless grader.
TRAP = "import pathlib; pathlib.Path(__file__).with_name('trapped').touch()"
NAMES = ("zipfile", "json", "rich", "torch", "autograder", "sitecustomize", "argparse")
REQUIRED = {stage.name: stage.max_points for stage in ASSIGNMENT.stages}


def with_traps(folder: Path) -> None:
    for name in NAMES:
        (folder / f"{name}.py").write_text(TRAP, encoding="utf-8")


# PrairieLearn


class Grade:
    """A folder like /grade, as PrairieLearn makes it for a question of the course."""

    def __init__(self, root: Path, course: Path, question: str) -> None:
        self.root = root
        info = json.loads((course / "questions" / question / "info.json").read_text(encoding="utf-8"))
        options = info["externalGradingOptions"]
        shutil.copytree(course / "questions" / question / "tests", root / "tests")
        for name in options["serverFilesCourse"]:
            shutil.copytree(course / "serverFilesCourse" / name, root / "serverFilesCourse" / name)
        (root / "data").mkdir()
        (root / "student").mkdir()
        assert options["entrypoint"] == "/grade/tests/run.sh"
        assert options["timeout"] <= 600
        assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", info["uuid"])
        (root / "tests" / "run.sh").chmod(0o755)

    def grade(self, **options: str) -> dict[str, Any]:
        """Results by the rules of PrairieLearn: status 0, at most 1 MiB, a score from 0 to 1 unless not gradable."""
        code, _ = run(self.root, str(self.root / "tests" / "run.sh"), str(self.root), **options)
        assert code == 0
        text = (self.root / "results" / "results.json").read_text(encoding="utf-8")
        assert len(text.encode()) <= 1 << 20
        found: dict[str, Any] = json.loads(text)
        if found.get("gradable", True):
            assert isinstance(found["score"], (int, float))
            assert 0 <= found["score"] <= 1
        else:
            assert found["format_errors"]
        return found


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    return pack("prairielearn", tmp_path_factory.mktemp("pl") / "course", "--image", "you/grader")


def test_prairielearn_full_marks_in_both_questions(course, tmp_path):
    required = Grade(tmp_path / "grade", course, "transformer")
    hand_in(required.root / "student")
    with_traps(required.root / "student")
    found = required.grade()
    assert found["score"] == 1, found
    assert found["message"] == "100 of 100 points"
    assert not (required.root / "student" / "trapped").exists()
    for name in ("tests", "results", "data", "serverFilesCourse"):
        assert (required.root / name).stat().st_mode & 0o077 == 0
    extra = Grade(tmp_path / "extra", course, "transformer-extra")
    hand_in(extra.root / "student", STUBS)
    found = extra.grade()
    assert (found["score"], found["message"]) == (0, "0 of 10 extra points")


def test_prairielearn_a_fault_takes_no_attempt(course, tmp_path):
    box = Grade(tmp_path / "grade", course, "transformer")
    hand_in(box.root / "student")
    assert box.grade(python=FAILS)["gradable"] is False
    for path in (box.root / "student").iterdir():
        path.unlink()
    found = box.grade()
    assert found["gradable"] is False
    assert "mha.py is missing" in found["format_errors"][0]


# Autolab


def test_autolab(tmp_path):
    lab = pack("autolab", tmp_path / "lab")
    problems = (lab / "problems.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert {line.split(",")[0]: float(line.split(",")[1]) for line in problems} == REQUIRED
    box = tmp_path / "box"
    box.mkdir()
    shutil.copy(lab / "autograde-Makefile", box / "Makefile")
    shutil.copy(lab / "autograde.tar", box)
    hand_in(tmp_path / "own")
    with zipfile.ZipFile(box / "handin.zip", "w") as archive:
        for path in (tmp_path / "own").iterdir():
            archive.write(path, path.name)
    _, text = run(box, "make")
    assert autolab_scores(text) == REQUIRED, text
    _, text = run(box, "make", python=FAILS)
    assert "scores" not in text
    assert "This is not a grade" in text


# VPL


def evaluate(box: Path, **options: str) -> str:
    """Compile, then execute, as VPL does; what is printed."""
    code, _ = run(box, "bash", "vpl_evaluate.sh", **options)
    assert code == 0
    assert os.access(box / "vpl_execution", os.X_OK)
    return run(box, "./vpl_execution", **options)[1]


def test_vpl(tmp_path):
    files = pack("vpl", tmp_path / "files")
    box = tmp_path / "home"
    hand_in(box)
    with_traps(box)
    (box / ".grader").mkdir()  # of the student
    (box / ".grader" / "rich.py").write_text(TRAP, encoding="utf-8")
    (box / "vpl_environment.sh").write_text("export VPL_GRADEMAX=20\nexport VPL_MAXTIME=960\n", encoding="utf-8")
    for name in ("vpl_evaluate.sh", "grader.zip"):
        shutil.copy(files / name, box)
    text = evaluate(box)
    assert vpl_grade(text) == "20.00", text
    assert not [*box.rglob("trapped")]
    shutil.copy(files / "grader.zip", box)
    assert vpl_grade(evaluate(box, python=FAILS)) == ""
    (box / "grader.zip").write_bytes(b"of the student")
    text = evaluate(box)
    assert "its files are not complete" in text
    assert vpl_grade(text) == ""


# Submitty


def test_submitty(tmp_path):
    config = pack("submitty", tmp_path / "pack") / "config"
    settings = json.loads((config / "config.json").read_text(encoding="utf-8"))
    first, *cases = settings["testcases"]
    points = settings["grading_parameters"]
    assert sum(case["points"] for case in cases if not case.get("extra_credit")) == points["AUTO_POINTS"] == 100
    assert sum(case["points"] for case in cases if case.get("extra_credit")) == points["EXTRA_CREDIT_POINTS"] == 10
    assert all(isinstance(case["points"], int) for case in settings["testcases"])
    box, judge = tmp_path / "test01", tmp_path / "validation"
    hand_in(box, pe="import math\nraise ValueError('no')\n")  # Submitty copies *.py, then the test input
    with_traps(box)
    for path in (config / "test_input").iterdir():
        shutil.copy(path, box)
    run(box, *first["command"].split())
    assert not (box / "trapped").exists()
    judge.mkdir()
    shutil.copy(config / "custom_validation_code" / "validate.py", judge)
    (judge / "custom_validator_input.json").write_text('{"testcase_prefix": "test02"}', encoding="utf-8")
    (judge / "test02").mkdir()

    def total() -> float:
        share = 0.0
        for case in cases:
            (one,) = case["validation"]
            code, printed = run(judge, *one["command"].split())
            assert (code, printed) == (0, "")
            result = json.loads((judge / "validation_results.json").read_text(encoding="utf-8"))
            assert result["status"] == "success"
            assert 0 <= result["data"]["score"] <= 1
            share += case["points"] * result["data"]["score"]
        return share

    assert total() == 0
    assert "This is not a grade" in (judge / "validation_results.json").read_text(encoding="utf-8")
    shutil.copy(box / "verdict.json", judge / "test02")
    assert total() == 105


# Classroom 50


@pytest.fixture(scope="module")
def bundle(tmp_path_factory) -> Path:
    return pack("classroom50", tmp_path_factory.mktemp("c50") / "classroom") / "autograders" / "transformer"


def test_classroom50_holds_nothing_secret(bundle):
    files = {path.relative_to(bundle).as_posix(): path for path in bundle.rglob("*") if path.is_file()}
    assert sum(path.stat().st_size for path in files.values()) < 10_000_000
    assert not [name for name in files if "/hidden/" in name or "/mistakes/" in name or name.startswith("solutions")]
    assert str(SEED) not in files["engine/settings.json"].read_text(encoding="utf-8")
    secret = {line for line in secret_lines(ASSIGNMENT.solution, ASSIGNMENT) if not TRIVIAL.fullmatch(line)}
    texts = {name: path.read_text(encoding="utf-8") for name, path in files.items() if path.suffix in (".py", ".json")}
    assert find_leaks(texts, secret) == []


def test_classroom50(bundle, tmp_path):
    checkout = tmp_path / "checkout"
    hand_in(checkout / "notebooks" / "transformer")
    with_traps(checkout)
    runner = {"CLASSROOM": "c", "ASSIGNMENT": "transformer", "OWNER": "anna", "SUBMISSION_TAG": "submit/1"}
    runner |= {"COMMIT_URL": "https://x/c", "RELEASE_URL": "https://x/r", "REVIEW_URL": "https://x/d"}
    command = ("python3", str(bundle / "autograder.py"), "--no-install")
    code, _ = run(checkout, *command, **runner)
    assert code != 0  # no trained models
    assert not (checkout / "result.json").exists()
    for name in json.loads((bundle / "checkpoints.json").read_text(encoding="utf-8")):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(__file__).parents[2] / name, checkout / name)
    code, _ = run(checkout, *command, **runner)
    found = json.loads((checkout / "result.json").read_text(encoding="utf-8"))
    assert (code, found["score"], found["max-score"]) == (0, 110, 110)
    assert (
        (checkout / "release-body.md").read_text(encoding="utf-8").startswith("## The Transformer: 100 of 100 points")
    )
    assert not (checkout / "trapped").exists()


# The command


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--for", "vpl", "--time-limit", "600"], "at most 420 seconds"),
        (["--for", "vpl", "--hidden-results", "visible"], "cannot withhold results"),
        (["--for", "vpl", "--seed", "-1"], "must not be negative"),
        (["--for", "gradescope", "--image", "x"], "are not for Gradescope"),
    ],
)
def test_wrong_usage(tmp_path, capsys, arguments, complaint):
    assert main(["pack", "transformer", "--out", str(tmp_path / "a.zip"), *arguments]) == 2
    assert complaint in capsys.readouterr().err


def test_the_same_command_keeps_the_seed(tmp_path, capsys):
    archive = tmp_path / "a.zip"
    command = ["pack", "--for", "vpl", "transformer", "--out", str(archive)]
    assert main(command) == 0
    first = hashlib.sha256(archive.read_bytes()).hexdigest()
    assert main(command) == 0
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == first
    assert main([*command, "--seed", "7"]) == 2
    assert "leave out --seed" in capsys.readouterr().err


def test_the_image_holds_nothing_secret(course):
    files = [path.relative_to(course / "image").as_posix() for path in (course / "image").rglob("*") if path.is_file()]
    names = {name for name in files if not name.startswith("checkpoints/")}
    assert names == {"Dockerfile", "requirements.txt", "constraints.txt"}
