"""Lines that write into what nothing uses, that go on without a module, and NaN."""

import ast
import textwrap

import pytest

from autograder.grading.changed_names import last_writes
from autograder.submissions.syntax_tree import parse
from tests.slips import failed, failed_text, graded_text, line_of, source, told, wrong_lines

MASKED = "return torch.softmax(scores.masked_fill(forbidden, torch.finfo(scores.dtype).min), dim=-1)"


def test_a_tensor_that_is_written_into_and_used_nowhere(workers, without_trials):
    """The scores that were to be masked are others than those that go into the softmax."""
    written = "masked = scores.clone()\n    masked[forbidden.expand_as(scores)] = -1e9\n"
    new = f"{written}    return torch.softmax(scores, dim=-1)"
    tests, line = failed(workers, "attention", "scoring", "scoring", MASKED, new)
    [test] = [test for test in tests if test.name == "test_masked_softmax"]
    assert wrong_lines(test) == [line + 1]
    assert "writes into masked, which nothing uses after that:" in told([test])


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ("a = torch.zeros(3)\na[0] = 1\nreturn 2", {3: "a"}),
        ("a = torch.zeros(3)\na.fill_(1)\nreturn 2", {3: "a"}),
        ("a = torch.zeros(3)\na[0] += 1\nreturn a", {}),
        ("a = x.view(3)\na[0] = 1\nreturn x", {}),  # another view of the same
        ("a = x[0]\na[0] = 1\nreturn x", {}),
        ("x[0] = 1\nreturn 2", {}),  # it belongs to the caller
        ("for a in x:\n    a.mul_(2)\nreturn 2", {}),  # so do its parts
        ("self.a = torch.zeros(3)\nself.a[0] = 1", {}),  # it is kept
        ("a = torch.zeros(3)\nfor i in range(3):\n    b = a[i]\n    a[i] = 1\nreturn b", {}),  # the next round uses it
        ("a = torch.zeros(3)\nfor i in range(3):\n    a[i] = 1\nreturn x", {4: "a"}),
    ],
)
def test_what_is_written_into_last(body, written):
    [function] = parse(f"def f(self, x):\n{textwrap.indent(body, '    ')}\n").body
    assert isinstance(function, ast.FunctionDef)
    assert last_writes(function) == written


def test_a_helper_goes_on_without_the_module_that_is_never_called(workers, without_trials):
    tests, _ = failed(workers, "transformer", "mha", "mha", "self.W_q(Q)", "Q", "state_on_self")
    test = next(test for test in tests if test.name == "test_mha_no_mask")
    assert " is the first whose result is not right" not in told([test])
    assert "W_q is never called." in told([test])


def test_an_order_that_begins_where_nothing_is_seen_has_no_line(workers, without_trials):
    tests, _ = failed(workers, "transformer", "pe", "pe", "dim=1)", "dim=0)", "vmap_style")
    assert [wrong_lines(test) for test in tests] == [[]] * len(tests) != []


def test_what_goes_into_nan_is_told(workers, without_trials):
    """Without the largest score taken off, exp() overflows, and infinity is divided by infinity."""
    tests, line = failed(
        workers, "attention", "scoring", "scoring", "scores - highest", "scores", "softmax-exponentials"
    )
    [test] = [test for test in tests if test.name == "test_masked_softmax"]
    assert wrong_lines(test) == [line + 1]
    assert f"What goes in there: weights (line {line})." in told([test])


def test_a_return_of_what_correct_code_goes_on_with(workers, without_trials):
    """The function is one line, and no step in it has a name."""
    old = "return torch.clamp(1 - u, min=0)"
    tests, line = failed(workers, "attention", "pooling", "pooling", old, "return 1 - u")
    [test] = tests
    assert wrong_lines(test) == [line]
    assert "Correct code makes something more of that." in told(tests)


def test_what_makes_the_same_as_another_line_stands_in_the_place_of_something_else(workers, without_trials):
    """The values in the place of the queries, which are there, but are not split into heads."""
    old = "q = q.view(B, T, self.num_heads, C // self.num_heads)"
    new = old.replace("= q", "= v")
    tests, line = failed(workers, "variants", "heads", "heads", old, new, "heads-efficient-chunk-reshape")
    test = next(test for test in tests if test.name == "test_heads_at_once")
    assert wrong_lines(test) == [line]
    assert f"It makes the same as line {line + 1}, where correct code has something else." in told([test])


def test_a_loop_that_is_left_at_once_has_run(workers, without_trials):
    old = "if text.size(1) >= model.max_len:"
    tests, _ = failed(
        workers, "variants", "generate", "generate", old, f"{old[:3]}not {old[3:]}", "generate-loop-gumbel"
    )
    assert tests
    assert "never run" not in told(tests)


def test_what_picks_by_places_and_changes_nothing_should_have_changed_the_order(workers, without_trials):
    tests, line = failed(workers, "transformer", "pe", "pe", ".reshape(2, -1)", ".reshape(1, -1)", "german")
    assert all(set(wrong_lines(test)) <= {line, line + 1} for test in tests)
    assert any(wrong_lines(test) for test in tests)


def test_what_changes_nothing_is_told_where_the_step_should_be_made(workers, without_trials):
    """The nearest key of all queries is that of one: for the others the step that replaces zeros leaves zeros."""
    tests, line = failed(
        workers, "attention", "pooling", "pooling", "distances.amin(dim=1, keepdim=True)", "distances.min()"
    )
    test = next(test for test in tests if test.name == "test_attention_pooling")
    assert wrong_lines(test) == [line + 2]
    assert "changes nothing of what it is given:" in told([test])
    assert f"nearest (line {line})" in told([test])


def test_rows_that_are_put_together_one_by_one_are_in_no_other_order(workers, without_trials):
    """What is made of each row is a step in another shape, and is not what is wrong."""
    old = "(row - row.mean()) / (((row - row.mean()) ** 2).mean() + self.eps).sqrt()"
    tests, _ = failed(workers, "variants", "layers", "layers", old, "(row - row.mean())", "layers-norm-with-cat")
    assert tests
    assert "in another order" not in told(tests)


def test_of_several_missing_layers_the_loop_is_told(workers, without_trials):
    """The loop ends after one layer, since there is one cache, which is None."""
    old = "for index, layer in enumerate(self.layers):"
    new = "for index, (layer, _) in enumerate(zip(self.layers, cache or [None])):"
    text = source("transformer", "decoder")
    start = text.index("class TransformerDecoder(")
    start = text.index("def forward_one_step_ec", start)
    assert old in text[start:]
    changed = text[:start] + text[start:].replace(old, new, 1)
    tests = failed_text(workers, "transformer", "inference", "decoder", changed)
    assert tests
    assert "nothing has made the last position" not in told(tests)
    assert wrong_lines(tests[-1]) == [line_of(changed, new)]
    assert "runs less often than it should: " in told(tests)


@pytest.mark.xfail(strict=True, reason="no line, since functions are graded one by one")
def test_of_two_lines_that_may_write_into_an_argument_both_are_told(workers):
    text = source("transformer", "decoder")
    text = text.replace("        new_cache = []\n", "        new_cache = [] if cache is None else cache\n", 1)
    filled, changed = "new_cache.append(x)", "new_cache[index] = x"
    new = f"if cache is None:\n                {filled}\n            else:\n                {changed}"
    text = text.replace("new_cache.append(x)", new, 1)
    tests = graded_text(workers, "transformer", "inference", "decoder", text)
    test = next(test for test in tests if test.message.startswith("passes, but"))
    first = line_of(text, "                new_cache.append(x)")
    assert test.pointed == (
        "One of these lines of decoder.py writes into cache:",
        f"    new_cache.append(x)  # line {first}",
        f"    new_cache[index] = x  # line {first + 2}",
    )


def test_an_exception_of_torch_has_the_shapes_of_its_line(workers):
    tests, _ = failed(workers, "transformer", "pe", "pe", "self.pe[:, :T]", "self.pe[:T]")
    [test] = tests
    assert test.details[-1] == "shapes    x (4, 9, 32), self.pe (1, 15, 32), T = 9"


def test_a_line_that_only_lays_out_goes_on_without_the_step(workers, without_trials):
    tests, line = failed(workers, "transformer", "pe", "pe", "angle.sin()", "angle", "pe-outer-pow")
    assert f"Line {line + 2} goes on after line {line + 1}, but nothing has made the sines:" in told(tests)


def test_a_module_that_a_helper_calls_too_often_has_the_line_that_calls_the_helper(workers, without_trials):
    """The second one asks once more, with the new state."""
    text = source("attention", "seq2seq")
    old = "context = self.attention(state.unsqueeze(1), enc_outputs, enc_outputs, src_lengths).squeeze(1)"
    assert old in text
    text = text.replace(old, "context = self.look(state, enc_outputs, src_lengths)", 1)
    scored = "        logits = self.predict(state, context, embedded)"
    assert scored in text
    text = text.replace(scored, f"        context = self.look(state, enc_outputs, src_lengths)\n{scored}", 1)
    helper = f"    def look(self, state, enc_outputs, src_lengths):\n        {old.replace('context =', 'return')}\n\n"
    text = text.replace("    def step(", f"{helper}    def step(", 1)
    tests = failed_text(workers, "attention", "bahdanau", "seq2seq", text)
    line = line_of(text, f"        context = self.look(state, enc_outputs, src_lengths)\n{scored}")
    assert f"attention is called more often than it should be, in line {line}." in told(tests)


def test_an_axis_of_size_1_in_the_wrong_place(workers, without_trials):
    """The numbers are those of the table; the axis of the batch stands behind the positions."""
    tests, line = failed(workers, "transformer", "pe", "pe", "pe.unsqueeze(0)", "pe.unsqueeze(1)", "pe-outer-pow")
    [test] = tests
    assert wrong_lines(test) == [line]
    assert f"Line {line} makes the right numbers, but axes of size 1 stand where they should not" in told(tests)
