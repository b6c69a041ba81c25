"""One layout for all notebooks: goals, what they take for granted, honest times, summary, links, questions."""

import ast
import builtins
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from autograder.authoring.packing.start_notebook import NAME as START
from autograder.manifest import assignment, assignments, every_assignment
from course.notebook.questions import QUESTIONS

ROOT = Path(__file__).resolve().parents[2]
ASSIGNMENT = assignment("transformer")
SOLUTIONS = ROOT / "solutions"
# "assignment/notebook"; that each notebook of a manifest is there is for the audit to say
ALL = {
    f"{one.name}/{notebook}": one
    for one in assignments().values()
    for notebook in one.notebooks
    if (one.solution / notebook).is_file()
}
NOTEBOOKS = pytest.mark.parametrize("name", ALL)
STAGE_5 = ("decoder", "transformer")  # the modules in which it is written
ROW = re.compile(r"^\| ([A-Z])(, optional)? \| (.*) \| (\d+) minutes \|$", re.MULTILINE)


def cells(name: str) -> list[tuple[str, str, str]]:
    """The cells of a notebook, "assignment/notebook": id, kind and text."""
    notebook: dict[str, Any] = json.loads((SOLUTIONS / name).read_text(encoding="utf-8"))
    return [(cell["id"], cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]


def table(name: str) -> dict[str, tuple[bool, int]]:
    """The parts of a notebook by letter, from the table of its introduction: whether optional, and the minutes."""
    (_, _, introduction), *_ = cells(name)
    return {letter: (bool(optional), int(minutes)) for letter, optional, _, minutes in ROW.findall(introduction)}


def parts(name: str) -> dict[str, tuple[str, list[tuple[str, str]]]]:
    """The parts as they stand: letter -> heading, and the pieces of text and code below it."""
    found: dict[str, tuple[str, list[tuple[str, str]]]] = {}
    letter = ""
    for _, kind, text in cells(name):
        for piece in re.split(r"(?m)^(?=## )", text) if kind == "markdown" else [text]:
            if kind == "markdown" and (heading := re.match(r"## (?:([A-Z])\. )?(.*)", piece)):
                letter = heading[1] or ""
                if letter:
                    found[letter] = (heading[2], [])
            if letter:
                found[letter][1].append((kind, piece))
    return found


def minutes(pieces: list[tuple[str, str]]) -> float:
    """What a part takes: 100 words a minute, and 3 minutes for a cell that is run, looked at and changed."""
    text = " ".join(piece for kind, piece in pieces if kind == "markdown")
    words = len(re.findall(r"[^\W\d_]{2,}", re.sub(r"\$[^$]*\$", " formula ", text)))
    code = [piece for kind, piece in pieces if kind == "code"]
    answers = sum(piece.startswith("ask(") for piece in code)  # 2 minutes each
    clicks = sum(piece.startswith(("predict(", "check(")) for piece in code)  # 1 minute; tasks have their own time
    return words / 100 + 3 * len(code) - answers - 2 * clicks


def task_minutes(pieces: list[tuple[str, str]]) -> int:
    """The minutes of the tasks that a part lists in its table."""
    return sum(
        int(found) for _, piece in pieces for found in re.findall(r"\| (?:easy|medium|hard) \| (\d+) minutes", piece)
    )


@NOTEBOOKS
def test_modules_are_loaded_where_a_mistake_in_them_is_told(name):
    """Run All goes on to the graded check, also with a syntax error in a module."""
    for id, kind, text in cells(name):
        if kind != "code":
            continue
        for statement in ast.parse(text).body:
            if isinstance(statement, ast.With) and "exploring()" in ast.unparse(statement.items[0]):
                continue
            if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                continue  # what it loads, it loads when it is called
            assert not re.search(r"\b(load|own_modules)\(|own=True", ast.unparse(statement)), id


@NOTEBOOKS
def test_a_notebook_says_what_it_is_for_what_it_needs_and_where_it_leads(name):
    (_, _, introduction), *_ = cells(name)
    notebooks = ALL[name].notebooks
    number = notebooks.index(Path(name).name)
    assert "**By the end, you will be able to**" in introduction
    assert "**You need**" in introduction
    texts = {id: text for id, _, text in cells(name)}
    assert texts["summary"].startswith("## Summary")
    assert next(iter(texts)) == "introduction"
    before, after = notebooks[max(number - 1, 0) : number], notebooks[number + 1 : number + 2]
    for other in ("../../docs/glossary.md", "../../docs/shapes.md", *before, *after):
        assert f"]({other})" in introduction, other
    for other in after:
        assert f"]({other})" in texts["summary"]


@NOTEBOOKS
def test_links_lead_to_files(name):
    text = "\n".join(text for _, kind, text in cells(name) if kind == "markdown")
    for link in re.findall(r"\]\(([^)\s#]+)\)", text):
        if not link.startswith("https://"):
            assert ((SOLUTIONS / name).parent / link).is_file(), link


@NOTEBOOKS
def test_the_times_are_honest(name):
    """Within five minutes of what reading and running takes; an exercise takes its tasks, and its text at most."""
    stated, found = table(name), parts(name)
    assert list(stated) == list(found)
    for letter, (optional, said) in stated.items():
        heading, pieces = found[letter]
        assert heading.endswith(" (optional)") == optional, heading
        tasks, reading = task_minutes(pieces), minutes(pieces)
        least, most = (tasks, tasks + reading) if tasks else (reading, reading)
        assert least - 5 <= said <= most + 5, f"{letter}: {said} minutes are stated, {least:.0f} to {most:.0f} expected"


@NOTEBOOKS
def test_what_is_optional_can_be_skipped(name):
    """No cell uses a name that only optional cells give."""
    known, optional, level = set(dir(builtins)) | {"display"}, False, 0
    for id, kind, text in cells(name):
        for heading in re.findall(r"(?m)^(#{2,3}) (.*)$", text) if kind == "markdown" else ():
            if not optional or len(heading[0]) <= level:
                optional, level = heading[1].endswith("(optional)"), len(heading[0])
        if kind == "code" and not optional:
            tree = ast.parse(text)
            given = {
                node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
            given |= {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
            given |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
            given |= {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name}
            for node in ast.walk(tree):
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    given |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
            used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            assert used <= known | given, f"{id} uses {', '.join(used - known - given)}"
            known |= given


def test_the_student_guide_gives_the_sums():
    guide = (ROOT / "docs" / "student-guide.md").read_text(encoding="utf-8")
    pattern = r"^\| \[\d .*\]\(\S*?notebooks/(\w+/\d_\w+\.ipynb)\) \|.*\| (.*) \| (.*) \|$"
    rows = re.findall(pattern, guide, re.MULTILINE)
    named = {name.partition("/")[0] for name, _, _ in rows}
    assert "transformer" in named
    assert sorted(name for name, _, _ in rows) == sorted(name for name in ALL if name.partition("/")[0] in named)
    for name, needed, everything in rows:
        times = table(name).values()
        sums = sum(said for optional, said in times if not optional), sum(said for _, said in times)
        assert (needed, everything) == tuple(hours(total) for total in sums), name


@pytest.mark.parametrize("chosen", every_assignment(), ids=lambda chosen: chosen.name)
def test_the_start_page_gives_the_sums(chosen):
    start = json.loads((ROOT / "notebooks" / chosen.name / START).read_text(encoding="utf-8"))
    text = "".join("".join(cell["source"]) for cell in start["cells"] if cell["id"] == "way")
    rows = dict(re.findall(r"\((\d_\w+\.ipynb)\) \|.*\| (.*) \|$", text, re.MULTILINE))
    assert list(rows) == list(chosen.notebooks)
    for name, needed in rows.items():
        times = table(f"{chosen.name}/{name}").values()
        known = hours(sum(said for optional, said in times if not optional))
        assert needed == re.sub(" hours?$", " h", known).replace("minutes", "min"), name


def hours(total: int) -> str:
    """Minutes in hours, to the quarter above; less than one hour in minutes."""
    if total < 60:
        return f"{total} minutes"
    quarters = math.ceil(total / 15)
    whole, part = divmod(quarters, 4)
    number = (str(whole) if whole else "") + ("", "¼", "½", "¾")[part]
    return f"{number} hour" if quarters <= 4 else f"{number} hours"


def test_no_answer_stands_before_its_task():
    """Stage 5: the loop that ends at eos, which mask is cut, why there is no padding mask, and the KV cache to read."""
    for name in ("4_decoder.ipynb", "5_inference.ipynb"):
        found = cells(f"{ASSIGNMENT.name}/{name}")
        before = found[: [id for id, _, _ in found].index("grade")] if name.startswith("5") else found
        for id, kind, text in before:
            if kind == "code":
                assert not ("eos_idx" in text and "break" in text), id
                assert ".append(step.best)" not in text, id
                assert "forward_one_step_ec(" not in text or id.startswith(("try", "help")), id
            assert "kv_cache.py" not in text, id
    stubs = [(ROOT / "notebooks" / ASSIGNMENT.name / f"{name}.py").read_text(encoding="utf-8") for name in STAGE_5]
    for given_away in ("last row", "is not cut", "no padding mask"):
        assert not any(given_away in stub for stub in stubs), given_away


def test_each_question_is_asked_once():
    asked = [
        found
        for name in ASSIGNMENT.notebooks
        for found in re.findall(r'ask\("([\w-]+)", \.\.\.\)', str(cells(f"{ASSIGNMENT.name}/{name}")))
    ]
    assert sorted(asked) == sorted(QUESTIONS)


def test_the_cells_that_the_coverage_names_exist():
    """Notebooks of the first assignment are named without it."""
    known = {name.removesuffix(".ipynb"): {id for id, _, _ in cells(name)} for name in ALL}
    known |= {name.partition("/")[2]: ids for name, ids in known.items() if name.startswith(f"{ASSIGNMENT.name}/")}
    text = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8").partition("## Items without a cell")[0]
    for row in re.findall(r"^\| (?:\d{3}-.*?) \| (.*) \| (.*) \|$", text, re.MULTILINE):
        notebooks = [name for name in row[0].split(", ") if name in known]
        for cell in re.findall(r"\b[a-z][a-z]+(?:-[a-z0-9]+)+\b", re.sub(r"\([^)]*\)|`[^`]*`", "", row[1])):
            assert not notebooks or any(cell in known[name] for name in known), f"{cell} of {row}"
