"""The line that a small change would mend: a failed call is made again and again, each time with one change.

A followed call shows where right inputs become something else; this shows where a change makes the result right, also
where nothing could be followed, or an exception came too late. What counts is a change with which the call gives what
it should and the test gets further than before. A line is named if it is the only one.
"""

import ast
import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from autograder.diagnosis.findings import Fault, goes_own_way
from autograder.diagnosis.known_steps import LIMIT
from autograder.grading.likely_changes import candidates, is_sure, let_go_on
from autograder.grading.point_at_line import HEAVY, Followed, own_files, with_finding
from autograder.grading.results import LineMark, TestResult
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.remote_values import Code
from autograder.sandbox.student_faults import Crashed, StudentFault, TimedOut
from autograder.sandbox.traces import Line
from autograder.sandbox.trials import Came, Trials
from autograder.submissions.harmless import harmless
from autograder.submissions.small_changes import SmallChange
from autograder.submissions.syntax_tree import functions, tree_of

# What the trials of a stage may cost, in operations of the call, of about 9 microseconds: a time would give other
# verdicts on other machines.
OPERATIONS, TOLD = 18_500, 9_500  # where no line is told yet; where one is
OTHERS = 8_000  # to look for another line, when one is found; half of it where a whole test takes long
FEWEST = 1_500  # that have to be left for that
# What a trial costs beside its operations, and one with a new object; what the whole test costs, if it comes to that.
EACH, NEW, TEST = 75, 170, 1_000
LONG_TESTS = 2  # of those that take much longer than their call
EARLY = 4  # times as much costs a call that gives a result as one that ends with an exception, somewhere
MORE = 4  # times as much at most costs one that gives more back
SECONDS = 2.0  # where this is too much all the same
CALL_SECONDS = 0.5  # for an answer


class Failed(NamedTuple):
    """A failed test whose call was followed."""

    name: str
    followed: Followed
    student: Student
    # Whether the test gets further with another student, and which part does not pass any more; whether to its end.
    further: Callable[[Student, bool], tuple[bool, str]]
    long: bool  # whether the test takes much longer than the call


def mended(
    tests: Mapping[str, TestResult], failed: Sequence[Failed], passing: Mapping[str, Callable[[Student], bool]]
) -> dict[str, TestResult]:
    """The results of tests of a stage that name another line now, or one at all.

    The calls that cost least come first: what mends them is tried in the others, too.

    Args:
        passing: the tests that pass, and whether they do with another student.
    """
    faults: dict[str, tuple[Failed, Fault]] = {}
    trials = _StageTrials(passing)
    try:
        ordered = sorted(failed, key=lambda one: one.followed.trace.ran)
        for number, one in enumerate(ordered):
            if fault := trials.fault(*ordered[number:]):
                faults[one.name] = one, fault
    finally:
        trials.close()
    # What a change of a line breaks in one test does not mend the line in the others either.
    broken = {fault.line: fault.breaks.replace("the test", name) for name, (_, fault) in faults.items() if fault.breaks}
    found = {}
    sure = {fault.line: fault for _, fault in faults.values() if not fault.either}
    for name, (one, fault) in faults.items():
        if fault.either:  # of two lines that would do, the one that mends another test, too
            fault = next((sure[line] for line in (fault.line, fault.either) if line in sure), fault)
        breaks = fault.breaks or broken.get(fault.line, "")
        if breaks and one.followed.finding.nan:  # where it comes up says more than a change that is not the right one
            continue
        found[name] = _with_mending(tests[name], one.followed, replace(fault, breaks=breaks))
    return found | _less_sure({**tests, **found}, failed, found.keys())


def _with_mending(result: TestResult, followed: Followed, fault: Fault) -> TestResult:
    """The result of a test whose call a change of a line would mend."""
    finding = followed.finding
    right = [(line, steps) for line, steps in finding.right_until(fault.line) if line not in finding.unsure]
    if fault.breaks:  # lines behind it may have to change with it
        right = [one for one in right if one[0].file == fault.line.file and one[0].number < fault.line.number]
    told = finding.faults[0] if finding.faults else fault
    if told.order and told.line != fault.line and told.line.file == fault.line.file:
        fault = replace(fault, order=told.order, before=told.line)
    finding = replace(finding, faults=(fault,), right=tuple(right), missing=())
    return with_finding(result, finding, own_files(followed.recipe.code))


def _less_sure(
    tests: Mapping[str, TestResult], failed: Sequence[Failed], mending: Collection[str]
) -> dict[str, TestResult]:
    """The tests of a stage without lines whose lines are less sure than those of others.

    These are tests of whole numbers, such as decoded tokens: a wrong choice makes another sentence, and all that comes
    after it is given something else. And lines of which nothing is known but that their results are not right, where
    another test tells more of another line, in a function that has run here as well.

    Args:
        mending: the tests whose line would mend the call.
    """
    marked = [one for one in failed if tests[one.name].marks]
    by_name = {one.name: one.followed.finding for one in marked}
    whole = [one.name for one in marked if one.followed.whole and one.name not in mending]
    whole = [name for name in whole if not any(fault.draws for fault in by_name[name].faults)]
    less: dict[str, tuple[str, ...]] = dict.fromkeys(whole, ()) if len(whole) < len(marked) else {}
    # What goes into a call of a later round comes of what an earlier one has chosen, or has not.
    less |= {name: () for name in whole if all(fault.calls and fault.vague for fault in by_name[name].faults)}
    alike_tests: dict[str, TestResult] = {}
    vague = [one for one in marked if one.name not in mending and any(f.vague for f in one.followed.finding.faults)]
    unsure = [one for one in marked if any(f.repeats for f in one.followed.finding.faults)]
    sure = [other for other in marked if other not in (*vague, *unsure) and other.name not in less]
    for one in vague:
        # What raises on a condition that does not hold here has nothing to do with it.
        alike = [other for other in sure if one.followed.raised or not other.followed.raised]
        own, others = tests[one.name], [tests[other.name] for other in alike]
        wanted = any(fault.calls and fault.calls.wanted for fault in one.followed.finding.faults)
        if not wanted and (same := next((other for other in others if _wrong(other) == _wrong(own)), None)):
            # What that says of the line is true here, too.
            alike_tests[one.name] = replace(own, pointed=same.pointed, pointed_beside=same.pointed_beside)
            continue
        marks = [mark for other in others for mark in _wrong(other) if mark not in _wrong(own)]
        if behind := next((mark for mark in marks if _ran(mark, one.followed)), None):
            where = f"line {behind.line} of {behind.file}"
            less[one.name] = (f"Another test points at {where}, whose function is called here, too: mend that first.",)
    nothing: dict[str, Any] = {"pointed_beside": (), "marks": (), "fault_step": ""}
    return {name: replace(tests[name], pointed=told, **nothing) for name, told in less.items()} | alike_tests


def _wrong(test: TestResult) -> list[LineMark]:
    return [mark for mark in test.marks if mark.state == "wrong"]


def _ran(mark: LineMark, followed: Followed) -> bool:
    """Whether a line may be behind a wrong result: its function has run, and it is not right there.

    What one wrong function makes of several inputs may cancel out, and then is right: not where a told line calls it.
    """
    trace, finding, module = followed.trace, followed.finding, mark.file.removesuffix(".py")
    right = any((line.file, line.number) == (mark.file, mark.line) for line, _ in finding.right)
    told = {fault.line for fault in finding.faults}
    for node in functions(module, followed.recipe.code.sources[module]).values():
        own = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        if mark.line in own:
            inside = [
                at for at, line in enumerate(trace.lines) if line and line.file == mark.file and line.number in own
            ]
            return any(not right or trace.callers[at] in told for at in inside)
    return False


class _StageTrials:
    """The trials of one stage, in a worker of their own."""

    def __init__(self, passing: Mapping[str, Callable[[Student], bool]]) -> None:
        self.passing = passing
        self.left, self.end = OPERATIONS, time.monotonic() + SECONDS
        self.long = LONG_TESTS
        self.student: Student | None = None
        self.lives = 0  # of the student, when the objects of the trials were made
        self.known: list[SmallChange] = []  # those that have mended another test
        self.missing: set[SmallChange] = set()  # of those, the ones that call what is never called
        self.tried: set[str] = set()  # the calls of which all is known by now

    def fault(self, failed: Failed, *later: Failed) -> Fault | None:
        """The fault of the only line that a small change mends, if it is none of those that were found.

        Args:
            later: the tests that come after it, of which one may fail for another reason: they are left a part.
        """
        recipe, known, trace, finding, raised, whole = failed.followed
        ran = trace.ran if trace.raised is None else 0  # what a trial costs at least
        # Of lines that never run a trial says more, and of a loop that ends too early where it chooses tokens.
        sure = [one for one in finding.faults if not (one.idle and not one.before) and not (one.short and whole)]
        told = {(fault.line.file, fault.line.number) for fault in sure}
        roads = all(map(goes_own_way, finding.faults))
        nothing_else = not self.known or (not roads and told.issuperset(map(_place, self.known)))
        # Of a heavy call only what mends another test is tried: it takes longer, too.
        if len(known.shapes) != len(known.results) or (trace.ran > HEAVY and nothing_else):
            return None
        if not all(harmless(recipe.code.sources[one], recipe.code.sources) for one in recipe.code.modules):
            return None
        if self.student is None or self.student.code is not recipe.code:
            self.close()
            self.student = failed.student.with_code(recipe.code)
        # What has to be left. A line that goes on without a step, or gives it back, is often not the one to mend.
        least = OPERATIONS - TOLD if any(map(is_sure, finding.faults)) else 0
        left = self.left // 3 if any(one.followed.recipe.digest != recipe.digest for one in later) else 0
        left = max(left, (OPERATIONS - OTHERS // 2) * (len(finding.faults) > 1))  # seldom does one change mend all
        try:
            with self.student.aside(CALL_SECONDS) as ask:
                trials = Trials(recipe, ask)
                # What has mended another test, and nothing else did there, need only give the right result here.
                found = {_place(one): (one, "") for one in self.known if self._right(one, trials, failed)}
                half: dict[tuple[str, int], tuple[SmallChange, str]] = {}  # with which another part fails
                at_find = self.left
                called: set[tuple[str, int]] = set()  # places of a missing call
                by_chance: set[tuple[str, int]] = set()  # that give this call its result, and the next one not
                new = recipe.digest not in self.tried and trace.ran <= HEAVY
                self.tried.add(recipe.digest)
                # Of two lines that would do in another test, one may need another change here.
                either = set(map(_place, self.known)) - found.keys() if found else set()
                for likely, change in candidates(failed.followed, found) if new and (either or not found) else ():
                    at = _place(change)
                    if either and at not in either:
                        continue
                    # Where a condition keeps what is not called from being called, it need not stand elsewhere.
                    likely = likely and found.keys() <= called
                    if self.left <= max(left, ran if likely else least + ran) or time.monotonic() > self.end:
                        few = at_find - self.left < FEWEST and not let_go_on(finding, found.values())
                        if not either and (likely or few):
                            return None  # which other places would do is not known
                        break
                    if at in found or not self._right(change, trials, failed):
                        continue
                    # A line of which more is known is told whatever comes of the whole test.
                    further, breaks = (True, "") if at in told and not roads else self._further(failed, bool(found))
                    by_chance |= set() if further else {at}
                    if further:
                        called |= {at} if likely else set()
                        at_find = at_find if found or half else self.left  # the first one
                        self.missing |= {change} if likely and _wraps(change, recipe.code) else set()
                        (half if breaks else found)[at] = change, breaks and f"the part {breaks} of the test"
                        least = least if breaks else max(least, self.left - OTHERS // (1 + failed.long))
                        if not breaks and (at in told or len(found) > (1 if told else 2)):
                            break
                if (len(found) == 1 or not told) and found.keys().isdisjoint(told):
                    found = {at: (change, self._breaks(change, trials)) for at, (change, _) in found.items()}
                found = found or half
                self.known += [change for change, _ in found.values() if change not in self.known]
        except StudentFault:
            return None
        if len(found) > 1:  # what is put behind something may stand in several places: a line that is changed says more
            found = {at: one for at, one in found.items() if not _adds(one[0], recipe.code)} or found
        apart = not told or (found.keys().isdisjoint(told) and not any(map(is_sure, finding.faults)))
        several = all(change in self.missing for change, _ in found.values())  # places of a missing call: none is told
        if len(found) == 2 and apart and not several and not any(breaks for _, breaks in found.values()):
            return self._either(recipe.code, [*found])
        if len(found) != 1 or several or (found.keys() <= told and not roads) or by_chance & told:
            return None  # a line that is told, and decides about the result, is the better one
        [(line, (change, breaks))] = found.items()
        told_missing = finding.usual and not raised and not finding.made.issuperset(finding.missing[:1])
        missing = finding.missing[0] if told_missing else ""
        text = recipe.code.sources[change.module]
        gone = len(text) - len(text[change.start :].lstrip(" \n,")) if not change.text else change.start
        part = 0 if change.moves else text.count("\n", 0, gone) + 1
        statement = _statement(recipe.code, *line)
        renews, exchanged = (change.other, 0) if change.renews else (0, change.other)
        fault = Fault(statement, missing, mends=True, part=part, exchanged=exchanged, renews=renews, breaks=breaks)
        return replace(fault, adds=change.adds)

    def _either(self, code: Code, places: Sequence[tuple[str, int]]) -> Fault | None:
        """The fault of one of two lines of a file, whichever is changed."""
        first, second = (_statement(code, *place) for place in sorted(places))
        return Fault(first, mends=True, either=second) if first.file == second.file else None

    def _right(self, change: SmallChange, trials: Trials, failed: Failed) -> bool:
        """Whether a change gives the call its right result."""
        known = failed.followed.known
        results, trace = self._results(trials, change), failed.followed.trace
        # Where more comes back than before, more has run, as in a loop that ends later.
        before, now = (sum(map(math.prod, shapes)) for shapes in (trace.shapes, [one.shape for one in results]))
        ran = trace.ran * max(1, min(MORE, now // before) if before else 1)
        early = 1 if failed.followed.raised else EARLY  # it ends where it did, most likely
        self.left -= (ran if results else ran // early) + EACH + NEW * trials.makes_anew(change)
        # Where an attribute is read, only that comes back; a call before it has results, too.
        first = len(known.shapes) - len(results) if trials.reads else 0
        if not results or tuple(one.shape for one in results) != known.shapes[first:]:
            return False
        wanted = known.rows[list(known.results[first:])]
        return all(np.abs(one.signature - row).max() <= LIMIT for one, row in zip(results, wanted, strict=True))

    def _further(self, failed: Failed, some: bool) -> tuple[bool, str]:
        """Whether a test gets further with the change that was made last, and what does not pass any more.

        One number, and whole numbers such as places of the largest, may be right by chance: then all has to be right.

        Args:
            some: whether it does with another change.
        """
        assert self.student is not None
        known, whole = failed.followed.known, failed.followed.whole
        self.left -= TEST if failed.followed.trace.ran else TEST // 4  # one of numbers alone is quick
        self.long -= failed.long
        if self.long < 0:  # as if it did, where that says less
            return some, ""
        self.student.kept.clear()
        return failed.further(self.student, whole or all(math.prod(shape) == 1 for shape in known.shapes))

    def _breaks(self, change: SmallChange, trials: Trials) -> str:
        """The test that passes and fails with a change, if there is one."""
        assert self.student is not None
        if change in self.known:  # that was looked at
            return ""
        self._results(trials, change)
        self.student.kept.clear()
        return next((name for name, passes in self.passing.items() if not passes(self.student)), "")

    def _results(self, trials: Trials, change: SmallChange) -> tuple[Came, ...]:
        assert self.student is not None
        self.student.start()  # a change that was tried before may have ended the worker
        if self.student.lives != self.lives:
            trials.forget()
            self.lives = self.student.lives
        try:
            return trials.results(change)
        except (TimedOut, Crashed):
            self.left -= OPERATIONS // 4
            return ()

    def close(self) -> None:
        """End the worker."""
        if self.student is not None:
            self.student.close()
            self.student = None


def _place(change: SmallChange) -> tuple[str, int]:
    return f"{change.module}.py", change.line


def _adds(change: SmallChange, code: Code) -> bool:
    """Whether a change only puts a call behind what a line makes, such as one that turns axes."""
    old = code.sources[change.module][change.start : change.end]
    return change.text.startswith(f"{old}.")


def _wraps(change: SmallChange, code: Code) -> bool:
    """Whether a change puts a call around what a line makes."""
    old = code.sources[change.module][change.start : change.end]
    return change.text.endswith(f"({old})")


def _statement(code: Code, file: str, number: int) -> Line:
    """The statement that begins on a line."""
    tree = tree_of(code.sources[file.removesuffix(".py")])
    ends = [node.end_lineno for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno == number]
    return Line(file, number, min(end for end in ends if end))
