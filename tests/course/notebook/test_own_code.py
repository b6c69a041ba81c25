"""`ask_about`: answers are explained and kept, also where there are no buttons, and lead to where it is taught."""

import json

import pytest

from autograder.questions.generate import Paper
from autograder.questions.question import Question
from course import ask_about
from course.notebook import own_code
from course.notebook.own_code import Asked, Progress, heading_of

QUESTIONS = tuple(
    Question("times", 1, f"How often does line {line} run?", ("1", "2", "3"), 1, "Counted.", (("mha.py", line),))
    for line in (3, 5)
)
CODE = (("mha.py", 2, "def split(x):"), ("mha.py", 3, "    return x"), ("mha.py", 4, "def merge(x):"))
PAPER = Paper("me", "mha", True, QUESTIONS, (*CODE, ("mha.py", 5, "    return x")))


@pytest.fixture
def notebook(tmp_path):
    texts = ("# Stage", "## Heads\n\n`split` first.", "## Together\n\nThen call `merge`.")
    cells = [{"cell_type": "markdown", "source": [text]} for text in texts]
    (tmp_path / "1_mha.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    return tmp_path / "1_mha.ipynb"


def asked(notebook):
    return Asked(PAPER, notebook, Progress(notebook.with_name(own_code.KEPT), "mha"))


def test_a_wrong_answer_is_explained_and_leads_to_its_heading(notebook):
    said = asked(notebook).answer(QUESTIONS[1], "A")
    assert "not right" in said
    assert '<a href="1_mha.ipynb#Together">Together</a>' in said
    assert heading_of(notebook, "nothing") == heading_of(notebook.with_name("no.ipynb"), "split") == ""


def test_a_heading_that_comes_twice_gives_way_to_that_of_its_part(tmp_path):
    texts = ("# Stage", "## A. One\n### Your task\nWrite `split`.", "## B. Two\n### Your task\nWrite `merge`.")
    cells = [{"cell_type": "markdown", "source": [text]} for text in texts]
    (tmp_path / "1_mha.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    assert heading_of(tmp_path / "1_mha.ipynb", "merge") == "B. Two"


def test_one_question_at_a_time(notebook):
    """The first answer counts; the next question comes after it."""
    _, text, row, said, further = own_code.panel(asked(notebook)).children
    assert "Question 1 of 2" in text.value
    assert "line 3" in text.value
    assert further.layout.display == "none"
    assert [button.layout.display for button in row.children] == [None, None, None, "none"]
    row.children[0].click()
    assert "A is not right" in said.value
    assert all(button.disabled for button in row.children)
    further.click()
    assert "line 5" in text.value
    assert said.value == ""
    row.children[1].click()
    assert "B is right" in said.value
    assert further.layout.display == "none"  # it was the last one


def test_it_goes_on_with_the_first_question_without_an_answer(notebook):
    asked(notebook).answer(QUESTIONS[0], "B")
    assert "line 5" in own_code.panel(asked(notebook)).children[1].value


def test_answers_are_kept_and_the_first_counts(notebook):
    first = asked(notebook)
    assert "is right" in first.answer(QUESTIONS[0], "B")
    first.answer(QUESTIONS[0], "A")
    first.answer(QUESTIONS[0], "D")  # no such letter
    again = asked(notebook)
    assert again.turn == 0
    assert "B is right" in again.said[QUESTIONS[0].id]
    again.answer(QUESTIONS[1], "C")
    assert asked(notebook).turn == 1


def test_without_buttons_the_questions_are_text(notebook):
    shown = asked(notebook)
    shown.answer(QUESTIONS[0], "A")
    text = repr(shown)
    assert "How often does line 3 run?" in text
    assert "A is not right" in text
    assert "ask_about('mha', \"ABC\")" in text
    assert "<" not in text
    assert "How often does line 5 run?" in shown._repr_html_()


def test_nothing_is_asked_before_full_marks(tmp_path, monkeypatch):
    for module in ("mha", "pe", "encoder", "decoder", "transformer"):
        (tmp_path / f"{module}.py").write_text("", encoding="utf-8")
    assert "First get full marks" in ask_about("mha", folder=tmp_path)
    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    assert ask_about("mha", folder=tmp_path) is None
