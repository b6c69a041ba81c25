"""Shared by all kinds of questions: a program, its calls, and the effect of each change to it."""

import itertools
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from autograder.grading.graded_case import StageTestCase
from autograder.grading.run_test import passes
from autograder.questions.calls import Call, with_values, words
from autograder.questions.facts import RAISES, facts
from autograder.questions.program import Change, Own, Place
from autograder.questions.question import Draft, Question, pick
from autograder.questions.runs import SECONDS, Bench, Outcome, changed, same
from autograder.sandbox.call_replay import CallReplay
from autograder.sandbox.student_faults import StudentFault

LONGEST_OPTION, LONGEST_TEXT = 160, 1500
MOST_CHANGES = 40  # of a program, tried in a call
MOST_OF_LINE, MOST_RAISING = 24, 3  # of a line, and those of them that raise exceptions
StageCalls = tuple[Sequence[CallReplay], Sequence[CallReplay]]  # with small sizes, and with tiny ones


@dataclass(frozen=True, eq=False)
class Mutant:
    """A change, and its effect on a call."""

    change: Change
    facts: tuple[str, ...]  # the facts that hold for both sets of inputs


class Lab:
    """Runs the calls and changes that questions about one program need.

    Args:
        tests: the visible tests that the program passes.
    """

    def __init__(self, bench: Bench, sized: StageCalls, tests: Mapping[str, StageTestCase], seed: str) -> None:
        self.program, self.bench, self.sized, self.tests = bench.program, bench, sized, tests
        self.rng = random.Random(seed)
        self._mutants: dict[Call, list[Mutant]] = {}
        self._trained: dict[Call, Outcome] = {}

    @cached_property
    def calls(self) -> list[Call]:
        """The calls with small sizes that run a line that the student wrote."""
        return self._with_values(self.sized[0])

    @cached_property
    def tiny(self) -> list[Call]:
        """The calls with sizes small enough to compute by hand."""
        return self._with_values(self.sized[1])

    def _with_values(self, sized: Sequence[CallReplay]) -> list[Call]:
        dice = random.Random(1)
        found = [with_values(one, self.bench, dice) for one in sized]
        return [one for one in found if one and self.ran(one)]

    def ran(self, call: Call) -> list[Own]:
        """The student's statements that run in a call, in source order."""
        return [one for one in self.program.own if call.base.counts.get(one.place)]

    @cached_property
    def some_calls(self) -> list[Call]:
        """A few calls for all kinds; those that run more of the student's lines tend to come first."""
        return sorted(self.calls, key=lambda one: -len(self.ran(one)) * self.rng.uniform(0.3, 1))[:3]

    def words(self, call: Call, whole: bool = False) -> str:
        text = words(call, self.program, whole)
        return text[:1].upper() + text[1:]

    def changes(self, call: Call) -> Iterator[Change]:
        """Changes to the statements that a call runs: one for each line, then a second for each, and so on."""
        waiting = []
        for own in self.ran(call):
            found = list(itertools.islice(self.program.changes(own), MOST_OF_LINE))
            self.rng.shuffle(found)
            waiting.append(found)
        for turn in range(MOST_OF_LINE):
            for change in (one for found in waiting for one in found[turn : turn + 1]):
                if change.own.place not in self.bench.endless:
                    yield change

    def mutants(self, call: Call) -> list[Mutant]:
        """Changes that affect a call in the same way for two sets of inputs, only a few per line raising exceptions."""
        if call not in self._mutants:
            found = self._mutants[call] = []
            raising: Counter[Own] = Counter()
            tried = 0
            for change in self.changes(call):
                if raising[change.own] < MOST_RAISING and tried < MOST_CHANGES:
                    tried += 1
                    said = facts(call.base, self.bench.run(call.replay, change))
                    if said and said == facts(call.twin_base, self.bench.run(call.twin, change)):
                        found.append(Mutant(change, said))
                        raising[change.own] += said == (RAISES,)
        return self._mutants[call]

    def verdict(self, change: Change) -> str:
        """The effect of a change in the tests, and in the calls that run its line, in eval and train mode.

        Returns:
            "same", "different", "raises", or "" if that is not clear.
        """
        clear = False
        for call in (one for one in self.calls if one.base.counts.get(change.own.place)):
            for base, replay in ((call.base, call.replay), (call.twin_base, call.twin), (None, call.replay)):
                after = self.bench.run(replay, change, train=base is None)
                equal = same(base or self._in_train_mode(call), after)
                if not equal:
                    return "" if equal is None else "raises" if after.error else "different"
                clear = True
        return "" if not clear else "same" if all(self.outcomes_of_tests(change, False).values()) else "different"

    def _in_train_mode(self, call: Call) -> Outcome:
        if call not in self._trained:
            self._trained[call] = self.bench.run(call.replay, train=True)
        return self._trained[call]

    def outcomes_of_tests(self, change: Change, whole: bool = True) -> dict[str, bool]:
        """Whether each visible test passes with a change; none passes if the worker fails.

        Args:
            whole: whether to continue after the first failure.
        """
        student, found = self.bench.student, dict[str, bool]()
        try:
            for name, case in [*self.tests.items(), ("", None)]:
                with student.aside(SECONDS) as ask:
                    student.start()
                    ask({"do": "change", **changed(self.program, change if case else None)})
                if case:
                    student.kept.clear()
                    found[name] = passes(case, student)
                if not whole and False in found.values():
                    break
        except StudentFault:
            return dict.fromkeys(self.tests, False)
        return found

    def title(self, test: str) -> str:
        """The title of a test, in quotes."""
        return f'"{self.tests[test].shortDescription() or test}"'

    def question(self, kind: str, difficulty: int, stage: str, draft: Draft) -> Question | None:
        """A draft with chosen options in random order; None if too few of them can be distinguished."""
        wrong = pick(self.rng, draft.right, [*draft.pool])
        options = sorted([draft.right, *wrong])
        self.rng.shuffle(options)
        different = len({re.sub(r"[\s()]", "", one).lower() for one in options}) == len(options)
        if len(wrong) < 2 or not different or max(map(len, options)) > LONGEST_OPTION or len(draft.text) > LONGEST_TEXT:
            return None
        lines = tuple(dict.fromkeys(one.place for one in draft.lines))
        notes = tuple(draft.pool.get(one, "") for one in options)
        right, because = options.index(draft.right), draft.because
        return Question(kind, difficulty, stage, draft.text, tuple(options), right, because, lines, draft.maps, notes)

    @cached_property
    def places(self) -> set[Place]:
        """The lines that run in the calls, and all lines that the student wrote."""
        ran = {place for call in self.calls for place, count in call.base.counts.items() if count}
        return ran | {one.place for one in self.program.own}
