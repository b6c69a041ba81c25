"""The only line that can be wrong: a statement that does nothing, a loop that never runs, what keeps an attribute."""

import textwrap

import pytest

from autograder.grading.function_text import functions_of
from tests.slips import failed, failed_text, graded_text, line_of, source, told, wrong_lines

SCORES = "scores = queries @ keys.transpose(1, 2)"
LOOP = "while len(tokens) <= max_output_length and not finished.all():"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("optimizer.step()", "optimizer.step"),
        ("loss.backward()", "loss.backward"),
        ("(decaying if decays else others).append(parameter)", "decaying"),
    ],
)
def test_a_statement_that_does_nothing(workers, old, new):
    """Without brackets nothing is called."""
    tests, line = failed(workers, "variants", "training", "training", old, new)
    assert [wrong_lines(test) for test in tests] == [[line]]
    assert f"Line {line} of training.py does nothing: it only names something" in told(tests)


def test_a_statement_that_only_computes(workers):
    new = f"{SCORES}\n        scores / math.sqrt(queries.size(-1))"
    old = f"{SCORES} / math.sqrt(queries.size(-1))"
    tests, line = failed(workers, "attention", "scoring", "scoring", old, new)
    assert wrong_lines(tests[0]) == [line + 1]
    assert "computes something that is used nowhere: its result gets no name." in told(tests)


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("x.mean", [2]),
        ("x == 3", [2]),
        ("x / len(a)", [2]),
        ("if x:\n    a", [3]),
        ('"a text"\n...', []),
        ("x.mean()", []),
        ("[one.add_(1) for one in x]", []),
        ("try:\n    x[0]\nexcept IndexError:\n    return 2", []),  # it may raise
    ],
)
def test_which_statements_do_nothing(body, lines):
    [function] = functions_of("a.py", f"def f(x, a):\n{textwrap.indent(body, '    ')}\n").values()
    assert [line for line, _, _ in function.idle] == lines


def test_a_loop_that_never_runs_calls_nothing(workers):
    """No step of translation has a name; what is never called shows that something is missing."""
    tests, line = failed(workers, "attention", "translate", "seq2seq", LOOP, LOOP.replace("not ", ""))
    [test] = [test for test in tests if test.name == "test_translate_extra_credit"]
    assert wrong_lines(test) == [line]
    assert "begins a loop whose lines never run:" in told([test])


@pytest.mark.parametrize("kept", ["pe", "pe.unsqueeze(1)"])
def test_what_keeps_an_attribute(workers, kept):
    """The numbers of the table are right, and its axes are not."""
    tests, line = failed(workers, "transformer", "pe", "pe", "pe.unsqueeze(0)", kept)
    assert wrong_lines(tests[0]) == [line]


@pytest.mark.parametrize("new", ["(u <= 1)", "torch.ones_like(u)"])
def test_the_only_statement_of_a_function(workers, new):
    """It makes the wrong type, or ones wherever the right result has some."""
    tests, line = failed(workers, "attention", "pooling", "pooling", "(u <= 1).to(u.dtype)", new)
    [test] = [test for test in tests if test.name == "test_kernels"]
    assert wrong_lines(test) == [line]
    assert ("makes what has the wrong dtype:" if new == "(u <= 1)" else "is all that computes here") in told([test])


def test_the_only_branch_that_was_taken(workers):
    """Plain numbers are not followed: the line that gives back the wrong one, or the condition before it."""
    old = "return peak * min(step / warmup, math.sqrt(warmup / step))"
    new = "if step <= warmup:\n        return peak * step / warmup\n    return peak / math.sqrt(1 + step - warmup)"
    tests, line = failed(workers, "variants", "training", "training", old, new)
    [test] = [test for test in tests if test.name == "test_warmup_rate"]
    assert wrong_lines(test) == [line + 2]
    assert "or another branch should have been taken:" in told([test])


def test_a_line_that_goes_around_a_module(workers):
    """The input goes straight to the helper function; the queries have as many features as the input."""
    tests, line = failed(workers, "variants", "modern", "modern", "split_heads(self.W_q(x))", "split_heads(x)")
    test = next(test for test in tests if test.name == "test_grouped_queries")
    assert wrong_lines(test) == [line]
    assert "nothing has made the output of W_q:" in told([test])


def test_rows_that_are_put_together_along_the_wrong_axis(workers):
    old, new = "torch.stack(sums, dim=1)", "torch.stack(sums, dim=0)"
    [test], line = failed(workers, "transformer", "pe", "pe", old, new, "loops")
    assert wrong_lines(test) == [line]
    assert "or one that makes what it uses" in told([test])


def test_a_known_mistake_between_two_lines(workers):
    """A sequence at a time is a road of one's own; what goes into it should have come of dropout."""
    name = "tagger-one-sequence-at-a-time"
    old = "self.dropout(self.token_embedding(tokens) + self.position_embedding(torch.arange(T)))"
    tests, line = failed(workers, "variants", "tagger", "tagger", old, old.removeprefix("self.dropout"), name)
    assert tests[0].mistake == "tagger.input-dropout-missing"
    assert f"Look for the known mistake from line {line} to line" in told(tests)


def test_an_argument_that_is_used_nowhere(workers):
    """What is passed on in its place is made in the call."""
    old = "encoder_padding_mask=src_padding_mask,"
    new = "encoder_padding_mask=length_to_padding_mask(tgt_lengths, device=tgt.device),"
    text = source("transformer", "transformer")
    assert text.count(old) == 1
    tests = failed_text(workers, "transformer", "decoder", "transformer", text.replace(old, new))
    assert tests
    for test in tests:
        assert f"With a small change of line {line_of(text, old)} of transformer.py alone" in told([test])


def test_of_roads_of_ones_own_all_that_may_be_wrong_are_told(workers):
    """That the surprise of the counted tokens only is made is right; the mean of all tokens is not."""
    text = source("variants", "training")
    begin, end = text.index("    surprise ="), text.index("    ### END SOLUTION")
    new = """    counts = targets.ne(padding_idx)
    surprise = -F.log_softmax(logits[counts], dim=-1)
    right = surprise.gather(1, targets[counts].unsqueeze(1)).mean()
    everywhere = -F.log_softmax(logits, dim=-1).mean()
    return right + smoothing * (everywhere - right)
"""
    changed = text[:begin] + new + text[end:]
    [test] = failed_text(workers, "variants", "training", "training", changed)
    assert line_of(changed, "everywhere =") in wrong_lines(test)
    assert test.pointed[-1] == "Not all of them need be wrong."


def test_a_mask_of_weights_is_not_the_weights(workers):
    """They are zeros and ones, so where they are not 0 has the same numbers."""
    text = source("attention", "pooling")
    begin = text.rindex("        nearest =")
    end = text.index("        weights =", begin)
    new = """        empty = ~reached.ne(0).any(dim=1, keepdim=True)
        nearest = nn.functional.one_hot(distances.argmin(dim=1), len(keys)).to(reached.dtype)
        reached = torch.where(empty, nearest, reached)
"""
    changed = text[:begin] + new + text[end:]
    tests = failed_text(workers, "attention", "pooling", "pooling", changed)
    assert "Right so far" in told(tests)
    assert f"(line {line_of(changed, 'empty =')})" not in told(tests)


def test_a_function_in_the_place_of_the_one_that_the_constructor_was_given(workers):
    """Whatever the kernel, this one is used: nothing of a tensor shows it, so it is tried."""
    old = "return attention_pooling(queries, keys, values, self.kernel,"
    tests, line = failed(workers, "attention", "pooling", "pooling", old, old.replace("self.kernel", "gaussian"))
    assert [test.name for test in tests] == ["test_kernel_regression"]
    assert f"With a small change of line {line} alone" in told(tests)


def test_dropout_that_the_call_leaves_out_is_not_called_right(workers):
    """Behind eval() dropout does nothing, so its line is not known to be right."""
    norm = source("transformer", "encoder").replace("self.final_layer_norm(x +", "self.self_attn_layer_norm(x +")
    hidden, words = "self.activation_fn(self.fc1(x))", "the hidden layer of the feed-forward network"
    assert words in told(failed_text(workers, "transformer", "encoder", "encoder", norm))
    both = norm.replace(hidden, f"self.dropout({hidden})")
    tests = failed_text(workers, "transformer", "encoder", "encoder", both)
    assert wrong_lines(tests[0]) == [
        line_of(both, "x = self.self_attn_layer_norm(x + self.dropout(self.fc2"),
    ]
    assert words not in told(tests)


def test_sizes_that_stand_one_in_the_place_of_the_other(workers):
    """No change of one name mends it: the line that turns axes is told with the sizes that it uses."""
    text = source("variants", "vit")
    sizes = (
        "        across, down = height // P, width // P\n        patches = images.reshape(B, C, down, P, across, P)\n"
    )
    begin = text.index("        # (B, C, height, width) -> (B, C, rows")
    end = text.index("        # -> (B, rows of patches, columns of patches, C")
    changed = text[:begin] + sizes + text[end:]
    [test] = [
        one for one in failed_text(workers, "variants", "vit", "vit", changed) if one.name == "test_patch_embedding"
    ]
    line = line_of(changed, "across, down")
    assert wrong_lines(test) == [line + 1]
    assert f"It uses across = 2 of line {line}, down = 3 of line {line}" in told([test])


def test_the_size_from_which_a_range_is_made(workers):
    """An exception comes of it later: the line of the mask uses the range, which has a size of the wrong axis."""
    text = source("variants", "generate")
    begin, end = text.index("    T_past = 0"), text.index("    new_cache: Cache = []")
    new = """    seen = 0 if cache is None else cache[0][0].size(1)
    T_new = tokens.size(1)
    B, T = len(tokens), seen + T_new
    if T > model.max_len:
        raise ValueError(f"{T} tokens are too many for {model.max_len} positions")
    places = torch.arange(seen, T, device=tokens.device)
    x = model.token_embedding(tokens) + model.position_embedding(places)
    later = torch.arange(T, device=tokens.device) > places.unsqueeze(1)
"""
    changed = text[:begin] + new + text[end:]
    line = line_of(changed, "seen =")
    tests = failed_text(workers, "variants", "generate", "generate", changed)
    [test] = [one for one in tests if one.name == "test_steps_with_cache"]
    assert wrong_lines(test) == [line]


def test_all_axes_of_size_1_squeezed_away(workers):
    """One query of one sequence shows it: the exception comes of it on a later line."""
    old = "scores = self.w_v(features).squeeze(-1)"
    assert old in source("attention", "scoring")
    tests, line = failed(workers, "attention", "scoring", "scoring", old, old.replace("-1", ""))
    assert wrong_lines(tests[0]) == [line]


def test_what_a_helper_function_was_not_handed(workers):
    """The helper calls a function without the lengths, since it was called without them."""
    text = source("attention", "scoring")
    begin = text.index("    def forward(", text.index("class BilinearAttention"))
    first = text.index("        ### BEGIN SOLUTION", begin)
    last = text.index("        ### END SOLUTION", first)
    new = """        scores = queries @ self.M @ keys.transpose(1, 2) / math.sqrt(keys.size(-1))
        return _rest(self, scores, values, None)
"""
    helper = """

def _rest(layer, scores, values, valid_lens):
    layer.attention_weights = masked_softmax(scores, valid_lens)
    return layer.dropout(layer.attention_weights) @ values
"""
    changed = text[:first] + new + text[last:] + helper
    [test] = failed_text(workers, "attention", "scoring", "scoring", changed)
    assert test.name == "test_bilinear_attention"
    assert wrong_lines(test) == [line_of(changed, "return _rest(")]


def test_a_known_mistake_with_the_same_tokens_by_chance(workers):
    """Generating has a stand-in of the function that is wrong."""
    tests, line = failed(workers, "variants", "generate", "generate", "cache[0][0].size(2)", "cache[0][0].size(1)")
    assert {test.name for test in tests} == {"test_steps_with_cache"}
    assert [wrong_lines(test) for test in tests] == [[line]]
    assert not any(test.mistake for test in tests)


def test_a_given_function_that_is_called_with_wrong_numbers(workers):
    """Its own lines are never told: the line that calls it is."""
    old = "subsequent_mask(tgt.size(1), device=tgt.device).unsqueeze(0)"
    new = "subsequent_mask(tgt.size(1) + 1, device=tgt.device)[None, :-1, 1:]"
    tests, line = failed(workers, "transformer", "decoder", "transformer", old, new)
    [test] = [test for test in tests if test.name == "test_encoder_decoder_states"]
    assert wrong_lines(test) == [line]


def test_a_branch_that_has_not_run_writes_into_nothing(workers):
    """Both append to the same list, which is the caller's in one branch only."""
    text = source("variants", "generate")
    begin, end = text.index("    new_cache: Cache = []\n"), text.index("        scores = q @ k.transpose")
    new = """    new_cache = [] if cache is None else cache
    for layer, block in enumerate(model.blocks):
        attention = block.attention
        qkv = attention.W_qkv(block.norm1(x))
        q, k, v = qkv.view(B, T_new, 3, attention.num_heads, attention.d_head).permute(2, 0, 3, 1, 4)
        if cache is None:
            new_cache.append((k, v))
        else:
            k, v = (torch.cat(pair, dim=2) for pair in zip(cache[layer], (k, v), strict=True))
            new_cache[layer] = (k, v)
"""
    changed = text[:begin] + new + text[end:]
    tests = graded_text(workers, "variants", "generate", "generate", changed)
    [test] = [test for test in tests if test.name == "test_steps_with_cache"]
    assert test.status == "passed"
    assert wrong_lines(test) == [line_of(changed, "new_cache[layer] =")]


def test_counts_that_are_like_those_that_both_have(workers):
    """All n-grams of the reference are in the candidate: the step is made where the two are compared."""
    old, new = "** 0.5**n", "** (0.5 / n)"
    tests, line = failed(workers, "attention", "translate", "seq2seq", old, new)
    [test] = [test for test in tests if "bleu" in test.name]
    assert f"the n-grams that both have (line {line - 1})" in told([test])


def test_a_loop_that_an_exception_ends_behind_the_result(workers):
    """All tokens are there; the call that raises is only one too many."""
    text = source("variants", "generate")
    old = "for _ in range(min(max_new_tokens, model.max_len - prompt.size(1))):"
    assert old in text
    changed = text.replace(old, "for _ in range(max_new_tokens):")
    [test] = failed_text(workers, "variants", "generate", "generate", changed)
    assert wrong_lines(test) == [line_of(changed, "for _ in range(max_new_tokens)")]


def test_ranges_are_counted_as_everybody_likes(workers):
    """What is made of them is wrong: they are right on a road of their own."""
    text = source("attention", "pooling")
    begin = text.index("        ### BEGIN SOLUTION", text.index("    def leave_one_out("))
    end = text.index("        ### END SOLUTION", begin)
    new = """        n = len(keys)
        row = torch.arange(n).unsqueeze(1)
        place = torch.arange(n - 1).unsqueeze(0)
        others = place + (place > row)
        distances = torch.cdist(keys, keys).gather(1, others)
        near = self.kernel(distances / self.log_width.exp())
        nearest = (distances == distances.amin(dim=1, keepdim=True)).to(near.dtype)
        near = torch.where((near == 0).all(dim=1, keepdim=True), nearest, near)
        weights = near.new_zeros(n, n).scatter(1, others, near / near.sum(dim=1, keepdim=True))
        return weights @ values, weights
"""
    changed = text[:begin] + new + text[end:]
    [test] = failed_text(workers, "attention", "pooling", "pooling", changed)
    assert wrong_lines(test) == [line_of(changed, "others = place")]
    right = changed.replace("place > row", "place >= row")
    assert failed_text(workers, "attention", "pooling", "pooling", right) == []
