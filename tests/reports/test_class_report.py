"""The instructor's page: what it counts and shows, and its statistics."""

from dataclasses import replace

import numpy as np
import pytest

from autograder.reports.class_report import class_html
from autograder.reports.html_pages import percent, seconds, signed
from autograder.reports.item_analysis import Bin, correlation, histogram, item_analysis
from tests.support.pages import HINTS, Checker, a_class, make_report, make_test, text_of

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
    assert "mha.x Your table is <b>empty</b>. Why, and where to read Read section 3.5 again. 1 (33%) 2" in seen
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
