"""Lines of programs that go ways of their own: helper functions, masks as numbers, modules that are left out."""

import pytest

from autograder.diagnosis.findings import Fault, Finding
from autograder.diagnosis.line_words import sentences
from autograder.sandbox.traces import Line
from tests import slips
from tests.slips import failed, wrong_lines

# In place of the lines from the masks on: they are added up as numbers.
ADDED = """        total = torch.zeros(1, 1, 1, 1, dtype=torch.long)
        if key_padding_mask is not None:
            total = total + key_padding_mask.long()[:, None, None, :]
        if attention_mask is not None:
            total = total + attention_mask.long()[:, None, :, :]
        scores = scores.masked_fill(total > 0, lowest)
"""
HELPER = """    def second(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.activation_fn(self.fc1(x))
        return self.self_attn_layer_norm(x + self.dropout(self.fc2(hidden)))

    def forward("""


def told(tests) -> str:
    return " ".join(sentence for test in tests for sentence in test.pointed)


def test_one_number_that_several_lines_use_is_told_in_their_place(workers):
    tests, line = failed(
        workers, "transformer", "mha", "mha", "B = Q.shape[0]", "B = Q.shape[1]", "mha-heads-contiguous"
    )
    assert wrong_lines(tests[0]) == [line]


def test_a_module_that_is_left_out_is_told_by_its_name(workers):
    text = slips.source("transformer", "transformer")
    before, decoding = text[: text.index("def inference")], text[text.index("def inference") :]
    old, new = "self.positional_encoding(self.decoder_embedding(tgt))", "self.decoder_embedding(tgt)"
    assert old in decoding
    tests = slips.failed_text(workers, "transformer", "inference", "transformer", before + decoding.replace(old, new))
    assert "nothing has made the output of PositionalEncoding" in told(tests)


def test_masks_that_are_added_up_are_no_missing_step(workers):
    text = slips.source("transformer", "mha")
    start, end = text.index("        if key_padding_mask is not None:"), text.index("        x = torch.softmax(")
    changed = text[:start] + ADDED + text[end:]
    tests = slips.failed_text(workers, "transformer", "mha", "mha", changed)
    [test] = [test for test in tests if test.name == "test_mha_key_padding_mask_attention_mask"]
    line = changed[: changed.index("            total = total + attention")].count("\n") + 1
    assert wrong_lines(test) == [line]
    assert "nothing has made" not in told([test])


def test_a_part_of_a_tensor_of_which_another_part_is_wrong_is_not_called_right(workers):
    """Every column has an angle of its own: those of the sines are right."""
    text = slips.source("transformer", "pe")
    for old, new in (
        ("torch.arange(0, d_model, 2) * (", "torch.arange(d_model) * ("),
        ("torch.sin(angle)", "torch.sin(angle[:, 0::2])"),
        ("torch.cos(angle[:, : d_model // 2])", "torch.cos(angle[:, 1::2])"),
    ):
        assert old in text
        text = text.replace(old, new)
    tests = slips.failed_text(workers, "transformer", "pe", "pe", text)
    assert "the sines" in told(tests)
    assert "the angles" not in told(tests)


def test_a_helper_function_that_has_the_name_of_the_wrong_module_is_told_itself(workers):
    text = slips.source("transformer", "encoder")
    start = text.index("    def forward(")
    old = "x = self.final_layer_norm(x + self.dropout(self.fc2(hidden)))"
    assert old in text
    changed = text[:start] + HELPER + text[start + len("    def forward(") :].replace(old, "x = self.second(x)", 1)
    tests = slips.failed_text(workers, "transformer", "encoder", "encoder", changed)
    line = changed[: changed.index("        return self.self_attn_layer_norm(")].count("\n") + 1
    assert wrong_lines(tests[0]) == [line]
    assert f"is called more often than it should be, in line {line}." in told(tests)


def test_the_line_that_makes_the_only_wrong_one_of_several_results_is_told(workers):
    """The keys are turned for this step alone, and kept as they were."""
    text = slips.source("variants", "modern")
    turned, scores = "k = rotate(split_heads(self.W_k(x)), positions)", "k.unsqueeze(2).transpose(-2, -1)"
    assert turned in text
    assert scores in text
    changed = text.replace(turned, "k = split_heads(self.W_k(x))")
    changed = changed.replace(scores, "rotate(k, torch.arange(k.size(2))).unsqueeze(2).transpose(-2, -1)")
    tests = slips.failed_text(workers, "variants", "modern", "modern", changed)
    line = changed[: changed.index("k = split_heads(")].count("\n") + 1
    assert f"what line {line} makes is not what should come back" in told(tests)


@pytest.mark.parametrize("number", [3, 5])
def test_a_call_that_goes_on_too_early_on_another_line(number):
    line = Line("m.py", 3, 3)
    finding = Finding(faults=(Fault(line, "the norm", left_out=True, enters=("fc1", number)),))
    sources = {"m.py": "\n\nx = f(y)"}
    said = " ".join(sentences(finding, sources))
    assert ("goes on too early" in said) == (number != line.number)
    assert "the norm" in said
    beside = " ".join(sentences(finding, sources, named=True))
    assert beside == "The known mistake shows first on line 3 of m.py:     x = f(y)"
