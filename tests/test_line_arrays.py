"""The line of a verdict where NumPy computes: tables of positional encodings, with loops, at once, in functions."""

import re
import textwrap

import pytest

from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.submissions.read_submission import Submission, read_submission

ASSIGNMENT = assignment("transformer")
SOURCES = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources
TABLE = re.compile(r"        pe = torch\.zeros\(max_seq_length.*?(?=        self\.register_buffer)", re.DOTALL)
CLASS = "class PositionalEncoding"

LOOPS = """\
table = np.zeros((max_seq_length, d_model))
for t in range(max_seq_length):
    for i in range(0, d_model, 2):
        angle = t / 10000 ** (i / d_model)
        table[t, i] = np.sin(angle)
        table[t, i + 1] = np.cos(angle)
pe = torch.tensor(table, dtype=torch.float32)
"""
AT_ONCE = """\
t = np.arange(max_seq_length)[:, None]
angles = t / np.power(10000, np.arange(0, d_model, 2) / d_model)
pairs = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
pe = torch.from_numpy(pairs.reshape(max_seq_length, d_model)).float()
"""
FUNCTION = """\
def table_of(length, size):
    angles = np.arange(length)[:, None] / 10000 ** (np.arange(0, size, 2) / size)
    sines, cosines = np.sin(angles), np.cos(angles)
    return np.stack([sines, cosines], axis=-1).reshape(length, size)


"""


def with_table(table: str, before: str = "") -> str:
    """The module with a table that NumPy makes."""
    body = textwrap.indent(table, " " * 8)
    text, count = TABLE.subn(lambda _: body, SOURCES["pe"])
    assert count == 1
    return text.replace(CLASS, before + CLASS).replace("import math", "import math\n\nimport numpy as np", 1)


WAYS = {
    "loops": with_table(LOOPS),
    "at once": with_table(AT_ONCE),
    "function": with_table("pe = torch.tensor(table_of(max_seq_length, d_model)).float()\n", FUNCTION),
}


def graded(workers, text: str):
    (test,) = grade(Submission("", {**SOURCES, "pe": text}), ASSIGNMENT, workers, [ASSIGNMENT.stage("pe")]).tests
    return test


@pytest.mark.parametrize("way", WAYS)
def test_correct_tables_pass(workers, way):
    assert graded(workers, WAYS[way]).status == "passed"


@pytest.mark.parametrize(
    ("way", "changes"),
    [
        # Each with a second change behind it, so that no small change mends the call.
        ("loops", (("angle = t /", "angle = (t + 1) /"), ("+ 1] = np.cos", "+ 1] = np.sin"))),
        ("loops", (("(i / d_model)", "(2 * i / d_model)"), ("+ 1] = np.cos", "+ 1] = np.sin"))),
        ("loops", (("dtype=torch.float32)", "dtype=torch.float32) * (d_model**0.5 + 3)"),)),
        ("at once", (("arange(max_seq_length)", "arange(1, max_seq_length + 1)"), ("axis=-1", "axis=1"))),
        ("at once", (("t / np.power(", "t * np.power("), ("axis=-1", "axis=1"))),
        ("at once", (("axis=-1", "axis=1"),)),
        ("function", (("arange(length)", "arange(1, length + 1)"), ("axis=-1", "axis=1"))),
        ("function", (("[sines, cosines]", "[cosines, sines]"),)),
    ],
)
def test_the_line_of_a_wrong_array(workers, way, changes):
    text = WAYS[way]
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    line = text[: text.index(changes[0][1])].count("\n") + 1
    test = graded(workers, text)
    assert [mark.line for mark in test.marks if mark.state == "wrong"] == [line], test.pointed


def test_what_is_right_before_a_wrong_array_is_told(workers):
    test = graded(workers, WAYS["at once"].replace("axis=-1", "axis=1"))
    told = " ".join(test.pointed)
    assert "the angles, position times frequency (line" in told
    assert "numbers are right, but" in told


def test_an_array_that_is_written_into_often_is_looked_at_once_more_when_it_is_used(workers):
    """More writes than are looked at one by one: the table is right, and what is made of it is not."""
    test = graded(workers, WAYS["loops"].replace("torch.tensor(table,", "torch.tensor(table + 1,"))
    assert "Right so far: the table of sines and cosines (line" in " ".join(test.pointed)


@pytest.mark.parametrize("kind", ["np.float16", "np.longdouble", "np.uint16", "'>f8'"])
def test_arrays_of_types_that_torch_does_not_know_are_followed(workers, kind):
    text = WAYS["at once"].replace(
        "pairs = np.stack(", f"other = t.astype({kind})\npairs = np.stack(".replace("\n", "\n" + 8 * " ")
    )
    test = graded(workers, text.replace("axis=-1", "axis=1"))
    assert "Right so far: " in " ".join(test.pointed)
    assert "numbers are right, but" in " ".join(test.pointed)
