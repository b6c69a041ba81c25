"""For the tests of what students get: what must not be in it, and a search that looks into every kind of file."""

import gzip
import io
import json
import marshal
import os
import re
import zipfile
from collections.abc import Iterator
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType
from typing import Any

from autograder.diagnosis.mistakes import all_mistakes
from autograder.manifest import assignment

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS, RELEASE = (ROOT / folder / assignment("transformer").name for folder in ("solutions", "notebooks"))
REGION = re.compile(r"^ *### BEGIN SOLUTION\n(.*?)^ *### END SOLUTION$", re.MULTILINE | re.DOTALL)
# Lines that anybody writes.
TRIVIAL = re.compile(
    r"if \w+ is (not )?None:|return \w+|\w+ = \w+|except \w+ as \w+:|\) -> \w+:|for \w+ in \(|\"\w+\": \d+,"
)


def texts(name: str, data: bytes) -> Iterator[tuple[str, str]]:
    """Everything that somebody could read in a file, with its name: in archives, compiled modules and notebooks too."""
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            for member in packed.namelist():
                yield from texts(f"{name}/{member}", packed.read(member))
    elif name.endswith(".gz"):
        yield from texts(name.removesuffix(".gz"), gzip.decompress(data))
    elif data.startswith(MAGIC_NUMBER):
        yield name, "\n".join(constants(marshal.loads(data[16:])))
    elif name.endswith((".ipynb", ".json")):
        yield name, "\n".join(strings(json.loads(data)))
    else:
        try:
            yield name, data.decode("utf-8")
        except UnicodeDecodeError:  # what a program like `strings` shows
            yield name, b"\n".join(re.findall(rb"[\t\n -~]{5,}", data)).decode("ascii")


def strings(value: Any) -> Iterator[str]:
    """All strings in a piece of JSON, names included; neighbours in a list are one text, as in notebooks."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)
    elif isinstance(value, list):
        yield "".join(item for item in value if isinstance(item, str))
        for item in value:
            yield from strings(item)


def constants(code: CodeType) -> Iterator[str]:
    """All texts and names in compiled code."""
    yield from (*code.co_names, *code.co_varnames)
    for constant in code.co_consts:
        yield from constants(constant) if isinstance(constant, CodeType) else [str(constant)]


def code_lines(source: str) -> set[str]:
    """The lines of code that say something by themselves: no imports, no comments, nothing short or trivial."""
    lines = {line.strip().partition("  #")[0] for line in source.split("\n")}
    wanted = {line for line in lines if len(line) >= 12 and not re.match(r"import |from |#|@|\"\"\"", line)}
    return {line for line in wanted if not TRIVIAL.fullmatch(line)}


def solution_lines() -> set[str]:
    """Every line inside a solution region that is not given outside of one."""
    sources = [(SOLUTIONS / f"{module}.py").read_text(encoding="utf-8") for module in assignment("transformer").modules]
    given = "\n".join(REGION.sub("", source) for source in sources)
    inside = {line for source in sources for region in REGION.findall(source) for line in code_lines(region)}
    return {line for line in inside if line not in given}


def secrets() -> dict[str, set[str]]:
    """What must not be in the archive: lines of code, as texts that are searched for."""
    folder = assignment("transformer").folder
    hidden, shown = (
        "\n".join(path.read_text(encoding="utf-8") for path in (folder / kind).glob("*.*"))
        for kind in ("hidden", "visible")
    )
    bases = (ROOT / "autograder" / "grading" / "graded_case.py", folder / "trained.py")  # shipped, and like the others
    engine = "\n".join(path.read_text(encoding="utf-8") for path in bases)
    given = "\n".join(path.read_text(encoding="utf-8") for path in RELEASE.glob("*.py"))
    wrong = {line for mistake in all_mistakes("transformer") for line in code_lines(mistake.new) if line not in given}
    return {
        "solution": solution_lines(),
        "hidden test": {line for line in code_lines(hidden) if line not in shown + engine},
        "mistake": wrong,
        "place": {str(ROOT), str(Path.home()) + os.sep, "/home/", "/Users/", "C:\\Users"},
    }


def leaks(files: dict[str, bytes]) -> set[tuple[str, str, str]]:
    """(file, kind, text) of each secret in some files."""
    known = secrets()
    return {
        (where, kind, text)
        for name, data in files.items()
        for where, content in texts(name, data)
        for kind, lines in known.items()
        for text in lines
        if text in content
    }
