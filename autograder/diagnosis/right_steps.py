"""Which tensors of a followed call are right, beside what correct code computes.

A tensor is *fine* if correct code has one with the same signature, or if something fine was computed from it: code may
take a road of its own, and nothing right comes of a wrong number. A *suspect* is made by an operation whose inputs are
all fine, and flows into the result without being fine.
"""

from collections.abc import Collection, Sequence

import numpy as np

from autograder.diagnosis import weak_tensors
from autograder.diagnosis.inside_arrays import inside_arrays
from autograder.diagnosis.known_steps import (
    LIMIT,
    ORDERED,
    Known,
    constant,
    no_tensor,
    series,
    unusual,
)
from autograder.diagnosis.weak_tensors import CHOOSING, SHAPES, UNIT, WITH_PLACES, WRITES, negatives
from autograder.sandbox.plain_values import LOOPED, NAMED, OF_OTHERS, WHOLE
from autograder.sandbox.traces import GRADIENT, Line, Trace

CHANGING = ("masked_fill", "masked_fill_", "where", "add", "add_", "sub", "mul", "div", "triu", "tril", WRITES)
PARTS = ("__getitem__", "unbind", "chunk", "split", "select", "narrow", "index_select", "tensor_split", "unflatten")
TO_FILL = ("zeros", "ones", "full", "empty", "new_zeros", "new_ones", "new_full", "new_empty")
EMPTY = ("empty", "empty_like", "new_empty", "empty_strided")  # what they hold is not made yet
RANDOM = ("rand", "randn", "rand_like", "bernoulli", "multinomial", "randint", "exponential_", "uniform_", "normal_")
NUMBERS = ("tensor", "as_tensor", "from_numpy", "Tensor", "asarray")  # are made of what is not followed
TOGETHER = ("stack", "cat", "concat", "concatenate", "vstack", "hstack", "pad_sequence")
STEPS = 3  # operations between what is right and what is chosen by it
MOST = 100  # suspects and calls that are looked at: an honest record has a few, a forged one could have thousands
UNNAMED = "numbers"  # an order of numbers that belong to no named step


class Comparison:
    """The tensors of a call, and which of them correct code has."""

    def __init__(self, trace: Trace, known: Known, sure: Collection[int] = ()) -> None:
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
            self.alike |= self.plain & (np.abs(usable[:, 0]) > 1 - 1e-6)  # what forbidden scores are filled with
        self.unordered = known.find(usable, ORDERED)
        self.consumers: list[list[int]] = [[] for _ in range(trace.size)]
        for node, sources in enumerate(trace.inputs):
            for source in sources:
                self.consumers[source].append(node)
        self.named: dict[int, list[int]] = {}  # row -> steps
        telling = ~(no_tensor(known.rows) & constant(known.rows))
        for number, step in enumerate(known.steps):
            if telling[step.row]:
                for row in known.laid_out(step.row):
                    self.named.setdefault(row, []).append(number)
        self.series = series(trace)
        self.uses: dict[int, dict[str, list[int]]] = {}  # row -> operation -> rows that it makes of it
        for source, operation, row in known.made_from:
            self.uses.setdefault(source, {}).setdefault(operation, []).append(row)
        self.weights = self._weights()
        self.proven, self.fine = self._fine()
        self.fine[list(sure)] = True
        self.binary = weak_tensors.binary(trace, self.plain)
        self.drawn = np.array([self._drawn(node) for node in range(trace.size)], dtype=bool)
        self.either_way = weak_tensors.either_way(self)
        self.weak = weak_tensors.weak(self)
        self.weak[list(sure)] = False
        self.flows = self._flows()

    def _drawn(self, node: int) -> bool:
        """Whether a node holds random numbers that correct code does not draw, or not from this."""
        name, row = self.trace.operations[node], int(self.rows[node])
        if name not in RANDOM or self.unknown[node]:
            return False
        wanted = [self.uses.get(int(self.rows[source]), {}).get(name, ()) for source in self.trace.inputs[node]]
        return row < 0 or any(made and row not in made for made in wanted)

    def _fine(self) -> tuple[np.ndarray, np.ndarray]:
        n = self.trace.size
        proven = np.zeros(n, dtype=bool)  # right, since correct code has it or something right came of it
        for node in range(n - 1, -1, -1):
            matched = self.rows[node] >= 0 and not self.alike[node]
            # What only takes its shape from a tensor proves nothing about its numbers.
            # Neither does a number of Python, which may only be a size or a limit of its type.
            used = [user for user in self.consumers[node] if self.shows(user, node)]
            parts = [user for user in used if self.trace.operations[user] in PARTS]
            if not proven[parts].all():  # some parts of a wrong tensor may be right
                used = [user for user in used if user not in parts]
            # And a tensor of ones, such as the sums of weights, says nothing of what it is made from.
            used = [user for user in used if proven[user] and not (self.alike[user] and not self.plain[user])]
            proven[node] = matched or any(self.plain[one] <= self.plain[node] for one in used)
        idle = np.array([operation in EMPTY + RANDOM + UNIT for operation in self.trace.operations], dtype=bool)
        fine = proven | ~self.trace.made | idle | self.weights | (self.alike & ~self._strange())
        for node in range(n):
            if self.trace.operations[node] in CHOOSING and self.rows[node] >= 0 and not self.alike[node]:
                fine[self._short_way(node, fine)] = True
        several = len(self.trace.results) == len(self.known.results)
        for node, right in zip(self.trace.results, self.known.results, strict=True) if several else ():
            wrong = right != self.rows[node] if self.alike[node] else self.rows[node] < 0
            fine[node] &= not wrong or self.unknown[node]
        for node in range(n):  # of a tensor without numbers nothing is known: it is what its inputs are
            if (self.unknown[node] or self._handed_on(node)) and not fine[node]:
                fine[node] = all(fine[source] for source in self.trace.inputs[node])
        return proven, fine

    def _handed_on(self, node: int) -> bool:
        """Whether a number is only given another name, as that of an argument."""
        inputs = self.trace.inputs[node]
        same = self.trace.signatures[node] == self.trace.signatures[list(inputs)]
        return bool(self.plain[node]) and len(inputs) == 1 and bool(same.all())

    def shows(self, user: int, node: int) -> bool:
        """Whether a node is right if what an operation makes of it is right."""
        name, before = self.trace.operations[user], user - 1
        if name in CHOOSING or name.endswith(SHAPES):
            return False
        if name == "to" and self.trace.inputs[user][0] != node:  # of which only the type is taken
            return False
        if name in WITH_PLACES and (self.trace.operations[before], self.trace.inputs[before]) == (name, (node,)):
            return False  # the second tensor that it gives: the places, not the numbers
        return not self.idle(user) or bool(self.rows[user] == self.rows[node])

    def _short_way(self, node: int, fine: np.ndarray) -> list[int]:
        """What is between a chosen place and what is fine, if that is little: a road of its own, as by logarithms."""
        way: list[int] = []
        sources = [one for one in self.trace.inputs[node] if not fine[one]]
        for _ in range(STEPS):
            way += sources
            sources = [one for node in sources for one in self.trace.inputs[node] if not fine[one]]
        return way if not sources else []

    def too_short(self) -> dict[Line, int]:
        """The loops that end before those of correct code do: their lines, and the last node of each."""
        return {
            line: nodes[-1]
            for (line, name), nodes in self.series.items()
            if line and name.endswith(LOOPED) and self.rows[nodes[-1]] >= 0
            if int(self.rows[nodes[-1]]) not in self.known.ends
        }

    def idle(self, node: int) -> bool:
        """Whether an operation has changed nothing, as with an empty mask, where it should have."""
        row, name = int(self.rows[node]), self.trace.operations[node]
        usual = set(self.uses.get(row, {}).get(name, ())) == {row}  # so it does in correct code
        if name not in CHANGING or self.alike[node] or row < 0 or usual:
            return False
        return any(self.rows[source] == row for source in self.trace.inputs[node])

    def _weights(self) -> np.ndarray:
        """Weights (given tensors, at which the tracer does not look), and what is made of nothing but weights.

        Right gradients are none; of wrong ones it is not seen how they came about.
        """
        found = ~self.trace.made & self.unknown
        for node, sources in enumerate(self.trace.inputs):
            right = self.trace.operations[node] == GRADIENT and bool(self.rows[node] >= 0)
            found[node] |= bool(sources) and not right and all(found[source] for source in sources)
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

    def counts(self, node: int) -> bool:
        """Whether a node is a number made of nothing but itself, as by `hits += 1`, or of nothing, as by `return 0.0`.

        How often, or under which condition, the line runs is not seen.
        """
        names = {self.trace.operations[one] for one in (node, *self.trace.inputs[node])}
        counted = bool(self.trace.inputs[node]) or names == {"return" + NAMED}
        return bool(self.plain[node]) and counted and len(names) == 1

    def moved(self, node: int) -> bool:
        """Whether a node holds nothing but the elements of another one, in some order."""
        means, sources = self.trace.signatures[:, :ORDERED], self.trace.inputs[node]
        return len(sources) == 1 and bool(np.abs(means[node] - means[sources[0]]).max() <= LIMIT)

    def misused(self, source: int, user: int) -> bool:
        """Whether a number that stands for itself is used by an operation to which correct code never gives it."""
        uses = self.uses.get(int(self.rows[source])) if self.alike[source] and self.telling[source] else None
        return bool(uses) and self.trace.operations[user] not in (uses or {})

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

    def names(self, rows: set[int]) -> tuple[str, ...]:
        """The steps that some rows are; none if one of them has no name."""
        if not all(row in self.named for row in rows):
            return ()
        return tuple(self.known.steps[self.named[row][-1]].name for row in sorted(rows))

    def around(self, call: int) -> list[int]:
        """The calls around a place, the innermost first."""
        chain: list[int] = []
        while call >= 0 and len(chain) < MOST:
            chain.append(call)
            call = self.trace.calls[call].around
        return chain

    def order(self, node: int) -> str:
        """Whether correct code has the numbers of a node in another order: the name of the step, or UNNAMED."""
        alike = set(self.alike_rows(node))
        return next((step.name for step in self.known.steps if step.row in alike), UNNAMED) if alike else ""

    def one_name(self, node: int) -> bool:
        """Whether at most one named step has the numbers of a node, in any order."""
        alike = set(self.alike_rows(node))
        return len({step.name for step in self.known.steps if step.row in alike}) < 2

    def alike_rows(self, node: int) -> tuple[int, ...]:
        """The rows that have the numbers of a node, in any order."""
        row = int(self.unordered[node])
        if row < 0 or self.binary[node]:  # many masks have as many ones
            return ()
        off = np.abs(self.known.rows[:, :ORDERED] - self.known.rows[row, :ORDERED]).max(axis=1)
        return tuple(int(number) for number in np.flatnonzero(off <= LIMIT))

    def made_steps(self, missing: Sequence[int]) -> set[str]:
        """The steps that something here makes; of those that are missing also what is made in another order."""
        rows = {*self.rows.tolist(), *negatives(self).tolist()}
        found = {self.known.steps[step].name for row in rows for step in self.named.get(row, ())}
        numbers = self.trace.signatures[self.trace.made & ~self.binary & ~self.alike, :ORDERED]
        for step in (self.known.steps[number] for number in missing):
            before = self.known.rows[[self.known.steps[one].row for one in step.after], :ORDERED]
            own = self.known.rows[step.row, :ORDERED]
            only_order = (np.abs(before - own).max(axis=1, initial=0) <= LIMIT).any()
            if not only_order and (np.abs(numbers - own).max(axis=1, initial=0) <= LIMIT).any():
                found.add(step.name)
        return found

    def missing(self) -> list[int]:
        """The first named steps that nothing made: what they need is there, and nothing after them."""
        present = {int(row) for row in self.rows if row >= 0} | inside_arrays(self)
        present |= set(negatives(self).tolist())  # some take the negative at once, and others at the end
        steps = self.known.steps
        there = [not present.isdisjoint(self.known.laid_out(step.row)) for step in steps]
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
