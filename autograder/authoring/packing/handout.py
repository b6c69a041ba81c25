"""Build the student handout: `python -m autograder handout` writes build/transformer-student.zip.

With `--all`, the archive contains all assignments. A handout contains only the student part of the engine, the
assignment's own files, and the library modules, pages and pictures that they use. Before the archive is written, its
stubs are compared with the solutions, and every file is searched for lines of the solution.
"""

import argparse
import json
import os
import re
import zipfile
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from autograder.authoring.packing.needed_files import library, pages
from autograder.authoring.packing.start_notebook import NAME, title_of
from autograder.authoring.packing.zip_files import (
    BINARY,
    check_target,
    of_course,
    of_engine,
    of_project,
    write_zip,
)
from autograder.authoring.release import RELEASE, TRIVIAL, find_leaks, secret_lines
from autograder.authoring.stubs import make_stubs
from autograder.manifest import Assignment, every_assignment
from autograder.manifest.course_config import course_config
from autograder.submissions.which_assignment import which_assignment
from course.errors import UserError, run_command
from course.location import ENGINE, MARK, course_folder, project_files
from course.update import RECORD, digest

# The engine's packages that `python grade.py` and `check` use, and the files in them that only instructors need.
ROOMS = (
    *(
        "manifest",
        "sandbox",
        "worker",
        "worker/tracing",
        "forbidden",
        "submissions",
        "diagnosis",
        "localization",
        "localization/edits",
    ),
    *("grading", "reports", "questions"),
)
ENGINE_FILES = ("autograder/*.py", "autograder/assignments/__init__.py", *(f"autograder/{room}/*.py" for room in ROOMS))
INSTRUCTORS = (
    *("submissions/find_submissions.py", "diagnosis/mistakes.py", "grading/hidden_case.py", "reports/class_report.py"),
    *(
        "localization/named_steps.py",
        "reports/item_analysis.py",
        "reports/gradescope_results.py",
        "reports/junit_xml.py",
        "reports/sarif.py",
        "reports/write_files.py",
    ),
    *("reports/csv_sheet.py", "reports/review_file.py", "reports/review_page.py", "reports/staff_page.py"),
    *("reports/regrade_requests.py", "reports/review_tables.py", "reports/rubric.py", "reports/term_page.py"),
    *(f"questions/{name}.py" for name in ("answers", "command", "outputs")),
)
# Used by `check` and `ask_about` in a notebook.
SHOWN = ("base.html", "macros.html", "style.css", "verdict.html", "questions_macros.html", "questions_notebook.html")
# The files of an assignment's folder for students.
OF_ASSIGNMENT = ("*.py", "visible/*.py", "standins/*.py", "expected/*")
FILES = ("grade.py", "constraints.txt", "environment.yml", "LICENSE")
# Packages that only instructors' code needs. Without nbgrader, students' JupyterLab has no Formgrader, no Create
# Assignment and no warning about an exchange directory.
NOT_NEEDED = ("nbgrader", "sqlalchemy", "nbclient", "pygments")
PACKING = "autograder/authoring/packing"
GUIDE = "docs/student-guide.md"
# Sections of pyproject.toml that are not needed to install the course.
FOR_DEVELOPERS = (
    *("project.optional-dependencies", "tool.setuptools.data-files", "tool.ruff", "tool.mypy", "tool.pytest"),
)


def shipped(chosen: Assignment) -> list[str]:
    """Return patterns for the assignment's files that are copied unchanged.

    A model from an earlier assignment is shipped with that assignment's stand-ins, because notebooks load the model
    into them.
    """
    owners = {
        next(place_of(assignment) for assignment in every_assignment() if name in assignment.checkpoints)
        for name in chosen.checkpoints
    }
    return [
        *(f"{place_of(chosen)}/{pattern}" for pattern in (chosen.manifest.name, *OF_ASSIGNMENT)),
        *(f"checkpoints/{name}/*" for name in chosen.checkpoints),
        *(f"{owner}/standins/*.py" for owner in sorted(owners)),
        *(f"{RELEASE}/{chosen.name}/{module}.py" for module in chosen.modules),
        *(f"{RELEASE}/{chosen.name}/{notebook}" for notebook in (NAME, *chosen.notebooks)),
    ]


def place_of(chosen: Assignment) -> str:
    """Return the path of an assignment's folder in the course."""
    return chosen.folder.relative_to(course_folder()).as_posix()


def public_config() -> bytes:
    """Return the course.toml that marks an archive as a course; it contains only the path to the assignments."""
    place = course_config().assignments.relative_to(course_folder()).as_posix()
    head = "# This folder is a course: commands find it by this file."
    return f"{head}\n[folders]\nassignments = {json.dumps(place)}\n".encode()


NOTHING: Mapping[str, str] = {}
# For a GitHub repository that is copied for each student: target path -> path here.
CLASSROOM50 = {
    ".gitignore": "autograder/authoring/packing/github/gitignore",
    ".devcontainer/devcontainer.json": ".devcontainer/devcontainer.json",
}
# Classroom 50 provides its own workflow.
GITHUB = {**CLASSROOM50, ".github/workflows/grade.yml": "autograder/authoring/packing/github/grade.yml"}


def contents(chosen: Sequence[Assignment], github: Mapping[str, str] = NOTHING) -> dict[str, bytes]:
    """Return all files of the handout, keyed by path. The handout's documentation is about the first assignment.

    Args:
        github: additional files for a GitHub repository: target path -> path in the project.

    Raises:
        UserError: if a file is missing, a stub or a notebook has changed since the release, or a solution is included.
    """
    files = of_course(dict.fromkeys(pattern for assignment in chosen for pattern in shipped(assignment)))
    for assignment in chosen:
        del files[f"{place_of(assignment)}/make_expected.py"]
        check_release(assignment, files)
        mistakes = f"{place_of(assignment)}/expected/mistakes.json"
        files[mistakes] = as_visible(files[mistakes])
    files |= public(of_course(course_config().handout))
    files |= of_project([*FILES, GUIDE, "pyproject.toml"])
    files["environment.yml"] = without_packages(files["environment.yml"])
    files["pyproject.toml"] = for_students(files["pyproject.toml"])
    files[MARK] = public_config()
    templates = {"README.md": "student_readme.md", "Makefile": "student.mk", ".vscode/tasks.json": "vscode/tasks.json"}
    for name, template in templates.items():
        files[name] = of_engine([f"{PACKING}/{template}"])[f"{PACKING}/{template}"]
    for name in ("README.md", GUIDE, "Makefile"):
        files[name] = adapted(files[name].decode(), chosen[0], files).encode()
    if later := chosen[1:]:
        files["README.md"] += others(later).encode()
    files |= pages(files, course_folder())
    engine = of_engine([*ENGINE_FILES, *(f"autograder/reports/templates/{name}" for name in SHOWN)])
    files |= {name: data for name, data in engine.items() if name.removeprefix("autograder/") not in INSTRUCTORS}
    files |= library(files)
    texts = {name: data.decode("utf-8") for name, data in files.items() if Path(name).suffix not in BINARY}
    files |= {
        name: ((ENGINE if place.startswith("autograder/") else project_files()) / place).read_bytes()
        for name, place in github.items()
    }
    names = ", ".join(assignment.name for assignment in chosen)
    record = {"assignment": names, "files": {name: digest(data, name) for name, data in sorted(files.items())}}
    files[RECORD] = (json.dumps(record, indent=1) + "\n").encode()
    secrets = {line for assignment in chosen for line in secret_lines(assignment.solution, assignment)}
    if leaks := find_leaks(texts, {line for line in secrets if not TRIVIAL.fullmatch(line)}):
        raise UserError("the archive would contain lines of the solution\n  " + "\n  ".join(leaks))
    return files


def public(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files that course.toml adds to the handout.

    Raises:
        UserError: if a file may be secret: it is part of an assignment or of the solutions, or is about the class.
    """
    config, root = course_config(), course_folder()
    secret = [config.assignments, root / "solutions", root / "graded", root / "submitted", root / MARK]
    secret += [path for path in (config.roster, config.groups, *map(config.graded, config.planned)) if path]
    for name in files:
        if any((root / name).is_relative_to(place) for place in secret):
            raise UserError(f"{config.path}, handout: files names {name}, which students must not get")
    return files


def check_release(chosen: Assignment, files: dict[str, bytes]) -> None:
    """Check that the modules are stubs, and that the notebooks have no outputs.

    Raises:
        UserError: if they are not.
    """
    solution = chosen.solution
    if not solution.is_dir():
        raise UserError(f"there is no folder {solution}: archives can be packed only where the solutions are")
    folder = f"{RELEASE}/{chosen.name}"
    stubs = make_stubs(solution, chosen)
    changed = [name for name, text in stubs.items() if files[f"{folder}/{name}"] != text.encode()]
    for notebook in chosen.notebooks:
        cells = json.loads(files[f"{folder}/{notebook}"])["cells"]
        changed += [notebook] if any(cell.get("outputs") for cell in cells) else []
    if changed:
        raise UserError(
            f"{', '.join(changed)} in {folder} differ from the generated files: run python -m autograder build first"
        )


def as_visible(data: bytes) -> bytes:
    """Remove the hints for stored mistakes that only hidden tests find."""
    stored: dict[str, Any] = json.loads(data)
    visible = {entry["mistake"] for entries in stored["signatures"].values() for entry in entries}
    stored["hints"] = {mistake: texts for mistake, texts in stored["hints"].items() if mistake in visible}
    return (json.dumps(stored) + "\n").encode()


def for_students(pyproject: bytes) -> bytes:
    """Remove the developers' sections from pyproject.toml."""
    sections = re.split(r"^(?=\[)", pyproject.decode(), flags=re.MULTILINE)
    return without_packages(
        "".join(part for part in sections if not part.lstrip("[").startswith(FOR_DEVELOPERS)).encode()
    )


def without_packages(text: bytes) -> bytes:
    """Remove the packages that students do not need from pyproject.toml or environment.yml."""
    lines = re.compile(rf"^  (- |\")({'|'.join(NOT_NEEDED)})[ >].*\n", re.MULTILINE)
    return lines.sub("", text.decode()).encode()


def adapted(text: str, chosen: Assignment, files: dict[str, bytes]) -> str:
    """Adapt a text to an assignment.

    The text between `<!-- only NAME -->` and `<!-- end -->` is for one assignment. The text in `<!-- others: ... -->`
    is for all other assignments. The text after `<!-- if PAGE -->` is for courses that have this page. `{...}` is
    filled in from the manifest. `<!-- example: ASSIGNMENT STAGE MODULE -->` lists names to be replaced in the examples.
    """
    only = re.compile(r"<!-- only (\w+) -->\n?(.*?)<!-- end -->\n?", re.DOTALL)
    special = chosen.name in {found[1] for found in only.finditer(text)}
    text = only.sub(lambda found: found[2] if found[1] == chosen.name else "", text)
    page = re.compile(r"<!-- if (\S+) -->\n?(.*?)<!-- end -->\n?", re.DOTALL)
    text = page.sub(lambda found: found[2] if (course_folder() / found[1]).is_file() else "", text)
    others = re.compile(r"<!-- others: (.*?)\s*-->\n?", re.DOTALL)
    text = others.sub(lambda found: "" if special else f"{found[1]}\n", text)
    example = re.search(r"<!-- example: (\w+) (\w+) (\w+) -->\n?", text)
    text = text.replace(example[0], "") if example else text
    titles = {name: title_of(files[f"{RELEASE}/{chosen.name}/{name}"]) for name in chosen.notebooks}
    written: dict[str, list[str]] = {name: [] for name in chosen.notebooks}  # notebook -> its modules
    for stage in chosen.stages:
        written[stage.notebook] += [f"`{module}.py`" for module in stage.modules]
    rows = "".join(
        f"| [{titles[name]}](../{RELEASE}/{chosen.name}/{name}) "
        f"| {', '.join(dict.fromkeys(written[name])) or 'nothing to write'} |\n"
        for name in chosen.notebooks
    )
    facts = {
        "{title}": chosen.title,
        "{name}": chosen.name,
        "{stages} stages": f"{len(chosen.stages)} stages" if len(chosen.stages) > 1 else "one stage",
        "{stage}": chosen.stages[0].name,
        "{notebook}": chosen.notebooks[0],
        "{module}": chosen.stages[0].modules[0],
        "{modules}": listed([f"`{module}.py`" for module in chosen.modules]),
        "{notebooks}": f"| notebook | file |\n|---|---|\n{rows}",
    }
    if example and example[1] != chosen.name:
        name, stage_name, module = example.groups()
        facts |= {
            f"{RELEASE}/{name}": f"{RELEASE}/{chosen.name}",
            f"{name}.zip": f"{chosen.name}.zip",
            f"{name}-student.zip": f"{chosen.name}-student.zip",
            f"{module}.py": "{module}.py",
        }
        facts |= {
            command.format(stage_name): command.format("{stage}")
            for command in (
                'check("{}")',
                "--watch {}",
                "--verbose {}",
                "grade.py {} ",
                "grade.py {}`",
                'load("{}")',
                "autograde {}`",
            )
        }
    for name, fact in sorted(facts.items(), key=lambda item: item[0].startswith("{")):
        text = text.replace(name, fact)
    return re.sub(r"(^ *python .* # .*\n){2,}", lambda found: aligned(found[0]), text, flags=re.MULTILINE)


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence: "a, b and c"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def aligned(commands: str) -> str:
    """Realign the comments after commands, since a name may have become longer."""
    pairs = [[piece.rstrip() for piece in line.split(" # ", 1)] for line in commands.splitlines()]
    width = max(len(command) for command, _ in pairs)
    return "".join(f"{command.ljust(width)} # {words}\n" for command, words in pairs)


def others(more: Sequence[Assignment]) -> str:
    """Return the README section about all assignments except the first."""
    rows = "".join(
        f"| [{each.title}]({RELEASE}/{each.name}/{NAME}) | `python grade.py --assignment {each.name}` |\n"
        for each in more
    )
    return f"\n## The other assignments\n\n| start here | check your progress |\n|---|---|\n{rows}"


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m autograder handout", description="Build the archive for students.")
    parser.add_argument(
        "archive", type=Path, nargs="?", metavar="ARCHIVE", help="zip file to write (default: build/NAME-student.zip)"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--assignment", metavar="NAME", help="default: the first assignment")
    which.add_argument("--all", action="store_true", help="all assignments in one archive, build/course-student.zip")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--github", action="store_true", help="for a repository on GitHub: a workflow grades every push")
    where.add_argument(
        "--classroom50", action="store_true", help="like --github, without the workflow: Classroom 50 has its own"
    )
    return parser.parse_args(arguments)


def run(args: argparse.Namespace) -> int:
    chosen = every_assignment() if args.all else [which_assignment(args.assignment)]
    top = "course-student" if args.all else f"{chosen[0].name}-student"
    archive = args.archive or course_folder() / "build" / f"{top}.zip"
    check_target(archive)
    if (other := top_folder(archive)) not in ("", top):
        raise UserError(f"{archive} contains {other}, a different handout: choose another name, or omit the name")
    files = contents(chosen, GITHUB if args.github else CLASSROOM50 if args.classroom50 else NOTHING)
    # All files are in one top folder, since some programs unpack into the current folder.
    write_zip(archive, {f"{top}/{name}": data for name, data in files.items()}, date=today())
    size = archive.stat().st_size / 1e6
    print(f"Wrote {archive} ({len(files)} files, {size:.1f} MB). It contains no line of a solution.")
    return 0


def top_folder(archive: Path) -> str:
    """Return the top folder of an archive, or "" if there is no archive."""
    if not archive.exists():
        return ""
    try:
        with zipfile.ZipFile(archive) as there:
            return there.namelist()[0].partition("/")[0]
    except (OSError, zipfile.BadZipFile, IndexError):
        return "something else"


def today() -> tuple[int, int, int, int, int, int]:
    """Return the date for the files: today, or the date in SOURCE_DATE_EPOCH (see reproducible-builds.org)."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    day = datetime.fromtimestamp(int(epoch), timezone.utc) if epoch.isdecimal() else datetime.now(timezone.utc)
    return max(1980, day.year), day.month, day.day, 0, 0, 0


def main(arguments: list[str]) -> int:
    args = parse_arguments(arguments)
    return run_command(lambda: run(args))
