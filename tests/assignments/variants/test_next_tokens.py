"""What is drawn of a language model is what its probabilities are, and its texts are those of its tokens."""

import warnings
from typing import Any

import numpy as np
import pytest
import torch

from course.config import BOS, EOS
from course.notebook.next_tokens import (
    distributions,
    expected_next,
    in_lines,
    next_token_map,
    sampling_sliders,
)


class Letters:
    """A tokenizer of single letters: BOS, then a letter a token, then EOS."""

    def encode(self, text):
        return [BOS, *(ord(letter) - 90 for letter in text), EOS]

    def pieces(self, tokens):
        return [chr(token + 90) if token > EOS else f"<{token}>" for token in tokens]

    def decode(self, tokens):
        return "".join(self.pieces(token for token in tokens if token > EOS))


LETTERS: Any = Letters()


def successor(tokens):
    """Logits of a model that expects the next letter of the alphabet with 0.75, and the one after it with 0.25."""
    logits = torch.full((*tokens.shape, 40), -torch.inf)
    logits.scatter_(-1, tokens[..., None] + 1, torch.tensor(0.75).log().expand(*tokens.shape, 1))
    return logits.scatter_(-1, tokens[..., None] + 2, torch.tensor(0.25).log().expand(*tokens.shape, 1))


def test_expected_next():
    (first, high), (second, low) = expected_next(successor, LETTERS, "ab", most=2)
    assert (first, second) == ("c", "d")
    assert [high, low] == pytest.approx([0.75, 0.25])


def test_map_frames_what_comes_next():
    figure = next_token_map(successor, LETTERS, "abd", most=2)
    axes = figure.axes[0]
    texts = [text.get_text() for text in axes.texts]
    assert texts == ["<3>", "^", "0.00", "b", "c", "0.75", "c", "d", "0.25", "e", "f"]
    assert len(axes.patches) == 2  # b after a, d after b; a after BOS is not among the first two
    assert [label.get_text() for label in axes.get_yticklabels()] == ["<2>", "a", "b", "d"]
    assert "At 1 of 3 positions" in figure.alt
    assert figure.alt.endswith("e, f.")


def test_distributions_mark_what_is_cut_off():
    plain, cut = torch.tensor([0.5, 0.1, 0.4]), torch.tensor([0.6, 0.0, 0.4])
    figure = distributions({"plain": plain, "cut": cut}, lambda tokens: [f"t{token}" for token in tokens])
    left, right = figure.axes
    bars: Any = right.patches
    assert [label.get_text() for label in left.get_yticklabels()] == ["t0", "t2", "t1"]
    assert [bar.get_width() for bar in bars] == pytest.approx([0.6, 0.4, 0.0])
    assert [np.asarray(axes.lines[0].get_ydata()).tolist() for axes in (left, right)] == [[], [2]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a notebook would show them
        assert figure.png(dpi=30)
    assert "cut: 2 tokens have a probability above 0, the largest 0.60." in figure.alt


def test_lines_end_with_a_slash():
    tokens = torch.tensor([BOS, 7, 8, EOS, 9])
    assert in_lines(tokens, LETTERS) == "ab / c"


def test_sliders_write_anew():
    asked = []

    def write(*settings):
        asked.append(settings)
        return "<b>"

    *sliders, shown = sampling_sliders(write).children
    assert asked == [(0.7, 50, 0.9, 1)]
    assert "&lt;b&gt;" in shown.value
    sliders[3].value = 5
    assert asked[-1] == (0.7, 50, 0.9, 5)
