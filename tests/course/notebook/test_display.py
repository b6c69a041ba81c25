"""What the notebooks explore with: ways of decoding that agree, and tables."""

import itertools
from typing import Any

import IPython.display
import pytest
import torch

from course.location import ENGINE as ROOT
from course.notebook import check
from course.notebook.display import Link, Table
from course.notebook.load import trained
from course.translation.kv_cache import full_steps, kv_steps, next_log_probs


@pytest.mark.parametrize("steps_of", [full_steps, kv_steps])
def test_both_ways_of_decoding_give_what_the_whole_decoder_gives(steps_of):
    checkpoint = trained()
    source = checkpoint.source.encode("Der alte Koch hat zwei Suppen gekocht.")
    with torch.no_grad():
        memory, _ = checkpoint.model.forward_encoder(torch.tensor([source]), torch.tensor([len(source)]))
        for step in steps_of(checkpoint.model, source, 12):
            expected = next_log_probs(checkpoint.model, memory, step.tokens)
            torch.testing.assert_close(step.log_probs, expected, atol=1e-4, rtol=0)


def test_a_step_follows_the_choice_of_the_one_before():
    checkpoint = trained()
    steps = list(full_steps(checkpoint.model, checkpoint.source.encode("Das Boot ist leer."), 6))
    assert steps[0].tokens == [checkpoint.model.sos_idx]
    for earlier, later in itertools.pairwise(steps):
        assert later.tokens == [*earlier.tokens, earlier.best]


@pytest.mark.parametrize("steps_of", [full_steps, kv_steps])
def test_decoding_ends_at_eos_unless_it_is_told_to_go_on(steps_of):
    checkpoint = trained()
    source, eos = checkpoint.source.encode("Das Boot ist leer."), checkpoint.model.eos_idx
    steps = list(steps_of(checkpoint.model, source, 20))
    assert [step.best == eos for step in steps] == [False] * (len(steps) - 1) + [True]
    assert len(list(steps_of(checkpoint.model, source, 20, endless=True))) == 20


def test_a_translation_can_be_given_its_beginning():
    checkpoint = trained()
    source, beginning = checkpoint.source.encode("Das Boot ist leer."), checkpoint.target.encode("My boat")[1:-1]
    steps = list(full_steps(checkpoint.model, source, 20, beginning))
    assert steps[0].tokens == [checkpoint.model.sos_idx, *beginning]
    assert checkpoint.target.decode(steps[-1].tokens).startswith("My boat is")


def test_a_table_is_html_and_text():
    table = Table(["token", "p"], [["<s>", 0.123456], ["Haus", 1]], "Two rows")
    assert "&lt;s&gt;" in table._repr_html_()
    assert repr(table).splitlines() == ["Two rows", "token  p     ", "<s>    0.1235", "Haus   1     "]


def test_a_table_leads_to_the_notebooks_that_it_names():
    table = Table(["notebook", "points"], [[Link("1_mha.ipynb"), 7.5]])
    assert '<a href="1_mha.ipynb">1_mha.ipynb</a></td>' in table._repr_html_()
    assert "1_mha.ipynb  7.5" in repr(table)


def test_check_says_that_it_grades_and_the_verdict_takes_the_place(tmp_path, monkeypatch):
    shown: list[str] = []

    class Place:
        def update(self, verdict: Any) -> None:
            shown.append(verdict._repr_mimebundle_()["text/html"])

    def display(data: Any, **_: Any) -> Place:
        shown.append(data["text/plain"])
        return Place()

    monkeypatch.setattr(IPython.display, "display", display)
    monkeypatch.setattr(check, "in_notebook", lambda: True)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    (tmp_path / "pe.py").write_bytes((ROOT / "solutions" / "transformer" / "pe.py").read_bytes())
    points = check.check("pe", folder=tmp_path, assignment="transformer")
    assert shown[0] == "Grading stage 2 ..."
    assert all(f"Stage 2: {points:g} of {points:g} points" in page for page in shown[1:])
    assert len(shown) in (2, 3)  # once more when the standing of the other stages is known


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0.0, "0"),
        (1.2e-7, "< 0.000001"),
        (-1.2e-7, "> -0.000001"),
        (0.00025, "0.00025"),
        (1.23456, "1.235"),
        (123456.7, "123,457"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
    ],
)
def test_tables_have_no_exponents(number, shown):
    assert Table(["x"], [[number]]).rows == [[shown]]
