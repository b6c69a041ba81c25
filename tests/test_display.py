"""What the notebooks explore with: ways of decoding that agree, and tables."""

import itertools

import torch

from course.checks import trained
from course.display import Table
from course.kv_cache import full_steps, kv_steps


def test_a_kv_cache_changes_no_probability():
    checkpoint = trained()
    source = checkpoint.source.encode("Der alte Koch hat zwei Suppen gekocht.")
    full, cached = list(full_steps(checkpoint.model, source, 12)), list(kv_steps(checkpoint.model, source, 12))
    assert [step.best for step in full] == [step.best for step in cached]
    assert [step.tokens for step in full] == [step.tokens for step in cached]
    for one, other in zip(full, cached, strict=True):
        torch.testing.assert_close(one.log_probs, other.log_probs, atol=1e-4, rtol=0)


def test_a_step_follows_the_choice_of_the_one_before():
    checkpoint = trained()
    steps = list(full_steps(checkpoint.model, checkpoint.source.encode("Das Boot ist leer."), 6))
    assert steps[0].tokens == [checkpoint.model.sos_idx]
    for earlier, later in itertools.pairwise(steps):
        assert later.tokens == [*earlier.tokens, earlier.best]


def test_a_table_is_html_and_text():
    table = Table(["token", "p"], [["<s>", 0.123456], ["Haus", 1]], "Two rows")
    assert "&lt;s&gt;" in table._repr_html_()
    assert repr(table).splitlines() == ["Two rows", "token  p     ", "<s>    0.1235", "Haus   1     "]
