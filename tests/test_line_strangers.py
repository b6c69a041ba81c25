"""Lines of faults that strangers wrote: each was told badly, or not at all, when it was first seen."""

from tests import slips
from tests.slips import line_of, told, wrong_lines


def changed(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def solved(text: str, after: str, body: str) -> str:
    """A module with other statements in the first solution behind a text; they end with the indentation of its end."""
    start = text.index("### BEGIN SOLUTION\n", text.index(after)) + len("### BEGIN SOLUTION\n")
    return text[:start] + body + text[text.index("### END SOLUTION", start) :]


HEADS = """        def heads_of(linear, inputs):
            return linear(inputs).unflatten(-1, (self.d_k, self.num_heads)).permute(0, 3, 1, 2)

        return heads_of(self.W_q, Q), heads_of(self.W_k, K), heads_of(self.W_v, V)
        """


def test_a_helper_that_is_never_right_is_not_called_right_in_another_round(workers):
    """Its first operation is right each time: that of the module which it is given."""
    text = solved(slips.source("transformer", "mha"), "def compute_mh_qkv_transformation(", HEADS)
    [test] = slips.failed_text(workers, "transformer", "mha", "mha", text)
    assert wrong_lines(test) == [line_of(text, "            return linear(inputs).unflatten")]
    assert "another round" not in told([test])


def test_a_module_that_gets_something_wrong_and_no_mask_is_told_as_well(workers):
    """Padding set to zero in the embeddings, in place of the mask."""
    text = slips.source("transformer", "transformer")
    old = "enc_output = self.encoder(src_embedded, encoder_padding_mask=src_padding_mask)"
    zeros = "src_embedded = src_embedded.masked_fill(src_padding_mask.bool().unsqueeze(-1), 0.0)"
    text = changed(text, (old, f"{zeros}\n        enc_output = self.encoder(src_embedded)"))
    tests = slips.failed_text(workers, "transformer", "encoder", "transformer", text)
    [test] = [test for test in tests if test.name == "test_encoder_output"]
    assert wrong_lines(test) == [line_of(text, zeros), line_of(text, "enc_output = self.encoder(src_embedded)")]
    assert "It calls encoder without the padding mask of the source." in told([test])


def test_a_step_that_is_used_nowhere_is_told_where_of_other_lines_nothing_is_known(workers):
    text = slips.source("variants", "modern")
    exponents = "exponents = torch.arange(0, d_head, 2, device=x.device, dtype=x.dtype) / d_head"
    text = solved(
        text,
        "def rotate(",
        f"""    d_head = x.size(-1)
    if d_head % 2:
        raise ValueError(f"{{d_head}} is odd")
    {exponents}
    angles = positions[:, None].to(x.dtype)
    cos, sin = angles.cos(), angles.sin()
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)
    """,
    )
    tests = slips.failed_text(workers, "variants", "modern", "modern", text)
    line = line_of(text, exponents)
    assert f"Line {line} of modern.py makes exponents, which is used nowhere:" in told(tests)


def test_a_table_of_which_some_columns_are_right_by_chance(workers):
    """With the exponent i / d_model every other pair is that of another one."""
    text = slips.source("transformer", "pe")
    old = "torch.arange(0, d_model, 2) * ("
    text = changed(text, (old, "torch.arange(d_model // 2) * ("))
    start, end = text.index("### END SOLUTION"), text.index("pe[:, 0::2] =")
    loop = """for pair in range(d_model // 2):
            pe[:, 2 * pair] = torch.sin(angle[:, pair])
            pe[:, 2 * pair + 1] = torch.cos(angle[:, pair])
        """
    text = text[:end] + loop + text[start:]
    [test] = slips.failed_text(workers, "transformer", "pe", "pe", text)
    assert wrong_lines(test) == [line_of(text, "torch.arange(d_model // 2) * (")]


def test_a_warning_of_a_wrong_shape_tells_both_shapes(workers):
    """The loop waits for the end token in all sentences at once."""
    text = slips.source("attention", "seq2seq")
    text = changed(
        text,
        ("not finished.all()", "not (token == self.eos_idx).all()"),
        (".masked_fill(finished, self.pad_idx)", ""),
        (
            "        return torch.stack(tokens, dim=1)",
            (
                "        tokens = torch.stack(tokens, dim=1)\n        ends = (tokens == self.eos_idx).long()\n"
                "        return tokens.masked_fill(ends.cumsum(dim=1) - ends > 0, self.pad_idx)"
            ),
        ),
    )
    tests = slips.graded_text(workers, "attention", "translate", "seq2seq", text)
    [test] = [test for test in tests if test.message.startswith("passes, but")]
    assert any(line.startswith("expected  (2, 5)") for line in test.details)
    assert any(line.startswith("got       (2, 6)") for line in test.details)


def test_what_a_constructor_makes_is_told_there_and_not_where_it_is_used(workers):
    """The sines in the left half of the table, the cosines in the right one: as correct code has it, before a last
    step."""
    text = slips.source("transformer", "pe")
    start, end = text.index("pe[:, 0::2] ="), text.index("### END SOLUTION")
    loop = """half = d_model // 2
        for pair in range(half):
            pe[:, pair] = torch.sin(angle[:, pair])
            pe[:, half + pair] = torch.cos(angle[:, pair])
        """
    text = text[:start] + loop + text[end:]
    [test] = slips.failed_text(workers, "transformer", "pe", "pe", text)
    end = line_of(text, "    def forward(")
    assert wrong_lines(test)
    assert all(line < end for line in wrong_lines(test))


SUM = """        found = []
        if key_padding_mask is not None:
            found.append(key_padding_mask[:, None, None, :])
        if attention_mask is not None:
            found.append(attention_mask[:, None, :, :])
        if found:
            total = found[0]
            for other in found[1:]:
                total = total + other
            scores = scores.masked_fill(total != 0, lowest)
"""


def test_a_change_that_mends_by_chance_does_not_take_the_place_of_a_line_that_decides(workers):
    """With the first mask counted twice the sums of these masks do not cancel out."""
    text = slips.source("transformer", "mha")
    start, end = text.index("        if key_padding_mask is not None:"), text.index("        x = torch.softmax(")
    text = text[:start] + SUM + text[end:]
    tests = slips.failed_text(workers, "transformer", "mha", "mha", text)
    [test] = [test for test in tests if test.name == "test_mha_key_padding_mask_attention_mask"]
    assert wrong_lines(test) == [line_of(text, "                total = total + other")]
