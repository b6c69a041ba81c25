"""Shared by all kinds of questions: a program, its calls, and the effect of each change to it."""

import itertools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from autograder.grading.graded_case import StageTestCase
from autograder.grading.run_test import passes
from autograder.questions.calls import Call, calls_in, with_values, words
from autograder.questions.facts import facts
from autograder.questions.program import Change, Own
from autograder.questions.question import Draft, Question, pick
from autograder.questions.runs import Bench, same
from autograder.sandbox.call_replay import CallReplay
from autograder.sandbox.student_faults import StudentFault

LONGEST_OPTION, LONGEST_TEXT = 160, 1500
MOST_CHANGES = 40  # of a program, tried in a call


class Lab:
    """Runs the calls and changes that questions about one program need.

    Args:
        recipes: the calls of the visible tests.
        tests: those of the visible tests that the program passes.
    """

    def __init__(
        self, bench: Bench, recipes: Sequence[CallReplay], tests: Mapping[str, StageTestCase], seed: str
    ) -> None:
        self.program, self.bench, self.tests = bench.program, bench, tests
        self.recipes = calls_in(recipes, bench.program)
        self.rng = random.Random(seed)
        self._mutants: dict[Call, dict[Change, tuple[str, ...]]] = {}

    @cached_property
    def calls(self) -> list[Call]:
        """The calls that run a line that the student wrote."""
        dice = random.Random(1)
        found = [with_values(one, self.bench, dice) for one in self.recipes]
        return [one for one in found if one and self.ran(one)]

    def ran(self, call: Call) -> list[Own]:
        """The student's statements that run in a call, in source order."""
        return [one for one in self.program.own if call.base.counts.get(one.place)]

    @cached_property
    def some_calls(self) -> list[Call]:
        """A few calls for all kinds; those that run more of the student's lines tend to come first."""
        return sorted(self.calls, key=lambda one: -len(self.ran(one)) * self.rng.uniform(0.3, 1))[:3]

    def words(self, call: Call, whole: bool = False) -> str:
        """A call in words, at the start of a sentence."""
        text = words(call.replay.requests, self.program, whole)
        text += "; `result` is the first value that it returns" if len(call.base.values) > 1 else ""
        return text[:1].upper() + text[1:]

    def changes_of(self, own: Own) -> list[Change]:
        """Changes to a statement in random order, other names last; none if one of them has ended the worker."""
        found = [*self.program.changes(own)] if own.place not in self.bench.endless else []
        return sorted(self.rng.sample(found, len(found)), key=lambda one: one.renames)

    def changes(self, call: Call) -> Iterator[Change]:
        """Changes to the statements that a call runs: one for each line, then a second for each, and so on."""
        turns = itertools.zip_longest(*map(self.changes_of, self.ran(call)))
        return (one for turn in turns for one in turn if one and one.own.place not in self.bench.endless)

    def mutants(self, call: Call) -> dict[Change, tuple[str, ...]]:
        """Changes with the facts that hold after them, the same for two sets of inputs."""
        if call not in self._mutants:
            found = self._mutants[call] = {}
            for change in itertools.islice(self.changes(call), MOST_CHANGES):
                said = facts(call.base, self.bench.run(call.replay, change))
                if said and said == facts(call.twin_base, self.bench.run(call.twin, change)):
                    found[change] = said
        return self._mutants[call]

    def verdict(self, change: Change) -> str:
        """The effect of a change in the tests, and in the calls that run its line, in eval and train mode.

        Returns:
            "same", "different", "raises", or "" if that is not clear.
        """
        calls = [one for one in self.calls if one.base.counts.get(change.own.place)]
        for call in calls:
            for base, replay in ((call.base, call.replay), (call.twin_base, call.twin), (call.trained, call.replay)):
                after = self.bench.run(replay, change, train=base is call.trained)
                if not (equal := same(base, after)):
                    return "" if equal is None else "raises" if after.error else "different"
        return "" if not calls else "different" if any(self.failing_tests(change)) else "same"

    def failing_tests(self, change: Change) -> Iterator[str]:
        """The visible tests that fail with a change; all if the worker fails."""
        for name, case in self.tests.items():
            try:
                with self.bench.asking(change):
                    self.bench.student.kept.clear()
                passed = passes(case, self.bench.student)
                with self.bench.asking(None):
                    pass
            except StudentFault:
                passed = False
            if not passed:
                yield name

    def title(self, test: str) -> str:
        """The title of a test, in quotes."""
        return f'"{self.tests[test].shortDescription() or test}"'

    def question(self, kind: str, difficulty: int, stage: str, draft: Draft) -> Question | None:
        """A draft with chosen options in random order; None if too few of them can be distinguished."""
        wrong = pick(self.rng, draft.right, draft.pool)
        options = sorted([draft.right, *wrong])
        self.rng.shuffle(options)
        different = len({re.sub(r"[\s()]", "", one).lower() for one in options}) == len(options)
        if len(wrong) < 2 or not different or max(map(len, options)) > LONGEST_OPTION or len(draft.text) > LONGEST_TEXT:
            return None
        lines = tuple(dict.fromkeys(one.place for one in draft.lines))
        right, because = options.index(draft.right), draft.because
        return Question(kind, difficulty, stage, draft.text, tuple(options), right, because, lines, draft.maps)
