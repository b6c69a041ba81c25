"""Functions that are given what is right, make nothing wrong of it, and return something else than they should."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from autograder.diagnosis.findings import Fault, Text
from autograder.diagnosis.known_steps import given_to, modules_of
from autograder.diagnosis.right_steps import MOST, TOGETHER, UNNAMED
from autograder.diagnosis.usual_steps import Usual
from autograder.sandbox.traces import Call, Line

FEW = 3  # operations between what is made again and what comes back


class WrongReturns:
    """The wrong returns of a followed call."""

    def __init__(self, usual: Usual, missing: Sequence[int], text: Text) -> None:
        self.usual, self.seen, self.trace, self.known = usual, usual.seen, usual.trace, usual.seen.known
        # Behind an exception nothing could be made.
        self.missing, self.text = missing if self.trace.raised is None else (), text
        self.calls = self._calls()
        self.later = self._made_from(self.calls)  # what is computed from what these calls return

    def _calls(self) -> list[Call]:
        found = []
        for entry in self.trace.calls:
            sets = self.known.returns.get(entry.path)
            if not sets or entry.returns is None or not entry.outputs or self.text.given(entry.returns):
                continue
            rows = self._rows(entry)
            given = given_to(entry, self.seen.row) in self.known.calls.get(entry.path, ())
            fine = all(self.seen.fine[node] for node in (*entry.inputs, *entry.outputs))
            if given and fine and -1 not in rows and rows not in sets:
                found.append(entry)
        return found[:MOST]

    def _rows(self, entry: Call) -> tuple[int, ...]:
        return tuple(self.seen.row(node) for node in entry.outputs)

    def _made_from(self, calls: Sequence[Call]) -> set[int]:
        trace = self.trace
        found: set[int] = set()
        for entry in calls:
            number = self._place(entry)
            own = [node for node in range(trace.size) if number in self.seen.around(int(trace.around[node]))]
            end = max((*own, *entry.outputs), default=0)
            made = set(entry.outputs)
            for node in range(end + 1, trace.size):
                if made & set(trace.inputs[node]):
                    made.add(node)
            found |= made - set(entry.outputs)
        return found

    def gave(self, later: Call) -> bool:
        """Whether a call is made with something that came back from one of these."""
        at = self._place(later)
        return any(set(entry.outputs) & set(later.inputs) for entry in self.calls if self._place(entry) < at)

    def _place(self, call: Call) -> int:
        return next(at for at, one in enumerate(self.trace.calls) if one is call)

    def faults(self) -> Iterator[Fault]:
        """What is said of the returns that use nothing of an earlier one."""
        for entry in self.calls:
            if not any(node in self.later for node in entry.outputs) and (told := self._fault(entry)):
                yield told

    def _fault(self, entry: Call) -> Fault | None:
        line, seen, steps = entry.returns, self.seen, self.known.steps
        assert line is not None
        if laid_out := self._laid_out(entry):
            return laid_out
        nodes, wanted = self._differing(entry)
        rows = [int(seen.rows[node]) for node in nodes]
        if len(nodes) == 1 and (again := self._repeated(nodes[0])):
            return Fault(again, repeats=True)
        back = tuple(dict.fromkeys(steps[one].name for row in rows for one in seen.named.get(row, [])[-1:]))
        after = {one for row in rows for one in seen.named.get(row, ())}
        next_rows = self.usual.leads_to(entry.outputs)
        missing = [
            one
            for one in self.missing
            if not steps[one].after or set(steps[one].after) & after or steps[one].row in next_rows
        ]
        named = [step.name for step in steps if step.row in wanted and step.name not in back]
        should = steps[missing[0]].name if missing else named[0] if len(named) == 1 else ""
        several = self._made_all(rows, wanted)
        should = should or " and ".join(dict.fromkeys(several))
        if filling := self._filling(entry):
            return Fault(filling, returns=back, fills=line)
        one_of_several = len(rows) < len(entry.outputs)
        # More are mostly those of lists that a loop fills.
        one_of_few = one_of_several and (len(entry.outputs) == 2 or (len(entry.outputs) == 3 and len(rows) == 1))
        # Names that a `return` only passes on, some of which hold no tensor: what they hold is decided elsewhere.
        least = min(len(own) for own in self.known.returns[entry.path])
        if (len(entry.outputs) < least and not self.text.makes(line)) or self.text.early(line):
            return None
        if self.text.makes(line) and not (back or should) and self._goes_on(entry, wanted):
            return Fault(line, returns=(), left_out=True)
        if self.text.gathers(line) or not (back or should or one_of_few):
            return None
        idle = any(path not in modules_of(self.trace) for path in self.known.counts)
        if idle and not self.trace.made[list(entry.outputs)].any():
            return None  # nothing has run that should have: a loop, or what a condition leads to
        if missing and any(self.seen.idle(node) for node in entry.outputs):
            return None  # the mask that changes nothing may come from another line
        made = self._made_of_several(entry, nodes) if one_of_several else None
        next_steps = {one for row in rows for found in self.usual.uses.get(row, {}).values() for one in found}
        used = any(seen.consumers[node] for node in nodes)  # it is right where it is used
        if back and made and (used or self.text.makes(line) or wanted <= next_steps):
            made = None
        nowhere = {step.name for step in steps if step.row not in self.usual.present}
        absent = bool(missing) or should in nowhere
        before = (made or self._made_at(entry, line)) if absent and not (back and made) else None
        if should in back and (last := self._made_last(entry, should)):
            return Fault(last, short=True, often=-1)
        left_out = bool(missing) or (bool(should) and not several and (one_of_several or should in nowhere))
        most = max(len(own) for own in self.known.returns[entry.path])
        tensors = (len(entry.outputs), most) if len(entry.outputs) > most else ()
        made = None if before else made
        # Where a loop ends too early, for instance, the step is missing anywhere before the `return`.
        far = missing and before is None and not back and not one_of_several and steps[missing[0]].row not in wanted
        fault = Fault(line, should, returns=back, left_out=left_out, before=before, anywhere=bool(far))
        return replace(fault, tensors=tensors, made=made)

    def _goes_on(self, entry: Call, wanted: set[int]) -> bool:
        """Whether the one tensor that comes back is what correct code makes the right one of, in a few operations.

        One of another shape may be cut off by some, and not become so long with others.
        """
        nodes = entry.outputs
        return (
            len(nodes) == 1
            and self.trace.shapes == self.known.shapes
            and not wanted.isdisjoint(self.usual.later(int(self.seen.rows[nodes[0]])))
        )

    def _made_all(self, rows: Sequence[int], wanted: set[int]) -> list[str]:
        """The names of several right results that all are there, while others come back."""
        if len(rows) < 2 or not wanted <= self.usual.present or any(row not in self.seen.named for row in wanted):
            return []
        return [self.known.steps[self.seen.named[row][-1]].name for row in sorted(wanted)]

    def _made_of_several(self, entry: Call, nodes: Sequence[int]) -> Line | None:
        """The line that makes all of the results that are wrong, if it is not the `return` itself."""
        lines = {self._line_in(entry, node) for node in nodes}
        line = lines.pop() if len(lines) == 1 else None
        return line if line and entry.returns and line != entry.returns and line.file == entry.returns.file else None

    def _line_in(self, entry: Call, node: int) -> Line | None:
        """The line of a call on which something is made, in other calls perhaps."""
        line, number, own = self.trace.lines[node], int(self.trace.around[node]), self._place(entry)
        while number not in (own, -1):
            line, number = self.trace.calls[number].line, self.trace.calls[number].around
        return line if number == own else None

    def _repeated(self, node: int) -> Line | None:
        """The line that makes what a tensor is made of, in a few operations, and has made it in an earlier round."""
        nodes = [node]
        for _ in range(FEW):
            if line := next((line for one in nodes if (line := self.usual.repeated(one))), None):
                return None if self.text.given(line) else line
            nodes = [source for one in nodes for source in self.trace.inputs[one] if self.trace.made[source]][:MOST]
        return None

    def _made_last(self, entry: Call, step: str) -> Line | None:
        """The line that makes a step of which a later round is missing, if it is not the `return` itself."""
        for node in entry.outputs[:MOST]:
            while step in self._names(node):
                before = [
                    one for one in self.trace.inputs[node] if self.seen.unordered[one] == self.seen.unordered[node]
                ]
                if not before:
                    line = self.trace.lines[node]
                    return line if line and line != entry.returns and not self.text.given(line) else None
                node = before[0]
        return None

    def _names(self, node: int) -> set[str]:
        """The steps that a node is."""
        return {self.known.steps[one].name for one in self.seen.named.get(int(self.seen.rows[node]), ())}

    def _differing(self, entry: Call) -> tuple[list[int], set[int]]:
        """What a call returns, and the rows of what it should return; of several only those that differ."""
        rows = self._rows(entry)
        sets = [own for own in self.known.returns[entry.path] if len(own) == len(rows)]
        if nearest := max(sets, key=lambda own: sum(map(int.__eq__, own, rows)), default=None):
            differing = [at for at, row in enumerate(rows) if row != nearest[at]]
            return [entry.outputs[at] for at in differing], {nearest[at] for at in differing}
        return list(entry.outputs), {row for own in self.known.returns[entry.path] for row in own}

    def _filling(self, entry: Call) -> Line | None:
        """The line that fills the list which is given back, if only what is in there is wrong."""
        before, line = self.text.filled(entry.returns) or (0, None) if entry.returns else (0, None)
        rows, sets = self._rows(entry), self.known.returns[entry.path]
        alone = any(own[before:] == rows[before:] for own in sets)  # what stands before it may be of another round
        return line if not alone and any(own[:before] == rows[:before] for own in sets) else None

    def _made_at(self, entry: Call, line: Line) -> Line | None:
        """The earlier line of the file that makes what a `return` only gives back, if it is one tensor."""
        found = None
        node = entry.outputs[0]
        while len(entry.outputs) == 1 and found is None:
            together = self.trace.operations[node] in TOGETHER
            inputs = self.trace.inputs[node]
            sources = [one for one in inputs if together or self.seen.rows[one] == self.seen.rows[node]]
            if together and len({self.trace.lines[one] for one in sources if self.trace.made[one]}) > 1:
                break
            if self.trace.lines[node] != line:
                found = self.trace.lines[node]
            if not sources:
                break
            node = sources[0]
        return found if found and found.file == line.file and found.number < line.number else None

    def _laid_out(self, entry: Call) -> Fault | None:
        """The line that makes a tensor whose numbers are returned in another order than they should be."""
        sets = self.known.returns[entry.path]
        if len(sets) != 1 or len(sets[0]) != len(entry.outputs):
            return None
        for node, right in zip(entry.outputs, sets[0], strict=True):
            line = self.trace.lines[node]
            if right != int(self.seen.rows[node]) and right in self.seen.alike_rows(node):
                if line is None or self.text.given(line):
                    return None
                # A `return` that does something with what correct code goes on with, too, does not do the right thing.
                later = self.usual.later(int(self.seen.rows[node]))
                if entry.returns and self.text.makes(entry.returns) and right in later:
                    line = entry.returns
                elif right in later and self.seen.named.get(int(self.seen.rows[node])):  # what came next is missing
                    return None
                name = self.seen.names({right})
                return Fault(line, order=name[0] if name else UNNAMED, node=node, rows=(right,))
        return None
