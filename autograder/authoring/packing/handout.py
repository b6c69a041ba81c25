"""Make what students get: `python -m autograder handout build/transformer-student.zip`; `--all` for a whole course.

The list below says which files these are; what it does not name stays here. Before the archive is written, its stubs
are compared with the solutions, and every file is searched for lines of the solution.
"""

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autograder.authoring.packing.zip_files import BINARY, ROOT, check_target, collect, write_zip
from autograder.authoring.release import RELEASE, TRIVIAL, find_leaks, make_stubs, secret_lines
from autograder.manifest import Assignment, every_assignment
from autograder.submissions.which_assignment import which_assignment
from course.errors import UserError, run_command

# The rooms of the engine that `python grade.py` and `check` use, and what of them is for instructors only.
ROOMS = ("manifest", "sandbox", "forbidden", "submissions", "diagnosis", "grading", "reports")
ENGINE = ("autograder/*.py", "autograder/assignments/__init__.py", *(f"autograder/{room}/*.py" for room in ROOMS))
INSTRUCTORS = (
    *("submissions/find_submissions.py", "diagnosis/mistakes.py", "grading/hidden_case.py", "reports/class_report.py"),
    *("grading/named_steps.py", "reports/item_analysis.py", "reports/gradescope_results.py", "reports/write_files.py"),
)
SHOWN = ("base.html", "macros.html", "style.css", "verdict.html")  # what `check` shows in a notebook
LIBRARY = ("course/**/*.*", "img/*.svg", "img/*.png")
# What of an assignment's folder is for students.
OF_ASSIGNMENT = ("assignment.toml", "*.py", "visible/*.py", "standins/*.py", "expected/*")
FILES = ("grade.py", "constraints.txt", "environment.yml", "LICENSE")
DOCS = ("docs/student-guide.md", "docs/glossary.md", "docs/shapes.md")
# Sections of pyproject.toml without which the course can be installed.
FOR_DEVELOPERS = ("project.optional-dependencies", "tool.ruff", "tool.mypy", "tool.pytest")


def shipped(chosen: Assignment) -> list[str]:
    """The patterns of everything that is taken as it is.

    A model that belongs to an earlier assignment comes with the stand-ins of that one, in which notebooks load it.
    """
    owners = {next(one.name for one in every_assignment() if name in one.checkpoints) for name in chosen.checkpoints}
    return [
        *FILES,
        *DOCS,
        *ENGINE,
        *LIBRARY,
        *(f"autograder/reports/templates/{name}" for name in SHOWN),
        *(f"autograder/assignments/{chosen.name}/{pattern}" for pattern in OF_ASSIGNMENT),
        *(f"checkpoints/{name}/*" for name in chosen.checkpoints),
        *(f"autograder/assignments/{owner}/standins/*.py" for owner in sorted(owners)),
        *(f"{RELEASE}/{chosen.name}/{module}.py" for module in chosen.modules),
        *(f"{RELEASE}/{chosen.name}/{notebook}" for notebook in chosen.notebooks),
    ]


def contents(root: Path, chosen: Sequence[Assignment]) -> dict[str, bytes]:
    """Everything that students get for some assignments, by path.

    Args:
        root: the folder of the project.

    Raises:
        UserError: if a file is missing, a stub or a notebook is not as it was released, or a solution is in it.
    """
    files = collect(root, list(dict.fromkeys(pattern for one in chosen for pattern in shipped(one))))
    for name in INSTRUCTORS:
        del files[f"autograder/{name}"]
    for one in chosen:
        del files[f"autograder/assignments/{one.name}/make_expected.py"]
        check_release(root, one, files)
        mistakes = f"autograder/assignments/{one.name}/expected/mistakes.json"
        files[mistakes] = as_visible(files[mistakes])
    files["pyproject.toml"] = for_students(collect(root, ["pyproject.toml"])["pyproject.toml"])
    for name, template in {"README.md": "student_readme.md", "Makefile": "student.mk"}.items():
        template = f"autograder/authoring/packing/{template}"
        files[name] = collect(root, [template])[template]
    texts = {name: data.decode("utf-8") for name, data in files.items() if Path(name).suffix not in BINARY}
    secrets = {line for one in chosen for line in secret_lines(root / "solutions" / one.name, one)}
    if leaks := find_leaks(texts, {line for line in secrets if not TRIVIAL.fullmatch(line)}):
        raise UserError("the archive would hold lines of the solution\n  " + "\n  ".join(leaks))
    return files


def check_release(root: Path, chosen: Assignment, files: dict[str, bytes]) -> None:
    """See that the modules are the stubs, and that nobody has worked in the notebooks.

    Raises:
        UserError: if not.
    """
    solution = root / "solutions" / chosen.name
    if not solution.is_dir():
        raise UserError(f"there is no folder {solution}: archives are packed in a complete copy of the project")
    folder = f"{RELEASE}/{chosen.name}"
    stubs = make_stubs(solution, chosen)
    changed = [name for name, text in stubs.items() if files[f"{folder}/{name}"] != text.encode()]
    for notebook in chosen.notebooks:
        cells = json.loads(files[f"{folder}/{notebook}"])["cells"]
        changed += [notebook] if any(cell.get("outputs") for cell in cells) else []
    if changed:
        raise UserError(f"{', '.join(changed)} in {folder} differ from what is released: run make release first")


def as_visible(data: bytes) -> bytes:
    """The stored mistakes without the hints for those that only hidden tests find."""
    stored: dict[str, Any] = json.loads(data)
    seen = {entry["mistake"] for entries in stored["signatures"].values() for entry in entries}
    stored["hints"] = {mistake: texts for mistake, texts in stored["hints"].items() if mistake in seen}
    return (json.dumps(stored) + "\n").encode()


def for_students(pyproject: bytes) -> bytes:
    """The pyproject.toml without the sections that are for those who develop the course."""
    sections = re.split(r"^(?=\[)", pyproject.decode(), flags=re.MULTILINE)
    return "".join(part for part in sections if not part.lstrip("[").startswith(FOR_DEVELOPERS)).encode()


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m autograder handout", description="Make the archive that students get."
    )
    parser.add_argument("archive", type=Path, metavar="ARCHIVE", help="zip file to write")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--assignment", metavar="NAME", help="(the one that fits, else the first)")
    which.add_argument("--all", action="store_true", help="all assignments in one archive")
    return parser.parse_args(arguments)


def run(args: argparse.Namespace) -> int:
    chosen = every_assignment() if args.all else [which_assignment(args.assignment)]
    check_target(args.archive)
    files = contents(ROOT, chosen)
    # In a folder of its own, for those whose programs unpack into the current one.
    folder = "course-student" if args.all else f"{chosen[0].name}-student"
    write_zip(args.archive, {f"{folder}/{name}": data for name, data in files.items()})
    size = args.archive.stat().st_size / 1e6
    print(f"Wrote {args.archive} ({len(files)} files, {size:.1f} MB). No line of a solution is in it.")
    return 0


def main(arguments: list[str]) -> int:
    args = parse_arguments(arguments)
    return run_command(lambda: run(args))
