"""What is told of a line beside a known mistake or an exception: nothing that these say better, and nothing false."""

import pytest

from tests.slips import failed, failed_text, line_of, source, told, wrong_lines


def test_not_the_step_that_usually_comes_next(workers):
    """Queries that are scaled before the product: a road of their own, on which the product comes later."""
    text = source("variants", "heads")
    begin = text.index("        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))")
    end = text.index("        if mask is not None:")
    scaled = "        q = q / math.sqrt(x.size(-1))\n        scores = q @ k.transpose(-2, -1)\n"
    tests = failed_text(workers, "variants", "heads", "heads", text[:begin] + scaled + text[end:])
    alone = next(test for test in tests if test.name == "test_head")
    assert alone.mistake == "heads.scale-d-model"
    assert wrong_lines(alone) == [line_of(text, "        scores = q @ k.transpose(-2, -1)")]
    assert "should come next" not in told(tests)


def test_not_a_size_that_is_right_where_the_order_is_not(workers):
    old = "grouped = q.unflatten(1, (self.num_kv_heads, -1))"
    new = (
        "share = self.num_heads // self.num_kv_heads\n"
        "        grouped = q.unflatten(1, (share, self.num_kv_heads)).transpose(1, 2)"
    )
    tests, line = failed(workers, "variants", "modern", "modern", old, new)
    first = next(test for test in tests if test.name == "test_grouped_queries")
    assert wrong_lines(first) == [line + 1]
    assert "share" not in " ".join(sentence for sentence in first.pointed if not sentence.startswith("    "))


def test_a_rate_is_not_that_of_another_mistake_by_chance(workers):
    """One step after the warm-up this one is the peak, too."""
    old = "return peak * min(step / warmup, math.sqrt(warmup / step))"
    new = "return peak * step / warmup if step <= warmup else peak / math.sqrt(step - warmup)"
    [test], line = failed(workers, "variants", "training", "training", old, new)
    assert wrong_lines(test) == [line]
    assert not test.mistake


def test_a_line_that_raises_has_no_result_that_is_not_right(workers):
    """A helper that is right gets a mask with the axis of the heads in the wrong place: the lines of both are told."""
    text = source("variants", "heads")
    begin = text.index("class MultiHeadAttentionEfficient")
    helper = (
        "def shares(scores, forbidden):\n"
        "    if forbidden is not None:\n"
        "        scores = torch.where(forbidden, scores.new_tensor(-1e30), scores)\n"
        "    return torch.softmax(scores, dim=-1)\n\n\n"
    )
    own = text[begin:]
    first = own.index("        if mask is not None:")
    last = own.index("        weights = ")
    rest = own[last:]
    calls = (
        "        behind = mask[None] if mask is not None else None\n"
        "        weights = self.attention_dropout(shares(scores, behind))\n"
    )
    changed = text[:begin] + helper + own[:first] + calls + rest[rest.index("\n") + 1 :]
    failing = failed_text(workers, "variants", "heads", "heads", changed)
    [test] = [one for one in failing if one.name == "test_heads_at_once"]
    raising = line_of(changed, "        scores = torch.where(forbidden")
    assert f"Line {raising} raises the exception:" in told([test])
    made = line_of(changed, "        behind = ")
    assert f"and {made}." in told([test])
    assert "is not right" not in told([test])


@pytest.mark.xfail(strict=True, reason="not yet, since functions are graded one by one")
def test_what_a_line_makes_that_a_change_mends_is_not_right_so_far(workers):
    """The first step of a translation has one row of the mask only: its line is right there, and what it makes."""
    text = source("transformer", "decoder")
    forward = "    def forward(\n        self,\n        x: torch.Tensor,\n        encoder_out"
    helper = (
        "    def look(self, last, x, padding, rows):\n"
        "        attended = self.self_attn(last, x, x, key_padding_mask=padding, attention_mask=rows)\n"
        "        return self.self_attn_layer_norm(last + self.dropout(attended))\n\n"
    )
    whole = (
        "        attended = self.self_attn(x, x, x, self_attn_padding_mask, self_attn_mask)\n"
        "        x = self.self_attn_layer_norm(x + self.dropout(attended))\n"
    )
    one = (
        "        attended = self.self_attn(last, x, x, self_attn_padding_mask, last_mask)\n"
        "        last = self.self_attn_layer_norm(last + self.dropout(attended))\n"
    )
    last = "        last = x if cache is None else x[:, -1:]"
    first = (
        "        if cache is None:\n            return self.forward(\n"
        "                x, encoder_out, encoder_padding_mask, self_attn_padding_mask, self_attn_mask\n            )\n"
    )
    for old, new in (
        (forward, helper + forward),
        (whole, "        x = self.look(x, x, self_attn_padding_mask, self_attn_mask)\n"),
        (one, "        last = self.look(last, x, self_attn_padding_mask, last_mask)\n"),
        (last, first + last),
        ("last_mask = self_attn_mask[:, -1:]", "last_mask = self_attn_mask[:, :1]"),
    ):
        assert old in text
        text = text.replace(old, new, 1)
    tests = failed_text(workers, "transformer", "inference", "decoder", text)
    cached = next(test for test in tests if test.name == "test_decoder_inference_cache_extra_credit")
    assert wrong_lines(cached) == [line_of(text, "last_mask = self_attn_mask[:, :1]")]
    assert "self-attention of the new positions" not in told([cached])
