"""The lab that all kinds of questions share: a program, its calls, and the effects of changes to it."""

import ast
import contextlib
import itertools
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from autograder.grading.graded_case import StageTestCase
from autograder.grading.run_test import passes
from autograder.questions.calls import Fill, arguments, calls_in, filled, of_mode, words
from autograder.questions.outcomes import Call, Outcome, facts, numbers_of, read_lines, same
from autograder.questions.program import Change, Own, Program
from autograder.questions.question import Question, pick
from autograder.sandbox.call_replay import CallReplay
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.remote_values import body_of
from autograder.sandbox.student_faults import Raised, StudentFault

Tests = Mapping[str, StageTestCase]
SECONDS = 3.0  # for a request
SEED = 7  # in train mode
GENTLE = 0.7  # spread of random inputs: with larger ones, attention weights vanish
LONGEST_OPTION, LONGEST_TEXT, MOST_CHANGES = 160, 1500, 40  # characters; changes to a program, tried in a call
DIFFICULTY = {"times": 1, "shape": 1, "exception": 3, "heatmap": 3}  # 2 for all other kinds


class Lab:
    """Runs one program's calls in the student's worker, with and without changes, to create questions.

    Args:
        recipes: the calls of the visible tests of the stage.
        tests: the visible tests that the program passes.
    """

    def __init__(
        self, student: Student, program: Program, recipes: Sequence[CallReplay], tests: Tests, seed: str
    ) -> None:
        self.student, self.program, self.tests = student, program, tests
        self.recipes = calls_in(recipes, program)
        self.rng = random.Random(seed)
        self._mutants: dict[Call, dict[Change, tuple[str, ...]]] = {}

    def run(self, call: CallReplay, change: Change | None = None, watch: bool = False, train: bool = False) -> Outcome:
        """Run a call, with a change to the program if there is one."""
        try:
            with self.asking(change) as ask:
                if watch:
                    ask({"do": "watch", "files": [f"{module}.py" for module in self.program.sources]})
                objects = call.prepare(lambda request, own: getattr(ask(request, body_of(own)), "_handle", None))
                request, tensors = call.last(objects)
                if train:
                    for handle in objects.values():
                        ask(of_mode(request, handle, "train"))
                    ask({"do": "seed", "seed": SEED})
                try:
                    value = ask(request, body_of(tensors))
                finally:
                    record = ask({"do": "watched"}) if watch and self.student._worker is not None else None
                return Outcome(tuple(numbers_of(value)), "", *read_lines(record))
        except Raised as fault:
            where = [(one.file, one.line) for one in fault.where if one.line]
            return Outcome(error=fault.message.partition(":")[0], raised=where[-1] if where else None)
        except (StudentFault, LookupError, TypeError):
            return Outcome(error="no numbers")

    @contextlib.contextmanager
    def asking(self, change: Change | None) -> Iterator[Callable[..., Any]]:
        """Send requests to a worker that runs the program, with a change if one is given."""
        own = change.own if change else None
        where = {"module": own.module if own else next(iter(self.program.sources)), "path": own.path if own else ""}
        with self.student.aside(SECONDS) as ask:
            self.student.start()
            ask({"do": "change", **where, "text": change.unit if change else ""})
            yield ask

    def with_values(self, call: CallReplay, inputs: Fill | None = None, weights: Fill | None = None) -> Call | None:
        """A call with new numbers, and a twin; None if it returns no numbers, or different numbers each time."""
        dice = np.random.default_rng(self.rng.randrange(2**32))
        inputs = inputs or (lambda name, old: dice.normal(0, GENTLE, old.shape))
        # The numbers of the test in random order:
        weights = weights or (lambda name, old: dice.permuted(old.ravel()).reshape(old.shape))
        first, twin = (filled(call, inputs, weights) for _ in range(2))
        base, twin_base = self.run(first, watch=True), self.run(twin, watch=True)
        fits = base.values and twin_base.values and same(self.run(first), base)
        return Call(first, twin, base, twin_base, self.run(first, train=True)) if fits else None

    @cached_property
    def calls(self) -> list[Call]:
        """The calls that run a line that the student wrote."""
        found = map(self.with_values, self.recipes)
        return [one for one in found if one and self.ran(one)]

    def ran(self, call: Call) -> list[Own]:
        """The student's statements that run in a call, in source order."""
        return [one for one in self.program.own if call.base.counts.get(one.place)]

    @cached_property
    def some_calls(self) -> list[Call]:
        """A few calls for all kinds of questions; calls that run more of the student's lines tend to come first."""
        return sorted(self.calls, key=lambda one: -len(self.ran(one)) * self.rng.uniform(0.3, 1))[:3]

    @property
    def settled_calls(self) -> Iterator[Call]:
        """The calls of `some_calls` in which the random numbers do not decide when a loop ends."""
        for call in self.some_calls:
            loops = [one.node for one in self.ran(call) if isinstance(one.node, (ast.For, ast.While))]
            if not any(isinstance(node, (ast.While, ast.Break, ast.Return)) for one in loops for node in ast.walk(one)):
                yield call

    def arguments(self, call: Call) -> list[tuple[str, Any]]:
        """The arguments of a call with their names."""
        return arguments(call.replay.requests[-1], call.replay.requests, self.program)

    def words(self, call: Call, whole: bool = False) -> str:
        """Describe a call in words that can begin a sentence."""
        text = words(call.replay.requests, self.program, whole)
        text += "; `result` is the first value that it returns" if len(call.base.values) > 1 else ""
        return text[:1].upper() + text[1:]

    def changes_of(self, own: Own) -> list[Change]:
        """Changes to a statement in random order; changes that only replace a name come last."""
        found = [*self.program.changes(own)]
        return sorted(self.rng.sample(found, len(found)), key=lambda one: one.renames)

    def changes(self, call: Call) -> Iterator[Change]:
        """Changes to the statements that a call runs: one per line, then a second one per line, and so on."""
        turns = itertools.zip_longest(*map(self.changes_of, self.ran(call)))
        return (one for turn in turns for one in turn if one)

    def mutants(self, call: Call) -> dict[Change, tuple[str, ...]]:
        """Map each change to the facts that hold after it, if they are the same for two sets of inputs."""
        if call not in self._mutants:
            found = self._mutants[call] = {}
            for change in itertools.islice(self.changes(call), MOST_CHANGES):
                if said := self.said(call, change):
                    found[change] = said
        return self._mutants[call]

    def said(self, call: Call, change: Change) -> tuple[str, ...]:
        """The facts that hold for a call after a change, if they are the same for two sets of inputs."""
        said = facts(call.base, self.run(call.replay, change))
        return said if said and said == facts(call.twin_base, self.run(call.twin, change)) else ()

    def verdict(self, change: Change) -> str:
        """The effect of a change on the tests, and on the calls that run its line, in eval and train mode.

        Returns:
            "same", "different", "raises", or "" if the effect is not clear.
        """
        calls = [one for one in self.calls if one.base.counts.get(change.own.place)]
        for call in calls:
            for base, replay in ((call.base, call.replay), (call.twin_base, call.twin), (call.trained, call.replay)):
                after = self.run(replay, change, train=base is call.trained)
                if not (equal := same(base, after)):
                    return "" if equal is None else "raises" if after.error else "different"
        return "" if not calls else "different" if any(self.failing_tests(change)) else "same"

    def failing_tests(self, change: Change) -> Iterator[str]:
        """The visible tests that fail with a change; a test also fails if the worker does."""
        for name, case in self.tests.items():
            try:
                with self.asking(change):
                    self.student.kept.clear()
                passed = passes(case, self.student)
                with self.asking(None):
                    pass
            except StudentFault:
                passed = False
            if not passed:
                yield name

    def ask(
        self, kind: str, call: str, text: str, right: str, pool: Sequence[str], because: str, about: Sequence[Own]
    ) -> Iterator[Question]:
        """A question with options in random order; no question if the options are too few or too long.

        Args:
            call: in words, or "".
            pool: wrong options.
            about: the statements that the question is about.
        """
        wrong, text = pick(self.rng, right, pool), f"{call}. {text}" if call else text
        options = sorted([right, *wrong])
        self.rng.shuffle(options)
        meant = {re.sub(r"[\s()]", "", one).replace("True", "1").replace("False", "0").lower() for one in options}
        short = max(map(len, options)) <= LONGEST_OPTION and len(text) <= LONGEST_TEXT
        if len(wrong) > 1 and len(meant) == len(options) and short:
            lines = tuple(dict.fromkeys(one.place for one in about))
            at = options.index(right)
            yield Question(kind, DIFFICULTY.get(kind, 2), text, tuple(options), at, because, lines, call=call)
