"""The line of a verdict where a call is to blame: what it lacks or is given too early, a function that is tested."""

import pytest

from autograder.grading.tested_functions import called_directly
from autograder.sandbox.traces import Line
from tests import slips

JOIN = " ".join


def test_a_function_that_passes_its_own_test_is_called_with_something_wrong(workers):
    """A rate is no tensor: nothing else shows what it should be."""
    old, new = "temperature, top_k, top_p), dim=-1)", "temperature, top_p, top_p), dim=-1)"
    tests, line = slips.failed(workers, "variants", "generate", "generate", old, new)
    (test,) = tests
    assert slips.wrong_lines(test) == [line]
    assert "filter_logits() passes test_filter_logits" in JOIN(test.pointed)


def test_a_function_that_fails_its_own_test_is_told_itself(workers):
    old, new = "logits = logits / temperature", "logits = logits * temperature"
    tests, line = slips.failed(workers, "variants", "generate", "generate", old, new)
    assert [slips.wrong_lines(test) for test in tests if test.name == "test_filter_logits"] == [[line]]
    assert not any("() passes test_" in JOIN(test.pointed) for test in tests)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("filter_logits((3,7), temperature=0.7, top_k=None)", "filter_logits"),
        ("learning_rate(3, (1, 2))", "learning_rate"),
        ("MultiHeadAttention(d_model=60, num_heads=4).compute_mh_qkv_transformation((3,8,60))", ""),
        ("GPT(17, 12)(tokens=(2,5))", ""),
        ("", ""),
    ],
)
def test_functions_that_a_test_calls_by_itself(call, name):
    assert called_directly(call) == name


def test_what_a_call_lacks_is_told_where_something_else_is_given(workers):
    """The queries of cross-attention, made of the input of the layer."""
    old, new = "x, encoder_out, encoder_out,", "residual, encoder_out, encoder_out,"
    source = slips.source("transformer", "decoder")
    start = "attended = self.self_attn(x, x, x, self"
    assert old in source
    assert start in source
    text = source.replace(start, f"residual = x\n        {start}").replace(old, new)
    told = JOIN(JOIN(test.pointed) for test in slips.failed_text(workers, "transformer", "decoder", "decoder", text))
    assert "It calls encoder_attn with something else than the norm after self-attention." in told


def test_a_helper_that_goes_on_too_early_is_told_with_the_line_of_the_call(workers):
    """Pre-norm, in a function for both sub-layers."""
    tests = slips.failed_text(workers, "transformer", "encoder", "encoder", PRE_NORM)
    told = JOIN(tests[0].pointed)
    assert "the known mistake shows on line" in told.lower()


LAYER = slips.source("transformer", "encoder")
BODY = LAYER[LAYER.index("        attended = self.self_attn(") : LAYER.index("\n\n\nclass TransformerEncoder(")]
PRE_NORM = LAYER.replace(
    BODY,
    """\
        def wrap(norm, sublayer, x):
            return x + self.dropout(sublayer(norm(x)))

        attend = lambda h: self.self_attn(h, h, h, key_padding_mask=self_attn_padding_mask)
        x = wrap(self.self_attn_layer_norm, attend, x)
        return wrap(self.final_layer_norm, lambda h: self.fc2(self.activation_fn(self.fc1(h))), x)""",
)


def test_axes_of_size_1_that_stand_for_one_another(workers):
    old = "self.W_q(queries)[:, :, None] + self.W_k(keys)[:, None]"
    source = slips.source("attention", "scoring")
    assert old in source
    new = "self.W_q(queries)[:, None] + self.W_k(keys)[:, :, None]"
    squeezed = "self.w_v(features).squeeze(-1)"
    assert squeezed in source
    text = source.replace(old, new).replace(
        squeezed, "self.w_v(features).reshape(len(queries), queries.size(1), keys.size(1))"
    )
    tests = slips.failed_text(workers, "attention", "scoring", "scoring", text)
    told = JOIN(tests[0].pointed)
    assert "makes the features, tanh of the sum, but with the elements in another order" in told


def test_tests_that_fail_for_different_reasons_share_the_trials(workers):
    """Decoding goes on behind eos; and BLEU, which is cheap to try, has a fault that no small change mends."""
    source = slips.source("attention", "seq2seq")
    decoding, bleu = "finished = finished | (token == self.eos_idx)", "bleu = math.exp("
    assert decoding in source
    assert bleu in source
    text = source.replace(decoding, "finished = token == self.eos_idx").replace(bleu, "bleu = 0.3 + 0.1 * math.exp(")
    tests = slips.failed_text(workers, "attention", "translate", "seq2seq", text)
    line = text[: text.index("finished = token == self.eos_idx")].count("\n") + 1
    decoded = next(test for test in tests if test.name == "test_translate_extra_credit")
    assert slips.wrong_lines(decoded) == [line]


def test_statements_of_several_lines_are_shown_whole():
    from autograder.diagnosis.code_text import statement_text

    text = "x = wrap(  # a comment\n    norm,\n    (a, b),\n)\ny = [\n    1,\n    2]\nz = f(x)\n"
    assert statement_text(Line("m.py", 1, 4), {"m.py": text}) == "x = wrap(norm, (a, b))"
    assert statement_text(Line("m.py", 5, 7), {"m.py": text}) == "y = [1, 2]"
    assert statement_text(Line("m.py", 8, 8), {"m.py": text}) == "z = f(x)"
    long = "x = f(\n" + "".join(f"    {name},\n" for name in "abcdef") + ")\n"
    assert statement_text(Line("m.py", 1, 8), {"m.py": long}) == "x = f(a, b, c, ..."


def test_no_loop_is_idle_behind_an_exception(workers):
    tests, _ = slips.failed(workers, "variants", "tagger", "tagger", "x = block(x, mask)", "x = x(x, mask)")
    assert tests
    assert not any("never run" in JOIN(test.pointed) for test in tests)


def test_random_numbers_that_are_not_drawn_from_the_given_generator(workers):
    old = "unread = torch.multinomial(probabilities, 1, generator=generator)"
    tests, line = slips.failed(
        workers, "variants", "generate", "generate", old, "unread = torch.multinomial(probabilities, 1)"
    )
    (test,) = tests
    assert slips.wrong_lines(test) == [line]
    assert "draws random numbers, but not from the generator that its function is given" in JOIN(test.pointed)


def test_a_loop_over_an_iterator_that_is_used_up(workers):
    """Sums of numbers, added up in a way of one's own, do not hide that the loop behind them does nothing."""
    source = slips.source("variants", "training")
    start, end = source.index("    gradients = [parameter.grad"), source.index("    return norm")
    text = source[:start] + CLIP + source[end:]
    tests = slips.failed_text(workers, "variants", "training", "training", text)
    test = next(test for test in tests if test.name == "test_clip_gradients")
    line = text[: text.index("        for again in parameters")].count("\n") + 1
    assert slips.wrong_lines(test) == [line]
    assert "begins a loop whose lines never run" in JOIN(test.pointed)


CLIP = """\
    squares = 0.0
    for parameter in parameters:
        if parameter.grad is not None:
            squares += parameter.grad.square().sum().item()
    norm = math.sqrt(squares)
    if norm > max_norm:
        for again in parameters:
            if again.grad is not None:
                again.grad.mul_(max_norm / norm)
"""


def test_a_loop_that_runs_and_does_nothing_is_not_idle(workers):
    old, new = "gradient.mul_(max_norm / norm)", "gradient"
    tests, _ = slips.failed(workers, "variants", "training", "training", old, new)
    assert not any("never run" in JOIN(test.pointed) for test in tests)


def test_what_goes_wrongly_into_a_call_is_no_call_that_is_missing(workers):
    """This program never uses its `activation_fn`: that is no reason to try a call of it everywhere first."""
    case = "transformer", "decoder", "decoder", "encoder_padding_mask, self_attn_padding_mask, self_attn_mask)"
    tests, line = slips.failed(workers, *case, "self_attn_padding_mask, encoder_padding_mask, self_attn_mask)", "loops")
    assert tests
    assert all(slips.wrong_lines(test) == [line] for test in tests)
