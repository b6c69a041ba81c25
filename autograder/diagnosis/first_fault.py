"""Find the first line of a failed call whose result is not right: its computation beside what correct code computes.

The line of a suspect (see `right_steps`) is not always the one to mend. Is a module or a function called with other
inputs than in correct code, it is the line that calls. Returns a function something right, but not what it should
return, it is that of its `return`. Lines of given functions are never named.

Where that leaves a doubt, nothing is found.
"""

from collections.abc import Callable

import numpy as np

from autograder.diagnosis.beside_fault import called_often, never_called, right_lines, unused_lines
from autograder.diagnosis.findings import Called, Fault, Finding
from autograder.diagnosis.known_steps import LIMIT, ORDERED, Known, given_to
from autograder.diagnosis.right_steps import MOST, NUMBERS, UNNAMED, Comparison
from autograder.sandbox.traces import Call, Line, Trace


class _Search:
    def __init__(self, trace: Trace, known: Known, given: Callable[[Line], bool]) -> None:
        self.trace, self.known, self.is_given = trace, known, given
        self.seen = Comparison(trace, known)
        self.missing = self.seen.missing()
        self.faults: dict[Line, Fault] = {}

    def search(self) -> dict[Line, Fault]:
        """The faults, the first one first."""
        suspects = self.seen.suspects()
        returns = self._wrong_returns()
        later = self._made_from(returns)
        short = {} if self.seen.tensors else self.seen.too_short()
        for node in suspects:
            loops = [line for line, end in short.items() if end < node]
            if loops:
                self.faults.setdefault(loops[0], Fault(loops[0], short=True))
            elif node not in later:
                self._suspect(node)
        ends_wrong = any(not self.seen.fine[node] for node in self.trace.results)
        if short and ends_wrong and not self.faults:
            self.faults = {line: Fault(line, short=True) for line in list(short)[:1]}
        for call in returns:
            if not any(node in later for node in call.outputs):
                self._wrong_return(call)
        self._drop_consequences()
        whole = self.trace.raised is None and self.trace.whole
        if not self.faults and whole and len(self.trace.results) == len(self.known.results):
            self._wrong_order()
        return self.faults

    def _drop_consequences(self) -> None:
        """Leave out a fault behind the first one whose line uses something wrong that was not made there."""
        trace, fine = self.trace, self.seen.fine
        first = next(iter(self.faults), None)
        inside = {number for number, entry in enumerate(trace.calls) if entry.line == first}
        later: set[int] = set()  # what is made of what the first one has made wrong
        for node in range(trace.size):
            own_line = first is not None and first in (trace.lines[node], trace.callers[node])
            made_there = own_line or not inside.isdisjoint(self._around(int(trace.around[node])))
            if (made_there and not fine[node]) or any(source in later for source in trace.inputs[node]):
                later.add(node)
        for line in list(self.faults)[1:]:
            own = {node for node in range(trace.size) if line in (trace.lines[node], trace.callers[node])}
            sources = {source for node in own for source in trace.inputs[node]} - own
            if any(not fine[source] or source in later for source in sources):
                del self.faults[line]

    # A suspect

    def _suspect(self, node: int) -> None:
        trace, seen, steps = self.trace, self.seen, self.known.steps
        line, calls = self._blamed(node)
        order = "" if seen.plain[node] else seen.order(node)
        if line is None or line in self.faults or self.is_given(line):
            return
        # Numbers that no step has a name for are laid out as everybody likes: nothing follows from their order.
        if order == UNNAMED and not calls:
            if not self._comes_back(node):
                return
            line = self._given_to_helper(node) or line
        # Where the numbers of Python come from that a tensor is made of is not seen.
        if trace.operations[node] in NUMBERS and not trace.inputs[node]:
            return
        given = seen.nearest(node)
        own = trace.operations[node]
        beside = {trace.operations[other] for other, at in enumerate(trace.lines) if at == trace.lines[node]}
        next_rows = seen.leads_to(node)
        after = [
            number
            for number in self.missing
            if steps[number].row in next_rows
            or given & set(steps[number].after)
            or (not steps[number].after and steps[number].operation in beside and self._begins(node))
        ]
        rows = set(seen.alike_rows(node)) if order else set()
        wanted = [number for number in after if steps[number].row in rows]
        order = steps[wanted[0]].name if wanted else order
        later = {one.operation for one in steps[after[0] + 1 :] if after[0] in one.after} if after else set()
        before = self._before(node, line)
        idle = before is not None and seen.changes_nothing(before, node)
        after = after or (self.missing[:1] if idle else [])
        skips = own in later and own != steps[after[0]].operation and not seen.as_usual(node)
        left_out = bool(after) and (idle or skips)
        if not left_out and line == trace.lines[node] and (skipped := seen.skipped_after(node)):
            before, left_out = skipped, True
        self.faults[line] = Fault(
            line,
            steps[after[0]].name if after else "",
            tuple(dict.fromkeys(steps[number].name for number in sorted(given & seen.direct(node)))),
            "" if order == UNNAMED else order,
            calls,
            left_out,
            before=before,
            node=node if wanted else -1,
            rows=tuple(steps[number].row for number in wanted[:1]),
        )

    def _begins(self, node: int) -> bool:
        """Whether a node is made of nothing that an earlier line has computed."""
        trace, line = self.trace, self.trace.lines[node]
        waiting, seen = list(trace.inputs[node]), set()
        while waiting:
            source = waiting.pop()
            if source not in seen and trace.made[source] and self.seen.telling[source]:
                if trace.lines[source] != line:
                    return False
                seen.add(source)
                waiting += trace.inputs[source]
        return True

    def _given_to_helper(self, node: int) -> Line | None:
        """The line that calls the helper function in which a node is made of nothing but what this was given."""
        for number in self._around(int(self.trace.around[node])):
            entry = self.trace.calls[number]
            if entry.path.endswith("()"):
                own = entry.path not in self.known.calls and set(self.trace.inputs[node]) <= set(entry.inputs)
                return entry.line if own else None
        return None

    def _comes_back(self, node: int) -> bool:
        """Whether the numbers of a node come back as they are, in some order."""
        row, ends, waiting, seen = self.seen.unordered[node], set(self.trace.results), [node], set()
        while waiting:
            one = waiting.pop()
            if one in seen:
                continue
            seen.add(one)
            if self.seen.unordered[one] != row:
                return False
            if one in ends:
                return row not in self.known.results
            waiting += [user for user in self.seen.consumers[one] if self.seen.flows[user]]
        return False

    def _before(self, node: int, line: Line) -> Line | None:
        """The line of the same file, before this one, that made what goes into a node last."""
        sources, seen = list(self.trace.inputs[node]), set()
        lines = []
        while sources:
            source = sources.pop()
            at = self.trace.lines[source]
            if at == line and source not in seen:
                seen.add(source)
                sources += self.trace.inputs[source]
            elif at is not None and at.file == line.file and at.number < line.number:
                lines.append(at)
        return max(lines, key=lambda one: one.number, default=None)

    def _around(self, call: int) -> list[int]:
        """The calls around a place, the innermost first."""
        chain: list[int] = []
        while call >= 0 and len(chain) < MOST:
            chain.append(call)
            call = self.trace.calls[call].around
        return chain

    def _blamed(self, node: int) -> tuple[Line | None, Called | None]:
        """The line of a suspect; that of the call around it, with the module, if that was given something else."""
        trace = self.trace
        chain = self._around(int(trace.around[node]))
        for number in reversed(chain):
            entry = trace.calls[number]
            if entry.line and self._wrongly_given(entry):
                # What alike tensors should be is not known.
                if any(self.seen.alike[one] and trace.made[one] and not self.seen.plain[one] for one in entry.inputs):
                    return None, None
                return self._passed_through(entry, entry.line), self._called(entry)
        line, caller = trace.lines[node], trace.callers[node]
        # A function that gives nothing but what is right elsewhere was called here with something wrong.
        others = [one for one, own in enumerate(trace.lines) if own == line and trace.callers[one] != caller]
        elsewhere = {trace.callers[one] for one in others if self.seen.proven[one]}
        elsewhere -= {trace.callers[one] for one in others if not self.seen.fine[one]}
        return (caller if caller and elsewhere else line), None

    def _wrongly_given(self, entry: Call) -> bool:
        """Whether a call is given something that is right, but is not what correct code gives to it."""
        sets = self.known.calls.get(entry.path, ())
        rows = given_to(entry, self.seen.row)
        return bool(sets) and -1 not in rows and rows not in sets and all(self.seen.fine[one] for one in entry.inputs)

    def _passed_through(self, entry: Call, line: Line) -> Line:
        """The line that calls a helper function, if this only passes on what it was given."""
        for number in self._around(entry.around):
            around = self.trace.calls[number]
            if not around.path.endswith("()") or around.path in self.known.calls or not around.line:
                break
            # One that is given more could have made something else of it.
            if set(entry.inputs) != {node for node in around.inputs if self.seen.telling[node]}:
                break
            line = around.line
        return line

    def _called(self, entry: Call) -> Called:
        """What is known of a call with the wrong inputs."""
        rows = given_to(entry, self.seen.row)
        name, parent = entry.path.rpartition(".")[2], entry.path.rpartition(".")[0]
        # One that is called with these inputs anyhow, as dropout with anything, is not the one that was meant.
        made = {(one.path, given_to(one, self.seen.row)) for one in self.trace.calls}
        beside = [
            path.rpartition(".")[2]
            for path in self.known.counts
            if rows
            and rows in self.known.calls[path]
            and path.rpartition(".")[0] == parent
            and (path, rows) not in made
            and not path.rpartition(".")[2][:1].isupper()  # a class, not the name of a module
        ]
        sets = self.known.calls[entry.path]
        return Called(
            name,
            beside[0] if beside and not f"{beside[0]}{name}".count("()") else "",
            self._names(set(rows).difference(*sets)),
            self._names(set(sets[0]) - set(rows)) if len(sets) == 1 else (),
        )

    def _names(self, rows: set[int]) -> tuple[str, ...]:
        """The steps that some rows are; none if one of them has no name."""
        if not all(row in self.seen.named for row in rows):
            return ()
        return tuple(self.known.steps[self.seen.named[row][-1]].name for row in sorted(rows))

    # A return

    def _wrong_returns(self) -> list[Call]:
        """The calls of functions that are given what is right, make nothing wrong of it, and return something else."""
        found = []
        for entry in self.trace.calls:
            sets = self.known.returns.get(entry.path)
            if not sets or entry.returns is None or not entry.outputs or self.is_given(entry.returns):
                continue
            rows = tuple(self.seen.row(node) for node in entry.outputs)
            given = given_to(entry, self.seen.row) in self.known.calls.get(entry.path, ())
            fine = all(self.seen.fine[node] for node in (*entry.inputs, *entry.outputs))
            if given and fine and -1 not in rows and rows not in sets:
                found.append(entry)
        return found[:MOST]

    def _made_from(self, calls: list[Call]) -> set[int]:
        """What is computed from what calls return, after they have returned."""
        trace = self.trace
        found: set[int] = set()
        for entry in calls:
            number = next(at for at, one in enumerate(trace.calls) if one is entry)
            own = [node for node in range(trace.size) if number in self._around(int(trace.around[node]))]
            end = max((*own, *entry.outputs), default=0)
            made = set(entry.outputs)
            for node in range(end + 1, trace.size):
                if made & set(trace.inputs[node]):
                    made.add(node)
            found |= made - set(entry.outputs)
        return found

    def _wrong_return(self, entry: Call) -> None:
        line = entry.returns
        assert line is not None
        steps = self.known.steps
        rows = [int(self.seen.rows[node]) for node in entry.outputs]
        back = tuple(dict.fromkeys(steps[one].name for row in rows for one in self.seen.named.get(row, [])[-1:]))
        after = {one for row in rows for one in self.seen.named.get(row, ())}
        if laid_out := self._laid_out(entry):
            self.faults.setdefault(laid_out.line, laid_out)
            return
        missing = [one for one in self.missing if not steps[one].after or set(steps[one].after) & after]
        wanted = {row for sets in self.known.returns[entry.path] for row in sets}
        named = [step.name for step in steps if step.row in wanted and step.name not in back]
        should = steps[missing[0]].name if missing else named[0] if len(named) == 1 else ""
        if line not in self.faults and (back or should):
            self.faults[line] = Fault(line, should, returns=back, left_out=bool(missing))

    def _laid_out(self, entry: Call) -> Fault | None:
        """The line that makes a tensor whose numbers are returned in another order than they should be."""
        sets = self.known.returns[entry.path]
        if len(sets) != 1 or len(sets[0]) != len(entry.outputs):
            return None
        for node, right in zip(entry.outputs, sets[0], strict=True):
            line = self.trace.lines[node]
            if right != int(self.seen.rows[node]) and right in self.seen.alike_rows(node):
                if line is None or self.is_given(line):
                    return None
                name = self._names({right})
                return Fault(line, order=name[0] if name else UNNAMED, node=node, rows=(right,))
        return None

    # The order of what comes back

    def _wrong_order(self) -> None:
        trace, known = self.trace, self.known
        for number, (node, right) in enumerate(zip(trace.results, known.results, strict=True)):
            line = trace.lines[node]
            off = np.abs(known.rows[right, :ORDERED] - trace.signatures[node, :ORDERED]).max()
            same = int(self.seen.rows[node]) == right and known.shapes[number] == trace.shapes[number]
            if line and not self.is_given(line) and not same and off <= LIMIT:
                self.faults[line] = Fault(line, order=UNNAMED, node=node, rows=(right,))


def find(
    trace: Trace,
    known: Known,
    given: Callable[[Line], bool] = lambda line: False,
    bare: Callable[[Line], bool] = lambda line: False,
) -> Finding:
    """What follows from a trace of a failed call.

    Args:
        given: whether a line is of a given function.
        bare: whether a line is a call whose result gets no name.
    """
    search = _Search(trace, known, given)
    seen = search.seen
    made = tuple(int(seen.rows[node]) for node in trace.results)
    if trace.raised is None and trace.whole and made == known.results and trace.shapes == known.shapes:
        return Finding()  # the call gives the right numbers: what is wrong is something else
    faults = search.search()
    if unused := unused_lines(seen, bare):
        faults = {line: Fault(line, unused=True) for line in unused}
    wrong = [line for node, line in enumerate(trace.lines) if line and not seen.fine[node] and line not in faults]
    at = {trace.raised_at} if trace.raised_at else set()  # what raises is not right, whatever else the line made
    return Finding(
        right=right_lines(seen, {*wrong, *faults, *at}),
        faults=tuple(faults.values()),
        raised=trace.raised is not None,
        missing=tuple(known.steps[number].name for number in search.missing),
        usual=bool((seen.rows[trace.made & ~seen.alike & ~seen.unknown] >= 0).all()),
        after=tuple(dict.fromkeys(wrong)),
        never=never_called(trace, known),
        often=called_often(trace, known),
    )
