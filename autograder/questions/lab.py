"""What the kinds of questions share: a program, its calls, and the table of its changes with what each of them does."""

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from autograder.grading.graded_case import StageTestCase
from autograder.grading.run_test import passes
from autograder.questions.calls import Call, with_values, words
from autograder.questions.facts import RAISES, facts
from autograder.questions.program import Change, Own, Program
from autograder.questions.question import Map, Question, shuffled
from autograder.questions.runs import Bench, Outcome, same
from autograder.sandbox.call_replay import CallReplay
from autograder.sandbox.student_faults import StudentFault

MOST_CHANGES = 80  # of a program that are tried in a call
MOST_OF_LINE, MOST_RAISING = 24, 3  # of a line, and those of them that raise exceptions


@dataclass(frozen=True, eq=False)
class Mutant:
    """A change, and what a call gives with it."""

    change: Change
    outcome: Outcome
    facts: tuple[str, ...]  # those that hold for both sets of inputs


class Lab:
    """Where questions about one program are made.

    Args:
        sized: the calls of the stage, with small sizes and with tiny ones.
        tests: the visible tests that the program passes.
    """

    def __init__(
        self,
        stage: str,
        program: Program,
        bench: Bench,
        sized: tuple[Sequence[CallReplay], Sequence[CallReplay]],
        tests: Mapping[str, StageTestCase],
        seed: str,
    ) -> None:
        self.stage, self.program, self.bench, self.sized = stage, program, bench, sized
        self.tests, self.rng = tests, random.Random(seed)
        self._mutants: dict[int, list[Mutant]] = {}

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
        return [one for one in self.program.own if call.base.counts.get((one.file, one.line))]

    def some_calls(self, most: int = 3) -> list[Call]:
        """A few calls, the same ones for all kinds, since what changes do to a call is found out once."""
        return self._ranked[:most]

    @cached_property
    def _ranked(self) -> list[Call]:
        """The calls in a random order, those in which more of the student's lines run rather first."""
        return sorted(self.calls, key=lambda one: -len(self.ran(one)) * self.rng.uniform(0.3, 1))

    def changes(self, call: Call) -> Iterator[Change]:
        """Changes of the statements that run in a call, one of each line in turn."""
        waiting = []
        for own in self.ran(call):
            found = list(itertools.islice(self.program.changes(own), MOST_OF_LINE))
            self.rng.shuffle(found)
            waiting.append(found)
        for turn in range(MOST_OF_LINE):
            for change in (one for found in waiting for one in found[turn : turn + 1]):
                if (change.module, change.line) not in self.bench.endless:
                    yield change

    def mutants(self, call: Call) -> list[Mutant]:
        """What the changes do to a call, where that is the same for two sets of inputs; few that raise exceptions."""
        if id(call) not in self._mutants:
            found: list[Mutant] = []
            raising: Counter[Own] = Counter()
            tried = 0
            for change in self.changes(call):
                if raising[change.own] < MOST_RAISING and tried < MOST_CHANGES:
                    tried += 1
                    if one := self.mutant(call, change):
                        found.append(one)
                        raising[change.own] += one.facts == (RAISES,)
            self._mutants[id(call)] = found
        return self._mutants[id(call)]

    def mutant(self, call: Call, change: Change) -> Mutant | None:
        """What a change does to a call; None if that depends on the inputs, or nothing can be said."""
        outcome = self.bench.run(call.replay, change)
        found = facts(call.base, outcome)
        if found and found == facts(call.twin_base, self.bench.run(call.twin, change)):
            return Mutant(change, outcome, found)
        return None

    def never_matters(self, change: Change, train: bool = False) -> bool | None:
        """Whether no call that runs its line gives anything else with a change; None if that is not clear."""
        answers: list[bool | None] = []
        for call in self.calls:
            if not call.base.counts.get((change.own.file, change.own.line)):
                continue
            for replay, base in ((call.replay, call.base), (call.twin, call.twin_base)):
                answers.append(same(base, self.bench.run(replay, change)))
            if train:
                answers.append(
                    same(self.bench.run(call.replay, train=True), self.bench.run(call.replay, change, train=True))
                )
            if False in answers:
                return False
        return None if None in answers or not answers else True

    def outcomes_of_tests(self, change: Change) -> dict[str, bool]:
        """Which of the visible tests pass with a change; nothing if the worker cannot say."""
        student = self.bench.student
        found: dict[str, bool] = {}
        try:
            student.start()
            for name, case in self.tests.items():
                self.bench.ask({"do": "change", "module": change.module, "path": change.path, "text": change.unit})
                student.kept.clear()
                found[name] = passes(case, student)
            self.bench.ask({"do": "change", "module": change.module, "path": "", "text": ""})
        except StudentFault:
            return {}
        return found

    def title(self, test: str) -> str:
        """What a test is called."""
        return self.tests[test].shortDescription() or test

    def words(self, call: Call, whole: bool = False) -> str:
        """A call in words."""
        return words(call, self.program, whole)

    def question(
        self,
        kind: str,
        difficulty: int,
        text: str,
        right: str,
        wrong: Mapping[str, str],
        because: str,
        lines: Sequence[Own],
        call: Call | None = None,
        maps: tuple[tuple[str, Map], ...] = (),
    ) -> Question:
        """A question, its options in a random order.

        Args:
            wrong: the wrong options, each with what a run shows about it.
            call: whose functions are shown; without one, those of the lines.
        """
        options, at = shuffled(self.rng, right, list(wrong))
        shown = {(one.module, one.path) for one in lines}
        if call:
            shown |= self.program.functions_with({place for place, count in call.base.counts.items() if count})
        code = tuple(self.program.excerpt(shown))
        places = tuple(dict.fromkeys((one.file, one.line) for one in lines))
        notes = tuple(wrong.get(one, "") for one in options)
        return Question(kind, difficulty, self.stage, text, options, at, because, places, code, maps, notes)


def shown(change: Change) -> str:
    """A change as an option."""
    if change.old:
        return f"line {change.line}: `{change.old}` becomes `{change.new}`"
    return f"line {change.line}: `{change.new}`" if change.new else f"line {change.line} is deleted"


def told(change: Change) -> str:
    """A change as a sentence."""
    if change.old:
        return f"In line {change.line} `{change.old}` becomes `{change.new}`."
    return f"Line {change.line} becomes `{change.new}`." if change.new else f"Line {change.line} is deleted."


def with_inputs(call: Call, replay: CallReplay, change: Callable[[dict], dict]) -> CallReplay:  # type: ignore[type-arg]
    """A call with other tensors in its last request."""
    *before, (request, tensors) = replay.requests
    return replace(replay, requests=(*before, (request, change(dict(tensors)))))
