"""Find the first line of a failed call whose result is not right: its computation beside what correct code computes.

The line of a suspect (see `right_steps`) is not always the one to mend. Is a module or a function called with other
inputs than in correct code, it is the line that calls. Returns a function something right, but not what it should
return, it is that of its `return`. Lines of given functions are never named. In doubt nothing is found.
"""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from autograder.diagnosis.beside_fault import (
    around_module,
    behind_ranges,
    called_often,
    called_twice,
    could_make,
    given_to_helper,
    goes_on_without,
    helper_around,
    in_helper,
    in_place_of,
    in_standin,
    is_usual,
    never_called,
    right_lines,
    steps_missing,
    surplus_calls,
    unused_lines,
    unused_steps,
    unused_writes,
    without_gaps,
    works_aside,
)
from autograder.diagnosis.consequences import at_result, drop_consequences, given_wrongly
from autograder.diagnosis.findings import Fault, Finding, Text, without_own_ways
from autograder.diagnosis.known_steps import Known, gives_what_it_should
from autograder.diagnosis.not_numbers import with_nan
from autograder.diagnosis.right_results import (
    comes_back,
    fillers,
    is_behind_the_end,
    is_in_other_order,
    is_in_other_shape,
    is_put_beside,
    order_begins,
    spread_wrongly,
    wrong_number,
    wrong_results,
)
from autograder.diagnosis.right_steps import NUMBERS, PARTS, TOGETHER, UNNAMED, Comparison
from autograder.diagnosis.suspects import suspects
from autograder.diagnosis.usual_steps import Usual
from autograder.diagnosis.weak_tensors import FORBIDDING, is_opposite
from autograder.diagnosis.wrong_calls import WrongCalls
from autograder.diagnosis.wrong_returns import WrongReturns
from autograder.sandbox.traces import Call, Line, Trace

BY_ELEMENT = ("add", "sub", "mul", "div", "truediv", "__truediv__", "true_divide", "pow", "exp", "softmax")
OF_ROWS = ("max", "amax", "sum", "exp", "softmax", "log_softmax", "logsumexp", "matmul", "einsum", "mean")
TEXT = Text()  # nothing is known of the text


class _Search:
    def __init__(self, trace: Trace, known: Known, text: Text, sure: Collection[int] = ()) -> None:
        self.trace, self.known, self.text = trace, known, text
        self.seen = Comparison(trace, known, sure)
        self.seen.weak[[node for node in np.flatnonzero(self.seen.either_way) if self._given(int(node))]] = False
        self.usual = Usual(self.seen)
        self.calls = WrongCalls(self.usual, text)
        self.missing = self.seen.missing()
        self.faults: dict[Line, Fault] = {}
        self.again: Line | None = None  # what calls the function of a suspect, once rightly and once wrongly

    def _given(self, node: int) -> bool:
        """Whether a mask is made by a given function, which makes no opposites."""
        line = self.trace.lines[node]
        return line is not None and self.text.given(line) and bool(self.seen.rows[node] >= 0)

    def search(self) -> dict[Line, Fault]:
        """The faults, the first one first."""
        self.suspects, self.beside = suspects(self.seen)
        self.returns = returns = WrongReturns(self.usual, self.missing, self.text)
        short = {} if self.seen.tensors else self.seen.too_short()
        if self.suspects and is_behind_the_end(self.seen, self.suspects[0]):
            return wrong_number(self.seen, self.text)
        for node in self.suspects:
            loops = [line for line, end in short.items() if end < node]
            if loops:
                self.faults.setdefault(loops[0], Fault(loops[0], short=True))
            elif node not in returns.later:
                self._suspect(node)
        ends_wrong = any(not self.seen.fine[node] for node in self.trace.results)
        if short and ends_wrong and not self.faults:
            self.faults = {line: Fault(line, short=True) for line in list(short)[:1]}
        for told in returns.faults() if self.trace.whole else ():  # else what should come back may come later
            self.faults.setdefault(told.line, told)
        # What comes after a line that makes the same once more follows from that.
        self.faults = {line: fault for line, fault in self.faults.items() if fault.repeats} or self.faults
        drop_consequences(self.faults, self.seen, self.suspects)
        whole = self.trace.raised is None and self.trace.whole
        if whole and is_in_other_order(self.seen):  # so is all on the way, and no step is missing
            self.faults = {line: fault for line, fault in self.faults.items() if fault.order}
        if not self.faults and whole:
            self.faults = wrong_results(self.seen, self.text)
        return self.faults

    def _suspect(self, node: int) -> None:
        """Find the line to which a suspect leads, and what it does wrong, if anything follows from that."""
        trace, seen, usual = self.trace, self.seen, self.usual
        self.again = None
        line, call = self._blamed(node)
        line = self.calls.with_numbers(node) if line and not call and self.text.given(line) else line
        # Computed element by element it keeps its order; but any axis of a symmetric matrix may look like the other.
        by_element = trace.operations[node] in BY_ELEMENT
        order = "" if seen.plain[node] or by_element else seen.order(node)
        spread = spread_wrongly(seen, node) if by_element and not call else None
        if line is None or line in self.faults or self.text.given(line) or self._once_too_often(node):
            return
        # What a helper makes of numbers; what given code makes of what is right.
        if self.returns.gave(call) if call else (self.again and seen.plain[node]) or in_standin(seen, node):
            return
        if spread is not None:
            self._add(spread, line, None, seen.order(spread))
            return
        if order and not call and trace.operations[node] in TOGETHER and is_in_other_shape(seen, node):
            return  # rows that are put together one by one
        if order == UNNAMED and not call:  # no step has a name for them: they are laid out as everybody likes
            # Along which axis tensors are put together shows their axes of size 1, which are not seen.
            if trace.operations[node] in TOGETHER or not (comes_back(seen, node) or is_put_beside(usual, node)):
                return
            line = given_to_helper(seen, node) or line
        # Where the numbers of Python come from that a tensor is made of is not seen.
        if trace.operations[node] in NUMBERS and not trace.inputs[node] and not call:
            return
        if order and order != UNNAMED and not call and (began := order_begins(seen, self.missing, node, line)):
            if began.line.file == line.file and not self.text.given(began.line):
                self.faults[began.line] = began
            return
        if not call and (made := given_wrongly(seen, node, self.text.given)):
            self.faults.setdefault(made, Fault(made))
            return
        if usual.drops_elsewhere(node):
            given = seen.names({*map(seen.row, trace.inputs[node])})
            self.faults.setdefault(line, Fault(line, given=given, drops=True))
            return
        told = (self.calls.opposite_made(call, line) or self.calls.left_out(call, line)) if call else None
        if found := told if call else self._in_place_of(node):
            self.faults.setdefault(found.line, found)
            return
        if (again := usual.repeated(node)) and not self.text.given(again):
            self.faults.setdefault(again, Fault(again, repeats=True))
            return
        self._add(node, line, call, order)

    def _add(self, node: int, line: Line, call: Call | None, order: str) -> None:
        """Add the fault of a line that makes a suspect: the step that is missing, before it or on it, and what it uses.

        Args:
            call: what the line calls with something wrong, if that is it.
            order: the step whose numbers the suspect holds in another order, if it does.
        """
        trace, seen, usual, steps = self.trace, self.seen, self.usual, self.known.steps
        given = seen.nearest(node)
        of_row = {steps[number].row: steps[number].name for number in sorted(given & usual.direct(node), reverse=True)}
        direct = tuple(dict.fromkeys(reversed(of_row.values())))
        own, at = trace.operations[node], trace.lines[node] or line
        beside = {trace.operations[other] for other, at in enumerate(trace.lines) if at == trace.lines[node]}
        next_rows = usual.leads_to(trace.inputs[node])
        first = [one for one in self.missing if not steps[one].after and steps[one].operation in beside]
        first = first if len(first) == 1 and usual.begins(node) else []  # of two that begin alike it may be either
        after = [
            number
            for number in self.missing
            if steps[number].row in next_rows or given & set(steps[number].after) or number in first
        ]
        if after and seen.plain[node] and any(after[0] in step.after for step in steps):
            after = []  # a statement of numbers may make several steps at once, of which only the last one is seen
        wanted = [number for number in after if order and steps[number].row in seen.alike_rows(node)]
        order = steps[wanted[0]].name if wanted else order
        later = {one.operation for one in steps[after[0] + 1 :] if after[0] in one.after} if after else set()
        before = usual.made_before(node, line, steps[after[0]].after if after else ())
        idle = before is not None and usual.changes_nothing(before, node)
        after = after or (self.missing[:1] if idle else [])
        # A sum or a softmax is no step of another kind, in whatever way it is written.
        goes_on = own in later and own != steps[after[0]].operation and not usual.as_usual(node)
        skips = bool(after) and own in OF_ROWS and (goes_on or steps[after[0]].operation in FORBIDDING)
        left_out = bool(after) and (idle or skips)
        turned = (node, steps[wanted[0]].row) if wanted else (-1,)
        missing = steps[after[0]].name if after else ""
        skipped = usual.skipped(node) if not left_out and line == trace.lines[node] else None
        if skipped and (skipped.line or own not in PARTS):  # a part of an argument may be taken anywhere
            missing = "".join(self.seen.names({skipped.row})) or missing
            # Else no order of the axes would do.
            turned = (skipped.node, skipped.row) if skipped.row in seen.alike_rows(skipped.node) else turned
            line = self._caller(node, skipped.node) or line
            before = skipped.line if skipped.line and skipped.line.number < line.number else None
            left_out = bool(before or missing) and own not in TOGETHER
        if not left_out and after and own != steps[after[0]].operation and (round_before := usual.round_before(node)):
            left_out, before = True, round_before
        if not left_out and after and usual.nothing_new(node):
            left_out, before = True, None
        if (aside := works_aside(seen, node)) and (not after or steps[after[0]].name in direct):
            return  # what it has beside tensors, as rates, is not seen
        left_out |= bool(after) and not order and (usual.only_lays_out(node) or aside)
        if left_out and (vain := usual.in_vain(node, line)):
            step = next((one.name for one in steps if one.row == vain[1]), "")
            self.faults[vain[0]] = Fault(vain[0], step, direct, vain=True)
            return
        called = self.calls.told(call) if call else None
        doubtful = bool(called and called.unclear) or usual.may_be_given_wrongly(node)
        exchange = usual.in_place_of(node, steps[after[0]].row) if after and not doubtful else ()
        mask = (bool(seen.binary[node]) and not idle) or (bool(after) and usual.is_aside(node, steps[after[0]], given))
        # Of the pairs and all that is made of them by turning axes it is not known which it should be.
        shown = "" if order == UNNAMED else order if wanted or seen.one_name(node) else UNNAMED
        self.faults[line] = Fault(
            line,
            "" if mask and left_out else missing,
            direct,
            shown,
            called,
            left_out and not exchange and not self.again,
            before=before,
            node=turned[0],
            rows=turned[1:],
            exchange=exchange,
            again=self.again,
            operation=usual.within(node, line, steps[after[0]].operation if after else "") if given or after else "",
            fillers=fillers(seen, node) if shown else (),
            mask=mask,
            doubtful=doubtful,
            together=own in TOGETHER and bool(missing) and (not after or own != steps[after[0]].operation),
            inside=None if call or self.again or line == at or self.text.given(at) else at,
        )

    def _once_too_often(self, node: int) -> bool:
        """Whether a node is made in a call that one line has made as often as any correct code before, or rightly."""
        calls = self.trace.calls
        other_shape = bool(self.trace.results) and self.trace.shapes != self.known.shapes
        for number in self.seen.around(int(self.trace.around[node])):
            path, line = calls[number].path, calls[number].line
            most = self.known.counts.get(path)
            before = [one for one in calls[:number] if one.path == path and one.line == line]
            before = [one for one in before if self.calls.caller(one) == self.calls.caller(calls[number])]
            if most and len(before) >= most:
                return True
            if other_shape and self.calls.wrong(calls[number]) and any(map(self.calls.usual_inputs, before)):
                return True
        return False

    def _caller(self, node: int, source: int) -> Line | None:
        """The line that calls the helper function in which a node is made, if it gives a tensor to it."""
        entry = self.trace.calls[int(self.trace.around[node])] if in_helper(self.seen, node) else None
        line = entry.line if entry and source in entry.inputs else None
        return line if line and not self.text.given(line) else None

    def _in_place_of(self, node: int) -> Fault | None:
        """The line that makes a tensor in the place of another one that is put together with the same."""
        users = self.seen.consumers[node] if self.seen.moved(node) else ()
        found = next((one for user in (node, *users) if (one := self.usual.replaced(user))), None)
        line = self.trace.lines[found.node] if found else None
        if found is None or line is None or self.text.given(line):
            return None
        row, lines = self.seen.rows[found.node], self.trace.lines
        same = [at for one, at in enumerate(lines) if self.seen.rows[one] == row >= 0 and at and at != line]
        missing = "".join(self.seen.names({found.row}))
        return Fault(line, missing, misplaced=bool(row >= 0), same=same[0] if same else None)

    def _blamed(self, node: int) -> tuple[Line | None, Call | None]:
        """The line of a suspect; that of the call around it, with the call, if that was given something else."""
        trace, calls = self.trace, self.calls
        for number in reversed(self.seen.around(int(trace.around[node]))):
            entry = trace.calls[number]
            if entry.line and calls.wrong(entry):
                return (None, None) if calls.doubtful(entry) else (calls.line(entry, entry.line), entry)
        line, caller = trace.lines[node], trace.callers[node]
        # A function that gives nothing but what is right elsewhere was called here with something wrong.
        helper = in_helper(self.seen, node)  # which may be called several times by one line
        same = [one for one, own in enumerate(trace.lines) if own == line]
        around = {call: helper_around(self.seen, call) for call in set(trace.around[same].tolist())}
        places = {one: around[int(trace.around[one])] if helper else trace.callers[one] for one in same}
        others = [one for one in same if places[one] != places[node]]
        elsewhere = {places[one] for one in others if self.seen.proven[one]}
        elsewhere -= {places[one] for one in others if not self.seen.fine[one]}
        if any(trace.callers[one] == caller and places[one] in elsewhere for one in others):
            self.again = caller if helper else None
            return line, None  # and by the same line with something right
        # Right numbers in another order may be right for one call by chance, as where two axes are of one size.
        return (caller if caller and elsewhere and not self.seen.order(node) else line), None


def find(trace: Trace, known: Known, text: Text = TEXT, sure: Collection[int] = ()) -> Finding:
    """What follows from a trace of a failed call.

    Args:
        sure: masks that are taken for right although correct code has their opposites, too, or nothing else.
    """
    if gives_what_it_should(trace, known):
        return Finding()  # the call gives the right numbers: what is wrong is something else
    search = _Search(trace, known, text, sure)
    seen, faults, nan = search.seen, search.search(), None
    if trace.raised is None and trace.nan[list(trace.results)].any():
        faults, nan = with_nan(seen, search.suspects, faults, text.given)
    if not faults and (twice := called_twice(trace, known, text)) and not text.given(twice[1]):
        faults = {twice[1]: Fault(twice[1], twice=twice[0])}
    if unused := unused_lines(seen, text.bare):
        faults = {line: Fault(line, unused="") for line in unused}
    elif all(fault.vague or fault.left_out for fault in faults.values()):
        faults = unused_writes(seen, text.into) or faults
    if trace.raised is not None:  # what a call has not made that an exception ended is not left out by who called
        ended = {call.line for call in trace.calls if not call.outputs}
        faults = {line: fault for line, fault in faults.items() if not (fault.left_out and line in ended)}
    wrong = [line for node, line in enumerate(trace.lines) if line and not seen.fine[node] and line not in faults]
    masks = np.flatnonzero(seen.either_way & seen.weak & seen.flows & seen.fine) if not faults else ()
    opposites = tuple(
        one
        for one in search.suspects
        if seen.rows[one] < 0 and seen.binary[one] and not seen.alike[one] and is_opposite(seen, one)
    )
    often, never = surplus_calls(seen, called_often(trace, known, text)), never_called(trace, known)
    faults = goes_on_without(seen, without_gaps(faults, often), never)
    if (fault := in_place_of(seen, often, never, text)) and fault.line not in faults:
        faults, often, never = {**steps_missing(seen, faults, fault.line), fault.line: fault}, (), ()
    if fault := search.calls.without_mask() if faults else around_module(seen, never, text):
        faults.setdefault(fault.line, fault)
    faults = {one.line: one for one in (at_result(seen, fault) for fault in faults.values())}
    faults = without_own_ways(behind_ranges(seen, faults))
    made = seen.made_steps(search.missing)
    # What raises is not right, nor is dropout, which does nothing in this call.
    not_right = {*wrong, *faults, *search.calls.idle_and_wrong(trace.calls), *filter(None, [trace.raised_at])}
    return Finding(
        right=right_lines(seen, not_right, min(search.suspects, default=trace.size)),
        faults=tuple(replace(fault, elsewhere=fault.missing in made) for fault in faults.values()),
        raised=trace.raised is not None,
        missing=tuple(step.name for step in map(known.steps.__getitem__, search.missing) if could_make(seen, step)),
        made=frozenset(made),
        idle=unused_steps(seen),
        usual=trace.whole and is_usual(seen),
        after=tuple(dict.fromkeys(wrong)),
        beside=tuple(line for one in search.beside if (line := trace.lines[one]) and not text.given(line)),
        opposites=opposites if len(opposites) == len(search.suspects) else (),
        either_way=tuple(int(one) for one in masks if (line := trace.lines[one]) and not text.given(line)),
        unsure=frozenset(
            line for line, weak in zip(trace.lines, seen.weak | seen.binary, strict=True) if line and weak
        ).union(filter(None, (trace.lines[node] for node in trace.raised or ()))),  # their shapes may be wrong
        never=never,
        often=often,
        nan=nan if not faults else None,
    )
