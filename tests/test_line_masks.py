"""Masks of which correct code has the opposite, too: what the opposite gives shows whether one is wrong."""

from tests.slips import failed, wrong_lines

MASK = "scores.masked_fill(attention_mask[:, None, :, :] != 0, lowest)"


def test_a_right_mask_used_in_a_wrong_way(workers, without_trials):
    allowed = "allowed = (attention_mask == 0).unsqueeze(1)\n            scores = scores * allowed"
    tests, line = failed(workers, "transformer", "mha", "mha", f"scores = {MASK}", allowed)
    [test] = tests
    assert wrong_lines(test) == [line + 1]
    assert "without a step, the scores with the keys of the attention mask forbidden:" in " ".join(test.pointed)


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
