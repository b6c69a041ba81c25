"""Find the first line of a failed call whose result is not right: its computation beside what correct code computes.

A tensor is *fine* if correct code has one with the same signature, or if something fine was computed from it: code may
take a road of its own, and nothing right comes of a wrong number. A *suspect* is made by an operation whose inputs are
all fine, and flows into the result without being fine. What a suspect is given by its caller is looked at too: if a
module is called with other inputs than in correct code, the line that calls it is the one.

Where that leaves a doubt, nothing is found.
"""

from dataclasses import dataclass

import numpy as np

from autograder.diagnosis.known_steps import LIMIT, ORDERED, Known, constant
from autograder.sandbox.traces import Line, Trace

EMPTY = ("empty", "empty_like", "new_empty", "empty_strided")  # what they hold is not made yet


UNNAMED = "numbers"  # an order of numbers that belong to no named step


@dataclass(frozen=True)
class Fault:
    """A line that was given right inputs and made something else of them than correct code does."""

    line: Line
    missing: str = ""  # the step that should come of it, if there is one that follows
    given: tuple[str, ...] = ()  # the steps that went into it
    order: str = ""  # the numbers are right, in another order: those of this step
    calls: str = ""  # the module that it calls with other inputs than correct code, and the one that these belong to
    left_out: bool = False  # it is the step after the missing one: that was left out


@dataclass(frozen=True)
class Finding:
    """What follows from a trace."""

    right: tuple[tuple[Line, tuple[str, ...]], ...] = ()  # lines whose results are right, with the steps made there
    faults: tuple[Fault, ...] = ()
    raised: bool = False  # the call ended with an exception
    returned: str = ""  # all steps are right, but this one is returned, not the result
    order: Line | None = None  # what it makes is returned in another order or shape than it should
    missing: tuple[str, ...] = ()  # the first steps that nothing made
    after: tuple[Line, ...] = ()  # lines that compute with what is wrong


class _Comparison:
    def __init__(self, trace: Trace, known: Known) -> None:
        self.trace, self.known = trace, known
        signatures = trace.signatures
        self.unknown = ~np.isfinite(signatures).all(axis=1)
        usable = np.nan_to_num(signatures, nan=9.0)
        self.rows = known.find(usable)
        self.alike = constant(usable) & ~self.unknown
        self.unordered = known.find(usable, ORDERED)
        self.consumers: list[list[int]] = [[] for _ in range(trace.size)]
        for node, sources in enumerate(trace.inputs):
            for source in sources:
                self.consumers[source].append(node)
        self.named: dict[int, list[int]] = {}  # row -> steps
        for number, step in enumerate(known.steps):
            self.named.setdefault(step.row, []).append(number)
        self.proven, self.fine = self._fine()
        self.flows = self._flows()

    def _fine(self) -> tuple[np.ndarray, np.ndarray]:
        n = self.trace.size
        proven = np.zeros(n, dtype=bool)  # right, since correct code has it or something right came of it
        for node in range(n - 1, -1, -1):
            matched = self.rows[node] >= 0 and not self.alike[node]
            proven[node] = matched or any(proven[c] for c in self.consumers[node])
        idle = np.array([operation in EMPTY for operation in self.trace.operations], dtype=bool)
        fine = proven | ~self.trace.made | idle | (self.alike & ~self._strange())
        for node in range(n):  # of a tensor without numbers nothing is known: it is what its inputs are
            if self.unknown[node] and not fine[node]:
                fine[node] = all(fine[source] for source in self.trace.inputs[node])
        return proven, fine

    def _strange(self) -> np.ndarray:
        """Tensors of alike elements that correct code does not have, made from others that are not alike."""
        return np.array(
            [
                self.rows[node] < 0
                and not self.trace.operations[node].endswith(("_like", "new_full", "new_zeros", "new_ones"))
                and any(not self.alike[source] for source in self.trace.inputs[node])
                for node in range(self.trace.size)
            ],
            dtype=bool,
        )

    def _flows(self) -> np.ndarray:
        trace = self.trace
        ends = trace.raised if trace.raised is not None else trace.results
        flows = np.zeros(trace.size, dtype=bool)
        flows[list(ends) if ends else slice(None)] = True
        for node in range(trace.size - 1, -1, -1):
            if flows[node]:
                flows[list(trace.inputs[node])] = True
        return flows

    def suspects(self) -> list[int]:
        trace = self.trace
        # Where a record ends early it is not seen whether something right comes of a tensor, or what is right.
        last = trace.size if trace.whole else trace.size // 2
        last = last if self.known.whole else min(last, trace.size // 4)
        found = [
            node
            for node in range(last)
            if trace.made[node]
            and self.flows[node]
            and not self.fine[node]
            and not self.unknown[node]
            and all(self.fine[source] for source in trace.inputs[node])
        ]
        lines: dict[Line | None, list[int]] = {}
        for node in found:
            lines.setdefault(self.blamed(node)[0], []).append(node)
        explaining = [line for line, nodes in lines.items() if self._explain(nodes)]
        return [node for node in found if self.blamed(node)[0] in explaining]

    def _explain(self, suspects: list[int]) -> bool:
        """Whether something wrong was computed from suspects of one line and otherwise only from what is fine.

        If all that uses them has other wrong inputs, they may be right on a road of their own.
        """
        ends = self.trace.raised if self.trace.raised is not None else self.trace.results
        users = {node for one in suspects for node in self.consumers[one] if self.flows[node] and not self.fine[node]}
        if not users or any(one in ends for one in suspects):
            return True
        from_it = set(suspects)
        for node in range(suspects[0] + 1, max(users) + 1):
            if any(source in from_it for source in self.trace.inputs[node]):
                from_it.add(node)
        return any(all(self.fine[source] or source in from_it for source in self.trace.inputs[node]) for node in users)

    def blamed(self, node: int) -> tuple[Line | None, str]:
        """The line of a suspect; that of the call around it, with the module, if that was given something else."""
        chain = []
        call = int(self.trace.around[node])
        while call >= 0:
            chain.append(call)
            call = self.trace.calls[call].around
        for number in reversed(chain):
            entry = self.trace.calls[number]
            used = [source for source in entry.inputs if not self.alike[source] and not self.unknown[source]]
            rows = {int(self.rows[source]) for source in used}
            sets = self.known.calls.get(entry.path)
            if sets and entry.line and -1 not in rows and rows not in sets:
                parent = entry.path.rpartition(".")[0]
                others = [path for path, own in self.known.calls.items() if rows and rows in own]
                beside = [path for path in others if path.rpartition(".")[0] == parent]
                return entry.line, " ".join(path.rpartition(".")[2] for path in (entry.path, *beside[:1]))
        line, caller = self.trace.lines[node], self.trace.callers[node]
        # A function that gives something right elsewhere was called here with something wrong.
        elsewhere = {
            self.trace.callers[other]
            for other, own in enumerate(self.trace.lines)
            if own == line and self.proven[other] and self.trace.callers[other] != caller
        }
        return (caller if caller and elsewhere else line), ""

    def nearest(self, node: int) -> set[int]:
        """The named steps that went into a node, the nearest ones."""
        found: set[int] = set()
        seen, waiting = set(), list(self.trace.inputs[node])
        while waiting:
            source = waiting.pop()
            if source in seen:
                continue
            seen.add(source)
            if steps := self.named.get(int(self.rows[source])):
                found.update(steps)
            else:
                waiting += self.trace.inputs[source]
        return found

    def order(self, node: int) -> str:
        """Whether correct code has the numbers of a node in another order: the name of the step, or UNNAMED."""
        row = int(self.unordered[node])
        if row < 0:
            return ""
        off = np.abs(self.known.rows[:, :ORDERED] - self.known.rows[row, :ORDERED]).max(axis=1)
        alike = {int(number) for number in np.flatnonzero(off <= LIMIT)}
        return next((step.name for step in self.known.steps if step.row in alike), UNNAMED)

    def missing(self) -> list[int]:
        """The first named steps that nothing made: what they need is there, and nothing after them."""
        present = {int(row) for row in self.rows if row >= 0}
        steps = self.known.steps
        there = [step.row in present for step in steps]
        passed = list(there)  # made, or gone round: a later one is there
        for number in range(len(steps) - 1, -1, -1):
            if passed[number]:
                for before in steps[number].after:
                    passed[before] = True
        return [
            number
            for number, step in enumerate(steps)
            if not passed[number] and all(passed[before] for before in step.after)
        ]


def find(trace: Trace, known: Known) -> Finding:
    """What follows from a trace of a failed call."""
    seen = _Comparison(trace, known)
    made = tuple(int(seen.rows[node]) for node in trace.results)
    missing = seen.missing()
    first = tuple(known.steps[number].name for number in missing)
    if trace.raised is None and trace.whole and made == known.results:
        return Finding()  # the call gives the right numbers: what is wrong is something else
    suspects = seen.suspects()
    faults: dict[Line, Fault] = {}
    for node in suspects:
        line, calls = seen.blamed(node)
        order = seen.order(node)
        # Numbers that no step has a name for are laid out as everybody likes: nothing follows from their order.
        if line is None or line in faults or (order == UNNAMED and not calls):
            continue
        given = seen.nearest(node)
        own = trace.operations[node]
        beside = {trace.operations[other] for other, at in enumerate(trace.lines) if at == trace.lines[node]}
        after = [
            number
            for number in missing
            if given & set(known.steps[number].after)
            or (not known.steps[number].after and known.steps[number].operation in beside)
        ]
        step = known.steps[after[0]].name if after else ""
        later = {one.operation for one in known.steps[after[0] + 1 :] if after[0] in one.after} if after else set()
        left_out = bool(after) and own in later and own != known.steps[after[0]].operation
        names = tuple(dict.fromkeys(known.steps[number].name for number in sorted(given)))
        faults[line] = Fault(line, step, names, "" if order == UNNAMED else order, calls, left_out)
    returned = ""
    returned_order: Line | None = None
    whole = trace.raised is None and trace.whole and len(made) == len(known.results)
    if not faults and whole:
        for node, row, right in zip(trace.results, made, known.results, strict=True):
            off = np.abs(known.rows[right, :ORDERED] - trace.signatures[node, :ORDERED]).max()
            if row != right and off <= LIMIT:
                returned_order = returned_order or trace.lines[node]
    if (
        not faults
        and not returned_order
        and trace.raised is None
        and trace.whole
        and len(made) == len(known.results) == 1
    ):
        returned = next((known.steps[number].name for number in reversed(seen.named.get(made[0], []))), "")
    wrong = [line for node, line in enumerate(trace.lines) if line and not seen.fine[node] and line not in faults]
    return Finding(
        right=_right(seen, {*wrong, *faults}),
        faults=tuple(faults.values()),
        raised=trace.raised is not None,
        returned=returned,
        missing=first,
        after=tuple(dict.fromkeys(wrong)),
        order=returned_order,
    )


def _right(seen: _Comparison, wrong: set[Line]) -> tuple[tuple[Line, tuple[str, ...]], ...]:
    """The lines on which everything is right, with the steps that are made there, in the order of time."""
    lines: dict[Line, list[str]] = {}
    told: set[int] = set()
    for node, line in enumerate(seen.trace.lines):
        row = int(seen.rows[node])
        if line and line not in wrong and seen.proven[node]:
            names = lines.setdefault(line, [])
            if row in seen.named and row not in told:
                told.add(row)
                names += [name for step in seen.named[row] if (name := seen.known.steps[step].name) not in names]
    return tuple((line, tuple(names)) for line, names in lines.items())
