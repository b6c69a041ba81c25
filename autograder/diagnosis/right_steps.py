"""Which tensors of a followed call are right, beside what correct code computes.

A tensor is *fine* if correct code has one with the same signature, or if something fine was computed from it: code may
take a road of its own, and nothing right comes of a wrong number. A *suspect* is made by an operation whose inputs are
all fine, and flows into the result without being fine.
"""

import numpy as np

from autograder.diagnosis.known_steps import LIMIT, ORDERED, Known, arguments, constant, no_tensor, series, unusual
from autograder.sandbox.plain_values import LOOPED, OF_OTHERS, PASSED, WHOLE
from autograder.sandbox.traces import Line, Trace

EMPTY = ("empty", "empty_like", "new_empty", "empty_strided")  # what they hold is not made yet
RANDOM = ("rand", "randn", "rand_like", "bernoulli", "multinomial", "randint", "exponential_", "uniform_", "normal_")
SHAPES = ("_like", "new_full", "new_zeros", "new_ones", "new_empty", "_as")  # take the shape of a tensor
NUMBERS = ("tensor", "as_tensor", "from_numpy", "Tensor", "asarray")  # are made of what is not followed
TOGETHER = ("stack", "cat", "concat", "concatenate", "vstack", "hstack", "pad_sequence")
CHANGING = ("masked_fill", "masked_fill_", "where", "add", "add_", "sub", "mul", "div", "triu", "tril")
STEPS = 3  # operations between what a line is given and what it should be given
MOST = 100  # suspects and calls that are looked at: an honest record has a few, a forged one could have thousands
UNNAMED = "numbers"  # an order of numbers that belong to no named step


class Comparison:
    """The tensors of a call, and which of them correct code has."""

    def __init__(self, trace: Trace, known: Known) -> None:
        self.trace, self.known = trace, known
        signatures = trace.signatures
        self.unknown = ~np.isfinite(signatures).all(axis=1)
        usable = np.nan_to_num(signatures, nan=9.0)
        self.rows = known.find(usable)
        self.alike = constant(usable) & ~self.unknown
        self.plain = no_tensor(usable) & ~self.unknown
        self.telling = ~self.alike & ~self.unknown | unusual(usable)
        self.tensors = bool((trace.made & ~self.plain).any())
        if self.tensors:
            # Beside tensors, whole numbers and texts are sizes, places and names, which everybody has as he likes.
            self.alike |= self.plain & ((usable[:, -2] >= WHOLE) | (usable[:, -1] == OF_OTHERS))
        self.unordered = known.find(usable, ORDERED)
        self.consumers: list[list[int]] = [[] for _ in range(trace.size)]
        for node, sources in enumerate(trace.inputs):
            for source in sources:
                self.consumers[source].append(node)
        self.named: dict[int, list[int]] = {}  # row -> steps
        telling = ~(no_tensor(known.rows) & constant(known.rows))
        for number, step in enumerate(known.steps):
            if telling[step.row]:
                self.named.setdefault(step.row, []).append(number)
        self.series = series(trace)
        self.uses: dict[int, dict[str, list[int]]] = {}  # row -> operation -> rows that it makes of it
        for source, operation, row in known.made_from:
            self.uses.setdefault(source, {}).setdefault(operation, []).append(row)
        self.proven, self.fine = self._fine()
        self.weak = self._weak()
        self.flows = self._flows()

    def _fine(self) -> tuple[np.ndarray, np.ndarray]:
        n = self.trace.size
        proven = np.zeros(n, dtype=bool)  # right, since correct code has it or something right came of it
        for node in range(n - 1, -1, -1):
            matched = self.rows[node] >= 0 and not self.alike[node]
            # What only takes its shape from a tensor proves nothing about its numbers.
            # Neither does a number of Python, which may only be a size or a limit of its type.
            used = (one for one in self.consumers[node] if not self.trace.operations[one].endswith(SHAPES))
            proven[node] = matched or any(proven[one] and self.plain[one] <= self.plain[node] for one in used)
        idle = np.array([operation in EMPTY + RANDOM for operation in self.trace.operations], dtype=bool)
        fine = proven | ~self.trace.made | idle | self._weights() | (self.alike & ~self._strange())
        several = len(self.trace.results) == len(self.known.results)
        for node, right in zip(self.trace.results, self.known.results, strict=True) if several else ():
            fine[node] &= not self.alike[node] or right == self.rows[node]
        for node in range(n):  # of a tensor without numbers nothing is known: it is what its inputs are
            if self.unknown[node] and not fine[node]:
                fine[node] = all(fine[source] for source in self.trace.inputs[node])
        return proven, fine

    def _weak(self) -> np.ndarray:
        """Tensors that say too little: of zeros and ones, or of tiny or huge numbers, which a signature cannot tell.

        That correct code has one like it may be chance, unless something right came of it.
        """
        trace, means = self.trace, self.trace.signatures[:, :3]
        with np.errstate(invalid="ignore"):
            size = np.abs(means[:, 0])
            tiny = (
                self.alike & ~self.plain & (((size > 1e-12) & (size < 1e-3)) | ((size > 1 - 1e-3) & (size < 1 - 1e-7)))
            )
            # A one is squeezed to 1/2: its square is half of it.
            binary = (
                ~self.plain
                & (np.abs(means[:, 1] - means[:, 0] / 2) < 1e-9)
                & (np.abs(means[:, 2] - means[:, 0] / 4) < 1e-9)
            )
        # A mask is sure if correct code has it, and nowhere its opposite.
        opposite = np.nan_to_num((0.5 - means[:, :1]) * 0.5 ** np.arange(ORDERED), nan=9.0)
        binary &= (self.known.find(opposite, ORDERED) >= 0) | (self.rows < 0)
        proven = [any(self.proven[one] for one in self.consumers[node]) for node in range(trace.size)]
        drawn = np.array([operation in RANDOM for operation in trace.operations], dtype=bool) & (self.rows < 0)
        weak = tiny | (binary & ~self.alike) | self._from_unlike() | drawn
        found = trace.made & weak & ~np.array(proven, dtype=bool)
        for node, sources in enumerate(trace.inputs):  # nor does what is made of such a one alone
            known = self.telling[node] and self.rows[node] >= 0
            found[node] |= self.alike[node] and not self.plain[node] and not known and bool(found[list(sources)].any())
        names = arguments(trace)
        for nodes in () if self.tensors else self.series.values():
            # Small numbers prove little, but the end of a series says what its beginning is worth.
            wrong = self.rows[nodes[-1]] < 0
            if wrong or self.alike[nodes[-1]]:
                for one in nodes:
                    usual = proven[one] or (int(self.rows[one]), names.get(one)) in self.known.simple
                    found[one] |= self.alike[one] and bool(trace.inputs[one]) and (wrong or not usual)
        return found

    def _from_unlike(self) -> np.ndarray:
        """Tensors of alike elements made from others: that correct code has such a one may be chance."""
        trace = self.trace
        return np.array(
            [
                self.alike[node]
                and not self.plain[node]
                and not (self.telling[node] and self.rows[node] >= 0)
                and not trace.operations[node].endswith(SHAPES)
                and any(not self.alike[source] and not self.plain[source] for source in trace.inputs[node])
                for node in range(trace.size)
            ],
            dtype=bool,
        )

    def too_short(self) -> dict[Line, int]:
        """The loops that end before those of correct code do: their lines, and the last node of each."""
        return {
            line: nodes[-1]
            for (line, name), nodes in self.series.items()
            if line and name.endswith(LOOPED) and self.rows[nodes[-1]] >= 0
            if int(self.rows[nodes[-1]]) not in self.known.ends
        }

    def _rests_on_weak(self, node: int) -> bool:
        """Whether the line of a node uses something of another line that says too little."""
        waiting, line, seen = list(self.trace.inputs[node]), self.trace.lines[node], set()
        while waiting:
            source = waiting.pop()
            if source in seen:
                continue
            seen.add(source)
            if self.trace.lines[source] == line:
                waiting += self.trace.inputs[source]
            elif self.weak[source] or self.misused(source, node):
                return True
        return False

    def _weights(self) -> np.ndarray:
        """Weights (given tensors, at which the tracer does not look), and what is made of nothing but weights."""
        found = ~self.trace.made & self.unknown
        for node, sources in enumerate(self.trace.inputs):
            found[node] |= bool(sources) and all(found[source] for source in sources)
        return found

    def row(self, node: int) -> int:
        """The row of a node; -1 if correct code does not have it, -2 if nothing follows from it."""
        return -2 if self.alike[node] or self.unknown[node] else int(self.rows[node])

    def _strange(self) -> np.ndarray:
        """Tensors of alike elements that correct code does not have, made from others that are not alike."""
        return np.array(
            [
                self.rows[node] < 0
                and not (self.plain[node] and self.tensors)
                and not self.trace.operations[node].endswith(SHAPES)
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
        """The nodes that are wrong although all that went into them is fine."""
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
            and not (self.weak[node] and not trace.inputs[node])
            and not self._rests_on_weak(node)
            and not self._passes_on(node)
        ]
        lines: dict[Line | None, list[int]] = {}
        for node in found[:MOST]:
            lines.setdefault(trace.lines[node], []).append(node)
        explaining = [node for nodes in lines.values() if self._explain(nodes) for node in nodes]
        return sorted(explaining)

    def _passes_on(self, node: int) -> bool:
        """Whether a node is only what its inputs are: a number that is given back, or right tensors put together."""
        trace = self.trace
        if self.plain[node]:
            return trace.operations[node] == PASSED
        if trace.operations[node] not in TOGETHER or not all(self.proven[one] for one in trace.inputs[node]):
            return False
        # Too many, too few, or one again and again: what makes them is wrong, not the line that puts them together.
        rows = [int(self.rows[one]) for one in trace.inputs[node]]
        return len(rows) > 1 and (trace.shapes != self.known.shapes or len(set(rows)) < len(rows))

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

    def changes_nothing(self, line: Line, user: int) -> bool:
        """Whether a line computes something that goes into a node and is what it was before, as by an empty mask."""
        return any(
            self.trace.lines[node] == line
            and self.trace.operations[node] in CHANGING
            and not self.alike[node]
            and self.rows[node] >= 0
            and any(self.rows[source] == self.rows[node] for source in self.trace.inputs[node])
            for node in self.used(user)
        )

    def misused(self, source: int, user: int) -> bool:
        """Whether a number that stands for itself is used by an operation to which correct code never gives it."""
        uses = self.uses.get(int(self.rows[source])) if self.alike[source] and self.telling[source] else None
        return bool(uses) and self.trace.operations[user] not in (uses or {})

    def as_usual(self, node: int) -> bool:
        """Whether correct code does the same with something that went into a node."""
        rows = [int(self.rows[one]) for one in self.trace.inputs[node] if self.telling[one] and self.rows[one] >= 0]
        return any(self.trace.operations[node] in self.uses.get(row, {}) for row in rows)

    def leads_to(self, node: int) -> set[int]:
        """What correct code makes in a few operations of what went into a node."""
        found: set[int] = set()
        rows = {int(self.rows[one]) for one in self.trace.inputs[node] if self.telling[one] and self.rows[one] >= 0}
        for _ in range(STEPS):
            rows = {one for row in rows for made in self.uses.get(row, {}).values() for one in made} - found
            found |= rows
        return found

    def skipped_after(self, node: int) -> Line | None:
        """The line that makes what goes into a node, if correct code makes something else of it first.

        The operation is one that correct code never does with this, but does with something that it makes of it later
        and that is nowhere here.
        """
        trace, present = self.trace, {int(row) for row in self.rows if row >= 0}
        for source in trace.inputs[node]:
            line, row = trace.lines[source], int(self.rows[source])
            if row < 0 or self.alike[source] or line in (None, trace.lines[node]):
                continue
            uses = self.uses.get(row, {})
            if not uses or trace.operations[node] in uses:
                continue
            later, seen = [one for made in uses.values() for one in made], {row}
            for _ in range(STEPS):
                later = [one for one in later if one not in present and one not in seen]
                seen.update(later)
                if any(trace.operations[node] in self.uses.get(one, {}) for one in later):
                    return line
                later = [one for number in later for made in self.uses.get(number, {}).values() for one in made]
        return None

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

    def used(self, node: int) -> set[int]:
        """What the line of a node uses, and makes on the way to it."""
        trace, seen, waiting = self.trace, set[int](), list(self.trace.inputs[node])
        while waiting:
            source = waiting.pop()
            if source not in seen:
                seen.add(source)
                waiting += trace.inputs[source] if trace.lines[source] == trace.lines[node] else ()
        return seen

    def direct(self, node: int) -> set[int]:
        """The named steps that the line of a node uses as they are."""
        return {step for one in self.used(node) for step in self.named.get(int(self.rows[one]), ())}

    def order(self, node: int) -> str:
        """Whether correct code has the numbers of a node in another order: the name of the step, or UNNAMED."""
        alike = set(self.alike_rows(node))
        return next((step.name for step in self.known.steps if step.row in alike), UNNAMED) if alike else ""

    def alike_rows(self, node: int) -> tuple[int, ...]:
        """The rows that have the numbers of a node, in any order."""
        row = int(self.unordered[node])
        if row < 0:
            return ()
        off = np.abs(self.known.rows[:, :ORDERED] - self.known.rows[row, :ORDERED]).max(axis=1)
        return tuple(int(number) for number in np.flatnonzero(off <= LIMIT))

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
