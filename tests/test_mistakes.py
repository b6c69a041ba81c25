"""The bank of known mistakes: each is one change of what a stage writes, and the tests of that stage see it."""

import ast
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.authoring.release import find_leaks, secret_lines, strip_module
from autograder.diagnosis.mistake_signatures import Signature, known_signatures, name_mistakes, same, signature
from autograder.diagnosis.mistakes import Mistake, all_mistakes
from autograder.grading.grade_submission import grade
from autograder.grading.results import TestResult
from autograder.grading.run_test import run_test, stage_tests
from autograder.manifest import assignment
from autograder.sandbox.faults import is_dtype_conflict
from autograder.sandbox.proxy import Student
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.stage_with_standins import code_of_stage

ASSIGNMENT = assignment("transformer")
SOLUTION = Path(__file__).resolve().parent.parent / "solutions" / "transformer"
SOURCES = read_submission(SOLUTION, ASSIGNMENT).sources
MISTAKES = all_mistakes("transformer")
# One of each kind: by its stage and the module that it is made in.
SAMPLE = list({(mistake.stage, mistake.module): mistake for mistake in reversed(MISTAKES)}.values())


def each(mistakes: Iterable[Mistake], slow_unless: Container[Mistake] = MISTAKES) -> pytest.MarkDecorator:
    params = [
        pytest.param(mistake, id=mistake.id, marks=() if mistake in slow_unless else pytest.mark.slow)
        for mistake in mistakes
    ]
    return pytest.mark.parametrize("mistake", params)


# The texts


def test_ids_are_unique_and_every_stage_has_mistakes():
    ids = [mistake.id for mistake in MISTAKES]
    assert len(set(ids)) == len(ids)
    assert list(dict.fromkeys(mistake.stage for mistake in MISTAKES)) == [stage.name for stage in ASSIGNMENT.stages]
    assert all(re.fullmatch(r"[a-z]+\.\w+(-\w+)*", name) for name in ids)


def methods(module: str, source: str) -> dict[str, str]:
    """The code of each method, without comments, by its name in the manifest."""
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    return {
        f"{module}.{node.name}.{method.name}": ast.dump(method)
        for node in classes
        for method in node.body
        if isinstance(method, ast.FunctionDef)
    }


@each(MISTAKES)
def test_a_mistake_changes_only_what_students_write_in_its_stage(mistake: Mistake):
    stage, module = ASSIGNMENT.stage(mistake.stage), mistake.module
    mistaken = mistake.apply(SOURCES)
    assert {name for name in SOURCES if mistaken[name] != SOURCES[name]} == {module}
    before, after = methods(module, SOURCES[module]), methods(module, mistaken[module])
    assert before.keys() == after.keys()
    changed = {name for name in before if before[name] != after[name]}
    assert changed
    assert changed <= set(stage.writes)
    # Nor does it touch the given lines of a method: the stub is the same.
    assert strip_module(mistaken[module], module, ASSIGNMENT) == strip_module(SOURCES[module], module, ASSIGNMENT)


@pytest.mark.parametrize(("old", "number"), [("no such text", 0), ("return", SOURCES["mha"].count("return"))])
def test_a_text_that_does_not_stand_exactly_once_is_refused(old, number):
    with pytest.raises(LookupError, match=f"stands {number} times in mha.py"):
        replace(MISTAKES[0], module="mha", old=old).apply(SOURCES)


CODE = re.compile(r"\b(torch|self|math)\.\w|\.\w+\(|\w\[|[!=]=|\w=\w|masked_fill|unsqueeze")


@each(MISTAKES)
def test_hints_are_sentences_without_code(mistake: Mistake):
    secrets = secret_lines(SOLUTION, ASSIGNMENT)
    for hint in (mistake.looks_like, mistake.read_again):
        assert re.fullmatch(r"[A-Z].*\w.*[.]", hint)
        assert "  " not in hint
        assert len(hint) <= 320
        assert not CODE.search(hint)
        assert not find_leaks({"hint": hint}, secrets)


# What the tests see


@pytest.fixture(scope="module")
def workers():
    workers = make_workers()
    yield workers
    workers.close()


def run(
    workers, mistake: Mistake, hidden: bool = False, seed: int = 0
) -> Iterator[tuple[TestResult, Signature | None]]:
    """Run the tests of the mistake's stage, one after the other: their results, and what shows in them."""
    stage = ASSIGNMENT.stage(mistake.stage)
    codes = [
        code_of_stage(Submission(mistake.id, sources), stage, ASSIGNMENT, {})
        for sources in (mistake.apply(SOURCES), SOURCES)
    ]
    student, reference = (Student(workers, code) for code in codes)
    try:
        for name, case in stage_tests(stage, hidden).items():
            case.student, case.reference, case.seed = student, reference, seed
            result, error = run_test(name, case, stage)
            assert result.status != "fault", result
            assert not is_dtype_conflict(error)
            yield result, signature(error, case.checks)
    finally:
        student.close()
        reference.close()


@pytest.fixture(scope="module")
def seen(workers):
    """What the visible tests show of a mistake; they are run once for each."""
    kept: dict[str, list[tuple[TestResult, Signature | None]]] = {}

    def look(mistake: Mistake) -> list[tuple[TestResult, Signature | None]]:
        if mistake.id not in kept:
            kept[mistake.id] = list(run(workers, mistake))
        return kept[mistake.id]

    return look


@each(MISTAKES)
def test_a_mistake_loses_points_unless_it_is_for_the_hidden_tests(seen, mistake: Mistake):
    lost = any(result.points < result.max_points for result, _ in seen(mistake))
    assert lost == (mistake.seen_by == "visible")


@each([mistake for mistake in MISTAKES if mistake.seen_by == "hidden"])
def test_hidden_tests_see_what_the_visible_tests_do_not(workers, mistake: Mistake):
    assert any(result.status != "passed" for result, _ in run(workers, mistake, hidden=True, seed=1))


@pytest.mark.parametrize("stage", [stage.name for stage in ASSIGNMENT.stages])
def test_mistakes_look_different_unless_they_say_so(seen, stage):
    """What two mistakes show is the same in all visible tests if and only if the later one names the earlier one."""
    visible = [mistake for mistake in MISTAKES if mistake.stage == stage and mistake.seen_by == "visible"]
    for number, mistake in enumerate(visible):
        alike = tuple(other.id for other in visible[:number] if look_alike(seen(other), seen(mistake)))
        assert mistake.same_as == alike, mistake.id
    assert not any(mistake.same_as for mistake in MISTAKES if mistake.seen_by == "hidden")


def look_alike(some, others) -> bool:
    for (a, shown_a), (b, shown_b) in zip(some, others, strict=True):
        # An exception is told apart by its message too.
        if a.status != b.status or (a.status == "error" and a.message != b.message):
            return False
        if shown_a != shown_b and not (shown_a and shown_b and same(shown_a, shown_b, "float64")):
            return False
    return True


def test_mistakes_are_named(seen):
    """By their own name, or by that of an earlier mistake that looks the same in all visible tests."""
    visible = [mistake for mistake in MISTAKES if mistake.seen_by == "visible"]
    known = {name: known_signatures(ASSIGNMENT.name, name) for stage in ASSIGNMENT.stages for name in stage.points}
    unnamed = []
    for mistake in visible:
        results = seen(mistake)
        failed = {result.name: shown for result, shown in results if result.status != "passed" and shown}
        passed = [result.name for result, _ in results if result.status == "passed"]
        names = set(name_mistakes(failed, passed, known, "float64").values())
        if not names or not names <= {mistake.id, *mistake.same_as}:
            unnamed.append((mistake.id, names))
    assert len(unnamed) <= 0.02 * len(visible), unnamed


WRONG = {
    "a factor": ("mha", "torch.softmax(scores, dim=-1) @ value", "torch.softmax(scores, dim=-1) @ value * 1.37"),
    "a power": ("mha", "math.sqrt(self.d_k)", "self.d_k ** 0.61"),
    "sine of sine": ("pe", "torch.sin(angle)", "torch.sin(torch.sin(angle))"),
    "a rolled table": ("pe", "return x + self.pe[:, :T]", "return x + self.pe[:, :T].roll(3, dims=-1)"),
    "a clamp": ("encoder", "self.activation_fn(self.fc1(x))", "self.fc1(x).clamp(-0.3, 0.8)"),
    "half the attention": ("encoder", "self.dropout(attended)", "0.5 * attended"),
    "a tanh": ("decoder", "x + self.dropout(self.fc2(hidden))", "x + self.fc2(hidden).tanh()"),
    "another token": ("transformer", "[tgt, next_token]", "[tgt, (next_token * 7) % 400 + 4]"),
}


@pytest.mark.parametrize("what", WRONG)
def test_other_wrong_code_is_not_named(workers, what):
    module, old, new = WRONG[what]
    wrong = SOURCES[module].replace(old, new)
    assert wrong != SOURCES[module]
    report = grade(Submission(what, {**SOURCES, module: wrong}), ASSIGNMENT, workers)
    assert not report.complete or report.points < report.max_points
    assert {test.mistake for test in report.tests} == {""}


@each([mistake for mistake in MISTAKES if mistake.stage in ("mha", "pe")])
def test_other_stages_do_not_even_load_a_mistake_in_attention_or_encoding(mistake: Mistake):
    """Not as long as they need nothing of the module that its stand-in lacks."""
    for stage in ASSIGNMENT.stages:
        if stage.name != mistake.stage:
            mistaken = code_of_stage(Submission("", mistake.apply(SOURCES)), stage, ASSIGNMENT, {})
            right = code_of_stage(Submission("", SOURCES), stage, ASSIGNMENT, {})
            assert replace(mistaken, lent={}) == replace(right, lent={})


@each(MISTAKES, slow_unless=SAMPLE)
def test_a_mistake_costs_nothing_in_other_stages(workers, mistake: Mistake):
    others = [stage for stage in ASSIGNMENT.stages if stage.name != mistake.stage]
    report = grade(Submission(mistake.id, mistake.apply(SOURCES)), ASSIGNMENT, workers, others)
    assert all(test.status == "passed" for test in report.tests)
