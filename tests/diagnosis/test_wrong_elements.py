"""What the wrong elements have in common, told for tensors with one known fault each."""

import numpy as np
import pytest

from autograder.diagnosis.compare_tensors import compare
from autograder.diagnosis.wrong_elements import masked_by

RNG = np.random.Generator(np.random.PCG64(5))
HEADS = RNG.standard_normal((3, 4, 6, 5))  # (B, H, T_q, d_k)
SQUARE = RNG.standard_normal((2, 5, 5))  # (B, T_q, T_k)


def changed(index) -> np.ndarray:
    wrong = HEADS.copy()
    wrong[index] += 1 + RNG.random(wrong[index].shape)
    return wrong


CASES = {
    "Every value is 2 times the expected one.": 2 * HEADS,
    "Every value is off by +3.": HEADS + 3,
    "All values are zero.": np.zeros_like(HEADS),
    "The values are right but in a different order along H: 1, 0, 2, 3.": HEADS[:, [1, 0, 2, 3]],
    "The values are reversed along T_q.": HEADS[:, :, ::-1],
    "Only head 2 is wrong.": changed(np.s_[:, 2]),
    "Only the first head is right.": changed(np.s_[:, 1:]),
    "Only the last query is wrong.": changed(np.s_[:, :, -1]),
    "Only the first sentence is wrong.": changed(np.s_[0]),
    "Only the even columns are wrong (counted from 0).": changed(np.s_[..., ::2]),
    "The values are wrong from query 3 on and right elsewhere.": changed(np.s_[:, :, 3:]),
    "The values are right but in the wrong places": HEADS.reshape(-1)[::-1].reshape(HEADS.shape)[
        :, :, [1, 0, 2, 3, 4, 5]
    ],
}


@pytest.mark.parametrize("sentence", CASES)
def test_the_sentence_names_the_fault(sentence):
    wrong = compare("x", "B H T_q d_k", CASES[sentence], HEADS, 1e-5)
    assert wrong is not None
    assert any(detail.startswith(sentence) for detail in wrong.details), wrong.details


def test_swapped_axes():
    wrong = compare("x", "B T_q T_k", SQUARE.swapaxes(1, 2), SQUARE, 1e-5)
    assert wrong is not None
    assert "The axes T_q and T_k are swapped." in wrong.details


def test_groups():
    padded = np.array([False, True, True])[:, None, None, None]
    wrong = compare("x", "B H T_q d_k", changed(np.s_[1:]), HEADS, 1e-5, groups={"sentences with padding": padded})
    assert wrong is not None
    assert "Only sentences with padding are wrong." in wrong.details


# (B, H, T_q, d_k): padding in the sentences 1 and 2; a causal mask, which leaves the last query as it is
PADDING = np.array([[0, 0, 0], [0, 0, 1], [0, 7, 7]])
CAUSAL = np.triu(np.ones((1, 6, 6)), k=1)
MASKED = {
    "padded sentences": (np.s_[1:], {"key_padding_mask": PADDING}, False),
    "one of the padded sentences": (np.s_[2], {"key_padding_mask": PADDING}, False),
    "the sentence without padding": (np.s_[0], {"key_padding_mask": PADDING}, True),
    "shorter sentences": (np.s_[:2], {"src_lengths": np.array([2, 3, 6])}, False),
    "the longest sentence": (np.s_[2], {"src_lengths": np.array([2, 3, 6])}, True),
    "queries under the causal mask": (np.s_[:, :, :5], {"attention_mask": CAUSAL}, False),
    "the last query": (np.s_[:, :, 5], {"attention_mask": CAUSAL}, True),
    "positions of a known target": (np.s_[:, :, :5], {"tgt": np.zeros((3, 6))}, False),
    "all but the first query, which has one key": (np.s_[:, :, 1:], {"attention_mask": CAUSAL}, False),
    "all but the first query, without a mask": (np.s_[:, :, 1:], {}, True),
    "a query in the middle": (np.s_[:, :, 3], {"attention_mask": np.ones((3, 6, 6))}, False),
    "a head, whatever the masks": (np.s_[:, 1], {"key_padding_mask": PADDING, "attention_mask": CAUSAL}, True),
    "padding beside a mask that concerns everything": (
        np.s_[1:],
        {"key_padding_mask": PADDING, "attention_mask": np.ones((3, 6, 6))},
        False,
    ),
}


@pytest.mark.parametrize("what", MASKED)
def test_a_pattern_that_masks_alone_explain_is_not_said(what):
    index, arguments, said = MASKED[what]
    wrong = compare("x", "B H T_q d_k", changed(index), HEADS, 1e-5, masked=lambda: masked_by(arguments.items()))
    assert wrong is not None
    assert any(detail.startswith(("Only", "The values are wrong")) for detail in wrong.details) == said


def test_every_other_sentence_is_chance_among_sentences_of_different_lengths():
    numbers = RNG.standard_normal((6, 4))
    wrong = compare("x", "B d", numbers + np.arange(6)[:, None] % 2, numbers, 1e-5)
    assert wrong is not None
    assert "Only the odd sentences are wrong (counted from 0)." in wrong.details
    masked = masked_by([("src_lengths", np.array([5, 5, 4, 5, 4, 3]))])
    wrong = compare("x", "B d", numbers + np.arange(6)[:, None] % 2, numbers, 1e-5, masked=lambda: masked)
    assert wrong is not None
    assert not any("sentences" in detail for detail in wrong.details)


def test_unrelated_numbers_have_nothing_in_common():
    wrong = compare("x", "B H T_q d_k", RNG.standard_normal(HEADS.shape), HEADS, 1e-5)
    assert wrong is not None
    assert len(wrong.details) == 4  # count and place, expected, got, largest difference


def test_elements_that_do_not_count():
    where = np.ones((3, 1, 6, 1), dtype=bool)
    where[:, :, 4:] = False
    assert compare("x", "B H T_q d_k", changed(np.s_[:, :, 4:]), HEADS, 1e-5, where) is None
    infinite = HEADS.copy()
    infinite[:, :, 4:] = np.nan
    assert compare("x", "B H T_q d_k", infinite, HEADS, 1e-5, where) is None


@pytest.mark.parametrize(
    ("actual", "message"),
    [
        (None, "x is None instead of a tensor"),
        ([1.0], "x: wrong type"),
        (HEADS[..., :4], "x: wrong shape"),
        (HEADS.astype(np.float16), "x: wrong dtype"),
        (HEADS * np.nan, "x: contains NaN"),
        (np.full_like(HEADS, np.inf), "x: contains infinity"),
    ],
)
def test_the_ladder(actual, message):
    wrong = compare("x", "B H T_q d_k", actual, HEADS, 1e-5)
    assert wrong is not None
    assert wrong.message == message


def test_differences_below_the_limit_are_right():
    assert compare("x", "B H T_q d_k", HEADS + 9e-6, HEADS, 1e-5) is None
    assert compare("x", "B H T_q d_k", HEADS.astype(np.float32), HEADS, 1e-5) is None
