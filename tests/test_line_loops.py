"""The line of what a loop leaves out or never begins again, and of what comes back in other shapes than it should."""

import ast
from types import SimpleNamespace
from typing import Any

import pytest

from autograder.diagnosis.findings import Fault, Finding
from autograder.grading.endless_loops import is_endless
from autograder.grading.grade_submission import end_to_end
from autograder.grading.wrong_loops import _where_it_is_left
from autograder.manifest import assignment
from autograder.sandbox.traces import Line
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.small_changes import small_changes
from autograder.submissions.syntax_tree import Offsets, functions
from tests.slips import failed, failed_text, graded_text, line_of, source, told, wrong_lines


def test_a_loop_that_leaves_modules_of_its_list_out(workers, without_trials):
    old = "for index, layer in enumerate(self.layers):"
    tests, line = failed(workers, "transformer", "inference", "decoder", old, old.replace("layers)", "layers[:1])"))
    told = " ".join(tests[-1].pointed)
    assert wrong_lines(tests[-1]) == [line]
    assert "runs less often than it should:" in told


def test_one_module_in_the_place_of_all_is_no_loop_that_ends_too_early(workers, without_trials):
    old = "x = block(x, mask)"
    tests, _ = failed(workers, "variants", "lm", "language_model", old, "x = self.blocks[0](x, mask)")
    assert "less often than it should" not in " ".join(" ".join(test.pointed) for test in tests)


ROUNDS = """def f(n, x, kept):
    a, found = [], []
    counts = {}
    mask = ones(n)
    for i in range(n):
        a.append(x)
        counts.update(x)
        mask[i] = 0
        found.append(a)
        kept = x
    return found, mask
"""


def test_what_begins_once_before_a_loop_is_begun_in_each_round():
    """Not what is used behind the loop: that is collected there."""
    found = [one for one in small_changes("m", ROUNDS, "f", functions("m", ROUNDS)["m.f"]) if one.renews]
    assert [(one.line, one.other) for one in found] == [(3, 5)]
    assert "    for i in range(n):\n        counts = {}\n        a.append(x)\n" in found[0].apply(ROUNDS)


def test_the_tokens_so_far_that_begin_once_for_all_sentences(workers):
    """The cache is wrong in its shape; of the tokens nothing is said but that they differ."""
    begin = "            tgt = torch.full((1, 1), self.sos_idx, dtype=torch.long, device=src.device)\n"
    loop = "        for b in range(src.size(0)):\n"
    text = source("transformer", "transformer").replace(begin, "            pass\n")
    text = text.replace(loop, f"{begin[4:]}{loop}")
    tests = failed_text(workers, "transformer", "inference", "transformer", text)
    line = line_of(text, begin.strip())
    said = f"With line {line} of transformer.py in each round of the loop of line {line + 1}, and not once before it,"
    assert said in told(tests)
    assert wrong_lines(tests[-1]) == [line]


def test_counts_that_are_never_emptied(workers):
    old = source("attention", "seq2seq")
    counted = "shared = ngrams(candidate, n) & ngrams(reference, n)"
    loop = next(line for line in old.splitlines() if line.strip().startswith("for n in range(1,"))
    assert counted in old
    text = old.replace(loop, f"    mine, theirs = Counter(), Counter()\n{loop}")
    filled = "mine.update(ngrams(candidate, n))\n        theirs.update(ngrams(reference, n))"
    text = text.replace(counted, f"{filled}\n        shared = mine & theirs")
    tests = failed_text(workers, "attention", "translate", "seq2seq", text)
    assert [wrong_lines(test) for test in tests] == [[line_of(text, "mine, theirs = Counter()")]]


def test_a_list_is_filled_wrong_though_it_begins_beside_another(workers, without_trials):
    old = "new_cache.append((k, v))"
    text = source("variants", "generate").replace("new_cache: Cache = []", "new_cache, others = [], []")
    text = text.replace(old, "new_cache.append((v, v))")
    tests = failed_text(workers, "variants", "generate", "generate", text)
    assert wrong_lines(tests[0]) == [line_of(text, "new_cache.append((v, v))")]


def test_several_results_that_are_there_but_do_not_come_back(workers, without_trials):
    """The cache is to hold keys and values as they were before they were repeated for the queries."""
    end = "return self.W_o(merged), (k, v)"
    repeated = f"k, v = k.repeat_interleave(3, dim=1), v.repeat_interleave(3, dim=1)\n        {end}"
    text = source("variants", "modern").replace(end, repeated)
    tests = failed_text(workers, "variants", "modern", "modern", text)
    said = told(tests[:1])
    assert f"Line {line_of(text, end)} returns something else than it should:" in said
    assert "It should be: the keys, turned and the values." in said


@pytest.mark.parametrize("bound", ["len(tokens) < most", "most > len(tokens)", "count + 1 <= most"])
def test_changes_with_which_a_loop_never_ends_are_not_tried(bound):
    """Each would cost the time in which a call has to answer. What asks for another size may mend it."""
    text = f"""def f(start, most, state):
    tokens, count, done = [start], 0, start.bool()
    while {bound} and not done.all():
        state, token = step(state)
        tokens.append(token)
        count += 1
        done = done | token.bool()
    return tokens
"""
    function = functions("m", text)["m.f"]
    loop = next(one for one in function.body if isinstance(one, ast.While))
    changes = [one for one in small_changes("m", text, "f", function) if one.line == loop.lineno]
    endless = {one.text for one in changes if is_endless(loop, one, Offsets(text))}
    assert {"(not done.all())", "state"} <= endless
    tried = {one.text for one in changes} - endless
    assert f"({bound})" in tried
    assert not tried.isdisjoint({" <= ", " < "})


def test_an_attribute_that_a_call_changes_after_the_constructor(workers):
    old = "return x + self.pe[:, :T]"
    new = "self.pe = self.pe[:, :T]\n        return x + self.pe"
    tests, line = failed(workers, "transformer", "pe", "pe", old, new)
    assert tests[0].message == "pe after a call has the wrong shape"
    assert f"Line {line} of pe.py gives pe another value than it had:" in told(tests)


ONE_AXIS = {
    "q, k, v = map(": "q, k, v = (one.flatten(0, 1) for one in map(",
    ".split(d_model, dim=-1))": ".split(d_model, dim=-1)))",
    "= q @ k.transpose(-2, -1) / math.sqrt(self.d_head)  # (B": "= (q / math.sqrt(self.d_head)) @ k.mT  # (B",
    "scores = scores.masked_fill(mask.unsqueeze(1), torch.finfo(scores.dtype).min)": (
        "mask = mask.expand(B, -1, -1).repeat_interleave(self.num_heads, dim=0)\n"
        "            scores = scores.masked_fill(mask, 0.0)"
    ),
    "heads = weights @ v  # (B": "heads = (weights @ v).unflatten(0, (B, -1))  # (B",
}


def test_a_step_has_its_name_in_whatever_shape_it_is_made(workers, without_trials):
    """Batch and heads in one axis: (B, H, T, T) scores as (B * H, T, T)."""
    text = source("variants", "heads")
    for old, new in ONE_AXIS.items():
        assert old in text
        text = text.replace(old, new)
    tests = failed_text(workers, "variants", "heads", "heads", text)
    line = line_of(text, "scores = scores.masked_fill(mask, 0.0)")
    [test] = [test for test in tests if test.name == "test_heads_at_once"]
    assert f"the scores divided by sqrt(d_head) (line {line - 4})" in told([test])
    assert "What should come next: the scores with the masked keys forbidden." in told([test])


def test_what_only_computes_in_float64_does_not_run_as_in_the_notebooks(workers):
    chosen = assignment("transformer")
    correct = read_submission(chosen.solution, chosen)
    assert end_to_end(correct, chosen, workers).status == "passed"
    text = correct.sources["pe"]
    double = text.replace('self.register_buffer("pe", pe', 'self.register_buffer("pe", pe.double()')
    assert double != text
    whole = end_to_end(Submission("", {**correct.sources, "pe": double}), chosen, workers)
    assert whole.status == "error"
    assert "Double" in whole.message or "double" in whole.message


def test_a_loop_that_is_left_before_the_limit_is_told_and_not_the_return_behind_it(workers):
    text = source("transformer", "transformer")
    old, new = "== self.eos_idx:", "== self.eos_idx or tgt.size(1) >= max_output_length:"
    assert old in text
    tests = graded_text(workers, "transformer", "inference", "transformer", text.replace(old, new))
    said = told(tests)
    loop = line_of(text, "for _ in range(max_output_length):")
    assert f"Line {loop} of transformer.py ends too early, or is left before" in said
    assert "returns something else" not in said


def test_a_batch_that_is_put_back_by_the_order_that_sorted_it(workers):
    old = "enc_outputs, state = self.encoder(src, src_lengths)"
    new = (
        "order = src_lengths.argsort(descending=True)\n"
        "        enc_outputs, state = self.encoder(src[order], src_lengths[order])\n"
        "        enc_outputs, state = enc_outputs[order], state[order]"
    )
    text = source("attention", "seq2seq").replace(old, new, 1)
    tests = failed_text(workers, "attention", "bahdanau", "seq2seq", text)
    back = line_of(text, "enc_outputs, state = enc_outputs[order]")
    [test] = [test for test in tests if test.name == "test_seq2seq"]
    assert back in wrong_lines(test)
    assert "the call gives what it should" in told([test])


def test_a_loop_in_a_branch_that_was_not_reached_is_not_called_idle(workers):
    """Without top_p the best tokens are not gone through at all."""
    case = "variants", "generate", "generate", "kept = kept[:top_k]", "kept = kept[:]"
    tests, _ = failed(workers, *case, "generate-filter-row-by-row")
    assert tests
    assert "begins a loop whose lines never run" not in told(tests)


def test_the_condition_on_which_decoding_ends_too_early(workers):
    """Few trials are left behind it: each is a translation."""
    case = "transformer", "inference", "transformer", "if next_token.item() == self.eos_idx:"
    tests, line = failed(workers, *case, "if next_token.item() != self.eos_idx:")
    assert [wrong_lines(test) for test in tests] == [[line], [line]]


def test_a_loop_that_fills_too_few_columns(workers, monkeypatch):
    monkeypatch.setattr("autograder.grading.mending_lines.mended", lambda *_: {})
    case = "transformer", "pe", "pe", "for i in range(d_model // 2):"
    [test], line = failed(workers, *case, "for i in range(d_model // 3):", "key_picker")
    assert f"Line {line} ends too early:" in test.pointed
    assert wrong_lines(test) == [line]


def test_what_runs_inside_of_vmap_is_not_seen(workers):
    case = "transformer", "pe", "pe", ", dim=1).reshape(d_model)"
    [test], _ = failed(workers, *case, ", dim=1)", "vmap_style")
    assert not wrong_lines(test)


def test_a_loop_that_ends_too_early_and_calls_what_makes_the_step(workers, monkeypatch):
    monkeypatch.setattr("autograder.grading.mending_lines.mended", lambda *_: {})
    case = "variants", "generate", "generate", "model.max_len - prompt.size(1)"
    [test], line = failed(workers, *case, "model.max_len - prompt.size(0)")
    assert f"Line {line} ends too early:" in test.pointed
    assert wrong_lines(test) == [line]


def test_the_condition_that_leaves_a_loop_too_early(workers, monkeypatch):
    monkeypatch.setattr("autograder.grading.mending_lines.mended", lambda *_: {})
    case = "transformer", "inference", "transformer", "if next_token.item() == self.eos_idx:"
    tests, line = failed(workers, *case, "if next_token.item() != self.eos_idx:", "self_tests")
    assert line in [number for test in tests for number in wrong_lines(test)]
    assert f"Line {line} of transformer.py leaves its loop too early:" in told(tests)


NESTED = """def f(rows):
    for row in rows:
        for one in row:
            made.append(one)
        if len(made) > 3:
            break
"""


@pytest.mark.parametrize(
    ("line", "often", "told"),
    [
        (4, -1, 4),  # a line of the inner loop, which nothing leaves
        (3, 1, 3),  # the inner loop runs too often: what leaves the outer one is no reason
        (3, -1, 3),  # nor where it ends too early by itself
    ],
)
def test_what_leaves_an_outer_loop_is_not_told_for_an_inner_one(line, often, told):
    finding = Finding(faults=(Fault(Line("m.py", line, line), short=True, often=often),))
    trace: Any = SimpleNamespace(begun=frozenset(("m.py", number) for number in range(1, 7)))
    found = _where_it_is_left(finding, trace, {"m.py": NESTED})
    assert [fault.line.number for fault in found.faults] == [told]
