"""Prove a suspicion by repeating the failed call with small edits, starting with the nearest lines.

An edit counts if the call then returns the correct result and the test gets further. The budget is counted in
operations, since a time limit would change verdicts on slower machines.
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
from autograder.localization.trials import ResultSignature, Trials
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.student_faults import Crashed, StudentFault, TimedOut
from autograder.submissions.syntax_tree import functions, kept, statements, tree_of

BUDGET = 18_500  # operations in all repeated calls of a stage; each takes about 9 microseconds
AFTER_FIRST = 6_000  # operations for finding more lines after the first one
# The costs of an edit, a new object, a whole test, and a lost worker.
EACH, NEW_OBJECT, WHOLE_TEST, DEATH = 75, 170, 1_000, 4_500
LARGE_CALL = 3_500  # a call with more operations is not repeated
MOST_EDITS = 6_000
SECONDS, CALL_SECONDS = 2.0, 0.5
# The distances of lines that are not suspects, in steps of data flow; and the number of edits to a line that count as
# one step.
ELSEWHERE, RIGHT, CONSTRUCTOR, PER_STEP = 6, 4, 4, 6


@dataclass(frozen=True)
class Repair:
    """An edit after which a failed call returns the correct result."""

    line: Line
    edit: SmallChange
    breaks: str = ""  # a test, or a part of a test, that passes without the edit and fails with it


class RepairSearch:
    """The repeated calls of one stage, in their own worker."""

    def __init__(self, passing: Mapping[str, Callable[[Student], bool]]) -> None:
        self.passing = passing
        self.left, self.end = BUDGET, time.monotonic() + SECONDS
        self.student: Student | None = None
        self.lives = 0  # how often `student` had been started when the objects of the trials were created
        self.known: list[SmallChange] = []  # edits that fixed another call

    def repairs(self, case: Case, suspects: Sequence[Suspect], share: int) -> list[Repair]:
        """The repairs of a failed call, one for each line; none if the call cannot be repeated.

        Args:
            share: the number of calls of the stage that share the remaining budget.
        """
        if not self._repeatable(case):
            return []
        if self.student is None or self.student.code is not case.recipe.code:
            self.close()
            self.student = case.student.with_code(case.recipe.code)
        repairs: dict[Line, Repair] = {}
        least, suspected = self.left - self.left // share, {suspect.line for suspect in suspects}
        try:
            with self.student.aside(CALL_SECONDS) as ask:
                trials = Trials(case.recipe, ask)
                for edit in (*self.known, *ranked_edits(case, suspects)):
                    if self.left <= least + case.trace.ending.ran or time.monotonic() > self.end:
                        break
                    line = statement_at(case, edit)
                    known = repairs.get(line)
                    if (known and not known.breaks) or not self._fixes(edit, trials, case):
                        continue
                    further, breaks = self._further(case)
                    if not further:
                        continue
                    least = max(least, self.left - AFTER_FIRST) if not repairs else least
                    breaks = breaks or self._breaks(edit, trials)
                    repairs[line] = known if known and breaks else Repair(line, edit, breaks)
                    if (line in suspected and not repairs[line].breaks) or len(repairs) > 3:
                        break
        except StudentFault:
            return []
        self.known += [repair.edit for repair in repairs.values() if repair.edit not in self.known]
        return list(repairs.values())

    def _repeatable(self, case: Case) -> bool:
        if case.further is None:
            return False
        code = case.recipe.code
        known = len(case.reference.shapes) == len(case.reference.results)
        texts = all(harmless(code.sources[module], code.sources) for module in code.modules)
        return known and texts and (case.trace.ending.ran <= LARGE_CALL or bool(self.known))

    def _fixes(self, edit: SmallChange, trials: Trials, case: Case) -> bool:
        """Whether the call returns the correct result after an edit."""
        results = self._results(edit, trials)
        before, now = (
            sum(map(math.prod, shapes)) for shapes in (case.trace.ending.shapes, [result.shape for result in results])
        )
        more = max(1, min(4, now // before)) if before else 1  # a larger result means that more operations ran
        cost = case.trace.ending.ran * more if results else case.trace.ending.ran // (1 if case.raised else 4)
        self.left -= cost + EACH + NEW_OBJECT * trials.makes_anew(edit)
        known = case.reference
        first = len(known.shapes) - len(results) if trials.reads else 0  # only the attribute is returned
        if not results or tuple(result.shape for result in results) != known.shapes[first:]:
            return False
        wanted = known.rows[list(known.results[first:])]
        return all(np.abs(result.signature - row).max() <= LIMIT for result, row in zip(results, wanted, strict=True))

    def _further(self, case: Case) -> tuple[bool, str]:
        """Whether the test gets further with the last edit, and which part the edit breaks."""
        assert self.student is not None
        assert case.further is not None
        self.left -= WHOLE_TEST if case.trace.ending.ran else WHOLE_TEST // 4
        self.student.kept.clear()
        # A single number, or chosen positions, may be right by chance: then the whole test must pass.
        single = case.whole_numbers or all(math.prod(shape) == 1 for shape in case.reference.shapes)
        return case.further(self.student, single)

    def _breaks(self, edit: SmallChange, trials: Trials) -> str:
        """A test that passes without an edit and fails with it; "" if there is none."""
        assert self.student is not None
        self._results(edit, trials)
        self.student.kept.clear()
        return next((name for name, passes in self.passing.items() if not passes(self.student)), "")

    def _results(self, edit: SmallChange, trials: Trials) -> tuple[ResultSignature, ...]:
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
        """Stop the worker."""
        if self.student is not None:
            self.student.close()
            self.student = None


def ranked_edits(case: Case, suspects: Sequence[Suspect]) -> Iterator[SmallChange]:
    """Edits to constructors and to functions that ran, starting near the suspects; each round tries a few per line."""
    distances = distance_to(case, suspects)
    idle = tuple(dict.fromkeys(path.rpartition(".")[2] for path in never_called(case.alignment)))
    right = (
        {(line.file, line.number) for line, _ in case.alignment.lines_right(case.trace.size)}
        if not case.raised
        else set()
    )
    ranked: list[tuple[float, int, SmallChange]] = []
    for module in case.recipe.code.modules:
        text = case.recipe.code.sources[module]
        unused = unused_attributes(tree_of(text)) | set(idle)
        for path, node in functions(module, text).items():
            name = path.removeprefix(f"{module}.")
            ran = {statement.lineno for statement in statements(node.body) if case.ran(f"{module}.py", statement)}
            if case.source.is_given(Line(f"{module}.py", node.lineno, node.end_lineno or node.lineno)):
                continue
            if not ran and not name.endswith("__init__"):
                continue
            likely = {*unused_names(node), *unused_arguments(node), *unused}
            for turn, edit in _edits(module, text, name, idle):
                if ran and edit.line not in ran and not name.endswith("__init__"):
                    continue
                place = f"{module}.py", edit.line
                cost = distances.get(place, ELSEWHERE + RIGHT * (place in right)) + turn / PER_STEP
                cost += CONSTRUCTOR * (name.endswith("__init__") and place not in distances)
                cost += edit.kind == "name"
                calls = tuple(f"self.{attribute}(" for attribute in unused)
                if edit.text in likely or edit.text.startswith(calls):
                    cost = -1
                ranked.append((cost, len(ranked), edit))
    if len(ranked) <= MOST_EDITS:
        yield from (edit for _, _, edit in sorted(ranked, key=lambda entry: entry[:2]))


@kept(maxsize=16)
def _edits(module: str, text: str, path: str, idle: tuple[str, ...]) -> list[tuple[int, SmallChange]]:
    """The edits to a function, numbered separately for each line; edits to the same expression are spread out."""
    node = functions(module, text)[f"{module}.{path}"]
    edits = list(islice(small_changes(module, text, path, node, idle), MOST_EDITS))
    of_place, of_line = Counter[tuple[int, int]](), Counter[int]()
    turns = []
    for edit in edits:
        of_place[edit.start, edit.end] += 1
        turns.append((edit.kind == "name", of_place[edit.start, edit.end], edit))
    numbered = []
    for _, _, edit in sorted(turns, key=lambda entry: entry[:2]):
        numbered.append((of_line[edit.line], edit))
        of_line[edit.line] += 1
    return numbered


def distance_to(case: Case, suspects: Sequence[Suspect]) -> dict[tuple[str, int], int]:
    """For each line, the number of data-flow steps from there to the suspects or the exception."""
    trace = case.trace
    distances: dict[tuple[str, int], int] = {}
    starts = [suspect.line for suspect in suspects]
    nodes: list[int] = []
    for line in starts[:1] or ([trace.ending.raised_at] if trace.ending.raised_at else []):
        nodes += [node for node, at in enumerate(trace.lines) if at == line]
        nodes += [node for call in trace.calls if call.line == line for node in call.inputs]
        nodes += [node for call in trace.calls if call.returns == line for node in call.outputs]
    for number, line in enumerate([*starts, *([trace.ending.raised_at] if trace.ending.raised_at else [])]):
        distances.setdefault((line.file, line.number), min(number, 1))
    for suspect in suspects:
        for line in suspect.sources:
            distances.setdefault((line.file, line.number), 1)
    nodes += trace.ending.raised or ()
    seen, far = set(nodes), 0
    while nodes and far < ELSEWHERE:
        far += 1
        lines = [line for node in nodes for line in (trace.lines[node], trace.callers[node])]
        for line in filter(None, lines):
            distances.setdefault((line.file, line.number), far)
        nodes = [
            source
            for source in dict.fromkeys(source for node in nodes for source in trace.inputs[node])
            if source not in seen
        ]
        seen.update(nodes)
    return case.source.with_names(distances, ELSEWHERE)


def statement_at(case: Case, edit: SmallChange) -> Line:
    """The statement that an edit changes."""
    tree = tree_of(case.recipe.code.sources[edit.module])
    ends = [
        statement.end_lineno
        for statement in ast.walk(tree)
        if isinstance(statement, ast.stmt) and statement.lineno == edit.line
    ]
    return Line(f"{edit.module}.py", edit.line, min(end for end in ends if end))
