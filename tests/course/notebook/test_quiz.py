"""The questions that check themselves: each answer is computed here in another way, and so is each known mistake."""

import math

import numpy as np
import pytest
import torch

from course.errors import UserError
from course.modules import load_modules
from course.notebook.attention_questions import ATTENTION_QUESTIONS
from course.notebook.questions import QUESTIONS
from course.notebook.questions_models import MODEL_QUESTIONS
from course.notebook.quiz import KNOWN, Reply, ask
from course.notebook.variants_questions import VARIANTS_QUESTIONS
from course.text import edit_distance


def answers() -> dict[str, float | str]:
    """The right answer to each question that asks for a number."""
    modules = load_modules()
    attention = modules.mha.MultiHeadAttention(192, 4)
    q, k = torch.zeros(2, 4, 10, 16), torch.zeros(2, 4, 12, 16)
    layer = modules.encoder.TransformerEncoderLayer(4, 8, 1, 0.0)
    losses = torch.nn.functional.cross_entropy(
        torch.tensor([[0.5, 0.5, 1e-30], [0.125, 0.875, 1e-30], [0.2, 0.3, 0.5]]).log(),
        torch.tensor([0, 0, 2]),
        ignore_index=2,
    )
    dropout = torch.nn.Dropout(0.25)(torch.full((1000,), 6.0))
    table = modules.pe.PositionalEncoding(64, 200).pe[0]
    speeds = [torch.atan2(table[1, 2 * i], table[1, 2 * i + 1]) for i in range(32)]
    assert speeds[4] < speeds[3]
    assert attention.d_k == 48
    return {
        "text-numbers": torch.nn.Embedding(9, 192)(torch.zeros(8, 20, dtype=torch.long)).numel(),
        "text-padding": 100 * sum(12 - length for length in (5, 9, 12, 12)) / (4 * 12),
        "text-tokens": len(["<s>", "▁the", "▁dog", "▁sleep", "s", ".", "</s>"]),
        "mha-weight": torch.tensor([1.0, 0.0]).softmax(0)[0].item(),
        "mha-scale": (1 / math.sqrt(192)) / (1 / math.sqrt(48)),
        "mha-products": (q @ k.transpose(-2, -1)).numel() * 16,
        "pe-entry": modules.pe.PositionalEncoding(4, 9).pe[0, 3, 1].item(),
        "pe-partner": float(2 * (8 // 2) + 1),
        "pe-length": (table[17] @ table[17]).item(),
        "encoder-norm": torch.nn.LayerNorm(3)(torch.tensor([0.0, 0, 3]))[2].item(),
        "encoder-network": sum(p.numel() for part in (layer.fc1, layer.fc2) for p in part.parameters()),
        "encoder-dropout": dropout.max().item(),
        "encoder-waste": 100 * (50 - 5) / (2 * 50),
        "decoder-examples": len(range(9)[1:]),
        "decoder-allowed": (modules.transformer.subsequent_mask(6) == 0).sum().item(),
        "decoder-loss": losses.item(),
        "inference-result": 1 + min(5, 8),
        "inference-memory": 2 * 12 * 768 * 1024 * 2 / 2**20,
        "inference-errors": 100 * edit_distance(["the", "fat", "cat", "sat", "down"], ["the", "cat", "sat"]) / 3,
        "inference-brevity": math.exp(1 - 10 / 8),
        "train-chance": torch.nn.functional.cross_entropy(torch.zeros(1, 2000), torch.tensor([7])).item(),
        "train-mask": 13 * 2 / 18,
        "train-clip": 1 / 20,
    }


def test_the_answers_are_right():
    computed = answers()
    assert set(computed) == {name for name, question in QUESTIONS.items() if not isinstance(question.answer, str)}
    for name, value in computed.items():
        assert ask(name, value).right is True, f"{name}: {value} against {QUESTIONS[name].answer}"


def test_no_name_stands_twice():
    assert len(KNOWN) == sum(map(len, (QUESTIONS, ATTENTION_QUESTIONS, VARIANTS_QUESTIONS, MODEL_QUESTIONS)))


@pytest.mark.parametrize("name", KNOWN)
def test_a_mistake_is_told_from_the_answer(name):
    question = KNOWN[name]
    assert ask(name, question.answer).right is True
    for mistaken, remark in question.wrong:
        reply = ask(name, mistaken)
        assert reply.right is False
        assert remark in reply.remark
        assert remark.endswith((".", "?"))
    if isinstance(question.answer, str):
        assert {letter for letter, _ in question.wrong} | {question.answer} == set("abcd"[: len(question.wrong) + 1])
        assert question.because.startswith(f"{question.answer}: ")


def test_the_encoder_question_about_masks_is_what_attention_does():
    """A padding mask (B, T_k) must become (B, 1, 1, T_k), and only the attention mask is cut for one query."""
    scores, mask = torch.zeros(3, 2, 4, 5), torch.tensor([[0, 0, 0, 0, 1], [0, 0, 0, 1, 1], [0, 0, 0, 0, 0]])
    forbidden = (scores + mask[:, None, None, :]) != 0
    assert torch.equal(forbidden, mask[:, None, None, :].bool().expand(3, 2, 4, 5))
    assert QUESTIONS["mha-mask"].answer == "c"
    assert QUESTIONS["inference-mask"].answer == "b"


def test_numbers_of_other_libraries_are_numbers():
    assert ask("mha-weight", np.float32(0.731)).right is True
    assert ask("mha-weight", torch.tensor(0.731)).right is True
    assert ask("text-bank", " B ").right is True


@pytest.mark.parametrize("nothing", [math.nan, math.inf, "x", 1e9])
def test_anything_else_is_wrong_and_no_error(nothing):
    assert ask("mha-weight", nothing).right is False


@pytest.mark.parametrize(("name", "given"), [("mha-weight", 0.7), ("pe-entry", -1), ("inference-errors", 67)])
def test_a_number_that_is_rounded_too_much_is_told_so(name, given):
    reply = ask(name, given)
    assert reply.right is False
    assert reply.remark == "Not yet. Nearly: give one or two more digits."


def test_a_number_may_be_written_as_text_and_words_are_no_number():
    assert ask("mha-weight", "0.731").right is True
    for words in ("log 2000", "x"):
        assert ask("train-chance", words).remark == "Not yet. The answer is a number, such as 0.25."
    assert ask("text-bank", 2).remark == 'Not yet. The answer is a letter, such as "a".'
    assert ask("mha-scale", 2).remark.endswith("below 1.")


def test_no_answer_gives_no_verdict_and_folds_the_answer():
    reply = ask("mha-weight", ...)
    assert reply.right is None
    assert "0.731" not in repr(reply)
    shown = reply._repr_html_()
    assert shown.index("<details>") < shown.index("0.731")


def test_what_is_shown_is_text():
    assert "&lt;b&gt;" in Reply(True, "<b>", "<i>")._repr_html_()
    assert "<i>" not in Reply(True, "<b>", "<i>")._repr_html_()


def test_mistakes_of_use_are_said():
    with pytest.raises(UserError, match="there is no question 'mha'"):
        ask("mha", 1)
    with pytest.raises(UserError, match="the answer to this question is a number, not list"):
        ask("mha-weight", [1, 2])  # type: ignore[arg-type]
    with pytest.raises(UserError, match='a letter, such as "a", not NoneType'):
        ask("text-bank", None)  # type: ignore[arg-type]
