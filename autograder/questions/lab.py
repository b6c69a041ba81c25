"""What the kinds of questions share: a program, its calls, and the table of its changes with what each of them does."""

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
from autograder.questions.program import Change, Own
from autograder.questions.question import Draft, Question, pick, shuffled
from autograder.questions.runs import Bench, same
from autograder.sandbox.call_replay import CallReplay
from autograder.sandbox.student_faults import StudentFault

MOST_CHANGES = 80  # of a program that are tried in a call
MOST_OF_LINE, MOST_RAISING = 24, 3  # of a line, and those of them that raise exceptions
StageCalls = tuple[Sequence[CallReplay], Sequence[CallReplay]]  # with small sizes, and with tiny ones


@dataclass(frozen=True, eq=False)
class Mutant:
    """A change, and what a call gives with it."""

    change: Change
    facts: tuple[str, ...]  # those that hold for both sets of inputs


class Lab:
    """Where questions about one program are made.

    Args:
        tests: the visible tests that the program passes.
    """

    def __init__(self, bench: Bench, sized: StageCalls, tests: Mapping[str, StageTestCase], seed: str) -> None:
        self.program, self.bench, self.sized, self.tests = bench.program, bench, sized, tests
        self.rng = random.Random(seed)
        self._mutants: dict[Call, list[Mutant]] = {}

    @cached_property
    def calls(self) -> list[Call]:
        """The calls with small sizes in which a line of the student's runs."""
        return self._with_values(self.sized[0])

    @cached_property
    def tiny(self) -> list[Call]:
        """The calls with sizes that are small enough to compute by hand."""
        return self._with_values(self.sized[1])

    def _with_values(self, sized: Sequence[CallReplay]) -> list[Call]:
        dice = random.Random(1)
        found = [with_values(one, self.bench, dice) for one in sized]
        return [one for one in found if one and self.ran(one)]

    def ran(self, call: Call) -> list[Own]:
        """The student's statements that run in a call, in the order of the text."""
        return [one for one in self.program.own if call.base.counts.get(one.place)]

    @cached_property
    def some_calls(self) -> list[Call]:
        """A few calls for all kinds, those in which more of the student's lines run rather first."""
        return sorted(self.calls, key=lambda one: -len(self.ran(one)) * self.rng.uniform(0.3, 1))[:3]

    def words(self, call: Call, whole: bool = False) -> str:
        """A call in words."""
        return words(call, self.program, whole)

    def changes(self, call: Call) -> Iterator[Change]:
        """Changes of the statements that run in a call, one of each line in turn."""
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
        """What the changes do to a call, where that is the same for two sets of inputs; few that raise exceptions."""
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

    def never_matters(self, change: Change, train: bool = False) -> bool | None:
        """Whether no call that runs its line gives anything else with a change; None if that is not clear."""
        answers: list[bool | None] = []
        for call in (one for one in self.calls if one.base.counts.get(change.own.place)):
            for replay, base in ((call.replay, call.base), (call.twin, call.twin_base)):
                answers.append(same(base, self.bench.run(replay, change)))
            if train:
                before = self.bench.run(call.replay, train=True)
                answers.append(same(before, self.bench.run(call.replay, change, train=True)))
            if False in answers:
                return False
        return None if None in answers or not answers else True

    def outcomes_of_tests(self, change: Change) -> dict[str, bool]:
        """Which of the visible tests pass with a change; nothing if the worker cannot say."""
        student, found = self.bench.student, dict[str, bool]()
        what = {"do": "change", "module": change.own.module, "path": change.own.path, "text": change.unit}
        try:
            for name, case in self.tests.items():
                self.bench.ask(what)
                student.kept.clear()
                found[name] = passes(case, student)
            self.bench.ask({**what, "path": "", "text": ""})
        except StudentFault:
            return {}
        return found

    def title(self, test: str) -> str:
        """What a test is called."""
        return f'"{self.tests[test].shortDescription() or test}"'

    def question(self, kind: str, difficulty: int, stage: str, draft: Draft) -> Question | None:
        """A draft with its options chosen, in a random order; None if there are too few."""
        wrong = pick(self.rng, draft.right, [*draft.pool], draft.key)
        if not wrong:
            return None
        options, right = shuffled(self.rng, draft.right, wrong)
        said = re.findall(r"(?i)\blines? (\d+)(?: and (\d+))?", " ".join([draft.text, *options]))
        mentioned = {number for pair in said for number in pair}
        about = [one for one in draft.lines if str(one.line) in mentioned]
        shown = {(one.module, one.path) for one in about}
        if draft.call:
            ran = {place for place, count in draft.call.base.counts.items() if count}
            shown |= self.program.functions_with(ran)
        return Question(
            kind,
            difficulty,
            stage,
            draft.text,
            options,
            right,
            draft.because,
            tuple(dict.fromkeys(one.place for one in about or draft.lines)),
            tuple(self.program.excerpt(shown)),
            draft.maps,
            tuple(draft.pool.get(one, "") for one in options),
        )
