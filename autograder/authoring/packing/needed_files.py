"""The files that a handout needs besides the engine: the `course` modules, pages and pictures that it uses."""

import ast
import functools
import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from autograder.authoring.packing.zip_files import of_course, of_engine
from autograder.submissions.syntax_tree import parse
from course import HOMES
from course.location import ENGINE

# The modules that the engine's commands and guides offer to every student.
ALWAYS = ("course.doctor", "course.update", *(f"course.notebook.{name}" for name in ("check", "load", "own_code")))
FRONT = "course/__init__.py"  # names the modules that are imported on first use
NAMED = re.compile(r"\bcourse(?:\.\w+)+")  # in a text: `python -m course.doctor`
LINK = re.compile(r"\]\(([^)#\s]+)|src=\\?[\"']([^\"'\\]+)|((?:\.\./)*img/[\w.-]+)")
PAGES = ("docs/", "img/")


def library(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the modules of `course` that the given files use, directly or indirectly, with their data.

    Args:
        files: modules, notebooks and text files, by path.
    """
    waiting = {*ALWAYS, *(name for path, data in files.items() for name in _used(path, data))}
    found: dict[str, bytes] = {}
    while waiting:
        path = _file(waiting.pop())
        if path is None or path in found:
            continue
        data = (ENGINE / path).read_bytes()
        found[path] = data
        if path != FRONT:
            waiting |= {*_used(path, data), *_packages(path)}
    return of_engine([*sorted(found), *_data(found, files)])


def _used(path: str, data: bytes) -> Iterator[str]:
    """Yield the names in the package `course` that a file imports or mentions."""
    if path.endswith(".py"):
        yield from _imported(data.decode())
    elif path.endswith(".ipynb"):
        cells = json.loads(data)["cells"]
        for cell in cells:
            text = "".join(cell["source"])
            if cell["cell_type"] == "code":
                lines = [line for line in text.split("\n") if not line.lstrip().startswith(("%", "!"))]
                yield from _imported("\n".join(lines))
            yield from NAMED.findall(text)
    elif path.endswith((".md", "Makefile")):
        yield from NAMED.findall(data.decode())


@functools.cache
def _imported(text: str) -> frozenset[str]:
    names: set[str] = set()
    try:
        tree = parse(text) if "course" in text else ast.Module([], [])
    except SyntaxError:  # a cell that shows invalid code
        return frozenset()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if alias.name.startswith("course.")}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "course":
            module = node.module or ""
            imported = (alias.name for alias in node.names)
            names |= {module, *(HOMES.get(name, "") if module == "course" else f"{module}.{name}" for name in imported)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):  # for separate processes
            names |= {*NAMED.findall(node.value)} if path_like(node.value) else set()
    return frozenset(names)


def path_like(text: str) -> bool:
    """Whether a string is a module's name or contains an import, as opposed to a sentence about a module."""
    return NAMED.fullmatch(text) is not None or "import " in text


def _file(name: str) -> str | None:
    """Return the path of a module, or of the module that defines a name."""
    place = name.replace(".", "/")
    for path in (f"{place}.py", f"{place}/__init__.py"):
        if name and (ENGINE / path).is_file():
            return path
    return None


def _packages(path: str) -> Iterator[str]:
    yield from (str(parent).replace("/", ".") for parent in PurePosixPath(path).parents if parent.name)


def _data(modules: Iterable[str], files: Mapping[str, bytes]) -> Iterator[str]:
    """Yield the data files of `course` that the modules or files mention."""
    texts = [(ENGINE / path).read_text(encoding="utf-8") for path in modules]
    texts += [data.decode() for name, data in files.items() if name.endswith((".py", ".ipynb"))]
    for folder in {*(PurePosixPath(path).parent for path in modules), PurePosixPath("course/data")}:
        data = [path for path in (ENGINE / folder).glob("*.*") if path.suffix not in (".py", ".md")]
        used = [path.name for path in data if any(map(_mention(path.name).search, texts))]
        licences = ["README.md"] if used and (ENGINE / folder / "README.md").is_file() else []
        yield from (f"{folder}/{name}" for name in (*used, *licences))


def _mention(name: str) -> re.Pattern[str]:
    """Match mentions of a data file: its name, or the part before the first dot, in quotes or before a placeholder."""
    stem = re.escape(name.partition(".")[0])
    return re.compile(rf"{re.escape(name)}|[\"']{stem}[\"']|{stem}\.{{")


def pages(files: Mapping[str, bytes], root: Path) -> dict[str, bytes]:
    """Return the pages and pictures that the given files link to, directly or indirectly.

    Args:
        root: the folder of the course.
    """
    found: dict[str, bytes] = {}
    waiting = dict(files)
    while waiting:
        path, data = waiting.popitem()
        if not path.endswith((".md", ".ipynb")) or path.startswith("checkpoints/"):
            continue
        for matched in LINK.finditer(data.decode()):
            link = posixpath.normpath(posixpath.join(posixpath.dirname(path), next(filter(None, matched.groups()))))
            if link.startswith(PAGES) and link not in found and link not in files and (root / link).is_file():
                found |= (new := of_course([link]))
                waiting |= new
    return found
