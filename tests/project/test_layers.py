"""The layers of the code: import-linter sees what breaks them; no room of the engine knows an assignment by name."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.manifest import assignments

ROOT = Path(__file__).resolve().parents[2]
LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"
# What breaks each contract: a line at the end of a file.
BREAKS = {
    "The rooms of the autograder": ("autograder/diagnosis/mistakes.py", "from autograder.grading import results"),
    "Nobody imports an assignment by name": (
        "autograder/classroom/batch.py",
        "from autograder.assignments.transformer import trained",
    ),
    "The engine uses the ground floor of course only": ("autograder/reports/console.py", "from course.text import pad"),
    "What assignments leave alone": (
        "autograder/assignments/transformer/trained.py",
        "from course.notebook import check",
    ),
    "The floors of course": ("course/text.py", "from course.read_attention import attention_maps"),
    "Evidence is independent": (
        "autograder/localization/reruns.py",
        "from autograder.localization.suspects import Suspect",
    ),
    "Suspects, proofs and sentences": (
        "autograder/localization/alignment.py",
        "from autograder.localization.case import Case",
    ),
    "The inside of fault localisation": (
        "autograder/grading/results.py",
        "from autograder.localization.arbitrate import Diagnosis",
    ),
    "No circles": ("course/training/settings.py", "from course.training import loop"),
}


def lint(folder: Path) -> str:
    """What import-linter says of a copy of the project."""
    done = subprocess.run([sys.executable, "-c", LINT], cwd=folder, capture_output=True, encoding="utf-8", timeout=300)
    return done.stdout + done.stderr


def test_import_linter_sees_what_breaks_a_layer(tmp_path):
    """Each contract is broken once, all in one copy. That the code itself keeps them is seen by `make lint`."""
    for folder in ("autograder", "course"):
        ignored = shutil.ignore_patterns("__pycache__", "*.safetensors", "*.model")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for file, line in BREAKS.values():
        with (tmp_path / file).open("a", encoding="utf-8") as source:
            source.write(f"\n\ndef broken() -> None:\n    {line}\n")
    said = lint(tmp_path)
    assert set(re.findall(r"^(.*?) BROKEN", said, re.MULTILINE)) == set(BREAKS), said


# Names

# The search for what libraries call an attention or a transformer is about other names.
NOT_THE_ENGINE = {"assignments", "forbidden", "template"}
ENGINE = [
    path for path in (ROOT / "autograder").rglob("*.py") if not NOT_THE_ENGINE & set(path.relative_to(ROOT).parts)
]


def words(source: str) -> set[str]:
    """The texts in the code of a module, without docstrings, and the parts of those that are paths or dotted names."""
    tree = ast.parse(source)
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            found |= {node.value, *re.split(r"[/.]", node.value)} if " " not in node.value else set()
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {part for alias in node.names for part in alias.name.split(".")}
            found |= set((getattr(node, "module", "") or "").split("."))
    return found


def test_the_engine_names_no_assignment_and_no_stage():
    names = {name for one in assignments().values() for name in (one.name, *(stage.name for stage in one.stages))}
    names -= {"generate", "training", "optim"}  # stages that are called by everyday words, or as a module of torch
    found = {path.relative_to(ROOT).as_posix(): words(path.read_text(encoding="utf-8")) & names for path in ENGINE}
    assert len(found) > 80
    assert {path: said for path, said in found.items() if said} == {}


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        ('x = "transformer"', True),
        ('x = f"solutions/transformer/{y}"', True),
        ("import autograder.assignments.transformer", True),
        ("from autograder.assignments import transformer", True),
        ('def f():\n    """Grades the transformer."""', False),
        ("x = 1  # transformer", False),
    ],
)
def test_a_name_would_be_seen(code, seen):
    assert ("transformer" in words(code)) == seen
