"""The pages of the HTML reports: valid, accessible, legible in light and dark; those for students have no scripts."""

import base64
import hashlib
import re
from dataclasses import replace
from html import unescape

import pytest

from autograder.grading.results import STATUSES, Report
from autograder.reports.class_report import class_html
from autograder.reports.html_pages import LOOKS, TEMPLATES
from autograder.reports.review_page import review_html
from autograder.reports.student_feedback import feedback_html
from tests.support.pages import (
    Checker,
    a_class,
    check,
    every_status,
    make_report,
)


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
    check(class_html(a_class(number), {"student-1": "student-1.html"}, {"late": "the zip file is damaged"}), "class.js")


def test_the_policy_allows_the_style_and_the_script_of_the_page_and_nothing_else():
    staff = {"class.js": class_html([make_report()]), "review.js": review_html([], {}, {})}
    for script, page in {"": feedback_html(make_report()), **staff}.items():
        style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
        assert style
        assert policy
        digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
        program = (TEMPLATES / script).read_bytes() if script else b""
        allowed = base64.b64encode(hashlib.sha256(program).digest()).decode()
        rules = dict(rule.strip().split(" ", 1) for rule in unescape(policy[1]).split(";"))
        assert rules == {
            "default-src": "'none'",
            "style-src": f"'sha256-{digest}'",
            "base-uri": "'none'",
            "form-action": "'none'",
            **({"script-src": f"'sha256-{allowed}'"} if script else {}),
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
