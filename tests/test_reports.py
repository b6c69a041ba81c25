"""The HTML reports: nothing secret and nothing foreign in them, valid and accessible pages, right statistics."""

import base64
import hashlib
import random
import re
import shutil
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.classroom.classreport import class_html
from autograder.classroom.feedback import feedback_html, for_student
from autograder.classroom.itemanalysis import Bin, correlation, histogram, item_analysis
from autograder.grading import grade
from autograder.manifest import assignment
from autograder.pages import LOOKS, TEMPLATES, percent, seconds, signed
from autograder.results import STATUSES, Report, StageResult, TestResult, from_json, to_json
from autograder.sandbox.process import make_workers
from autograder.submission import Submission, read_submission

ASSIGNMENT = assignment()
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


# Valid and accessible pages

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


def check(page: str) -> Checker:
    """Fail unless the page is valid and accessible, and complete in itself."""
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


def test_the_checker_sees_what_is_wrong():
    page = (
        "<!doctype html>\n<html><body><h1>a</h1><h3 id=a>b</h3><p><ul id=a></ul></p><table><th></th></table><b></html>"
    )
    assert {"no language", "<ul> in <p>", "a table without a caption", "th without scope"} <= set(Checker(page).wrong)
    with pytest.raises(AssertionError):
        check(page)


@pytest.mark.parametrize("report", [make_report(), every_status(), Report("T", "empty", (), 0.0)])
def test_feedback_is_a_valid_page(report):
    check(feedback_html(report))
    check(feedback_html(replace(report, confined=False)))


@pytest.mark.parametrize("number", [0, 1, 2, 3, 40])
def test_the_class_report_is_a_valid_page(number):
    check(class_html(a_class(number), {"student-1": "student-1.html"}, {"late": "the zip file is damaged"}))


def test_the_policy_allows_the_style_of_the_page_and_nothing_else():
    for page in (feedback_html(make_report()), class_html([make_report()])):
        style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
        assert style
        assert policy
        digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
        rules = dict(rule.strip().split(" ", 1) for rule in unescape(policy[1]).split(";"))
        assert rules == {
            "default-src": "'none'",
            "style-src": f"'sha256-{digest}'",
            "base-uri": "'none'",
            "form-action": "'none'",
        }
        assert page.index("Content-Security-Policy") < page.index("<style>")


# Colours

STYLE = (TEMPLATES / "style.css").read_text(encoding="utf-8")
COLOUR = re.compile(r"--(\w+): (#[0-9a-f]{6});")


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_is_that_of_wcag():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


def test_colours_have_enough_contrast():
    blocks = [dict(COLOUR.findall(block)) for block in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)]
    light, dark, printed = blocks
    assert light.keys() == dark.keys() == printed.keys()
    for colours in blocks:
        for ground in ("page", "panel"):
            for name in ("text", "muted", "link", "good", "bad", "open", "fault"):
                assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
        assert contrast(colours["bar"], colours["page"]) >= 3
    assert luminance(dark["page"]) < 0.1 < luminance(light["page"])


def test_colours_stand_only_in_the_variables():
    rest = re.sub(r":root \{.*?\}", "", STYLE, flags=re.DOTALL)
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b|rgb|hsl", rest)
    assert set(re.findall(r"var\(--(\w+)\)", rest)) <= {name for name, _ in COLOUR.findall(STYLE)}


def test_a_status_has_a_word_and_a_symbol_of_its_own():
    assert set(STATUSES) <= set(LOOKS)
    assert len({look.symbol for look in LOOKS.values()}) == len(LOOKS)
    page = feedback_html(every_status())
    for status, look in LOOKS.items():
        assert f'aria-hidden="true">{look.symbol}</span>{status}</span>' in page
    assert ">status of the future</span>" in page


# Foreign text

EVIL = (
    "</pre></style><script>alert(1)</script><img src=x onerror=alert(2)>"
    "\x1b[31mred\x07\u202etxt\u2066\x00 \"'&{{ 7*7 }}"
)


def test_foreign_text_is_text():
    test = make_test(EVIL, "failed", message=EVIL, details=(EVIL,), mistake=EVIL, hints=(EVIL, EVIL), printed=EVIL)
    fault = make_test("test_fault", "fault", message=EVIL, details=(EVIL,))
    foreign = make_report(
        replace(test, title=EVIL), fault, name=EVIL, review=(EVIL,), end_to_end=replace(test, max_points=0)
    )
    foreign = replace(foreign, title=EVIL, stages=(replace(foreign.stages[0], title=EVIL), *foreign.stages[1:]))
    pages = {
        "feedback": feedback_html(foreign),
        "class": class_html([foreign, foreign], {EVIL: "../../" + EVIL}, {EVIL: EVIL}),
    }
    for page in pages.values():
        check(page)
        assert "{{ 7*7 }}" in page
        assert "<script" not in page
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", page)
        assert "alert(1)" in text_of(page)
    assert 'href="feedback/..%2F..%2F%3C%2Fpre%3E' in pages["class"]


def test_text_that_is_no_unicode_can_be_written(tmp_path):
    page = feedback_html(make_report(make_test(status="error", message="bad \udcff", printed="\ud800")))
    (tmp_path / "feedback.html").write_text(page, encoding="utf-8")
    assert "bad �" in page


def test_prints_keep_their_lines():
    page = feedback_html(make_report(make_test(status="failed", printed="\n  a\tb\r\nc\n")))
    assert '<pre tabindex="0">\n\n  a     b\nc\n</pre>' in page
    assert "What your code printed" not in feedback_html(make_report(make_test(printed=" \n")))


# What students see


def test_feedback_shows_the_points():
    seen = text_of(feedback_html(make_report(make_test("test_a"), make_test("test_b", "failed", 2.5))))
    assert "6.5 of 8 points , and 1.5 of 2 for extra credit" in seen
    assert "Total without extra credit 6.5 of 8 Extra credit 1.5 of 2 Together 8 of 10" in seen
    assert "Stage 1: Attention 6.5 of 8 points" in seen


def test_hints_come_in_two_strengths_and_once():
    page = feedback_html(every_status())
    seen = text_of(page)
    assert seen.count("Your table is <b>empty</b>.") == 1
    assert "It is the same as in “Title of test_known”." in seen
    assert re.search(r"<details><summary>Where to read again</summary>\s*<p>Read section 3.5 again.</p>", page)


def test_students_see_nothing_of_a_fault_or_of_the_review():
    fault = make_test("test_x", "fault", message="ValueError: secret", details=("/home/secret.py",), printed="secret")
    page = feedback_html(make_report(fault, review=("secret",), hidden_seed=987654321, end_to_end=fault))
    assert "secret" not in page
    assert "987654321" not in page
    assert "The grader itself failed" in page


def test_a_hidden_test_shows_its_verdict_and_its_hint_only():
    said: dict[str, Any] = {"message": "secret", "details": ("secret",), "printed": "secret"}
    tests = [
        make_test(f"test_{number}", status, hidden=True, mistake="mha.x", hints=HINTS, **said)
        for number, status in enumerate(LOOKS)
    ]
    page = feedback_html(make_report(*tests))
    assert "secret" not in page
    assert "Your table is" in page
    assert "the hidden part did not" in page


def test_feedback_says_when_code_was_not_confined():
    assert "not confined" in feedback_html(make_report(confined=False))
    assert "not confined" not in feedback_html(make_report(confined=True))


def test_a_report_for_students_is_a_report():
    shown = for_student(every_status())
    assert from_json(to_json(shown)) == shown
    assert for_student(shown) == shown


# Real submissions


@pytest.fixture(scope="module")
def workers():
    workers = make_workers()
    yield workers
    workers.close()


def graded(workers, stage: str, module: str, old: str, new: str, hidden_seed: int | None = 1) -> Report:
    """The report of the solution with a text replaced."""
    assert old in SOURCES[module]
    sources = {**SOURCES, module: SOURCES[module].replace(old, new)}
    return grade(Submission("anna", sources), ASSIGNMENT, workers, [ASSIGNMENT.stage(stage)], hidden_seed=hidden_seed)


def test_no_value_of_a_hidden_test_is_in_the_feedback(workers):
    report = graded(workers, "pe", "pe", "/ d_model)", "/ 32)")
    (test,) = report.tests
    assert (test.status, test.hidden) == ("failed", True)
    numbers = re.findall(r"\d+\.\d+", " ".join(test.details))
    assert len(numbers) >= 3
    seen = text_of(feedback_html(report))
    assert not [value for value in (*numbers, *test.details, test.message) if value in seen]
    assert "the hidden part did not" in seen


def test_visible_tests_cannot_tell_what_hidden_ones_gave_in(workers):
    """The code remembers all inputs and prints them in a visible test that fails."""
    old = "        scores = query @"
    new = (
        "        self.__class__.seen = [*getattr(self.__class__, 'seen', []), query.sum().item()]\n"
        "        print(self.__class__.seen)\n"
        "        if query.size(-2) == 10 and key.size(-2) == 20:\n            return value\n" + old
    )
    printed = []
    for seed in (None, 1):
        first, *_, last = graded(workers, "mha", "mha", old, new, seed).tests
        assert (first.status, first.hidden) == ("passed", seed is not None)
        assert (last.status, last.hidden) == ("failed", False)
        printed.append(last.printed)
    assert printed[0]
    assert printed[0] == printed[1]


# What instructors see


def test_the_class_report_counts():
    tests = (
        make_test("test_a", "failed", mistake="mha.x", hints=HINTS),
        make_test("test_b", "failed", 1, mistake="mha.x", hints=HINTS),
    )
    reports = [
        make_report(*tests, name="anna", hidden_seed=77, confined=True, seconds=1),
        make_report(make_test("test_a"), make_test("test_b"), name="ben", hidden_seed=77, confined=True, seconds=2),
        make_report(
            make_test("test_a"), make_test("test_b", "error"), name="cleo", hidden_seed=77, confined=True, seconds=90
        ),
    ]
    page = class_html(reports, {"anna": "anna.html", "ben": "b & n.html"})
    seen = text_of(page)
    assert "Submissions 3 graded" in seen
    assert "median 5.5 of 10, mean 5.83, middle half 4 to 7.5" in seen
    assert (
        "Hidden tests seed 77 Confinement confined Time per submission median 2.0 s, slowest 1 min 30 s ( cleo )"
        in seen
    )
    assert "mha.x Your table is <b>empty</b>. Where to read again Read section 3.5 again. 1 (33%) 2" in seen
    assert "1 failed test of the class looks like none of them" in seen
    # test_a: 0, 4, 4 against 2.5, 5.5, 1.5 in everything else.
    assert f"Title of test_a. test_a 4 67% {signed(np.corrcoef([0, 4, 4], [2.5, 5.5, 1.5])[0, 1])}" in seen
    assert "2. Inference 2 75% \N{EN DASH} undefined" in seen
    assert "test_a 2 1 0" in seen
    assert "test_b 1 1 1" in seen
    assert "anna 1 1.5 2.5 1.0 s" in seen
    assert Checker(page).links[-2:] == ["feedback/anna.html", "feedback/b%20%26%20n.html"]


def test_the_class_report_shows_what_needs_a_look():
    fault = make_test("test_a", "fault", message="the grader failed: KeyError", details=("Traceback", "line 7"))
    reports = [
        make_report(name="anna", review=("torch.py ignored",), confined=True),
        make_report(name="ben", review=("torch.py ignored",), confined=True),
        make_report(name="cleo", review=("imports einops",), confined=False, hidden_seed=5),
        make_report(fault, name="dora", confined=True),
    ]
    seen = text_of(class_html(reports, None, {"emil": "the zip file is damaged"}))
    assert "cleo imports einops anna, ben torch.py ignored" in seen.replace(" ,", ",")
    assert "Not confined: 1 submission graded with --unconfined" in seen
    assert "test_a : the grader failed: KeyError 1 submission: dora Traceback Traceback line 7" in seen
    assert "emil the zip file is damaged" in seen
    assert "not run (3 submissions); seed 5 (1 submission)" in seen
    # The points of the faulty report do not count.
    assert "median 5.5 of 6, mean 5.5, middle half 5.5 to 5.5" in seen


def test_an_empty_class_says_so():
    seen = text_of(class_html([]))
    assert "Submissions 0 graded" in seen
    assert "There are no submissions." in seen


def test_reports_of_some_stages_are_shown_beside_full_ones():
    whole = make_report(name="anna")
    part = replace(whole, submission="ben", stages=whole.stages[:1])
    seen = text_of(class_html([part, whole]))
    assert "ben 4 \N{EN DASH} undefined 4" in seen
    assert "anna 4 1.5 5.5" in seen


def test_a_large_class_makes_a_small_page():
    reports = [replace(report, submission=f"student-{i}") for i, report in enumerate(a_class(40) * 25)]
    page = class_html(reports, {report.submission: f"{report.submission}.html" for report in reports})
    assert len(page.encode()) < 450 * len(reports)
    assert page.count("feedback/student-") == 1000


# Statistics


def test_difficulty_and_discrimination_by_hand():
    points = np.array([[1.0, 2, 4], [0, 2, 4], [1, 0, 4], [0, 0, 4]])
    one, two, three = item_analysis(points, [1, 2, 4], points.sum(axis=1))
    assert (one.share, two.share, three.share) == (0.5, 0.5, 1)
    # (1, 0, 1, 0) and the rest of the points (6, 6, 4, 4) are not correlated; the total (7, 6, 5, 4) would be.
    assert one.discrimination == pytest.approx(0)
    assert two.discrimination == pytest.approx(0)
    assert three.discrimination is None
    # (0, 0, 1) and (0, 3, 3): deviations (-1, -1, 2) / 3 and (-2, 1, 1), so 3 / 3 / sqrt(6 / 9 * 6) = 1 / 2.
    points = np.array([[0.0, 0], [0, 3], [1, 3]])
    assert item_analysis(points, [1, 3], points.sum(axis=1))[0].discrimination == pytest.approx(0.5)


def test_results_that_are_missing_do_not_count():
    points = np.array([[2.0, 0], [np.nan, 9], [0, 1], [1, 2]])
    first = item_analysis(points, [2, 9], np.array([2.0, 9, 1, 3]))[0]
    assert first.share == 0.5
    # (2, 0, 1) and (0, 1, 2): deviations (1, -1, 0) and (-1, 0, 1), so -1 / 2.
    assert first.discrimination == pytest.approx(-0.5)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ([], [], None),
        ([1, 2], [1, 2], None),
        ([1, 1, 1], [1, 2, 3], None),
        ([1, 2, 3], [2, 2, 2], None),
        ([1, 2, 3], [2, 4, 6], 1),
        ([1, 2, 3], [3, 2, 1], -1),
    ],
)
def test_correlation(x, y, expected):
    found = correlation(np.array(x, dtype=float), np.array(y, dtype=float))
    assert found == (expected if expected is None else pytest.approx(expected))


def test_nobody_is_no_statistics():
    (item,) = item_analysis(np.empty((0, 1)), [5], np.empty(0))
    assert (item.share, item.discrimination) == (None, None)


def test_histogram_bins_are_round_and_hold_everybody():
    bins = histogram([0, 4.9, 5, 100, 104.5, 110, 110], 110)
    assert len(bins) == 22
    assert [bin for bin in bins if bin.count] == [
        Bin(0, 5, 2),
        Bin(5, 10, 1),
        Bin(100, 105, 2),
        Bin(105, 110, 2),
    ]
    assert histogram([], 7)[-1].high == 7
    assert histogram([3], 0) == []


@pytest.mark.parametrize("maximum", [0.5, 1, 3, 25, 26, 99, 100, 110, 1000, 12345])
def test_histograms_of_any_size(maximum):
    values = list(np.linspace(0, maximum, 101))
    bins = histogram(values, maximum)
    assert 10 <= len(bins) <= 25
    assert sum(bin.count for bin in bins) == 101
    for bin in bins:
        inside = [v for v in values if bin.low <= v + 1e-12 and (v + 1e-9 < bin.high or bin is bins[-1])]
        assert bin.count == len(inside)


def test_numbers_are_written_well():
    assert [signed(value) for value in (-0.001, 0.5, -0.25)] == ["0.00", "0.50", "\N{MINUS SIGN}0.25"]
    assert [percent(value) for value in (0, 0.001, 0.5, 0.999, 1)] == ["0%", "<1%", "50%", ">99%", "100%"]
    assert [seconds(value) for value in (0.04, 9.96, 59.6, 125)] == ["0.0 s", "10 s", "1 min 0 s", "2 min 5 s"]


# In a browser


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1100])
def test_pages_fit_the_window_and_run_no_script(tmp_path: Path, width):
    playwright = pytest.importorskip("playwright.sync_api")
    test = make_test(status="error", message="x" * 500, details=("y" * 500,), printed="z" * 500)
    long = make_report(test, name="n" * 90)
    pages = [feedback_html(every_status()), feedback_html(long), class_html([*a_class(40), long])]
    with playwright.sync_playwright() as driver:
        try:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"))
        except playwright.Error as error:
            pytest.skip(f"no browser: {error}")
        said: list[str] = []
        for number, page in enumerate(pages):
            file = tmp_path / f"{number}.html"
            file.write_text(page, encoding="utf-8")
            tab = browser.new_page(viewport={"width": width, "height": 800})
            tab.on("console", lambda message: said.append(message.text))
            tab.goto(file.as_uri())
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
        browser.close()
    assert said == []
