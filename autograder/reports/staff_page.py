"""A student's page for the staff: all results, including hidden tests, and the code with the mentioned lines marked."""

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

COLOURED = 30_000  # longest module with syntax highlighting, in characters: 100,000 would take more than a second
LINE = re.compile(r"\b(\w+)\.py:(\d+)")


def staff_html(report: Report, sources: Mapping[str, str], assignment: Assignment) -> str:
    """The graders' page for a submission. It contains information that students must not see. Save the page as UTF-8.

    Args:
        report: the result of grading, with the staff's decisions.
        sources: module -> submitted code.
    """
    mentioned = spoken_of(report)
    report = replace(report, stages=tuple(map(told_once, report.stages)))
    modules = [
        (module, code(module, sources[module], lines), lines, diff(assignment, module, sources[module]))
        for module in assignment.modules
        if module in sources
        for lines in (mentioned.get(module, {}),)
    ]
    missing = [module for module in assignment.modules if module not in sources]
    return render("staff.html", report=report, modules=modules, missing=missing)


def spoken_of(report: Report) -> dict[str, dict[int, list[str]]]:
    """The lines that a result or a note mentions: module -> line -> the tests, or "review"."""
    mentioned: dict[str, dict[int, list[str]]] = {}
    tests = (*report.tests, *((report.end_to_end,) if report.end_to_end else ()))
    failed = [test for test in tests if test.status != "passed"]
    messages = [(test.name, (test.message, *test.details, *map(_first_wrong, test.marks))) for test in failed]
    for name, texts in (*messages, ("review", report.review)):
        for module, line in LINE.findall("\n".join(texts)):
            names = mentioned.setdefault(module, {}).setdefault(int(line), [])
            if name not in names:
                names.append(name)
    return mentioned


def _first_wrong(mark: LineMark) -> str:
    return f"{mark.file}:{mark.line}" if mark.state == "wrong" else ""


def code(module: str, text: str, marked: Mapping[int, list[str]]) -> Markup:
    """A module as HTML with colours and line numbers; each line is an anchor, and lines in `marked` are highlighted."""
    formatter = HtmlFormatter(linenos="inline", lineanchors=module, hl_lines=sorted(marked))
    shown = "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text)
    lexer = (PythonLexer if len(shown) <= COLOURED else TextLexer)(stripnl=False)
    return Markup(highlight(shown, lexer, formatter))  # Pygments escapes the text


def diff(assignment: Assignment, module: str, text: str) -> list[tuple[str, str]]:
    """The difference between the stub and the submitted code: (kind, line); the kind is "add", "del", "place" or ""."""
    stub = assignment.released / f"{module}.py"
    before = stub.read_text(encoding="utf-8").splitlines() if stub.is_file() else []
    lines = list(difflib.unified_diff(before, text.splitlines(), lineterm="", n=2))[2:]
    kinds = {"+": "add", "-": "del", "@": "place"}
    return [(kinds.get(line[:1], ""), line) for line in lines]
