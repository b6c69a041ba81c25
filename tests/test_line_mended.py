"""The line of a verdict where a small change would mend the call: changes by syntax, trials, and what follows."""

import ast
from typing import Any

import numpy as np
import pytest
import torch

from autograder.authoring.formulations import correct_submissions
from autograder.grading.grade_submission import grade
from autograder.grading.mending_lines import _StageTrials
from autograder.manifest import assignment, every_assignment
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.remote_values import Code
from autograder.sandbox.signatures import signature
from autograder.sandbox.trials import Trials, _read
from autograder.submissions.harmless import harmless
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.small_changes import small_changes
from autograder.submissions.syntax_tree import functions
from tests import slips
from tests.slips import failed, wrong_lines

CHANGE = "With a small change of line"


MASKED = "scores = scores.masked_fill(key_padding_mask[:, None, None, :] != 0, lowest)"
OTHER_AXES = "padded = key_padding_mask[:, None, :, None] != 0\n            scores = scores.masked_fill(padded, lowest)"
SLIPS = [  # assignment, stage, module, what is replaced, by what
    ("variants", "training", "training", "if norm > max_norm:", "if norm < 0:"),  # a condition
    ("transformer", "mha", "mha", "key.transpose(-2, -1)", "key.transpose(1, 2)"),  # raises on another line
    ("transformer", "decoder", "transformer", "subsequent_mask(tgt.size(1)", "subsequent_mask(tgt.size(0)"),
    ("variants", "generate", "generate", "dropped, -math.inf", "dropped, math.inf"),  # makes NaN in the test itself
    ("transformer", "mha", "mha", MASKED, OTHER_AXES),  # axes
    ("transformer", "pe", "pe", "self.pe[:, :T]", "self.pe[:T]"),
    ("transformer", "mha", "mha", "        if attention_mask is not None:", "        elif attention_mask is not None:"),
    ("variants", "training", "training", "parameter.dim() == 2", "parameter.dim() > 2"),  # makes no tensor
]


@pytest.mark.parametrize(
    ("name", "stage", "module", "old", "new"), SLIPS, ids=[f"{case[1]} {number}" for number, case in enumerate(SLIPS)]
)
def test_the_line_that_a_small_change_mends(workers, monkeypatch, name, stage, module, old, new):
    if new == "self.pe[:T]":  # that takes more than a verdict may cost; the others do with what is in force
        monkeypatch.setattr("autograder.grading.mending_lines.OPERATIONS", 40_000)
    tests, line = failed(workers, name, stage, module, old, new)
    assert tests
    for test in tests:
        assert wrong_lines(test) == [line]
        known = f"Line {line} of {module}.py has a part in it:"  # with another change of it, which is not the right one
        assert f"{CHANGE} {line}" in " ".join(test.pointed) or (test.mistake and known in test.pointed)


def test_two_statements_in_the_wrong_order(workers):
    """The loop is left before the last token is appended."""
    appended = "                tgt = torch.cat([tgt, next_token], dim=1)  # (1, T_d) -> (1, T_d + 1)\n"
    ended = "                if next_token.item() == self.eos_idx:\n                    break\n"
    chosen = assignment("transformer")
    text = read_submission(chosen.solution, chosen).sources["transformer"]
    old = text[text.index(appended) : text.index(ended)] + ended
    tests, line = failed(workers, "transformer", "inference", "transformer", old, ended + appended)
    told = " ".join(tests[0].pointed)
    assert f"With the statements that begin on lines {line} and {line + 2} of transformer.py in the other order" in told


MOVED = """def f(x, n, out):
    for i in range(n):
        x = g(x)
        if x > 3:
            break
        elif x > 4:
            out.append(x)
            return x
        x = x + i
    out.append(x)
    while n:
        n = h(n)
        break
    return x
"""


def test_statements_are_moved():
    found = {
        (one.line, one.other, one.text.strip())
        for one in small_changes("m", MOVED, "f", functions("m", MOVED)["m.f"])
        if one.moves
    }
    assert (6, 0, "if") in found
    assert {(5, 0, "continue"), (8, 0, "break")} <= found  # how the loop is left
    assert not any(line == 13 for line, *_ in found)  # this one might never end
    assert any(text.startswith("if x > 3:") and text.endswith("x = g(x)") for *lines, text in found if lines == [3, 4])
    assert (9, 0, "") in found  # out of the loop
    assert (10, 0, "") in found  # into it


def test_the_ends_of_loops_and_slices_are_moved_by_one():
    text = "def f(x, n):\n    for i in range(n):\n        x = x[i : n]\n    return x\n"
    found = {(one.line, one.text) for one in small_changes("m", text, "f", functions("m", text)["m.f"])}
    assert {(2, "n + 1"), (2, "n - 1"), (3, "n + 1"), (3, "n - 1"), (3, "i + 1")} <= found


def test_a_change_that_ends_the_worker_costs_no_more_than_itself(workers, monkeypatch):
    """As one with which the test, and not only its call, would never end."""
    ended: list[int] = []

    def further(self, failed, some):
        if not ended:
            ended.append(self.student._end_worker())
            return False, ""
        return own(self, failed, some)

    own = _StageTrials._further
    monkeypatch.setattr(_StageTrials, "_further", further)
    tests, line = failed(workers, *SLIPS[0])
    assert ended
    assert all(wrong_lines(test) == [line] for test in tests)


def test_two_lines_that_would_do_are_named_together(workers):
    # Without the 1000, or with max_norm for limit: each would do.
    tests, line = failed(
        workers,
        *("variants", "training", "training"),
        "    if norm > max_norm:",
        "    limit = max_norm + 1000\n    if norm > limit:",
    )
    clip = next(test for test in tests if test.name == "test_clip_gradients")
    told = f"{CHANGE} {line} of training.py alone, or of line {line + 1} alone, the call gives what it should."
    assert told in " ".join(clip.pointed)
    assert wrong_lines(clip) == [line, line + 1]


def test_what_is_repeated_as_a_whole_along_an_axis(workers):
    """Batch and heads are one axis: the mask of a sentence belongs to all heads of it."""
    old, new = ".repeat_interleave(H, dim=0)", ".repeat(H, 1, 1)"
    road = "heads-efficient-heads-in-batch"
    tests, line = slips.failed(workers, "variants", "heads", "heads", old, new, road)
    assert {line} == {one for test in tests for one in wrong_lines(test)}


def test_a_change_of_the_line_that_is_told_confirms_it(workers, monkeypatch):
    found = []
    fault = _StageTrials.fault

    def watched(*given: Any) -> Any:
        found.append(fault(*given))
        return found[-1]

    monkeypatch.setattr(_StageTrials, "fault", watched)
    tests, line = failed(workers, "transformer", "mha", "mha", "dim=-1)", "dim=-2)")
    assert found == [None] * len(tests)
    assert all(wrong_lines(test) == [line] and CHANGE not in " ".join(test.pointed) for test in tests)


def test_trials_change_neither_points_nor_messages(workers, monkeypatch):
    def outcome():
        tests, _ = failed(workers, *SLIPS[1])
        return [(test.name, test.status, test.points, test.message, test.printed) for test in tests]

    with_trials = outcome()
    monkeypatch.setattr("autograder.grading.mending_lines.mended", lambda *_: {})
    assert outcome() == with_trials


def test_what_the_trials_of_a_stage_cost_is_limited(workers, monkeypatch):
    monkeypatch.setattr("autograder.grading.mending_lines.OPERATIONS", 100)
    tests, _ = failed(workers, *SLIPS[1])
    assert all(CHANGE not in " ".join(test.pointed) for test in tests)


def test_trials_that_never_return_end(workers):
    # With one step more or less, the loop of the trial has no end.
    chosen = assignment("transformer")
    sources = read_submission(chosen.solution, chosen).sources
    old = "scores = query @ key.transpose(-2, -1)"
    loop = "n = 0\n        while n != 8:\n            n = n + 2\n        scores = query @ key.transpose(1, 2)"
    assert old in sources["mha"]
    changed = Submission("", {**sources, "mha": sources["mha"].replace(old, loop)})
    report = grade(changed, chosen, workers, [chosen.stage("mha")])
    assert not report.faulty
    assert all(test.status == "error" and "line" in " ".join(test.details) for test in report.tests)
    assert report.seconds < 15


def test_what_one_trial_has_changed_is_taken_back_for_the_next_call(workers):
    """Objects of another call are made of the student's own code, though a constructor was changed last."""
    sources = {"m": "import torch\nclass M(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"}
    sources["m"] += "        self.by = 2.0\n    def forward(self, x):\n        return x * self.by\n"
    student = Student(workers, Code(sources, {}, ("m",)))
    student.start()
    try:
        model = student.m.M()
        model(np.ones(3))
        recipe = student.recipe()
        assert recipe is not None
        changes = {
            change.text: change
            for name, node in functions("m", sources["m"]).items()
            for change in small_changes("m", sources["m"], name.removeprefix("m."), node)
        }
        with student.aside(5.0) as ask:
            (four,) = Trials(recipe, ask).results(changes["4.0"])  # 2.0 doubled, in the constructor
            (half,) = Trials(recipe, ask).results(changes["((x) / (self.by))"])
        assert np.allclose(four.signature, signed_of(4.0))
        assert np.allclose(half.signature, signed_of(0.5))  # not a quarter
    finally:
        student.close()


def signed_of(number: float) -> list[float]:
    return list(signature(torch.full((3,), number, dtype=torch.float64)))


@pytest.mark.parametrize("chosen", every_assignment(), ids=lambda one: one.name)
def test_changes_of_every_solution_stand_on_their_lines(chosen):
    count = 0
    for module, source in read_submission(chosen.solution, chosen).sources.items():
        for name, node in functions(module, source).items():
            path = name.removeprefix(f"{module}.")
            for change in small_changes(module, source, path, node):
                count += 1
                assert node.lineno <= change.line <= (node.end_lineno or 0)
                changed = change.apply(source)
                assert changed != source
                tree = ast.parse(change.unit)  # every one of them can be compiled
                found = next(one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef))
                assert (found.name, found.lineno) == (node.name, node.lineno)
    assert count > 1000


def test_a_slip_can_be_taken_back():
    source = textwrap_of("return torch.softmax(a / b, dim=-1)[:, 1:] @ x.transpose(1, 2)")
    node = functions("m", source)["m.f"]
    made = {change.apply(source).splitlines()[1].strip() for change in small_changes("m", source, "f", node)}
    for wanted in (
        "return torch.softmax(((a) * (b)), dim=-1)[:, 1:] @ x.transpose(1, 2)",
        "return torch.softmax(a / b, dim=-2)[:, 1:] @ x.transpose(1, 2)",
        "return torch.softmax(a / b, dim=-1)[:, :-1] @ x.transpose(1, 2)",
        "return torch.softmax(a / b, dim=-1)[:, 1:] @ (x)",
        "return torch.softmax(x / b, dim=-1)[:, 1:] @ x.transpose(1, 2)",
    ):
        assert wanted in made


def test_what_should_be_gathered_in_a_loop():
    source = "def f(xs):\n    for x in xs:\n        done = x == 0\n        total = 2 * x\n        total = total + x\n"
    node = functions("m", source)["m.f"]
    made = [change.apply(source) for change in small_changes("m", source, "f", node)]
    assert any("done |= x == 0" in text for text in made)
    assert any("total += 2 * x" in text for text in made)
    assert not any("total += total + x" in text for text in made)


def textwrap_of(line: str) -> str:
    return f"def f(a, b, x):\n    {line}\n"


@pytest.mark.parametrize("chosen", every_assignment(), ids=lambda one: one.name)
def test_solutions_can_be_tried(chosen):
    sources = read_submission(chosen.solution, chosen).sources
    assert all(harmless(source, sources) for source in sources.values())


@pytest.mark.parametrize(
    "risky",
    [
        "import os",
        "import shutil as math",
        "from pathlib import Path",
        "from torch import save",
        "import torch\ntorch.save({}, 'x')",
        "def f(path):\n    open(path, 'w')",
        "import subprocess",
        "from torch.utils import cpp_extension",
    ],
)
def test_code_that_could_touch_files_is_not_harmless(risky):
    assert not harmless(risky)


def test_code_that_could_touch_files_is_never_tried(workers):
    name, stage, module, old, new = SLIPS[1]
    tests, _ = failed(workers, name, stage, module, old, new)
    assert all(CHANGE in " ".join(test.pointed) for test in tests)
    chosen = assignment(name)
    text = read_submission(chosen.solution, chosen).sources[module]
    tests, _ = failed(workers, name, stage, module, text, "import os\n" + text.replace(old, new))
    assert tests
    assert all(CHANGE not in " ".join(test.pointed) for test in tests)


@pytest.mark.parametrize(
    "sent",
    [None, "x", [1], [[0.5]], [[[0.5], [2], 1]], [[[0.5], ["2"], True]], [[["0.5"], [2], True]], [[[1], [2], True]]],
)
def test_results_that_are_none_are_not_believed(sent):
    assert _read(sent) == ()


def test_results_are_read():
    (one,) = _read([[[0.5, 0.25], [2, 3], True]])
    assert np.array_equal(one.signature, [0.5, 0.25])
    assert (one.shape, one.fractions) == ((2, 3), True)


def test_a_trial_that_trains_leaves_the_weights_to_the_next_one(workers):
    """A step of training calls the function too, but has a stand-in of it."""
    old, new = "    if norm > max_norm:", "    limit = max_norm + 1000\n    if norm > limit:"
    tests, line = failed(workers, "variants", "training", "training", old, new)
    assert {test.name: wrong_lines(test) for test in tests} == {"test_clip_gradients": [line, line + 1]}


def test_a_condition_is_tried_before_all_changes_of_what_it_leads_to(workers):
    """The rate of the first step is computed as if the warmup were over."""
    name, stage, module, formulation = "variants", "training", "training", "training-cosine-half-angle"
    tests, line = failed(workers, name, stage, module, "if step < warmup:", "if step < floor:", formulation)
    assert wrong_lines(tests[0]) == [line]


@pytest.mark.parametrize("formulation", ["solution", "lazy_table", "mixins"])
def test_a_condition_that_keeps_from_being_called_what_is_never_called(workers, formulation):
    """The line that goes on without it is right. That a call may be missing in many other places is not tried then."""
    chosen = assignment("transformer")
    known = {
        "solution": read_submission(chosen.solution, chosen),
        **{n: one for n, (one, _) in correct_submissions(chosen).items()},
    }
    text = known[formulation].sources["decoder"]
    old = next(line for line in text.splitlines() if line.strip().startswith("if self.encoder_attn "))
    new = old.replace("if self", "if not (self").replace(":", "):")
    tests, line = failed(workers, "transformer", "decoder", "decoder", old, new, formulation.replace("solution", ""))
    assert [wrong_lines(test) for test in tests] == [[line]] * len(tests) != []


def test_a_condition_that_decides_about_what_is_no_module(workers):
    old = "        if cache is not None:\n            last = x[:, -1:]"
    tests, line = failed(workers, "transformer", "inference", "decoder", old, old.replace("not ", ""), "chinese")
    assert [wrong_lines(test) for test in tests] == [[line]] * len(tests) != []


def test_a_sign_that_may_stand_in_several_places(workers):
    case = "variants", "lm", "language_model", "surprise = -log_probabilities"
    [test], line = failed(workers, *case, "surprise = log_probabilities", "lm-loss-by-hand")
    assert wrong_lines(test) == [line - 2, line]
