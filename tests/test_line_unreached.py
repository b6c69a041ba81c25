"""Lines found by what is not there: calls, values and rounds that nothing uses, and what the call never reached."""

import ast

import pytest

from autograder.submissions.bound_names import bound_names
from autograder.submissions.filled_lists import filled_with_the_same, unread_lists
from autograder.submissions.syntax_tree import Offsets
from autograder.submissions.training_calls import training_calls
from autograder.submissions.unused_names import overwritten
from tests.slips import failed, failed_text, line_of, source, told, wrong_lines

TRAINING = "variants", "training", "training"
TRANSLATE = "attention", "translate", "seq2seq"


def function(text):
    [node] = ast.parse(text).body
    return node


# Steps of training


@pytest.mark.parametrize(
    ("call", "after"),
    [("optimizer.zero_grad()", "loss.backward()"), ("loss.backward()", ""), ("optimizer.step()", "return")],
)
def test_a_call_that_a_training_step_lacks_is_told(workers, call, after):
    tests, line = failed(workers, *TRAINING, call, "pass")
    [test] = [test for test in tests if test.name == "test_train_step"]
    said = told([test])
    assert f"With {call} before line " in said
    [named] = wrong_lines(test)
    assert line <= named <= line + 5
    assert after in said


def test_gradients_that_are_not_clipped_are_missed_where_they_are_used(workers):
    tests, line = failed(workers, *TRAINING, "clip_gradients(model.parameters(), max_norm)", "pass")
    assert [wrong_lines(test) for test in tests] == [[line + 1]]  # optimizer.step()


def test_a_step_without_its_rate_is_not_called_wrong(workers):
    """The rate is no tensor: that what the optimizer makes is not right says nothing of its line."""
    tests, line = failed(workers, *TRAINING, 'group["lr"] = rate', "pass")
    assert tests
    assert all(set(wrong_lines(test)) <= {line, line - 1} for test in tests)


def test_a_function_that_changes_gradients_in_place_is_followed(workers):
    tests, line = failed(workers, *TRAINING, "gradient.mul_(max_norm / norm)", "gradient.mul_(max_norm)")
    assert {tuple(wrong_lines(test)) for test in tests} == {(line,)}


def test_missing_calls_are_those_of_a_training_step():
    text = "def f(model, optimizer):\n    loss = model.loss()\n    loss.backward()\n    optimizer.step()\n"
    found = [(at.lineno, call) for at, call in training_calls(function(text), Offsets(text))]
    assert found == [(3, "optimizer.zero_grad()")]
    text = text.replace("    loss.backward()\n", "")
    assert (3, "loss.backward()") in [(at.lineno, call) for at, call in training_calls(function(text), Offsets(text))]
    text = "def f(x):\n    y = x.step()\n    return y\n"
    assert not list(training_calls(function(text), Offsets(text)))


# Rates: numbers alone


def test_a_divisor_that_was_forgotten(workers):
    tests, line = failed(workers, *TRAINING, "return peak * step / warmup", "return peak * step")
    assert wrong_lines(tests[0]) == [line]


def test_only_what_was_reached_is_tried(workers, monkeypatch):
    """In the warmup the lines of the cosine do not run: no change of them could mend the first rate."""
    from autograder.sandbox.trials import Trials

    tried, results = [], Trials.results

    def watched(self, change):
        tried.append(change.line)
        return results(self, change)

    monkeypatch.setattr(Trials, "results", watched)
    tests, line = failed(workers, *TRAINING, "return peak * step / warmup", "return step / warmup")
    assert wrong_lines(tests[0]) == [line]
    assert max(tried) <= line + 1


# Loops


@pytest.mark.parametrize(
    ("old", "asked"),
    [
        ("finished = finished | (token == self.eos_idx)", "finished.all()"),
        ("tokens.append(token)", "len(tokens) <= max_output_length"),
    ],
)
def test_a_condition_that_nothing_in_its_loop_changes(workers, old, asked):
    tests, line = failed(workers, *TRANSLATE, old, "pass")
    [test] = [test for test in tests if test.name == "test_translate_extra_credit"]
    assert f"asks {asked}, but nothing in the loop from line " in told([test])
    [named] = wrong_lines(test)
    assert named < line


def test_a_while_that_ends_too_early_is_tried_first(workers):
    old = "while len(tokens) <= max_output_length and not finished.all():"
    tests, line = failed(workers, *TRANSLATE, old, old.replace("<=", "<"))
    assert line in {named for test in tests for named in wrong_lines(test)}


def test_a_condition_on_which_nothing_is_done(workers):
    old = "            if next_token.item() == self.eos_idx:\n                    break"
    tests, _ = failed(
        workers, "transformer", "inference", "transformer", old.strip(), old.strip().replace("break", "pass")
    )
    assert "makes no difference: whether its condition holds or not, the same is done." in told(tests)


# Masks, results and values


def test_a_mask_that_nothing_fills(workers, without_trials):
    case = "variants", "tagger", "tagger", "mask[..., int(lengths[row]) :] = True", "pass"
    tests, line = failed(workers, *case, "tagger-one-sequence-at-a-time")
    assert {tuple(wrong_lines(test)) for test in tests} == {(line + 3,)}
    assert f"What line {line - 1} makes is in its place, and nothing is written into that." in told(tests)


def test_a_mask_that_is_filled_all_over(workers, without_trials):
    case = "variants", "tagger", "tagger", "mask[..., int(lengths[row]) :] = True", "mask[..., :] = True"
    tests, line = failed(workers, *case, "tagger-one-sequence-at-a-time")
    assert {tuple(wrong_lines(test)) for test in tests} == {(line,)}


def test_the_one_result_that_is_not_done_yet(workers, without_trials):
    old = "context, weights = context.squeeze(1), weights.squeeze(1)"
    case = "attention", "bahdanau", "seq2seq", old, old.replace("weights.squeeze(1)", "weights")
    tests, line = failed(workers, *case, "step-gates-by-hand")
    [test] = [test for test in tests if test.name == "test_decoder_step"]
    assert wrong_lines(test) == [line]
    assert "makes weights, which comes back and is not yet what it should be:" in told([test])


def test_a_value_that_is_overwritten_unused(workers, without_trials):
    case = "variants", "vit", "vit", "self.position_embedding + x", "self.position_embedding"
    tests, line = failed(workers, *case, "vit-model-empty-first")
    [test] = [test for test in tests if test.name == "test_vit"]
    assert wrong_lines(test) == [line]
    assert f"gives x something else before anything has used what line {line - 1} made:" in told([test])


def test_what_is_overwritten_is_read_by_nothing_in_between():
    body = ["x = f(1)", "y = g(2)", "x = h(y)"]
    for between, found in [("y = g(2)", 1), ("y = g(x)", 0), ("if y:\n    return", 0), ("x += 1", 0)]:
        text = "def f(y):\n" + "".join(
            f"    {line}\n" for one in [body[0], between, body[2]] for line in one.split("\n")
        )
        assert len(list(overwritten(function(text).body))) == found, between
    text = "def f():\n    x = torch.zeros(3)\n    x = f(1)\n    return x\n"  # a table that is made to be filled
    assert not list(overwritten(function(text).body))


# Names and lists that are tried first


def test_a_list_that_is_filled_and_never_read(workers):
    old = '{"params": others, "weight_decay": 0.0}'
    tests, line = failed(workers, *TRAINING, old, old.replace("others", "parameter"))
    assert wrong_lines(tests[0]) == [line]


def test_lists_that_are_only_filled():
    text = "def f(a):\n    x, y = [], []\n    for b in a:\n        (x if b else y).append(a)\n    return x\n"
    assert unread_lists(function(text)) == {"y"}
    [(name, changed)] = filled_with_the_same(function(text))
    assert (name.id, changed) == ("a", {"b"})


def test_names_have_values_only_behind_what_gives_them():
    text = "def f(a):\n    b = a\n    for c in b:\n        d = [e for e in c]\n        g = d\n    return g\n"
    node = function(text)
    bound = bound_names(node)
    reads = {one.id: one for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
    assert bound("a", reads["a"])
    assert not bound("b", reads["a"])
    assert bound("g", reads["c"])  # in the next round
    assert bound("e", reads["e"])
    assert not bound("e", reads["g"])


def test_brackets_around_the_wrong_part(workers):
    old, new = "math.sin(t / 10000 ** (i / d_model))", "math.sin((t / 10000) ** (i / d_model))"
    tests, line = failed(workers, "transformer", "pe", "pe", old, new, "pe-loops")
    assert wrong_lines(tests[0]) == [line]


def test_dropout_on_the_result_of_a_head_in_place_of_its_weights(workers):
    case = "variants", "heads", "heads", "weights = self.dropout(torch.softmax(scores, dim=-1))"
    text = source("variants", "heads").replace(case[3], "weights = torch.softmax(scores, dim=-1)", 1)
    text = text.replace("return weights @ v", "return self.dropout(weights @ v)", 1)
    tests = failed_text(workers, "variants", "heads", "heads", text)
    [test] = [test for test in tests if test.name == "test_head"]
    assert wrong_lines(test) == [line_of(text, "return self.dropout(weights @ v)")]


def test_what_fills_a_list_goes_in_where_this_is_used(workers, without_trials):
    case = "attention", "bahdanau", "seq2seq", "outputs.append(output.unsqueeze(1))", "outputs.append(output)"
    tests, line = failed(workers, *case, "unrolled-concatenated")
    [test] = [test for test in tests if test.name == "test_teacher_forcing"]
    assert f"outputs (lines {line - 3} and {line})" in told([test])


@pytest.mark.xfail(strict=True, reason="no line, since functions are graded one by one")
def test_a_number_in_the_place_of_a_tensor_is_told_where_it_is_returned(workers):
    case = "attention", "bahdanau", "seq2seq", "return logits, state, weights", "return logits, state, 3"
    tests, line = failed(workers, *case)
    [test] = [test for test in tests if test.name == "test_decoder_step"]
    assert wrong_lines(test) == [line]
    assert "returns what has the wrong type:" in told([test])
