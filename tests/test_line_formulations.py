"""The line of a verdict in programs that take roads of their own: correct formulations with one text replaced."""

import pytest

from autograder.authoring.formulations import correct_submissions
from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.submissions.read_submission import Submission, read_submission


def failed(workers, name: str, stage: str, program: str, module: str, old: str, new: str):
    """The failed tests of a formulation with a text replaced where it stands first, and its line."""
    chosen = assignment(name)
    sources = correct_submissions(chosen)[program][0].sources
    text = sources[module]
    assert old in text
    changed = Submission("", {**sources, module: text.replace(old, new, 1)})
    report = grade(changed, chosen, workers, [chosen.stage(stage)])
    tests = [test for test in report.tests if test.status != "passed"]
    assert tests
    return tests, text[: text.index(old)].count("\n") + 1


def wrong_lines(test) -> list[int]:
    return [mark.line for mark in test.marks if mark.state == "wrong"]


NAMED = [  # assignment, stage, formulation, module, what is replaced, by what
    # The order becomes wrong here, though another formulation has the numbers like that for a while.
    ("transformer", "pe", "pe-interleaved", "pe", "dim=-1).flatten", "dim=1).flatten"),
    ("variants", "generate", "generate-filter-row-by-row", "generate", "shape[-1]", "shape[-0]"),
]


@pytest.mark.parametrize("case", NAMED, ids=[case[2] for case in NAMED])
def test_the_line_is_named(workers, case):
    tests, line = failed(workers, *case)
    assert wrong_lines(tests[0]) == [line]


SILENT = [
    # Zeros are written where zeros are: the table is not wrong before the next line.
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
    tests, line = failed(workers, *case)
    for test in tests:
        assert set(wrong_lines(test)) <= {line}


def test_the_line_before_a_missing_step_is_the_one_that_made_the_numbers(workers):
    """And not one behind it, which made a mask of nothing but ones."""
    name, stage, program, module = "transformer", "mha", "mha-where-on-merged-masks", "mha"
    divided = "query @ key.transpose(-2, -1) / math.sqrt(self.d_k)"
    tests, line = failed(workers, name, stage, program, module, divided, "query @ key.transpose(-2, -1)")
    assert f"goes on after line {line} without a step, the scores divided by sqrt(d_k)" in " ".join(tests[0].pointed)


def test_what_is_made_of_nan_is_no_fault_of_the_line_that_mends_it(workers):
    """Scores of +inf give NaN, which the next line replaces, as it should where a query may see no key."""
    case = ("transformer", "mha", "mha-fill-inf-nan-to-num", "mha", "= -torch.inf", "= torch.inf")
    tests, line = failed(workers, *case)
    for test in tests:
        assert set(wrong_lines(test)) <= {line}


def test_the_number_that_fills_forbidden_scores_is_anybodys_choice(workers):
    chosen = assignment("variants")
    sources = read_submission(chosen.solution, chosen).sources
    old = "scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)"
    assert old in sources["heads"]
    lowest = "lowest = torch.finfo(scores.dtype).min / 3"
    text = sources["heads"].replace(old, f"{lowest}\n            scores = scores.masked_fill(mask.mT, lowest)", 1)
    report = grade(Submission("", {**sources, "heads": text}), chosen, workers, [chosen.stage("heads")])
    tests = [test for test in report.tests if test.status != "passed"]
    assert tests
    assert all("lowest = " not in mark.text for test in tests for mark in test.marks if mark.state == "wrong")
