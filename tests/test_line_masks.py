"""Masks of which correct code has the opposite, too: what the opposite gives shows whether one is wrong."""

import pytest

from tests.slips import failed, wrong_lines

MASK = "scores.masked_fill(attention_mask[:, None, :, :] != 0, lowest)"


def test_a_right_mask_used_in_a_wrong_way(workers, without_trials):
    allowed = "allowed = (attention_mask == 0).unsqueeze(1)\n            scores = scores * allowed"
    tests, line = failed(workers, "transformer", "mha", "mha", f"scores = {MASK}", allowed)
    [test] = tests
    assert wrong_lines(test) == [line + 1]
    assert ", but nothing has made the scores with the keys of the attention mask forbidden:" in " ".join(test.pointed)


def test_the_opposite_of_a_right_mask(workers, without_trials):
    """Either line may be the one to mend: none is called wrong."""
    forbidden = "forbidden = (attention_mask == 0).unsqueeze(1)"
    new = f"{forbidden}\n            scores = scores.masked_fill(forbidden, lowest)"
    tests, line = failed(workers, "transformer", "mha", "mha", f"scores = {MASK}", new)
    [test] = tests
    assert wrong_lines(test) == []
    assert test.pointed[-2:] == (
        f"With the opposite of what line {line} of mha.py makes, the call gives what it should:",
        f"    {forbidden}",
    )


CAUSAL = "subsequent_mask(tgt.size(1), device=tgt.device).unsqueeze(0)"
LOWER = "torch.tril(torch.ones(tgt.size(1), tgt.size(1), dtype=torch.long)).unsqueeze(0)"


@pytest.mark.parametrize("mask", [LOWER, f"1 - {CAUSAL}"], ids=["lower triangle", "turned round"])
def test_the_line_that_makes_the_opposite_of_a_mask(workers, without_trials, mask):
    """Also where correct code makes the right mask of this one."""
    tests, line = failed(workers, "transformer", "decoder", "transformer", CAUSAL, mask)
    test = next(test for test in tests if test.name == "test_encoder_decoder_states")
    assert wrong_lines(test) == [line]
    assert f"Line {line} makes the opposite of the causal mask:" in test.pointed


def test_what_a_given_function_makes_is_no_opposite(workers, without_trials):
    given = "length_to_padding_mask(src_lengths, device=src.device)"
    tests, line = failed(workers, "transformer", "encoder", "transformer", given, f"1 - {given}")
    [test] = tests
    assert wrong_lines(test) == [line]


def test_lines_that_put_axes_of_size_1_in_wrong_places_are_not_called_right(workers):
    old = "features = torch.tanh(self.W_q(queries)[:, :, None] + self.W_k(keys)[:, None])"
    made = "asked = self.W_q(queries)[:, None]\n        offered = self.W_k(keys)[:, :, None]"
    new = f"{made}\n        features = torch.tanh(asked + offered)"
    tests, line = failed(workers, "attention", "scoring", "scoring", old, new)
    assert tests
    for test in tests:
        assert not {line, line + 1} & {mark.line for mark in test.marks if mark.state == "right"}
        assert not any(one.startswith(f"Lines {line} to {line + 1} are right") for one in test.pointed)


def test_the_opposite_of_a_mask_in_a_way_of_ones_own(workers, without_trials):
    """Zeros for padding, and no mask for the layers: what is done with the mask is wrong, not the mask."""
    mask = "mask = positions >= lengths[:, None, None]"
    old = f"""{mask}  # (T,) and (B, 1, 1) -> (B, 1, T)
        for block in self.blocks:
            x = block(x, mask)"""
    new = """inside = positions < lengths[:, None]
        x = x * inside[:, :, None]
        for block in self.blocks:
            x = block(x)"""
    tests, line = failed(workers, "variants", "tagger", "tagger", old, new)
    assert tests
    assert {number for test in tests for number in wrong_lines(test)} == {line + 1}
    # And a mask the other way round is still told by its own line.
    tests, line = failed(workers, "variants", "tagger", "tagger", mask, mask.replace(">=", "<"))
    assert tests
    assert {number for test in tests for number in wrong_lines(test)} == {line}


def test_a_mask_with_as_many_ones_as_the_opposite_of_the_right_one_is_told_itself(workers, without_trials):
    """A position that may not see itself either: not the line that only passes the mask on."""
    old = f"causal_mask = {CAUSAL}"
    made = "positions = torch.arange(tgt.size(1))\n        future = positions[None, :] >= positions[:, None]"
    tests, line = failed(
        workers, "transformer", "decoder", "transformer", old, f"{made}\n        causal_mask = future[None]"
    )
    test = next(test for test in tests if test.name == "test_encoder_decoder_states")
    assert wrong_lines(test) == [line + 1]


def test_in_a_mask_no_step_is_missing(workers, without_trials):
    """Only pairs of padding are forbidden: the padding itself is right, and no norm is left out."""
    old = "mask = positions >= lengths[:, None, None]"
    made = "padding = positions >= lengths[:, None]"
    new = f"{made}\n        mask = padding[:, :, None] & padding[:, None, :]"
    tests, line = failed(workers, "variants", "tagger", "tagger", old, new)
    assert tests
    for test in tests:
        assert wrong_lines(test) in ([line + 1], [])
        assert "missing" not in " ".join(test.pointed)
        assert "nothing has made" not in " ".join(test.pointed)
