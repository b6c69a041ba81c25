"""The line of a step that was left out, of a tensor in the place of another, of NaN, of lists and loops."""

import re

import pytest

from autograder.manifest import assignment
from autograder.submissions.read_submission import read_submission
from tests import slips
from tests.slips import failed, wrong_lines


def test_a_call_that_is_given_what_stands_before_the_right_step(workers, without_trials):
    old = "self.dropout(self.positional_encoding(self.encoder_embedding(src)))"
    tests, line = failed(
        workers, "transformer", "encoder", "transformer", old, "self.dropout(self.encoder_embedding(src))"
    )
    told = " ".join(tests[0].pointed)
    assert f"goes on after line {line}, but nothing has made the source with its positions:" in told
    assert min(wrong_lines(tests[0])) > line


def test_a_call_that_is_missing_in_one_place_is_named(workers):
    old, new = "split_heads(self.W_v(V))", "split_heads(V)"
    tests, line = failed(workers, "transformer", "mha", "mha", old, new)
    assert all(wrong_lines(test) == [line] for test in tests)


def test_a_call_that_may_be_missing_in_two_places_has_no_line_of_its_own(workers):
    """The positions could be added where the embeddings are made, or where they are used."""
    old = "self.dropout(self.positional_encoding(self.encoder_embedding(src)))"
    new = "self.dropout(self.encoder_embedding(src))"
    tests, line = failed(workers, "transformer", "encoder", "transformer", old, new)
    assert f"goes on after line {line}, but nothing has made" in " ".join(tests[0].pointed)


def test_a_step_at_the_end_of_a_round_is_missing_before_the_next(workers):
    old = "x = x + block.feed_forward(block.norm2(x))"
    tests, line = failed(workers, "variants", "generate", "generate", old, "pass")
    told = " ".join(tests[0].pointed)
    assert f"goes on after line {line - 1}, but nothing has made the output of the block" in told


@pytest.mark.parametrize("module", ["W_v", "W_k"])
def test_a_projection_in_the_place_of_another(workers, module):
    tests, line = failed(workers, "variants", "heads", "heads", "q, k, v = self.W_q(x)", f"q, k, v = self.{module}(x)")
    for test in tests:
        assert wrong_lines(test) == [line]
        assert "What should come next: the queries." in " ".join(test.pointed)


def test_the_first_line_that_makes_nan(workers):
    tests, line = failed(
        workers,
        "attention",
        "pooling",
        "pooling",
        "reached.sum(dim=1, keepdim=True)",
        "torch.log(-reached.sum(dim=1, keepdim=True))",
    )
    named = [test for test in tests if test.name == "test_attention_pooling"]
    assert "NaN" in named[0].message
    assert f"Line {line} is the first" in " ".join(named[0].pointed)
    assert wrong_lines(named[0]) == [line]


def test_nan_that_a_mask_of_another_line_may_have_caused_is_not_pointed_at(workers):
    tests, line = failed(
        workers,
        "attention",
        "pooling",
        "pooling",
        "torch.where((reached == 0).all(dim=1",
        "torch.where((reached == 0).all(dim=0",
    )
    for test in tests:
        assert set(wrong_lines(test)) <= {line}


def test_small_numbers_are_told_apart(workers):
    tests, line = failed(workers, "variants", "layers", "layers", "variance + self.eps", "variance + 2 * self.eps")
    norm = [test for test in tests if test.name == "test_layer_norm"]
    assert wrong_lines(norm[0]) == [line]


def test_a_list_that_a_return_gives_back_is_wrong_where_it_is_filled(workers):
    tests, line = failed(
        workers, "variants", "generate", "generate", "new_cache.append((k, v))", "new_cache.append((v, v))"
    )
    told = " ".join(tests[0].pointed)
    assert wrong_lines(tests[0]) == [line]
    assert re.search(rf"Line {line} puts something else than it should into the list that line \d+ returns:", told)


def test_a_loop_that_runs_too_seldom(workers):
    tests, line = failed(
        workers,
        "attention",
        "bahdanau",
        "seq2seq",
        "for token in tgt.unbind(dim=1):",
        "for t in range(tgt.size(1) - 1):\n            token = tgt[:, t]",
    )
    shown = [test for test in tests if test.name == "test_teacher_forcing"]
    assert wrong_lines(shown[0]) == [line]
    assert f"Line {line} runs less often than it should:" in " ".join(shown[0].pointed)


def test_a_return_that_leaves_out_a_step(workers):
    tests, line = failed(
        workers, "variants", "layers", "layers", "self.dropout(self.fc2(hidden))", "self.dropout(hidden)"
    )
    assert wrong_lines(tests[0]) == [line]


def test_what_is_drawn_otherwise_is_no_fault_of_what_comes_after_it(workers):
    chosen = assignment("variants")
    text = read_submission(chosen.solution, chosen).sources["generate"]
    draw = re.search(r"= (torch\.multinomial\(.*), generator=generator\)", text)
    assert draw is not None
    tests, line = failed(workers, "variants", "generate", "generate", draw[0], f"= {draw[1]})")
    for test in tests:
        assert set(wrong_lines(test)) <= {line}


def test_a_step_left_out_before_a_mask_that_forbids_nothing(workers):
    """The empty mask of one new token leaves the scores as they are: they come from the line before it."""
    old = "scores = q @ k.transpose(-2, -1) / math.sqrt(attention.d_head)"
    tests, line = failed(workers, "variants", "generate", "generate", old, "scores = q @ k.transpose(-2, -1) / 1.0")
    (told,) = [" ".join(test.pointed) for test in tests if test.name == "test_steps_with_cache"]
    assert f"Line {line} changes nothing of what it is given:" in told
    assert "What should come of it: the scores divided by sqrt(d_head)." in told


def test_keys_put_together_before_they_are_turned(workers):
    """The line that puts them together is right in itself: one of them should have been turned."""
    old = "k = rotate(split_heads(self.W_k(x)), positions)"
    source = slips.source("variants", "modern")
    scores = "scores = grouped @ k.unsqueeze"
    assert old in source
    assert scores in source
    text = source.replace(old, "k = split_heads(self.W_k(x))")
    text = text.replace(scores, f"k = rotate(k, torch.arange(k.size(2), device=x.device))\n        {scores}")
    tests = slips.failed_text(workers, "variants", "modern", "modern", text)
    told = [sentence for test in tests for sentence in test.pointed]
    joined = slips.line_of(text, "k, v = torch.cat([cache[0], k]")
    assert f"Look for the known mistake around line {joined}." in told
