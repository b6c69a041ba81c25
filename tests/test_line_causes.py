"""What a line does wrong beside a wrong number: a result that says too little, one of several, a call too many."""

import pytest

from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.submissions.read_submission import Submission, read_submission
from tests.slips import failed, wrong_lines


def test_what_several_lines_use_is_wrong_and_not_these_lines(workers, without_trials):
    """One position, 0 in place of 3: no number that tells anything, but all that is made of it is wrong."""
    embedded = (
        "x = model.token_embedding(tokens) + model.position_embedding(torch.arange(T_past, T, device=tokens.device))"
    )
    later = "later = torch.ones(T_new, T, dtype=torch.bool, device=tokens.device).triu(diagonal=T_past + 1)"
    old = f"{embedded}\n    # (T_new, T): row i is the query at position T_past + i\n    {later}"
    new = """positions = torch.arange(T_new, device=tokens.device)
    x = model.token_embedding(tokens) + model.position_embedding(positions)
    later = torch.arange(T, device=tokens.device) > positions[:, None]"""
    tests, line = failed(workers, "variants", "generate", "generate", old, new)
    test = next(test for test in tests if test.name == "test_steps_with_cache")
    assert wrong_lines(test) == [line]


def test_of_several_results_the_wrong_one_is_told(workers, without_trials):
    old = """state = self.cell(torch.cat([embedded, context], dim=-1), state)
        logits = self.predict(state, context, embedded)"""
    new = old.replace("state = self", "new_state = self").replace("predict(state", "predict(new_state")
    tests, line = failed(workers, "attention", "bahdanau", "seq2seq", old, new)
    test = next(test for test in tests if test.name == "test_decoder_step")
    assert wrong_lines(test) == [line + 3]
    assert test.pointed[-1] == "What is missing: the new state."


def test_of_two_tests_the_one_that_tells_more_names_the_line(workers):
    """Queries and keys are both turned wrongly, so the scores are right; the keys seem to be called with wrongly."""
    old, new, form = "even * cos - odd * sin", "(-even) * cos + odd * sin", "modern-attention-einsum"
    tests, line = failed(workers, "variants", "modern", "modern", old, new, form)
    assert {test.name: wrong_lines(test) for test in tests} == {"test_rotate": [line]}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self.position_embedding(", "self.token_embedding("),
        ("x = block(x, mask)", "x = block(block(x, mask), mask)"),
    ],
)
def test_a_module_that_one_line_calls_twice(workers, without_trials, old, new):
    tests, line = failed(workers, "variants", "lm", "language_model", old, new)
    test = next(test for test in tests if test.name == "test_language_model")
    assert wrong_lines(test) == [line]
    module = "blocks.0" if "block(" in new else "token_embedding"
    assert f" calls {module} twice; once would be right:" in "".join(test.pointed)


def test_what_stands_before_a_missing_step_is_the_line_of_the_step_before(workers, without_trials):
    """And not that of the mask, which comes later."""
    old = "scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_k)"
    tests, line = failed(workers, "transformer", "mha", "mha", old, old.partition(" / ")[0])
    test = next(test for test in tests if test.name == "test_mha_no_mask")
    [told] = [one for one in test.pointed if "but nothing has made" in one]
    assert f"goes on after line {line}, but nothing has made the scores divided by sqrt(d_k):" in told


def test_what_a_wrong_line_makes_rightly_once_accuses_no_other_line(workers, without_trials):
    """The first round takes all sequences: correct code has these as well, and gives them to the block."""
    one = "embedded[row : row + 1]"
    name = "tagger-one-sequence-at-a-time"
    tests, line = failed(workers, "variants", "tagger", "tagger", one, "embedded[row:]", name)
    assert len(tests) == 2
    assert all(wrong_lines(test) == [line] for test in tests)


def test_a_small_layer_tells_its_two_attentions_apart(workers):
    """Weights of one shape were the same numbers once, so the part of the small layer passed."""
    right = "attended = self.encoder_attn(x, encoder_out"
    tests, line = failed(
        workers, "transformer", "decoder", "decoder", right, right.replace("encoder_attn", "self_attn")
    )
    (layer,) = [part for part in tests[0].parts if part.name == "layer"]
    assert layer.status == "failed"
    assert wrong_lines(tests[0]) == [line]
    assert f"self_attn is called more often than it should be, in line {line}." in tests[0].pointed


def test_a_wrong_call_is_told_though_a_later_round_raises(workers):
    right = "tokens = torch.cat([tokens, unread], dim=1)"
    tests, line = failed(workers, "variants", "generate", "generate", right, right.replace("=", "= unread =", 1))
    assert wrong_lines(tests[0]) == [line - 7]
    assert "It calls forward_cached() with other inputs than it should." in tests[0].pointed
    assert f"unread (lines {line - 10} and {line})" in tests[0].pointed[-1]


def test_an_order_in_the_place_of_the_one_that_undoes_it(workers):
    right = "torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, before >= top_p)"
    tests, line = failed(workers, "variants", "generate", "generate", right, "(before >= top_p).gather(-1, order)")
    assert wrong_lines(tests[0]) == [line]


SOFTMAX = "return torch.softmax(scores.masked_fill(forbidden, torch.finfo(scores.dtype).min), dim=-1)"
THROUGH_A_VIEW = """rows = scores.view(-1, scores.size(-1))
    rows[forbidden.expand_as(scores).reshape(rows.shape)] = torch.finfo(scores.dtype).min
    return torch.softmax(scores, dim=-1)"""
TWICE = """scores.masked_fill_(forbidden, torch.finfo(scores.dtype).min)
    scores += 1
    return torch.softmax(scores, dim=-1)"""


@pytest.mark.parametrize(
    ("name", "stage", "old", "new", "after"),
    [
        ("transformer", "pe", "return x + self.pe[:, :T]", "x += self.pe[:, :T]\n        return x", 0),
        ("attention", "scoring", SOFTMAX, THROUGH_A_VIEW, 1),
        ("attention", "scoring", SOFTMAX, TWICE, 0),
    ],
    ids=["+=", "through a view", "twice"],
)
def test_the_line_that_writes_into_an_argument(workers, name, stage, old, new, after):
    tests, line = failed(workers, name, stage, stage, old, new)
    [test] = [test for test in tests if "changes its argument" in test.message]
    assert wrong_lines(test) == [line + after]
    assert " writes into " in test.pointed[0]


def test_a_step_that_is_made_but_not_often_enough_is_not_called_missing(workers, without_trials):
    """The first sentence that is complete ends all of them."""
    old = "                if next_token.item() == self.eos_idx:\n                    break\n"
    new = old.replace("break", "return decoded_list, decoder_layer_cache_list")
    tests, _ = failed(workers, "transformer", "inference", "transformer", old, new)
    assert tests
    for test in tests:
        [told] = test.pointed
        assert told.startswith("No line is wrong for sure, but correct code makes ")
        assert told.endswith(" more often.")


def test_a_loop_that_is_left_in_another_way(workers):
    old = "                if next_token.item() == self.eos_idx:\n                    break\n"
    new = old.replace("break", "return decoded_list, decoder_layer_cache_list")
    tests, line = failed(workers, "transformer", "inference", "transformer", old, new)
    assert [wrong_lines(test) for test in tests] == [[line + 1]] * 2
    assert not any("nothing makes" in told for test in tests for told in test.pointed)


def test_a_condition_on_which_a_loop_is_left_too_early(workers):
    """Where the loop ends too early, it is not its head that is told, if another line would mend the call."""
    old, new = "done.all()", "done.any()"
    tests, line = failed(workers, "attention", "translate", "seq2seq", old, new, "translate-where")
    assert wrong_lines(tests[0]) == [line]


def test_what_lends_its_type_only_is_not_right_for_that(workers, without_trials):
    """Keys that are turned when they stand behind those of the cache, which have been turned: these go wrong first."""
    old = """k = rotate(split_heads(self.W_k(x)), positions)  # (B, G, T_new, d_head)
        v = split_heads(self.W_v(x))
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)  # (B, G, T, d_head)"""
    new = """k, v = split_heads(self.W_k(x)), split_heads(self.W_v(x))
        if cache is not None:
            k = torch.cat([cache[0], k], dim=2)
            v = torch.cat([cache[1], v], dim=2)
        k = rotate(k, torch.arange(k.size(2)).to(k))"""
    tests, line = failed(workers, "variants", "modern", "modern", old, new)
    test = next(test for test in tests if test.name == "test_grouped_queries")
    assert wrong_lines(test) == [line + 2]


def test_a_loop_that_is_never_entered(workers, without_trials):
    """The number of new tokens is taken for that of all, and the prompt comes back."""
    old = "for _ in range(min(max_new_tokens, model.max_len - prompt.size(1))):"
    new = "while tokens.size(1) < min(max_new_tokens, model.max_len):"
    tests, line = failed(workers, "variants", "generate", "generate", old, new)
    test = next(test for test in tests if test.name == "test_generate")
    assert wrong_lines(test) == [line]
    assert f"Line {line} of generate.py begins a loop whose lines never run:" in test.pointed


def test_no_step_is_missing_where_all_numbers_only_stand_in_another_order(workers, without_trials):
    """The batch is sorted by its lengths, and comes back like that."""
    old = "enc_outputs, state = self.encoder(src, src_lengths)\n        logits, _"
    new = """order = src_lengths.argsort(descending=True)
        src, src_lengths, tgt, tgt_lengths = src[order], src_lengths[order], tgt[order], tgt_lengths[order]
        enc_outputs, state = self.encoder(src, src_lengths)
        logits, _"""
    tests, line = failed(workers, "attention", "bahdanau", "seq2seq", old, new)
    test = next(test for test in tests if test.name == "test_seq2seq")
    assert wrong_lines(test) == [line + 1]
    assert any("The numbers are right, but from here to line" in told for told in test.pointed)
    assert not any("nothing has made" in told for told in test.pointed)


def test_what_a_stand_in_is_called_with(workers, without_trials):
    """Each step from the first state: the step itself, which another test judges, is right."""
    old, new = "logits, state, weights = self.step(", "logits, _, weights = self.step("
    tests, line = failed(workers, "attention", "bahdanau", "seq2seq", old, new)
    test = next(test for test in tests if test.name == "test_teacher_forcing")
    assert wrong_lines(test) == [line]
    assert "It calls step() with something else than the new state." in test.pointed


def test_the_statement_that_writes_into_a_list_of_the_caller(workers):
    """Of tensors the record shows it, of a list only the text."""
    chosen = assignment("variants")
    sources = read_submission(chosen.solution, chosen).sources
    old = "new_cache.append((k, v))"
    changed = sources["generate"].replace("new_cache: Cache = []", "new_cache: Cache = cache or [None] * 99")
    changed = changed.replace(
        old, "new_cache[layer] = k, v\n        if cache is not None:\n            cache[layer] = k, v"
    )
    changed = changed.replace("token_embedding.weight), new_cache", "token_embedding.weight), new_cache[: layer + 1]")
    submission = Submission("", {**sources, "generate": changed})
    report = grade(submission, chosen, workers, [chosen.stage("generate")], hidden_seed=3)
    test = next(test for test in report.tests if test.name == "test_steps_with_cache")
    assert test.message.endswith("the call changes its argument cache")
    line = changed[: changed.index("cache[layer] = k, v\n        scores")].count("\n") + 1
    assert test.pointed == (f"Line {line} of generate.py writes into cache:", "    cache[layer] = k, v")


def test_what_a_call_is_given_is_told_where_its_code_is_not_the_students(workers, without_trials):
    """The padding of the target is filled with zeros, which the decoder reads: not the line that calls it."""
    old = """logits, _ = self.decoder(tgt, state, enc_outputs, src_lengths)
        positions = torch.arange(tgt.size(1), device=tgt.device)
        padding = positions >= tgt_lengths[:, None]  # (T_d,) and (B, 1) -> (B, T_d)
        return logits.masked_fill(padding[:, :, None], 0.0)"""
    new = """padding = torch.arange(tgt.size(1), device=tgt.device) >= tgt_lengths[:, None]
        tgt = tgt.masked_fill(padding, 0)
        logits, _ = self.decoder(tgt, state, enc_outputs, src_lengths)
        return logits"""
    tests, line = failed(workers, "attention", "bahdanau", "seq2seq", old, new)
    test = next(test for test in tests if test.name == "test_seq2seq")
    assert wrong_lines(test) == [line + 1]


def test_weights_of_one_key_each_are_no_kernel(workers, without_trials):
    """Zeros and ones, as a kernel that reaches nothing: the line that divides them is not called right."""
    old = """reached = torch.where((reached == 0).all(dim=1, keepdim=True), nearest, reached)
        weights = reached / reached.sum(dim=1, keepdim=True)
        return weights @ values, weights
        ### END"""
    text = read_submission(assignment("attention").solution, assignment("attention")).sources["pooling"]
    own = text.index("def leave_one_out")
    first = text.index("own = torch.eye", own)
    whole = text[first : text.index("### END", first)]
    assert old.partition("return")[0].strip() in whole
    new = """_, weights = self(keys, keys, values)
        weights = weights.masked_fill(torch.eye(len(keys), dtype=torch.bool), 0.0)
        weights = weights / weights.sum(dim=1, keepdim=True).clamp(min=1e-9)
        return weights @ values, weights
        """
    tests, _ = failed(workers, "attention", "pooling", "pooling", whole, new)
    [test] = [test for test in tests if test.name == "test_leave_one_out"]
    assert "nothing has made" not in " ".join(test.pointed)
    assert not any(mark.state == "right" and mark.steps for mark in test.marks)
