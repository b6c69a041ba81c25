"""The page of a student for the staff: all results, hidden ones too, and the code with the lines that they speak of."""

import difflib
import re
from collections.abc import Mapping
from dataclasses import replace

from markupsafe import Markup
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers.python import PythonLexer
from pygments.lexers.special import TextLexer

from autograder.diagnosis.line_verdict import LineMark
from autograder.grading.results import Report
from autograder.manifest import Assignment
from autograder.reports.html_pages import render
from autograder.reports.one_cause import told_once

COLOURED = 30_000  # characters of a module whose words get colours: of 100,000 that takes more than a second
LINE = re.compile(r"\b(\w+)\.py:(\d+)")


def staff_html(report: Report, sources: Mapping[str, str], assignment: Assignment) -> str:
    """The page of one submission for those who grade. It holds what students must not see. Write it as UTF-8.

    Args:
        report: what grading gave, with what the staff decided.
        sources: module -> the text that was handed in.
    """
    told = spoken_of(report)
    report = replace(report, stages=tuple(map(told_once, report.stages)))
    modules = [
        (module, code(module, sources[module], lines), lines, diff(assignment, module, sources[module]))
        for module in assignment.modules
        if module in sources
        for lines in (told.get(module, {}),)
    ]
    missing = [module for module in assignment.modules if module not in sources]
    return render("staff.html", report=report, modules=modules, missing=missing)


def spoken_of(report: Report) -> dict[str, dict[int, list[str]]]:
    """The lines of which a result or a note speaks: module -> line -> the tests, or "review"."""
    found: dict[str, dict[int, list[str]]] = {}
    tests = (*report.tests, *((report.end_to_end,) if report.end_to_end else ()))
    failed = [test for test in tests if test.status != "passed"]
    said = [(test.name, (test.message, *test.details, *map(_first_wrong, test.marks))) for test in failed]
    for name, texts in (*said, ("review", report.review)):
        for module, line in LINE.findall("\n".join(texts)):
            names = found.setdefault(module, {}).setdefault(int(line), [])
            if name not in names:
                names.append(name)
    return found


def _first_wrong(mark: LineMark) -> str:
    return f"{mark.file}:{mark.line}" if mark.state == "wrong" else ""


def code(module: str, text: str, marked: Mapping[int, list[str]]) -> Markup:
    """A module with colours and numbers; each line is an anchor, and those in `marked` stand out."""
    formatter = HtmlFormatter(linenos="inline", lineanchors=module, hl_lines=sorted(marked))
    shown = "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text)
    lexer = (PythonLexer if len(shown) <= COLOURED else TextLexer)(stripnl=False)
    return Markup(highlight(shown, lexer, formatter))  # Pygments escapes the text


def diff(assignment: Assignment, module: str, text: str) -> list[tuple[str, str]]:
    """What was handed in against the stub: (kind, line), where kind is "add", "del", "place" or ""."""
    stub = assignment.released / f"{module}.py"
    before = stub.read_text(encoding="utf-8").splitlines() if stub.is_file() else []
    lines = list(difflib.unified_diff(before, text.splitlines(), lineterm="", n=2))[2:]
    kinds = {"+": "add", "-": "del", "@": "place"}
    return [(kinds.get(line[:1], ""), line) for line in lines]
