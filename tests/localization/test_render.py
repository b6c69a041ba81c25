"""The sentences about a line: what correct code computes there, before it, or next."""

import pytest

from autograder.diagnosis.line_verdict import Confidence
from autograder.localization.arbitrate import Diagnosis
from autograder.localization.render import rendered
from autograder.localization.source import Source
from autograder.localization.suspects import Suspect
from autograder.localization.trace import Line

HERE = Line("mha.py", 1, 1)


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("here", "Expected here: the scores."),
        ("before", "Before this line, correct code computes the scores."),
        ("next", "From the same values, correct code computes the scores."),
    ],
)
def test_a_verdict_expects_a_step_only_of_a_line_that_computes_something_like_it(where, sentence):
    suspect = Suspect(HERE, "value", 0, "the scores", where)
    verdict = rendered(Diagnosis((HERE,), Confidence.PROBABLE, suspect), None, Source({"mha.py": "x = q @ k"}))
    assert verdict.pointed == ("mha.py:1 is probably wrong:", "    x = q @ k", sentence)
