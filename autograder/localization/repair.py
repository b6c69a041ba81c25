"""Prove a suspicion by repeating the failed call with small edits, the nearest lines first.

An edit counts if the call then returns what it should and the test gets further. The budget is counted in operations,
since a limit of time would give other verdicts on slower machines.
"""

import ast
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from autograder.localization.case import Case
from autograder.localization.edits.attributes import unused_attributes
from autograder.localization.edits.candidates import SmallChange, small_changes
from autograder.localization.edits.harmless import harmless
from autograder.localization.edits.unused_names import unused_arguments, unused_names
from autograder.localization.reference import LIMIT
from autograder.localization.suspects import Suspect, never_called
from autograder.localization.trace import Line
from autograder.localization.trials import Came, Trials
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.student_faults import Crashed, StudentFault, TimedOut
from autograder.submissions.syntax_tree import functions, kept, statements, tree_of

BUDGET = 18_500  # operations of all repeated calls of a stage, of about 9 microseconds
AFTER_FIRST = 6_000  # to look for other places, once one is found
EACH, NEW_OBJECT, WHOLE_TEST, DEATH = 75, 170, 1_000, 4_500  # what an edit, a new object, a test, a lost worker cost
LARGE_CALL = 3_500  # operations of a call that is not repeated
MOST_EDITS = 6_000
SECONDS, CALL_SECONDS = 2.0, 0.5
# How far away a line counts that is no suspect, in steps of data flow; and how many edits of a line count as one step.
ELSEWHERE, RIGHT, CONSTRUCTOR, PER_STEP = 6, 4, 4, 6
NAME, MOVE, COMPLETION = 1, 2, 4  # what an edit of this kind costs more


@dataclass(frozen=True)
class Repair:
    """An edit with which a failed call returns what it should."""

    line: Line
    edit: SmallChange
    breaks: str = ""  # a test, or a part of one, that passes without the edit and fails with it


class RepairSearch:
    """The repeated calls of one stage, in a worker of their own."""

    def __init__(self, passing: Mapping[str, Callable[[Student], bool]]) -> None:
        self.passing = passing
        self.left, self.end = BUDGET, time.monotonic() + SECONDS
        self.student: Student | None = None
        self.lives = 0  # of the student, when the objects of the trials were made
        self.known: list[SmallChange] = []  # edits that fixed another call

    def repairs(self, case: Case, suspects: Sequence[Suspect], share: int) -> list[Repair]:
        """The repairs of a failed call, one for each line; none if it cannot be repeated.

        Args:
            share: how many calls of the stage share what is left of the budget.
        """
        if not self._repeatable(case):
            return []
        if self.student is None or self.student.code is not case.recipe.code:
            self.close()
            self.student = case.student.with_code(case.recipe.code)
        found: dict[Line, Repair] = {}
        least, suspected = self.left - self.left // share, {suspect.line for suspect in suspects}
        try:
            with self.student.aside(CALL_SECONDS) as ask:
                trials = Trials(case.recipe, ask)
                for edit in (*self.known, *ranked_edits(case, suspects)):
                    if self.left <= least + case.trace.ran or time.monotonic() > self.end:
                        break
                    line = statement_at(case, edit)
                    known = found.get(line)
                    if (known and not known.breaks) or not self._fixes(edit, trials, case):
                        continue
                    further, breaks = self._further(case)
                    if not further:
                        continue
                    least = max(least, self.left - AFTER_FIRST) if not found else least
                    breaks = breaks or self._breaks(edit, trials)
                    found[line] = known if known and breaks else Repair(line, edit, breaks)
                    if (line in suspected and not found[line].breaks) or len(found) > 3:
                        break
        except StudentFault:
            return []
        self.known += [one.edit for one in found.values() if one.edit not in self.known]
        return list(found.values())

    def _repeatable(self, case: Case) -> bool:
        if case.further is None:
            return False
        code = case.recipe.code
        known = len(case.reference.shapes) == len(case.reference.results)
        texts = all(harmless(code.sources[module], code.sources) for module in code.modules)
        return known and texts and (case.trace.ran <= LARGE_CALL or bool(self.known))

    def _fixes(self, edit: SmallChange, trials: Trials, case: Case) -> bool:
        """Whether the call returns what it should with an edit."""
        results = self._results(edit, trials)
        before, now = (sum(map(math.prod, shapes)) for shapes in (case.trace.shapes, [one.shape for one in results]))
        more = max(1, min(4, now // before)) if before else 1  # more comes back: more has run
        cost = case.trace.ran * more if results else case.trace.ran // (1 if case.raised else 4)
        self.left -= cost + EACH + NEW_OBJECT * trials.makes_anew(edit)
        known = case.reference
        first = len(known.shapes) - len(results) if trials.reads else 0  # only the attribute comes back
        if not results or tuple(one.shape for one in results) != known.shapes[first:]:
            return False
        wanted = known.rows[list(known.results[first:])]
        return all(np.abs(one.signature - row).max() <= LIMIT for one, row in zip(results, wanted, strict=True))

    def _further(self, case: Case) -> tuple[bool, str]:
        """Whether the test gets further with the edit that was made last, and which part it breaks."""
        assert self.student is not None
        assert case.further is not None
        self.left -= WHOLE_TEST if case.trace.ran else WHOLE_TEST // 4
        self.student.kept.clear()
        # One number, or chosen places, may be right by chance: then the whole test has to pass.
        single = case.whole_numbers or all(math.prod(shape) == 1 for shape in case.reference.shapes)
        return case.further(self.student, single)

    def _breaks(self, edit: SmallChange, trials: Trials) -> str:
        """The test that passes without an edit and fails with it, if there is one."""
        assert self.student is not None
        self._results(edit, trials)
        self.student.kept.clear()
        return next((name for name, passes in self.passing.items() if not passes(self.student)), "")

    def _results(self, edit: SmallChange, trials: Trials) -> tuple[Came, ...]:
        assert self.student is not None
        self.student.start()  # an edit may have ended the worker
        if self.student.lives != self.lives:
            trials.forget()
            self.lives = self.student.lives
        try:
            return trials.results(edit)
        except (TimedOut, Crashed):
            self.left -= DEATH
            return ()

    def close(self) -> None:
        """End the worker."""
        if self.student is not None:
            self.student.close()
            self.student = None


def ranked_edits(case: Case, suspects: Sequence[Suspect]) -> Iterator[SmallChange]:
    """The small edits of the functions that ran and of constructors: near the suspects first, a few for each line."""
    distances = distance_to(case, suspects)
    idle = tuple(dict.fromkeys(path.rpartition(".")[2] for path in never_called(case.alignment)))
    right = (
        {(line.file, line.number) for line, _ in case.alignment.lines_right(case.trace.size)}
        if not case.raised
        else set()
    )
    chosen = case.whole_numbers or (not case.raised and case.trace.shapes != case.reference.shapes)
    ranked: list[tuple[float, int, SmallChange]] = []
    for module in case.recipe.code.modules:
        text = case.recipe.code.sources[module]
        unused = unused_attributes(tree_of(text)) | set(idle)
        for path, node in functions(module, text).items():
            name = path.removeprefix(f"{module}.")
            ran = {one.lineno for one in statements(node.body) if case.ran(f"{module}.py", one)}
            if case.source.is_given(Line(f"{module}.py", node.lineno, node.end_lineno or node.lineno)):
                continue
            if not ran and not name.endswith("__init__"):
                continue
            likely = {*unused_names(node), *unused_arguments(node), *unused}
            for turn, edit in _edits(module, text, name, idle, not any(case.reference.shapes)):
                if ran and edit.line not in ran and not edit.moves and not name.endswith("__init__"):
                    continue
                place = f"{module}.py", edit.line
                cost = distances.get(place, ELSEWHERE + RIGHT * (place in right)) + turn / PER_STEP
                cost += CONSTRUCTOR * (name.endswith("__init__") and place not in distances)
                cost += NAME * edit.names + MOVE * (edit.moves and not edit.renews) + COMPLETION * edit.completes
                if edit.steers and chosen:  # the loop ends too early or too late, or is in the wrong order
                    cost = min(cost, 0)
                if edit.text in likely or edit.adds or edit.text.startswith(tuple(f"self.{one}(" for one in unused)):
                    cost = -1
                ranked.append((cost, len(ranked), edit))
    if len(ranked) <= MOST_EDITS:
        yield from (edit for _, _, edit in sorted(ranked, key=lambda one: one[:2]))


@kept(maxsize=16)
def _edits(module: str, text: str, path: str, idle: tuple[str, ...], numbers: bool) -> list[tuple[int, SmallChange]]:
    """The edits of a function, each with its number among those of its line; those of one place are far apart."""
    node = functions(module, text)[f"{module}.{path}"]
    edits = list(islice(small_changes(module, text, path, node, idle, numbers), MOST_EDITS))
    of_place, of_line = Counter[tuple[int, int]](), Counter[int]()
    turns = []
    for edit in edits:
        of_place[edit.start, edit.end] += 1
        turns.append((edit.names + 2 * edit.moves, of_place[edit.start, edit.end], edit))
    found = []
    for _, _, edit in sorted(turns, key=lambda one: one[:2]):
        found.append((of_line[edit.line], edit))
        of_line[edit.line] += 1
    return found


def distance_to(case: Case, suspects: Sequence[Suspect]) -> dict[tuple[str, int], int]:
    """How many steps of data flow a line is before the suspects, or before what raised an exception."""
    trace = case.trace
    found: dict[tuple[str, int], int] = {}
    starts = [suspect.line for suspect in suspects]
    nodes: list[int] = []
    for line in starts[:1] or ([trace.raised_at] if trace.raised_at else []):
        nodes += [node for node, at in enumerate(trace.lines) if at == line]
        nodes += [node for call in trace.calls if call.line == line for node in call.inputs]
        nodes += [node for call in trace.calls if call.returns == line for node in call.outputs]
    for number, line in enumerate([*starts, *([trace.raised_at] if trace.raised_at else [])]):
        found.setdefault((line.file, line.number), min(number, 1))
    for suspect in suspects:
        for line in suspect.sources:
            found.setdefault((line.file, line.number), 1)
    nodes += trace.raised or ()
    seen, far = set(nodes), 0
    while nodes and far < ELSEWHERE:
        far += 1
        lines = [one for node in nodes for one in (trace.lines[node], trace.callers[node])]
        for line in filter(None, lines):
            found.setdefault((line.file, line.number), far)
        nodes = [one for one in dict.fromkeys(s for node in nodes for s in trace.inputs[node]) if one not in seen]
        seen.update(nodes)
    return case.source.with_names(found, ELSEWHERE)


def statement_at(case: Case, edit: SmallChange) -> Line:
    """The statement that an edit changes."""
    tree = tree_of(case.recipe.code.sources[edit.module])
    ends = [one.end_lineno for one in ast.walk(tree) if isinstance(one, ast.stmt) and one.lineno == edit.line]
    return Line(f"{edit.module}.py", edit.line, min(end for end in ends if end))
