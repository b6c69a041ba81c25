"""What visible tests only warn of: the same kinds of slips in all functions, and whether hidden tests grade them."""

import ast
import itertools
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

from autograder.authoring.audit.check import sample
from autograder.diagnosis.compare_tensors import Incorrect, Wrong
from autograder.grading.finite_fills import LARGE, without_infinity
from autograder.grading.run_test import GRADED, NO_BOOLEANS
from autograder.grading.side_effects import check_forgets, check_gradients
from autograder.manifest import assignment, assignments
from autograder.sandbox.remote_values import Code
from autograder.submissions.syntax_tree import functions
from tests.support.auditing import subject

# Statements before all others of a function, for each of its arguments.
SLIPS = {
    "kept": "NAME = HOLDER.__dict__.setdefault('kept_NAME', NAME)",
    "detached": "NAME = NAME.detach()",
    "in place": "NAME = NAME.mul_(2) / 2",
}
QUICK = 6
SEEDS = 2


def arguments(node: ast.FunctionDef) -> Iterator[str]:
    """The arguments of a function that are tensors."""
    for argument in node.args.args:
        if argument.annotation is not None and "Tensor" in ast.unparse(argument.annotation):
            yield argument.arg


def slips() -> Iterator[tuple[str, str, str, str, str]]:
    """Assignment, stage, function, argument and kind of slip, for all that students write."""
    for name in assignments():
        for stage in assignment(name).stages:
            for function in stage.writes:
                module, _, _ = function.partition(".")
                node = functions(module, subject(name).solution[module])[function]
                for argument, kind in itertools.product(arguments(node), SLIPS):
                    yield name, stage.name, function, argument, kind


def slipped(name: str, function: str, argument: str, kind: str) -> dict[str, str]:
    """The solution with a slip."""
    solution = subject(name).solution
    module, _, path = function.partition(".")
    node = functions(module, solution[module])[function]
    holder = "self" if "." in path else path
    text = SLIPS[kind].replace("NAME", argument).replace("HOLDER", holder)
    first = node.body[1] if isinstance(node.body[0], ast.Expr) else node.body[0]
    lines = solution[module].splitlines()
    start = min([first.lineno, *(one.lineno for one in getattr(first, "decorator_list", []))])
    optional = f"if {argument} is not None: " if "None" in ast.unparse(node.args) else ""
    lines.insert(start - 1, " " * first.col_offset + optional + text)
    return {**solution, module: "\n".join(lines) + "\n"}


ALL = list(slips())
QUICKLY = set(sample([" ".join(one) for one in ALL], QUICK))
CASES = [
    pytest.param(*one, id=" ".join(one), marks=() if " ".join(one) in QUICKLY else pytest.mark.slow) for one in ALL
]


@pytest.mark.parametrize(("name", "stage", "function", "argument", "kind"), CASES)
def test_what_hidden_tests_take_points_for_is_warned_of(name, stage, function, argument, kind):
    """And what a visible test warns of, a hidden test of the function grades, if the warning says so."""
    audited, stage = subject(name), assignment(name).stage(stage)
    code = audited.code(slipped(name, function, argument, kind), stage)
    visible = audited.run(code, stage)
    silent = all(ran.passed and not ran.result.message for ran in visible)
    for seed in range(1, 1 + SEEDS):
        hidden = audited.run(code, stage, seed)
        if silent:
            assert [str(ran) for ran in hidden if not ran.passed] == []
        failed = [str(ran) for ran in hidden if not ran.passed]
        for ran in visible:
            if ran.passed and ran.result.message:
                assert bool(failed) == (GRADED[True] in ran.result.details), (
                    ran.result.name,
                    ran.result.message,
                    failed,
                )


# The two general checks, on functions of our own


class Case:
    """As much of a test case as they need."""

    checks = 0
    student = SimpleNamespace(dtype="float64")

    def wrong(self, message, *details, actual=None):
        raise Incorrect(Wrong(message, details), "")


class Model:
    """A product with a weight, whose gradients are multiplied by some factors."""

    def __init__(self, to_x: float = 1.0, to_weight: float | None = 1.0) -> None:
        self.factors, self.weight = (to_x, to_weight), np.array([2.0, -3.0])

    def __call__(self, x):
        return np.sin(x) * self.weight

    def load_state(self, weights):
        self.weight = weights["weight"]

    def gradients(self, outputs, x):
        to_x, to_weight = self.factors
        of_weight = None if to_weight is None else to_weight * (outputs[0] * np.sin(x)).sum(axis=0)
        found = [to_x * outputs[0] * np.cos(x) * self.weight], {"weight": of_weight}
        return SimpleNamespace(inputs=found[0], parameters=found[1])


X = np.random.default_rng(1).standard_normal((3, 2))


@pytest.mark.parametrize(
    ("factors", "words"),
    [
        ((1.0, 1.0), ""),
        ((0.0, 1.0), "no gradient reaches x"),
        ((0.8, 1.0), "the gradient of x is not correct"),
        ((1.0, None), "no gradient reaches weight"),
        ((float("nan"), 1.0), "the gradient of x is not a finite number"),
    ],
)
def test_gradients_are_slopes(factors, words):
    model = Model(*factors)
    if not words:
        check_gradients(Case(), model, {"x": X}, weights={"weight": model.weight})
    else:
        with pytest.raises(Incorrect, match=words):
            check_gradients(Case(), model, {"x": X}, weights={"weight": model.weight})
    assert (model.weight == [2.0, -3.0]).all()  # as it was


def test_what_is_kept_shows_in_a_second_call():
    kept = []

    def keeps(x, mask):
        kept.append(mask)
        return [np.where(kept[0], 0.0, x), mask]

    mask = np.array([[True, False], [False, False], [False, True]])
    check_forgets(Case(), lambda x, mask: [np.where(mask, -np.inf, x), mask], {"x": X, "mask": mask})
    with pytest.raises(Incorrect, match="a second call"):
        check_forgets(Case(), keeps, {"x": X, "mask": mask})


@pytest.mark.parametrize("second", [np.ones((2, 2)), np.ones(()), np.ones((3, 2, 1)), "text", [], [X, X], None])
def test_a_worker_that_answers_with_something_else_is_no_fault_of_the_grader(second):
    class Changing:
        def __init__(self):
            self.answers = itertools.chain([X], itertools.repeat(second))

        def __call__(self, x):
            return next(self.answers)

        def gradients(self, outputs, x):
            return SimpleNamespace(inputs=[second], parameters={})

    for check in (check_forgets, check_gradients):
        with pytest.raises(Incorrect):
            check(Case(), Changing(), {"x": X})


# Masks


INFINITE = [
    "float('-inf')",
    "-float('inf')",
    "-math.inf",
    "-torch.inf",
    "-np.inf",
    "float('-Infinity')",
    "-1e999",
    "-inf",
]


@pytest.mark.parametrize("text", INFINITE)
def test_infinity_is_replaced_however_it_is_written(text):
    code = without_infinity(Code({"mha": f"x = {text}\n"}, {}, ("mha",)))
    assert code is not None
    names: dict[str, float] = {}
    exec(code.sources["mha"], names)
    assert names["x"] == -LARGE


def test_what_is_finite_stays_as_it_is():
    assert without_infinity(Code({"mha": "x = -1e9, float('3'), y.inf, 'inf'\n"}, {}, ("mha",))) is None


UPSIDE_DOWN = {
    "transformer mha": ("mha", "[:, None, None, :] != 0", "[:, None, None, :] == 0", "mha.padding-mask-inverted"),
    "attention scoring": ("scoring", "positions >= valid", "positions < valid", "scoring.lengths-inverted"),
    "variants heads": ("heads", "masked_fill(mask,", "masked_fill(~mask,", "heads.mask-inverted"),
}


@pytest.mark.parametrize("stage", UPSIDE_DOWN)
@pytest.mark.parametrize("fill", ["-1e9", "float('-inf')"])
def test_a_mask_upside_down_is_named_whatever_it_fills_with(stage, fill):
    name, _, short = stage.partition(" ")
    module, old, new, mistake = UPSIDE_DOWN[stage]
    solution = subject(name).solution
    text = solution[module].replace(old, new).replace("torch.finfo(scores.dtype).min", fill)
    report = subject(name).graded({**solution, module: text}, assignment(name).stage(short), seed=None)
    named = [test for test in report.tests if test.mistake]
    assert {test.mistake for test in named} <= {mistake, "heads.all-mask-minus-infinity"}
    first = next(test for test in named if test.mistake == mistake)
    assert ("NaN" in first.message) == ("inf" in fill)
    assert ("fill with -inf" in first.hints[-1]) == ("inf" in fill)


@pytest.mark.parametrize("use", ["scores.masked_fill(MASK, lowest)", "torch.where(MASK, lowest, scores)"])
def test_a_mask_of_numbers_is_told(use):
    solution, stage = subject("transformer").solution, assignment("transformer").stage("mha")
    old = "scores.masked_fill(key_padding_mask[:, None, None, :] != 0, lowest)"
    text = solution["mha"].replace(old, use.replace("MASK", "key_padding_mask[:, None, None, :]"))
    report = subject("transformer").graded({**solution, "mha": text}, stage, seed=None)
    told = [test for test in report.tests if test.status == "error"]
    assert told
    for test in told:
        assert NO_BOOLEANS in test.details
        assert test.pointed == ()


# Softmaxes that hold for small scores only

ONE_MAXIMUM = "(lambda s: (s - s.max()).exp() / (s - s.max()).exp().sum(dim=-1, keepdim=True))("
SMALL_ONLY = {  # assignment, stage, what is replaced, by what
    "one maximum for all rows": ("transformer", "mha", "torch.softmax(scores, dim=-1)", ONE_MAXIMUM + "scores)"),
    "fill of -20": ("transformer", "mha", "torch.finfo(scores.dtype).min", "-20.0"),
    "fill of -100": ("transformer", "mha", "torch.finfo(scores.dtype).min", "-100.0"),
    "one maximum for all heads": ("variants", "heads", "torch.softmax(scores, dim=-1)", ONE_MAXIMUM + "scores)"),
    "fill of -30": ("variants", "heads", "torch.finfo(scores.dtype).min", "-30.0"),
    "fill of -200": ("attention", "scoring", "torch.finfo(scores.dtype).min", "-200.0"),
}
QUICK_SOFTMAX = ("one maximum for all rows", "fill of -100")


@pytest.mark.parametrize(
    "what", [pytest.param(what, marks=() if what in QUICK_SOFTMAX else pytest.mark.slow) for what in SMALL_ONLY]
)
def test_a_softmax_for_small_scores_only_is_warned_of_and_graded(what):
    name, short, old, new = SMALL_ONLY[what]
    audited, stage = subject(name), assignment(name).stage(short)
    text = audited.solution[short]
    assert old in text
    code = audited.code({**audited.solution, short: text.replace(old, new)}, stage)
    seen = [ran for ran in audited.run(code, stage) if ran.result.message]
    assert seen
    for seed in (1, 2):
        graded = {ran.result.name for ran in audited.run(code, stage, seed) if not ran.passed}
        assert {ran.result.name for ran in seen} <= graded
