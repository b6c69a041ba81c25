"""The kit for authors: a new assignment works at once, and the audit finds what is wrong with one."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.authoring.audit import cross_stage_mistakes
from autograder.authoring.audit.check import sample
from autograder.authoring.audit.command import main as audit
from autograder.authoring.audit.registry import CHECKS
from autograder.authoring.audit.subject import Subject
from autograder.authoring.build import changes
from autograder.authoring.init import main as init
from autograder.authoring.new import check_name
from autograder.authoring.packing.handout import contents
from autograder.authoring.stored_tensors import remove_stale
from autograder.diagnosis.mistakes import Mistake
from autograder.manifest import DRAFTED, _found_in, assignment, assignments, work_on
from course.errors import UserError
from course.location import VARIABLE

ROOT = Path(__file__).resolve().parents[2]
TOY = "assignments/toy"


@dataclass(frozen=True)
class Project:
    """A course folder."""

    folder: Path

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run Python in the course, with the engine of this repository."""
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment |= {"JUPYTER_NO_CONFIG": "1", "PYTHONPATH": str(ROOT), "COLUMNS": "120"}
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=environment, input=stdin, capture_output=True, encoding="utf-8", timeout=1800
        )

    def autograder(self, *arguments: str) -> str:
        """Run a command; what it prints."""
        done = self.run("-m", "autograder", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def files(self) -> dict[str, bytes]:
        """All files but those of tools."""
        paths = [path for path in self.folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Project:
    """A course of its own, outside of this repository, in which `new toy` has run."""
    course = Project(tmp_path_factory.mktemp("kit") / "course")
    assert init([str(course.folder)]) == 0
    before = course.files()
    assert "It already works" in course.autograder("new", "toy")
    after = course.files()
    assert {name: after[name] for name in before} == before
    assert {name.rpartition("/")[0].replace(TOY, "") for name in after.keys() - before.keys()} == {
        *("", "/visible", "/hidden", "/standins", "/mistakes", "/formulations", "/expected"),
        *("solutions/toy", "notebooks/toy"),
    }
    return course


def test_its_handout_has_what_it_needs_and_nothing_else(project, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(project.folder))
    assert main(["handout", str(project.folder / "handout.zip")]) == 0
    with zipfile.ZipFile(project.folder / "handout.zip") as packed:
        names = {name.removeprefix("toy-student/") for name in packed.namelist()}
        config = packed.read("toy-student/course.toml").decode()
        texts = [packed.read(f"toy-student/{name}").decode() for name in ("README.md", "docs/student-guide.md")]
    (project.folder / "handout.zip").unlink()
    assert {name for name in names if name.startswith(("assignments/", "notebooks/"))} == {
        *(
            f"{TOY}/{name}"
            for name in ("__init__.py", "assignment.toml", "visible/__init__.py", "visible/test_norm.py")
        ),
        *(f"{TOY}/{name}" for name in ("standins/__init__.py", "standins/toy.py", "expected/mistakes.json")),
        *(f"{TOY}/expected/norm.safetensors", "notebooks/toy/0_start.ipynb", "notebooks/toy/1_norm.ipynb"),
        "notebooks/toy/toy.py",
    }
    unwanted = ("checkpoints/", "img/", "course/data/", "course/figures/notebook", "course/variants/", "solutions/")
    assert not [name for name in names if name.startswith(unwanted)]
    assert {name for name in names if name.startswith("docs/")} == {"docs/student-guide.md"}
    for text in texts:
        assert "layers of the Transformer" not in text
        assert not re.search(r"<!--|\bmha\b|notebooks/transformer|course\.translate|glossary", text)
        assert "grade.py --watch norm" in text
    assert config.splitlines()[1:] == ["[folders]", 'assignments = "assignments"']


def test_everything_holds_of_a_new_assignment(project):
    said = project.autograder("audit", "toy", "--quick")
    assert "No problems." in said
    assert all(name in said for name in CHECKS)


# The audit finds what is wrong

SOLUTION, NOTEBOOK, STANDIN = "solutions/toy/toy.py", "solutions/toy/1_norm.ipynb", f"{TOY}/standins/toy.py"
VISIBLE, HIDDEN = f"{TOY}/visible/test_norm.py", f"{TOY}/hidden/test_norm.py"
MISTAKES, FORMULATIONS = f"{TOY}/mistakes/__init__.py", f"{TOY}/formulations/__init__.py"
BOTH = "visible and hidden tests"
NO_VISIBLE_TEST = (VISIBLE, "        norm = self", "        return\n        norm = self")
NO_HIDDEN_TEST = (HIDDEN, "        size = self", "        return\n        size = self")
SLIP = (SOLUTION, "correction=0", "correction=1")
BROKEN = {
    "title": ("manifest", "stage norm", [(VISIBLE, '"""Normalise', '"""normalise')], "is not a sentence"),
    "no formulation": (
        "manifest",
        "stage norm",
        [(FORMULATIONS, "FORMULATIONS: ", "OTHERS: ")],
        "no correct formulation is known",
    ),
    "no notebook": (
        "manifest",
        "the assignment",
        [(f"{TOY}/assignment.toml", 'title = "Layer norm"', 'title = "Layer norm"\nnotebook = "1_other.ipynb"')],
        "no 1_other.ipynb",
    ),
    "code in a hint": (
        "texts",
        "mistakes of norm",
        [(MISTAKES, "Your result is that of a layer norm whose", "x.var() whose")],
        "code",
    ),
    "no sentence": (
        "texts",
        "mistakes of norm",
        [(MISTAKES, "is divided by.", "is divided by")],
        "does not consist of sent",
    ),
    "id twice": (
        "texts",
        "ids of mistakes and formulations",
        [(MISTAKES, "norm.eps-outside-root", "norm.unbiased-variance")],
        "occurs 2 times",
    ),
    "id of no stage": (
        "texts",
        "ids of mistakes and formulations",
        [(MISTAKES, '"norm.eps', '"n.eps')],
        "with a stage",
    ),
    "cell twice": ("texts", "1_norm.ipynb", [(NOTEBOOK, '"id": "try"', '"id": "setup"')], "setup occurs 2 times"),
    "not needed": ("stubs", "toy.LayerNorm.forward", [NO_VISIBLE_TEST, NO_HIDDEN_TEST], "although it is not written"),
    "points for nothing": ("stubs", "all stubs", [NO_VISIBLE_TEST], "passed with 10 points"),
    "wrong solution": ("solution", BOTH, [SLIP], "failed"),
    "a stage that is not alone": ("alone", "all but norm", [NO_VISIBLE_TEST, NO_HIDDEN_TEST], "should be not started"),
    "wrong stand-in": ("standins", "stand-ins as norm", [(STANDIN, "self.eps)", "0.1)")], "hidden test_layer_norm"),
    "other interface": ("standins", "interface of toy", [(STANDIN, "1e-5", "1e-6")], "in the stand-in, but"),
    "no seed": (
        "seeds",
        "norm depends on the seed",
        [(HIDDEN, "x = self.random(", "x = np.random.default_rng().random((1, 1))[0, 0] * self.random(")],
        "differs between two runs",
    ),
    "one seed": (
        "seeds",
        "norm depends on the seed",
        [
            (
                HIDDEN,
                "    def test_",
                "    def setUp(self):\n        self.seed = 3\n        super().setUp()\n\n    def test_",
            )
        ],
        "can be memorised",
    ),
    "some seeds": (
        "seeds",
        "norm, seed 3",
        [(HIDDEN, "        B, T", '        self.wrong("a whim") if self.seed == 3 else None\n        B, T')],
        "a whim",
    ),
    "wrong formulation": ("formulations", "norm-by-moments", [(FORMULATIONS, "** 0.5", "** 0.4")], "failed"),
    "mistake unseen": (
        "mistakes",
        "norm.unbiased-variance",
        [(MISTAKES, 'VARIANCE.replace("correction=0", "correction=1")', 'VARIANCE + " * 1.0"')],
        "no visible test detects it",
    ),
    "mistake seen": (
        "mistakes",
        "norm.eps-outside-root",
        [(MISTAKES, 'id="norm.eps-outside-root",', 'id="norm.eps-outside-root",\n        seen_by="hidden",')],
        "although it declares",
    ),
    "mistake not named": (
        "mistakes",
        "norm.eps-outside-root",
        [(f"{TOY}/expected/mistakes.json", '"mistake": "norm.eps-outside-root"', '"mistake": "norm.other"')],
        "it is named norm.other",
    ),
    "mistake elsewhere": (
        "mistakes",
        "norm.eps-outside-root",
        [(MISTAKES, "(variance + self.eps)", "(size)")],
        "occurs 0 times",
    ),
    "mistake in given lines": (
        "mistakes",
        "norm.eps-outside-root",
        [
            (MISTAKES, 'ROOT = "torch.sqrt(variance + self.eps)"', 'ROOT = "self.eps = eps"'),
            (MISTAKES, '"(torch.sqrt(variance) + self.eps)"', '"self.eps = 1"'),
        ],
        "which its stage does not write",
    ),
    "the same twice": (
        "alike",
        "norm",
        [
            (MISTAKES, "old=ROOT", "old=VARIANCE"),
            (MISTAKES, 'new="(torch.sqrt(variance) + self.eps)"', 'new=VARIANCE.replace("0", "1")'),
        ],
        "norm.eps-outside-root looks the same as norm.unbiased-variance",
    ),
    "near the limit": (
        "tolerance",
        "norm",
        [(FORMULATIONS, "* self.weight + self.bias", "* self.weight + self.bias + 5e-5")],
        "norm-by-moments is only 2 times below",
    ),
    "small mistake": (
        "tolerance",
        "norm",
        [(MISTAKES, '"(torch.sqrt(variance) + self.eps)"', '"torch.sqrt(variance + self.eps) * 1.0002"')],
        "norm.eps-outside-root is only",
    ),
    "stale tensors": ("stored", "tensors", [SLIP], "usual/y differs"),
    "stale hints": (
        "stored",
        "hints",
        [(MISTAKES, "The docstring adds", "The text adds")],
        "norm.eps-outside-root are not",
    ),
    "stale signatures": (
        "stored",
        "signatures of norm",
        [(MISTAKES, "(variance) + self.eps)", "(variance) + 2 * self.eps)")],
        "differs from the stored one",
    ),
    "stale release": ("release", "as generated", [("notebooks/toy/toy.py", "eps", "epsilon")], "toy/toy.py differs"),
    "solution released": (
        "release",
        "no solution",
        [("notebooks/toy/1_norm.ipynb", "## B. Your turn", "`mean = x.mean(dim=-1, keepdim=True)`")],
        "a line of the solution is released in 1_norm.ipynb",
    ),
    "solution handed out": (
        "release",
        "handout",
        [("notebooks/toy/toy.py", "eps", "epsilon")],
        "differ from what is rel",
    ),
    "other graded cell": (
        "release",
        "1_norm.ipynb",
        [("notebooks/toy/1_norm.ipynb", '(\\"norm\\")', '(\\"x\\")')],
        "should be",
    ),
    "other points": (
        "release",
        "1_norm.ipynb",
        [("notebooks/toy/1_norm.ipynb", '"points": 10', '"points": 9')],
        "not 10",
    ),
    "failing notebook": (
        "notebooks",
        "1_norm.ipynb, with the solution",
        [(NOTEBOOK, "torch.manual_seed(0)", "1 / 0")],
        "Zero",
    ),
}
# What holds of the stubs and of the solution as they are written.
UNBROKEN: dict[str, tuple[str, str, list[str], str]] = {
    item: (check, item, [], "") for check, item in (("stubs", "all stubs"), ("solution", BOTH))
}


@pytest.fixture(scope="module")
def found(project, request) -> tuple[tuple[int, str], dict[str, list[str]]]:
    """Exit status and output of grade.py, and what the audit says of each case that a test of this run asks about.

    One process does all of it.
    """
    items = [item for item in request.session.items if getattr(item, "module", None) is request.module]
    asked = {item.callspec.params["case"] for item in items if "said" in item.fixturenames}
    wanted = {name: case for name, case in (UNBROKEN | BROKEN).items() if name in asked}
    cases = [{"check": check, "item": item, "changes": changes} for check, item, changes, _ in wanted.values()]
    done = project.run(str(ROOT / "tests" / "support" / "audited_copy.py"), stdin=json.dumps(cases))
    assert done.returncode == 0, done.stderr
    graded, said = json.loads(done.stdout)
    return graded, dict(zip(wanted, said, strict=True))


@pytest.fixture
def said(found) -> dict[str, list[str]]:
    return found[1]


def test_a_new_assignment_can_be_graded(found):
    code, printed = found[0]
    assert "Total: 10 of 10 points" in printed
    assert code == 0


@pytest.mark.parametrize("case", UNBROKEN)
def test_the_solution_earns_all_points_and_the_stubs_none(said, case):
    assert said[case] == []


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_is_found(said, case):
    words = BROKEN[case][-1]
    assert any(words in problem for problem in said[case]), said[case]


def test_a_mistake_that_costs_points_elsewhere_is_found():
    subject = Subject(assignment("transformer"))
    try:
        wrong = Mistake("pe.not-its-own", "mha", "math.sqrt(self.d_k)", "math.sqrt(self.d_model)", "A.", "B.")
        subject.mistakes[wrong.id] = wrong
        assert any("in stage mha" in problem for problem in cross_stage_mistakes.problems(subject, wrong.id))
    finally:
        subject.close()


def test_every_check_was_seen_to_fail():
    # The last two are in test_a_slip_costs_once.py and test_parts.py.
    assert {check for check, *_ in BROKEN.values()} | {"elsewhere", "once", "parts"} == set(CHECKS)


# The commands


def test_a_draft_is_found_by_its_authors_only(project, tmp_path, monkeypatch):
    copy = tmp_path / "course"
    shutil.copytree(project.folder, copy)
    monkeypatch.setenv(VARIABLE, str(copy))
    assert [*assignments()] == ["toy"]
    (copy / TOY / "assignment.toml").rename(copy / TOY / "assignment.draft.toml")
    _found_in.cache_clear()
    assert not assignments()
    with pytest.raises(UserError, match=r"toy is a draft.* rename assignment\.draft\.toml"):
        assignment("toy")
    monkeypatch.setenv(DRAFTED, "")
    work_on("other")
    with pytest.raises(UserError, match="is a draft"):
        assignment("toy")
    work_on("toy")
    assert assignment("toy").max_points == 10
    assert "assignments/toy/assignment.draft.toml" in contents([assignment("toy")])


def test_a_build_says_what_has_changed():
    before, after = {"same": "1", "old": "1", "text": "1"}, {"same": "1", "text": "2", "fresh": "1"}
    assert changes(before, after) == ["  new      fresh", "  removed  old", "  changed  text"]


def test_tensors_of_stages_that_are_no_more_are_removed(tmp_path):
    for name in ("norm.safetensors", "norm.steps.safetensors", "old.safetensors", "old.steps.safetensors", "a.json"):
        (tmp_path / name).touch()
    assert remove_stale(tmp_path, {"norm"}) == ["old.safetensors", "old.steps.safetensors"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("a.json", "norm.safetensors", "norm.steps.safetensors"),
    ]


def test_a_build_names_the_mistake_that_the_solution_has_outgrown(project, tmp_path):
    """That is wrong usage, not a failure of the program."""
    copy = Project(tmp_path / "course")
    shutil.copytree(project.folder, copy.folder)
    file = copy.folder / MISTAKES
    file.write_text(file.read_text(encoding="utf-8").replace("old=ROOT", 'old="outgrown"'), encoding="utf-8")
    done = copy.run("-m", "autograder", "build", "toy")
    assert done.returncode == 2
    assert done.stderr.startswith("error: mistake norm.eps-outside-root of toy.py: its `old` text occurs 0 times")
    assert "'outgrown'" in done.stderr


def test_outside_of_a_course_new_says_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("course.location.ENGINE", tmp_path / "site-packages")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "")
    assert main(["new", "toy"]) == 2
    assert "is not in a course" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_init_replaces_nothing(project, capsys):
    assert main(["init", str(project.folder)]) == 2
    assert "choose a new or an empty folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Toy", "is not a valid name: use lower-case letters"),
        ("my-toy", "is not a valid name"),
        ("class", "is not a valid name"),
        ("json", "Python has a module json, which the students' json.py would hide"),
        ("torch", "Python has a module torch"),
        ("mha", "the assignment transformer already has a module mha"),
        ("transformer", "the assignment transformer already has a module transformer"),
    ],
)
def test_a_name_that_would_be_in_the_way_is_refused(name, message):
    with pytest.raises(UserError, match=message):
        check_name(name)


def test_nothing_is_overwritten(project, monkeypatch, capsys):
    monkeypatch.setenv(VARIABLE, str(project.folder))
    assert main(["new", "toy"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "already has a module toy" in printed.err


def test_wrong_usage_of_the_audit():
    with pytest.raises(UserError, match="there is no check speed; the checks are manifest, texts"):
        audit(["transformer", "speed"])
    with pytest.raises(UserError, match="there is no assignment 'none'"):
        audit(["none"])


@pytest.mark.parametrize(("number", "chosen"), [(None, "abcdefg"), (9, "abcdefg"), (3, "ace"), (1, "a"), (0, "")])
def test_a_sample_is_spread_evenly(number, chosen):
    assert "".join(sample("abcdefg", number)) == chosen
