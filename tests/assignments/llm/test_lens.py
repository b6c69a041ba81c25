"""Verdicts on a look inside: a wrong divisor is named as what it is, and a model that has changed too."""

import pytest

from tests.support.slips import failed, failed_text, source

pytestmark = pytest.mark.usefixtures("without_trials")


def test_the_norm_applied_to_each_part_is_not_called_the_divisor_of_the_first_stream(workers):
    """For the embedding alone, both give the same numbers."""
    text = source("llm", "lens")
    for old, new in (
        ("(added * direction).sum(", "(model.norm(added) * direction).sum("),
        ("(stream[0] * direction)", "(model.norm(stream[0]) * direction)"),
        ("(mlps * direction)", "(model.norm(mlps) * direction)"),
        (
            "direction = model.norm.weight * model.embedding.weight[target] * scale",
            "direction = model.embedding.weight[target]",
        ),
    ):
        assert old in text
        text = text.replace(old, new)
    (test,) = failed_text(workers, "llm", "lens", "lens", text)
    assert test.mistake == "lens.share-own-divisor"


def test_a_first_divisor_is_still_named(workers):
    (test,), _ = failed(workers, "llm", "lens", "lens", "last = stream[-1]", "last = stream[0]")
    assert test.mistake == "lens.share-first-divisor"


def test_a_hook_that_stays_is_named_in_plain_words(workers):
    (test,), _ = failed(workers, "llm", "lens", "lens", "hook.remove()", "pass")
    assert test.name == "test_ablate"
    assert test.message.startswith("after the call, the model computes different logits")
    assert "hook" in " ".join(test.details)
    assert test.mistake == "lens.ablate-hooks-left"
