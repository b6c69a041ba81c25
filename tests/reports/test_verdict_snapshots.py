"""Verdicts are worded as in `verdicts/`; `python -m tests.support.verdict_snapshots` writes the texts anew."""

import re

import pytest

from tests.support.quick import some
from tests.support.verdict_snapshots import FOLDER, chosen, path_of, verdict

BUGS = list(chosen())
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")  # the last digits differ between processors


@pytest.mark.parametrize("bug", some(BUGS, every=4), ids=lambda bug: path_of(bug).stem)
def test_a_verdict_is_worded_as_before(workers, bug):
    kept, now = path_of(bug).read_text(encoding="utf-8"), verdict(bug, workers)
    assert NUMBER.sub("#", now) == NUMBER.sub("#", kept)


def test_each_kept_verdict_has_its_bug():
    assert {path.name for path in FOLDER.iterdir()} == {path_of(bug).name for bug in BUGS}


def test_a_verdict_fits_the_screen():
    """A whole stage has at most 24 lines, and a failing test at most 12."""
    for path in FOLDER.iterdir():
        stage = path.read_text(encoding="utf-8").partition("\nStage ")[2].splitlines()
        assert len(stage) <= 24, path.name
        tests = re.split(r"\n  (?=[A-Z]{4,} |passed )", "\n".join(stage))
        assert max(text.count("\n") + 1 for text in tests[1:]) <= 12, path.name
