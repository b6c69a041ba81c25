"""What a verdict tells of a wrong line beside its number: its operation, what it uses in the place of what, axes."""

import torch

from autograder.diagnosis.findings import Fault, Finding
from autograder.diagnosis.line_words import sentences
from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.sandbox.signatures import turns
from autograder.sandbox.traces import Line
from autograder.submissions.read_submission import Submission, read_submission
from tests.slips import failed, wrong_lines

WEIGHTS = (
    "self.attention_weights = masked_softmax(scores, valid_lens)\n        return self.dropout(self.attention_weights)"
)
DROPPED = (
    "self.attention_weights = self.dropout(masked_softmax(scores, valid_lens))\n        return self.attention_weights"
)


def told(tests) -> str:
    return " ".join(line for test in tests for line in test.pointed)


def test_a_residual_that_is_taken_from_behind_the_norm(workers):
    new = "x = self.norm1(x)\n        x = x + self.attention(x)"
    tests, line = failed(workers, "variants", "vit", "vit", "x = x + self.attention(self.norm1(x))", new)
    assert all(wrong_lines(test) == [line + 1] for test in tests)
    assert "It uses the norm before attention in the place of what the call was given" in told(tests)
    assert "and so does not make x plus attention." in told(tests)


def test_axes_that_are_not_turned_before_they_are_merged(workers):
    """The tensor has six axes, and one order of them is what correct code goes on with."""
    old = "patches.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)"
    new = "patches.reshape(B, self.num_patches, -1)"
    tests, line = failed(workers, "variants", "vit", "vit", old, new)
    assert f"Line {line} goes on after line {line - 2}, but nothing has made the patches, each in a row" in told(tests)
    assert "as by permute(0, 2, 4, 1, 3, 5):" in told(tests)


def test_the_first_wrong_operation_of_a_line(workers, without_trials):
    old = "key.transpose(-2, -1)"
    tests, line = failed(workers, "transformer", "mha", "mha", old, "key.roll(1, -1).transpose(-2, -1)")
    assert all(wrong_lines(test) == [line] for test in tests)
    assert "The first of its operations whose result no correct code that we know makes is roll()." in told(tests)


def test_an_operation_that_only_uses_what_may_be_wrong_is_not_called_the_first(workers, without_trials):
    """Without its eps the standard deviation is nearly right, and so it seems to be the division that is not."""
    old, new = "torch.sqrt(variance + self.eps)", "torch.sqrt(variance)"
    tests, line = failed(workers, "variants", "layers", "layers", old, new)
    assert wrong_lines(tests[0]) == [line]
    assert "is /." not in told(tests)


def test_the_operation_that_lays_out_numbers_in_another_way(workers, without_trials):
    new = "logits.reshape(logits.size(0), -1, logits.size(1)), targets"
    tests, line = failed(workers, "variants", "lm", "language_model", "logits.flatten(0, 1), targets.flatten()", new)
    assert wrong_lines(tests[0]) == [line]
    assert "Of what reshape() makes, the numbers are right, but they stand in another order" in told(tests)


def test_a_change_that_mends_one_part_of_a_test_and_breaks_another_is_not_called_enough(workers):
    """Both lines have to change: what is kept, and what the values are averaged with."""
    tests, line = failed(workers, "attention", "scoring", "scoring", WEIGHTS, DROPPED)
    assert wrong_lines(tests[0]) == [line]
    assert f"Line {line} of scoring.py gives attention_weights another value than it had" in told(tests)
    assert not any(mark.state == "right" and mark.line > line for mark in tests[0].marks)


def test_a_list_that_is_appended_to_from_call_to_call_accuses_no_caller(workers, monkeypatch):
    monkeypatch.setattr("autograder.grading.mending_lines.OPERATIONS", 26_000)  # it takes more than a verdict may cost
    tests, line = failed(workers, "transformer", "inference", "decoder", "new_cache = []", "new_cache = cache or []")
    assert {mark.file for test in tests for mark in test.marks if mark.state == "wrong"} == {"decoder.py"}
    assert f"a small change of line {line}" in told(tests)
    assert "What is missing" not in told(tests)


def test_a_line_does_not_go_on_after_itself():
    line = Line("scoring.py", 1, 1)
    finding = Finding(faults=(Fault(line, "the features", left_out=True, before=line),))
    [first, code, either] = sentences(finding, {"scoring.py": "hidden = w_v(asked + offered)"})
    assert first == "Line 1 of scoring.py goes on, but nothing has made the features:"
    assert code.strip() == "hidden = w_v(asked + offered)"
    assert either == "Either a step is missing before this line, or this line does something else than it should."


def test_a_line_behind_which_a_step_is_missing_may_be_the_wrong_one():
    """What it makes is something right, and may be another thing than the next line needs: `below` for `above`."""
    before, line = Line("decoder.py", 228, 228), Line("decoder.py", 230, 230)
    finding = Finding(faults=(Fault(line, "the new cache", left_out=True, before=before),))
    [first, _, either] = sentences(finding, {"decoder.py": "\n" * 229 + "y = self.output_layer(y)"})
    assert first == "Line 230 of decoder.py goes on after line 228, but nothing has made the new cache:"
    assert either == "Either a step is missing between these lines, or one of them does something else than it should."


def test_every_order_of_axes_is_looked_at_where_that_takes_no_time():
    assert len(turns(torch.rand(1, 2, 3, 1, 2, 2))) == 720
    assert turns(torch.rand(40, 40, 40, 4, 2, 2)) == turns(torch.rand(1, 1, 1, 1, 1, 1, 2)) == []


def test_a_module_in_the_place_of_another_is_told_where_it_is_called(workers):
    """Dropout may be called with anything; that the values are never made tells what it stands for."""
    tests, line = failed(workers, "variants", "heads", "heads", "self.W_v(x)", "self.dropout(x)")
    assert [wrong_lines(test) for test in tests] == [[line]] * len(tests)
    assert "It calls dropout with what W_v should be called with." in told(tests)


def test_a_change_that_goes_round_a_line_that_raises_does_not_mend_it(workers):
    """With `if candidate:` the name that does not exist is not reached; but the parts that raised must pass then."""
    old = "shared = ngrams(candidate, n) & ngrams(reference, n)"
    tests, line = failed(workers, "attention", "translate", "seq2seq", old, old.replace("(reference", "(referenced"))
    assert tests
    assert all(wrong_lines(test) in ([], [line]) for test in tests)


def test_a_list_that_nothing_is_put_into(workers):
    old, new = "            decoded_list.append(tgt.squeeze(0))", "            pass"
    tests, line = failed(workers, "transformer", "inference", "transformer", old, new)
    assert [wrong_lines(test) for test in tests] == [[line + 2]] * len(tests)
    assert f"Line {line + 2} of transformer.py returns decoded_list, made empty on line " in told(tests)
    assert "It gives back" not in told(tests)


def test_a_step_at_the_end_of_a_round_is_missing_where_the_next_one_is_given_the_same_again(workers):
    old = "        if text.size(1) < model.max_len:\n            logits, cache = forward_cached(model, new, cache)\n"
    tests, line = failed(workers, "variants", "generate", "generate", old, "", "generate-loop-gumbel")
    assert wrong_lines(tests[0]) == [line - 1]
    assert f"Line {line - 1} goes on without a step, the new tokens plus their positions:" in told(tests)


def test_the_line_of_a_number_that_other_lines_make_numbers_of(workers):
    tests, line = failed(workers, "variants", "modern", "modern", "T_past = 0 if cache", "T_past = 1 if cache")
    assert wrong_lines(tests[0]) == [line]


def test_a_return_that_leaves_axes_as_they_are(workers):
    """With the last axis alone flatten does nothing: the pairs before it are right."""
    old, new = "turned.flatten(-2)", "turned.flatten(-1)"
    tests, line = failed(workers, "variants", "modern", "modern", old, new, "modern-attention-repeated")
    assert [wrong_lines(test) for test in tests] == [[line]] * len(tests)


def test_heads_that_are_not_turned_in_a_function_within_a_method(workers, monkeypatch):
    monkeypatch.setattr("autograder.grading.mending_lines.OPERATIONS", 40_000)  # it takes more than a verdict may cost
    old = "y.view(B, T, self.num_heads, self.d_head).transpose(1, 2)"
    new = old.removesuffix(".transpose(1, 2)")
    tests, line = failed(workers, "variants", "heads", "heads", old, new, "heads-head-additive-mask")
    assert wrong_lines(tests[0]) == [line]


def test_a_change_that_mends_one_test_and_breaks_another_is_not_called_enough(workers):
    """Nothing is forbidden in a step with zeros for ones, but then neither is anything in the prompt."""
    whole = "later = torch.ones(T_new, T, dtype=torch.bool, device=tokens.device)"
    two = f"{whole}\n    later = later.triu(diagonal=1)"
    tests, line = failed(workers, "variants", "generate", "generate", f"{whole}.triu(diagonal=T_past + 1)", two)
    assert f"Line {line} has a part in it:" in told(tests)  # beside the known mistake


def test_a_change_that_breaks_something_else_is_told_with_that(workers):
    line = Line("heads.py", 2, 2)
    finding = Finding(faults=(Fault(line, mends=True, breaks="the part cache of the test"),))
    said, code = sentences(finding, {"heads.py": "\nx = 1"})
    assert said.endswith(
        "but the part cache of the test fails with that very change: a better one is needed. As it is:"
    )
    assert code == "    x = 1"


def test_what_makes_nan_of_large_numbers(workers):
    text = read_submission(assignment("attention").solution, assignment("attention")).sources["scoring"]
    old = text[text.index("    forbidden = ") : text.index("    ### END SOLUTION", text.index("    forbidden = "))]
    new = (
        "    allowed = positions < valid_lens[:, :, None]\n"
        "    shares = torch.exp(scores) * allowed\n"
        "    return shares / shares.sum(-1, keepdim=True).clamp(min=1e-30)\n"
    )
    tests, line = failed(workers, "attention", "scoring", "scoring", old, new)
    [test] = [test for test in tests if test.name == "test_masked_softmax"]
    assert f"line {line + 1} of scoring.py" in told([test])
    assert "There NaN is 0 times an infinite number, which exp() makes of a large one." in told([test])


def test_a_step_of_the_optimizer_is_not_shown_for_what_came_before_it(workers):
    line = Line("training.py", 2, 2)
    finding = Finding(faults=(Fault(line, doubtful=True, missing="the weights"),))
    known = sentences(finding, {"training.py": "\noptimizer.step()"}, named=True)
    assert known == ("The known mistake shows on line 2 of training.py or before it.",)


def test_what_another_order_of_two_statements_makes_is_not_called_missing():
    fault = Fault(Line("seq2seq.py", 1, 1), "the precision", mends=True, exchanged=2)
    said = " ".join(sentences(Finding(faults=(fault,)), {"seq2seq.py": "if not common:\nresult *= common\n"}))
    assert "in the other order" in said
    assert "Nothing makes" not in said


def test_all_lines_that_fill_a_tensor_in_a_wrong_order_are_told(workers, without_trials):
    old = "pe[:, 0::2] = torch.sin(angle)\n        pe[:, 1::2] = torch.cos(angle[:, : d_model // 2])"
    new = "pe[:, : d_model // 2] = torch.sin(angle)\n        pe[:, d_model // 2 :] = torch.cos(angle)"
    [test], line = failed(workers, "transformer", "pe", "pe", old, new)
    assert f"Lines {line} and {line + 1} fill the table of sines and cosines with the right numbers" in told([test])


def test_what_a_call_leaves_out_is_told(workers, without_trials):
    old = "self.encoder_attn(x, encoder_out, encoder_out, key_padding_mask=encoder_padding_mask)"
    new = "self.encoder_attn(x, encoder_out, encoder_out)"
    tests, line = failed(workers, "transformer", "decoder", "decoder", old, new)
    assert wrong_lines(tests[0]) == [line]
    assert "It calls encoder_attn without something that it should be given." in tests[0].pointed


def test_an_error_of_what_only_explains_costs_only_the_lines(workers, monkeypatch):
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr("autograder.diagnosis.first_fault.find", broken)
    slip = "transformer", "encoder", "encoder", "self.dropout(attended)", "0.5 * attended"
    tests, _ = failed(workers, *slip)
    assert all(test.status == "fault" and "a mistake of ours" in test.message for test in tests)
    monkeypatch.setattr("autograder.grading.stage_run.STRICT", False)
    [test], _ = failed(workers, *slip)
    assert test.status == "failed"
    assert test.message
    assert test.pointed == ()


def test_a_road_of_ones_own_is_not_called_wrong(workers, without_trials):
    """The logarithms of some of the scores, and then wrong shares of them: what comes first may be right."""
    old = """surprise = -F.log_softmax(logits, dim=-1)  # (B, T, V): -log p
    of_target = surprise.gather(-1, targets.unsqueeze(-1)).squeeze(-1)  # (B, T, V) -> (B, T)
    of_all = surprise.mean(dim=-1)  # (B, T)
    counted = targets != padding_idx
    return ((1 - smoothing) * of_target + smoothing * of_all)[counted].mean()"""
    new = """keep = targets != padding_idx
    surprise = -F.log_softmax(logits[keep], dim=-1)
    share = torch.full_like(surprise, smoothing / (logits.size(-1) - 2))
    share = share.scatter(-1, targets[keep].unsqueeze(-1), 1 - smoothing)
    return (share * surprise).sum(dim=-1).mean()"""
    tests, _ = failed(workers, "variants", "training", "training", old, new)
    told_first = " ".join(next(test for test in tests if test.name == "test_smoothed_loss").pointed)
    assert "is the first whose result is not right" not in told_first


def test_a_module_whose_parts_are_called_is_not_called_missing(workers, without_trials):
    old = "later = torch.ones(T_new, T, dtype=torch.bool, device=tokens.device).triu(diagonal=T_past + 1)"
    whole = "x = x + block.feed_forward(block.norm2(x))"
    chosen = assignment("variants")
    sources = read_submission(chosen.solution, chosen).sources
    text = sources["generate"].replace(old, old.replace("T_past + 1", "1"))
    parts = "block.feed_forward.fc2(torch.nn.functional.gelu(block.feed_forward.fc1(block.norm2(x))))"
    assert whole in text
    submission = Submission("", {**sources, "generate": text.replace(whole, f"x = x + {parts}")})
    report = grade(submission, chosen, workers, [chosen.stage("generate")])
    assert any(test.status == "failed" for test in report.tests)
    assert "is never called" not in told(report.tests)
