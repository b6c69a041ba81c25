"""A wrong line whose result says too little, and one result of several that is wrong."""

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
