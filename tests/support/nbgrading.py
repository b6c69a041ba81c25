"""For the tests of nbgrader: a copy of the course in which its real commands run, and students who hand in."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

from autograder.authoring.release import path_with_programs
from autograder.manifest import assignment

ROOT = Path(__file__).resolve().parents[2]
ASSIGNMENT = assignment("transformer")
NAME = ASSIGNMENT.name
SOLUTIONS = ROOT / "solutions" / NAME
STAGES = {stage.notebook.removesuffix(".ipynb"): stage for stage in ASSIGNMENT.stages}

# A known mistake: it passes the tests without padding (`WRONG_MASK` in worth.py).
MASK = ("key_padding_mask[:, None, None, :] != 0", "key_padding_mask[:, None, None, :] == 0")

# Everything that lands on stderr: warnings, prints, and what goes past Python.
NOISE = """
import os
import sys
import warnings

warnings.warn("a warning at import", stacklevel=1)
print("a print on stderr", file=sys.stderr)
os.write(2, b"written to the descriptor\\n")

"""

# Importing nbgrader takes seconds of processor time, so several commands share a process, as nbgrader's own tests do.
COMMANDS = """
import json
import sys

from jupyter_core.application import NoStart
from nbgrader.apps import NbGraderApp

for arguments in json.loads(sys.argv[1]):
    app = NbGraderApp.instance()
    try:
        app.initialize(arguments)
        app.start()
    except NoStart:
        pass
    app.reset()
"""


class Course:
    """A copy of the course folder; the packages are those of this checkout."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.environment = {**os.environ, "JUPYTER_NO_CONFIG": "1", "PATH": path_with_programs()}
        self.environment |= {"PYTHONPATH": str(ROOT), "JUPYTER_DATA_DIR": str(folder / "jupyter"), **environment}
        self.environment.pop("NBGRADER_DB", None)
        self.environment |= environment
        shutil.copy(ROOT / "nbgrader_config.py", folder)
        shutil.copytree(ROOT / "solutions", folder / "solutions", ignore=shutil.ignore_patterns("__pycache__"))

    def run(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run Python with some arguments in the course folder."""
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=cwd or self.folder, env=self.environment, capture_output=True, encoding="utf-8", timeout=3600
        )

    def nbgrader(self, *arguments: str, code: int = 0, cwd: Path | None = None) -> str:
        """Run an nbgrader command; what it has logged."""
        done = self.run("-m", "nbgrader", *arguments, cwd=cwd)
        assert done.returncode == code, done.stderr
        return done.stderr

    def nbgrader_all(self, *commands: list[str]) -> None:
        """Run nbgrader commands one after the other, all of which must succeed."""
        done = self.run("-c", COMMANDS, json.dumps(commands))
        assert done.returncode == 0, done.stderr

    @property
    def database(self) -> str:
        return self.environment.get("NBGRADER_DB") or f"sqlite:///{(self.folder / 'gradebook.db').as_posix()}"

    def submitted(self, student: str) -> Path:
        return self.folder / "submitted" / student / NAME

    def hand_in(self, target: Path, source: Path = SOLUTIONS, **changes: tuple[str, str]) -> Path:
        """Put the released notebooks and modules from elsewhere into a folder; `module=(old, new)` changes a text."""
        shutil.copytree(self.folder / "notebooks" / NAME, target)
        for module in ASSIGNMENT.modules:
            text = (source / f"{module}.py").read_text(encoding="utf-8")
            if module in changes:
                assert changes[module][0] in text
                text = text.replace(*changes[module])
            (target / f"{module}.py").write_text(text, encoding="utf-8")
        return target

    def grades(self) -> dict[str, dict[str, tuple[float | None, bool]]]:
        """For each student and stage the automatic score, and whether nbgrader waits for a person."""
        from nbgrader.api import Gradebook

        with Gradebook(self.database) as gradebook:
            return {
                submission.student.id: {
                    STAGES[notebook.name].name: (grade.auto_score, grade.needs_manual_grade)
                    for notebook in submission.notebooks
                    for grade in notebook.grades
                }
                for submission in gradebook.assignment_submissions(NAME)
            }

    def scores(self) -> dict[str, dict[str, float | None]]:
        """For each student and stage the automatic score."""
        return {
            student: {stage: score for stage, (score, _) in grades.items()} for student, grades in self.grades().items()
        }

    def exported(self) -> dict[str, dict[str, str]]:
        """What `nbgrader export` writes, by student; its plugin is called here, which is quicker than the command."""
        from nbgrader.api import Gradebook
        from nbgrader.plugins import CsvExportPlugin

        with Gradebook(self.database) as gradebook:
            CsvExportPlugin(to=str(self.folder / "exported.csv")).export(gradebook)
        return self.read_export()

    def read_export(self) -> dict[str, dict[str, str]]:
        """The file exported.csv, by student."""
        with (self.folder / "exported.csv").open(encoding="utf-8", newline="") as file:
            return {row["student_id"]: row for row in csv.DictReader(file)}


def change_notebook(path: Path, change: Callable[[Any, Any], None]) -> None:
    """Change a notebook, given its JSON and the grade cell in it."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    (cell,) = [cell for cell in notebook["cells"] if "nbgrader" in cell["metadata"]]
    change(notebook, cell)
    path.write_text(json.dumps(notebook), encoding="utf-8")


def code_in(page: str) -> set[str]:
    """The lines that a reader of a feedback page sees, without the tags that colour the code in them."""
    body = re.sub(r"<(style|script).*?</\1>", "", page, flags=re.DOTALL)
    return {line.strip() for line in unescape(re.sub(r"<[^>]*>", "", body)).split("\n")}
