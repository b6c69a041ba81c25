"""For the tests of the HTML reports: made-up reports, and a checker of pages."""

import random
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from typing import Any

from autograder.grading.results import STATUSES, Report, StageResult, TestResult
from autograder.manifest import assignment
from autograder.reports.html_pages import LOOKS, TEMPLATES
from autograder.submissions.read_submission import read_submission

ASSIGNMENT = assignment("transformer")
SOURCES = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources
HINTS = ("Your table is <b>empty</b>.", "Read section 3.5 again.")


def make_test(name: str = "test_a", status: str = "passed", points: float = 0, **fields: Any) -> TestResult:
    points = 4 if status == "passed" else points
    return TestResult("mha", name, f"Title of {name}.", status, points, 4, **fields)


def make_report(*tests: TestResult, name: str = "anna", **fields) -> Report:
    """A report of two stages: the given tests, and one for extra credit."""
    extra = replace(make_test("test_extra"), stage="inference", points=1.5, max_points=2)
    stages = (
        StageResult("mha", 1, "Attention", False, tests or (make_test(),)),
        StageResult("inference", 2, "Inference", True, (extra,)),
    )
    return Report("The Transformer", name, stages, **{"seconds": 1.5, **fields})


def every_status() -> Report:
    tests = [
        make_test(f"test_{number}", status, message=f"message of {status}", details=("called    f(x)",))
        for number, status in enumerate(dict.fromkeys((*STATUSES, *LOOKS, "status of the future")))
    ]
    known = make_test("test_known", "failed", message="wrong", mistake="mha.x", hints=HINTS, printed="hello\n")
    again = make_test("test_again", "failed", message="wrong", mistake="mha.x", hints=HINTS)
    end_to_end = replace(make_test("test_all", "failed", message="wrong values"), max_points=0)
    return make_report(*tests, known, again, end_to_end=end_to_end, hidden_seed=123456789, confined=True)


def text_of(page: str) -> str:
    """What a reader sees, in one line."""
    body = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


VOID = {"meta", "br", "rect", "line"}
BLOCKS = {"p", "div", "ul", "ol", "dl", "table", "pre", "section", "details", "h1", "h2", "h3"}


class Checker(HTMLParser):
    """Reads a page and keeps what is wrong with it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.captioned = False
        self.ids: list[str] = []
        self.references: list[str] = []
        self.links: list[str] = []
        self.levels: list[int] = []
        self.wrong: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        assert len(values) == len(attrs)
        if tag in BLOCKS and "p" in self.open:
            self.wrong.append(f"<{tag}> in <p>")
        if tag == "caption" and self.open[-1:] != ["table"]:
            self.wrong.append("caption outside a table")
        if self.open[-1:] == ["table"] and not self.captioned and tag != "caption":
            self.wrong.append("a table without a caption")
        self.captioned = tag == "caption" or (tag != "table" and self.captioned)
        if tag == "th" and values.get("scope") not in ("col", "row"):
            self.wrong.append("th without scope")
        if tag == "svg" and "aria-hidden" not in values and "aria-labelledby" not in values:
            self.wrong.append("a picture without text")
        if tag == "html" and values.get("lang") != "en":
            self.wrong.append("no language")
        if tag in ("script", "link", "img", "iframe", "object", "form", "base"):
            self.wrong.append(f"<{tag}>")
        self.wrong += [f"attribute {name}" for name in values if name.startswith("on") or name in ("style", "src")]
        self.ids += [values["id"]] if "id" in values else []
        self.references += (values.get("aria-labelledby") or "").split()
        self.links += [values["href"]] if "href" in values else []
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        if tag not in ("rect", "line"):
            self.wrong.append(f"<{tag}/>")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes nothing")


def without_script(page: str, script: str) -> str:
    """A page of the staff without its script, which must be in it once, as it lies beside the templates."""
    program = f"<script>{(TEMPLATES / script).read_text(encoding='utf-8')}</script>\n"
    assert page.count(program) == 1
    return page.replace(program, "")


def check(page: str, script: str = "") -> Checker:
    """Fail unless the page is valid and accessible, and complete in itself.

    Args:
        script: the one script that a page of the staff has.
    """
    page = without_script(page, script) if script else page
    checker = Checker(page)
    assert checker.wrong == []
    assert checker.open == []
    assert page.startswith("<!doctype html>\n")
    assert len(set(checker.ids)) == len(checker.ids)
    inner = [link[1:] for link in checker.links if link.startswith("#")]
    assert {*inner, *checker.references} <= set(checker.ids)
    assert all(link.startswith(("#", "feedback/")) for link in checker.links)
    assert checker.levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip([0, *checker.levels], checker.levels, strict=False))
    assert not re.search(r"@import|url\(|https?:", page)
    return checker


def a_class(number: int) -> list[Report]:
    """Reports of a class with some of everything."""
    draw = random.Random(number)
    statuses = ["passed"] * 5 + list(LOOKS)
    reports = []
    for student in range(number):
        tests = []
        for test in range(6):
            status = draw.choice(statuses)
            known: dict[str, Any] = {"mistake": f"mha.m{student % 9}", "hints": HINTS} if status == "failed" else {}
            tests.append(make_test(f"test_{test}", status, message="message", **known))
        review = ("numpy.py ignored",) if student % 5 == 0 else ()
        reports.append(make_report(*tests, name=f"student-{student}", review=review, seconds=1 + student % 7))
    return reports
