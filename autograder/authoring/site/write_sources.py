"""Write the input for Sphinx: the executed notebooks, the guides, a page for each assignment, and the reference."""

import importlib.util
import json
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import course
from autograder.authoring.packing.start_notebook import NAME
from autograder.authoring.release import RELEASE
from autograder.manifest import Assignment
from course.errors import UserError
from course.location import course_folder

HERE = Path(__file__).parent / "sphinx"
FOR_STUDENTS = ("student-guide", "glossary", "shapes", "written-exercises/exercises")
ANSWERS = "written-exercises/answers.md"  # for instructors, so not shown
MATHJAX = ("tex-chtml.js", "output/chtml/fonts/woff-v2", "input/tex/extensions")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\((?!https?://|#|mailto:)([^)\s]+)\)")


def write_sources(folder: Path, chosen: Sequence[Assignment], notebooks: Iterable[tuple[Assignment, str, Any]]) -> None:
    """Rewrite the folder except its subfolder `extra`, which contains the handouts.

    Args:
        notebooks: assignment, file name and content, with outputs.

    Raises:
        UserError: if a package is missing, or the table of contents lacks a guide.
    """
    import nbformat

    for old in folder.glob("*"):
        if old.name != "extra":
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    shutil.copytree(HERE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("index.md", "__pycache__"))
    copy_mathjax(folder / "_static" / "mathjax")
    shutil.copytree(course_folder() / "img", folder / "img")
    for path in course_folder().glob("docs/**/*.svg"):
        _put(folder / path.relative_to(course_folder()), path.read_bytes())
    for path in course_folder().glob("checkpoints/*/curves.svg"):
        _put(folder / path.relative_to(course_folder()), path.read_bytes())

    guides = [path for path in course_folder().glob("docs/**/*.md") if path != course_folder() / "docs" / ANSWERS]
    cards = list(course_folder().glob("checkpoints/*/MODEL_CARD.md"))
    texts = {
        path.relative_to(course_folder()).as_posix(): path.read_text(encoding="utf-8") for path in [*guides, *cards]
    }
    for path in cards:
        texts[path.relative_to(course_folder()).as_posix()] = "---\norphan: true\n---\n" + path.read_text(
            encoding="utf-8"
        )
    for assignment in chosen:
        texts[f"{RELEASE}/{assignment.name}/index.md"] = assignment_page(assignment)
        texts[f"reference/{assignment.name}.md"] = modules_page(assignment)
    texts["reference/course.md"] = library_page()
    instructors = sorted(name for name in texts if name.startswith("docs/") and name[5:-3] not in FOR_STUDENTS)
    instructors.sort(key=lambda name: name != "docs/instructor-guide.md")
    texts["index.md"] = (
        (HERE / "index.md")
        .read_text(encoding="utf-8")
        .format(
            assignments=handouts_table(chosen),
            pages="\n".join(f"{RELEASE}/{assignment.name}/index" for assignment in chosen),
            references="\n".join(f"reference/{assignment.name}" for assignment in chosen),
            instructors="\n".join(name.removesuffix(".md") for name in instructors),
        )
    )
    there = {*texts, *(f"{RELEASE}/{assignment.name}/{name}" for assignment in chosen for name in assignment.notebooks)}
    there |= {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    there |= {f"handouts/{assignment.name}-student.zip" for assignment in chosen}
    for name, text in texts.items():
        _put(folder / name, only_links_to(there, name, text).encode())
    for assignment, name, notebook in notebooks:
        place = f"{RELEASE}/{assignment.name}/{name}"
        notebook.cells = [cell for cell in notebook.cells if cell.id != "way-on"]  # the theme has its own links
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = only_links_to(there, place, cell.source)
            for output in cell.get("outputs", []):
                link_to_pages(output)
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, folder / place)


def link_to_pages(output: Any) -> None:
    """Make links to notebooks in an output (such as "Next") lead to their pages; Sphinx does this only for text."""
    data = output.get("data", {})
    if "text/html" in data:
        data["text/html"] = re.sub(r'(<a href="[\w./-]+)\.ipynb"', r'\1.html"', data["text/html"])


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def copy_mathjax(folder: Path) -> None:
    """Copy MathJax from the package sphinx-mathjax-offline, without unused files.

    Raises:
        UserError: if it is not installed.
    """
    spec = importlib.util.find_spec("sphinx-mathjax-offline")
    if spec is None or not spec.submodule_search_locations:
        raise UserError('the packages for the site are missing: pip install -c constraints.txt -e ".[site]"')
    source = Path(spec.submodule_search_locations[0]) / "static" / "mathjax"
    for name in MATHJAX:
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (source / name).is_dir() else shutil.copy)(source / name, place)


def only_links_to(there: set[str], page: str, text: str) -> str:
    """Replace links in a Markdown text with plain text if their pages are not on the site."""

    def checked(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        path = os.path.normpath(os.path.join(os.path.dirname(page), target.partition("#")[0])).replace(os.sep, "/")
        if path in there or picture:
            return found[0]
        return f"[{words}]({target}/index.md)" if f"{path}/index.md" in there else str(words)

    return LINK.sub(checked, text)


def handouts_table(chosen: Sequence[Assignment]) -> str:
    """Return a Markdown table of the assignments with their handouts."""
    rows = [
        f"| [{assignment.title}]({RELEASE}/{assignment.name}/index.md) | {len(assignment.stages)} "
        f"| {sum(stage.max_points for stage in assignment.stages if not stage.extra_credit):g} "
        f'| <a href="handouts/{assignment.name}-student.zip" download>{assignment.name}-student.zip</a> |'
        for assignment in chosen
    ]
    return "\n".join(["| assignment | stages | points | handout |", "|---|---|---|---|", *rows])


def assignment_page(one: Assignment) -> str:
    """Return the page of an assignment: tasks, times and notebooks."""
    folder = one.released
    start = json.loads((folder / NAME).read_text(encoding="utf-8"))
    texts = {cell["id"]: "".join(cell["source"]) for cell in start["cells"]}
    goal, table = (texts[name].partition("\n\n")[2] for name in ("start", "way"))
    notebooks = "\n".join(name.removesuffix(".ipynb") for name in one.notebooks)
    return (
        f"# {one.title}\n\n"
        f'The handout: <a href="../../handouts/{one.name}-student.zip" download>{one.name}-student.zip</a>. '
        f"The [student guide](../../docs/student-guide.md) explains what to do with it.\n\n"
        f"{goal}\n\n## The notebooks\n\n{table}\n\n"
        f"The arguments and results of the classes and functions: [reference](../../reference/{one.name}.md).\n\n"
        f"```{{toctree}}\n:hidden:\n{notebooks}\n```\n"
    )


def library_page() -> str:
    """Return the reference for all names that notebooks import from `course`, by module."""
    homes: dict[str, list[str]] = defaultdict(list)
    for name in course.__all__:
        homes[getattr(course, name).__module__].append(name)
    parts = ["# What notebooks import\n\n`from course import check, load, ...`\n"]
    for home, names in homes.items():
        purpose = (importlib.import_module(home).__doc__ or "").partition("\n")[0]
        entries = "".join(_entry(f"course.{name}", getattr(course, name)) for name in sorted(names))
        parts.append(f"## `{home}`\n\n{purpose}\n\n```{{eval-rst}}\n{entries}```\n")
    return "\n".join(parts)


def _entry(name: str, thing: Any) -> str:
    kind = "autoclass" if isinstance(thing, type) else "autofunction"
    return f".. {kind}:: {name}\n"


def modules_page(one: Assignment) -> str:
    """Return the reference for the modules that students write: the stubs' classes and functions."""
    parts = [f"# What you write: {one.title}\n"]
    for module in one.modules:
        options = ":members:\n   :undoc-members:\n   :member-order: bysource"
        parts.append(f"## `{module}.py`\n\n```{{eval-rst}}\n.. automodule:: {module}\n   {options}\n```\n")
    return "\n".join(parts)
