"""The line of a verdict in programs that take roads of their own: correct formulations with one text replaced."""

import pytest

from autograder.grading.source_lines import names_used
from autograder.sandbox.traces import Line
from tests.slips import failed, wrong_lines


def failed_of(workers, name: str, stage: str, formulation: str, module: str, old: str, new: str):
    """The failed tests of a formulation with a slip, and its line."""
    tests, line = failed(workers, name, stage, module, old, new, formulation)
    assert tests
    return tests, line


NAMED = [  # assignment, stage, formulation, module, what is replaced, by what
    # The order becomes wrong here, though another formulation has the numbers like that for a while.
    ("transformer", "pe", "pe-interleaved", "pe", "dim=-1).flatten", "dim=1).flatten"),
    ("variants", "generate", "generate-filter-row-by-row", "generate", "shape[-1]", "shape[-0]"),
]


@pytest.mark.parametrize("case", NAMED, ids=[case[2] for case in NAMED])
def test_the_line_is_named(workers, case):
    tests, line = failed_of(workers, *case)
    assert wrong_lines(tests[0]) == [line]


SILENT = [
    # Zeros are written where zeros are: the table is not wrong before the next line. (A trial of a table
    # that loops fill costs too much for the change that mends it to be reached.)
    ("transformer", "pe", "pe-loops", "pe", "(i / d_model)", "(i * d_model)"),
    # What is put into the list that is given back is wrong, and not that it is given back.
    ("transformer", "inference", "batch_shrink", "transformer", "caches[b] = [layer", "decoded[b] = [layer"),
    # One place alone says too little of what is looked up with it.
    (
        "variants",
        "generate",
        "generate-cached-split-and-branches",
        "generate",
        "past + torch.arange(T)",
        "torch.arange(T)",
    ),
    # The weights come from steps with another rate: what they give is no fault of the line.
    ("variants", "training", "training-step-set-to-zero", "training", "group.update(lr=rate)", "pass"),
    # One number may be right by chance: a change has to mend the whole test.
    ("attention", "translate", "step-query-indexed", "seq2seq", "range(len(tokens) - n + 1)", "range(len(tokens))"),
]


@pytest.mark.parametrize("case", SILENT, ids=[case[2] for case in SILENT])
def test_no_other_line_is_named(workers, case):
    tests, line = failed_of(workers, *case)
    for test in tests:
        assert set(wrong_lines(test)) <= {line}


def test_the_line_before_a_missing_step_is_the_one_that_made_the_numbers(workers):
    """And not one behind it, which made a mask of nothing but ones."""
    name, stage, program, module = "transformer", "mha", "mha-where-on-merged-masks", "mha"
    divided = "query @ key.transpose(-2, -1) / math.sqrt(self.d_k)"
    tests, line = failed_of(workers, name, stage, program, module, divided, "query @ key.transpose(-2, -1)")
    told = " ".join(tests[0].pointed)
    assert f"goes on after line {line}, but nothing has made the scores divided by sqrt(d_k)" in told


def test_what_is_made_of_nan_is_no_fault_of_the_line_that_mends_it(workers):
    """Scores of +inf give NaN, which the next line replaces, as it should where a query may see no key."""
    case = ("transformer", "mha", "mha-fill-inf-nan-to-num", "mha", "= -torch.inf", "= torch.inf")
    tests, line = failed_of(workers, *case)
    for test in tests:
        assert set(wrong_lines(test)) <= {line}


def test_the_number_that_fills_forbidden_scores_is_anybodys_choice(workers):
    old = "scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)"
    new = "lowest = torch.finfo(scores.dtype).min / 3\n            scores = scores.masked_fill(mask.mT, lowest)"
    tests, _ = failed(workers, "variants", "heads", "heads", old, new)
    assert tests
    assert all("lowest = " not in mark.text for test in tests for mark in test.marks if mark.state == "wrong")


def test_where_nothing_else_is_known_of_a_line_what_it_uses_is_told(workers):
    tests, line = failed_of(workers, "transformer", "pe", "mixins", "pe", " / math.pow(10000, i / d_model)", "")
    assert f"What goes in there: angle (line {line}) and pe (lines {line - 3} and {line + 2})." in tests[0].pointed
    tests, line = failed_of(workers, "transformer", "pe", "mixins", "pe", "torch.sin(angle)", "torch.tan(angle)")
    assert wrong_lines(tests[0]) == [line]


def test_what_a_branch_makes_that_may_not_have_run_is_not_told():
    text = "def f(k, cache):\n    k = k * 2\n    if cache:\n        k = k + cache\n    return k @ k\n"
    assert names_used({"f.py": text}, Line("f.py", 5, 5), {}) == ()
    assert names_used({"f.py": text}, Line("f.py", 4, 4), {}) == (("k", None, (2,)),)


def test_numbers_behind_what_a_line_uses():
    """Where a mask is made of a range, the size from which that is made is told with its value."""
    text = "def f(x, n):\n    seen = x.size(1) + n\n    places = range(seen)\n    return x[places]\n"
    assert names_used({"f.py": text}, Line("f.py", 4, 4), {"seen": 5.0}) == (
        ("places", None, (3,)),
        ("seen = 5", None, (2,)),
    )
