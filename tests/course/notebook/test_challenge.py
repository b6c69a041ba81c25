"""Challenges: a right and own result is measured and kept, anything else is refused with its reason."""

import time
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F

from course.errors import UserError
from course.notebook.challenge import Leaderboard, best_tale_model, fastest_attention, longest_sentence
from course.training.short_german import joined_sentences


def by_formula(q, k, v, mask):
    weights = torch.softmax((q @ k.mT / q.shape[-1] ** 0.5).masked_fill(mask, -1e9), dim=-1)
    return weights @ v


def without_mask(q, k, v, mask):
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1) @ v


def ready_made(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, ~mask)


def test_own_attention_is_timed_and_kept(tmp_path):
    board = fastest_attention(by_formula, "the formula", tmp_path)
    assert 0.2 < board.attempts[0].value < 5
    assert "1. " in repr(board)
    assert "the formula" in repr(board)


@pytest.mark.parametrize(("attend", "reason"), [(without_mask, "the result is wrong"), (ready_made, "your own code")])
def test_wrong_and_ready_made_attention_is_refused(tmp_path, attend, reason):
    with pytest.raises(UserError, match=reason):
        fastest_attention(attend, "no", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_translator_counts_as_far_as_it_is_right(tmp_path):
    known: dict[str, str] = {}

    def remember(sentences):
        return [known[german] if german.count(" und ") < 3 else "?" for german in sentences]

    # A translator that knows the grammar: it is told the pairs when they are drawn.
    def drawing(count, clauses, seed):
        pairs = joined_sentences(count, clauses, seed)
        known.update(pairs)
        return pairs

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("course.notebook.challenge.joined_sentences", drawing)
        board = longest_sentence(remember, "up to three clauses", tmp_path)
    assert board.attempts[0].value == max(len(german.split()) for german in known if german.count(" und ") == 2)


def test_joined_sentences_have_so_many_clauses():
    for german, english in joined_sentences(5, 3, seed=1):
        assert (german.count(" und "), english.count(" and ")) == (2, 2)
        assert german[0].isupper()
        assert german.endswith(".")
        assert "?" not in german


def test_training_has_a_limited_time(tmp_path, monkeypatch):
    monkeypatch.setattr("course.notebook.challenge.MINUTES", 0.001)
    task = SimpleNamespace(measure=lambda model: SimpleNamespace(figure=2.5))
    assert best_tale_model(lambda task, end: None, "quick", task, tmp_path).attempts[0].value == 2.5
    with pytest.raises(UserError, match="seconds after its"):
        best_tale_model(lambda task, end: time.sleep(1.2), "slow", task, tmp_path)


def test_the_best_comes_first_and_damage_is_survived(tmp_path):
    low, high = Leaderboard("a", "s", folder=tmp_path), Leaderboard("b", "words", highest=True, folder=tmp_path)
    for value in (3.0, 1.0, 2.0):
        low.enter(value, "x")
        high.enter(value, "y")
    assert [one.value for one in low.attempts] == [1, 2, 3]
    assert [one.value for one in high.attempts] == [3, 2, 1]
    (tmp_path / ".challenges.json").write_text("{", encoding="utf-8")
    assert low.attempts == []
