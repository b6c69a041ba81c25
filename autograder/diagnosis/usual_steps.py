"""What correct code goes on to do with its tensors: steps that a line leaves out, and tensors in place of others."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from autograder.diagnosis.known_steps import LIMIT, Step
from autograder.diagnosis.right_steps import Comparison
from autograder.diagnosis.weak_tensors import CHOOSING, by_chance, passes_a_number_on, rests_on_weak
from autograder.sandbox.traces import Line

COMBINING = ("add", "sub", "mul", "maximum", "minimum", "max", "min", "where")
DROPOUT = ("dropout", "native_dropout", "feature_dropout", "alpha_dropout")
STEPS = 3  # operations between what a line is given and a step that it should make
LEFT_OUT = 8  # operations that may be left out
LAYING_OUT = ("unsqueeze", "squeeze", "view", "reshape", "flatten", "unflatten", "to", "contiguous")
ROUNDS, DEEP, WIDE = 8, 6, 4  # rounds of a loop, operations and their inputs, in which the same is looked for


@dataclass(frozen=True)
class Skipped:
    """A step between what a line is given and what it does with it."""

    node: int  # what is given
    line: Line | None  # the line that makes it, if one does
    row: int  # what should be given


@dataclass(frozen=True)
class Replaced:
    """A tensor in the place of another one, which correct code makes of the same by the same operation."""

    node: int
    row: int  # the other one


class Usual:
    """The tensors of a call, beside what correct code makes of them."""

    def __init__(self, seen: Comparison) -> None:
        self.seen, self.trace, self.uses = seen, seen.trace, seen.uses
        self.present = {int(row) for row in seen.rows if row >= 0}

    def _given(self, node: int, but: int = -1) -> list[int]:
        """What went into a node and says something, by rows.

        Args:
            but: a node that is left out.
        """
        seen, sources = self.seen, self.trace.inputs[node]
        return [int(seen.rows[one]) for one in sources if one != but and seen.telling[one] and seen.rows[one] >= 0]

    def as_usual(self, node: int) -> bool:
        """Whether correct code does the same with something that went into a node; a mask alone says little of that."""
        rows = [int(self.seen.rows[one]) for one in self.trace.inputs[node] if not self.seen.binary[one]]
        given = [row for row in self._given(node) if row in rows] or self._given(node)
        return any(self.trace.operations[node] in self.uses.get(row, {}) for row in given)

    def leads_to(self, nodes: Iterable[int]) -> set[int]:
        """What correct code makes in a few operations of some nodes, by rows."""
        found: set[int] = set()
        rows = {int(self.seen.rows[one]) for one in nodes if self.seen.telling[one]}
        for _ in range(STEPS):
            rows = {one for row in rows for made in self.uses.get(row, {}).values() for one in made} - found
            found |= rows
        return found

    def together(self, operation: str, rows: Collection[int]) -> set[int]:
        """What correct code makes of all of some tensors by one operation."""
        made = [set(self.uses.get(row, {}).get(operation, ())) for row in rows]
        return set.intersection(*made) if made else set()

    def later(self, *rows: int) -> Iterator[int]:
        """What correct code makes of tensors in a few operations, as far as it is nowhere here."""
        later, seen = list(rows), set(rows)
        for _ in range(LEFT_OUT):
            made = [one for number in later for found in self.uses.get(number, {}).values() for one in found]
            later = [one for one in dict.fromkeys(made) if one not in self.present and one not in seen]
            seen.update(later)
            yield from later

    def skipped(self, node: int) -> Skipped | None:
        """What went into a node too early, if correct code makes something else of it first.

        The operation is one that correct code never does with this (or never with this and what else went in), but does
        with something that it makes of it later and that is nowhere here.
        """
        trace, seen, own = self.trace, self.seen, self.trace.operations[node]
        given = set(self._given(node))
        for used in trace.inputs[node]:
            source = self._before_idle(used, trace.lines[node])
            line, row = trace.lines[source], int(seen.rows[source])
            uses = self.uses.get(row, {})
            if row < 0 or seen.alike[source] or not uses or (line and line == trace.lines[node]):
                continue
            beside = given - {row}
            if own in uses and (not beside or self.together(own, given)):
                continue
            for later in self.later(row):
                if own in self.uses.get(later, {}) and (own not in uses or self.together(own, {later, *beside})):
                    elsewhere = trace.around[source] != trace.around[node]  # in a function, which a line has called
                    return Skipped(source, (elsewhere and trace.callers[source]) or self.first_line(source), later)
        return None

    def _before_idle(self, node: int, line: Line | None) -> int:
        """What a node is, where operations of a line have changed nothing, as by an empty mask or a limit."""
        lines, inputs, rows = self.trace.lines, self.trace.inputs, self.seen.rows
        while lines[node] == line and (same := [one for one in inputs[node] if rows[one] == rows[node] >= 0]):
            node = same[0]
        return node

    def first_line(self, node: int) -> Line | None:
        """The line that made what a node is: others in between may have changed nothing, as by an empty mask."""
        row, same = self.seen.rows[node], [node]
        while same:
            node = same[0]
            same = [one for one in self.trace.inputs[node] if self.seen.rows[one] == row and self.trace.lines[one]]
        return self.trace.lines[node]

    def may_be_given_wrongly(self, node: int) -> bool:
        """Whether what a node is made of may be wrong, though it looks right."""
        chance = by_chance(self.seen, node, self.first_line) or passes_a_number_on(self.seen, node)
        return chance or rests_on_weak(self.seen, node)

    def replaced(self, node: int) -> Replaced | None:
        """What stands in the place of another tensor, which is nowhere here, where two of them are put together.

        As values that are multiplied with keys: correct code makes nothing of these two, but something of the keys and
        of what the same operations make of the same input elsewhere.
        """
        own, given = self.trace.operations[node], set(self._given(node))
        moved = [one for one in self.trace.inputs[node] if self.seen.rows[one] < 0 and self.seen.moved(one)]
        if not moved and self.together(own, given):
            return None
        for source in self.trace.inputs[node]:
            if self.seen.rows[source] < 0 and source not in moved:
                continue
            beside = set(self._given(node, but=source))
            chain = [source]  # from the tensor back to what it was made from
            while beside and len(chain) <= STEPS and len(found := self._sources(chain[-1])) == 1:
                child, chain = chain[-1], [*chain, found[0]]
                made = self.uses.get(int(self.seen.rows[found[0]]), {}).get(self.trace.operations[child], [])
                for row in made:
                    if other := self._other_road(row, [child, *chain[-3::-1]], own, beside):
                        return other
        return None

    def _sources(self, node: int) -> list[int]:
        """What a node is made from, without weights."""
        found = self.trace.inputs[node] if self.trace.made[node] else ()
        return [one for one in found if not self.seen.unknown[one]]

    def _other_road(self, row: int, nodes: list[int], own: str, beside: set[int]) -> Replaced | None:
        """The first of some nodes, made one of the other, in whose place correct code has what is nowhere here.

        Args:
            row: what stands in the place of the first node there.
            own: the operation that correct code does with the last one and what stands beside it.
        """
        rows, first = [row], None
        for number, node in enumerate(nodes):
            if number:
                rows = [one for row in rows for one in self.uses.get(row, {}).get(self.trace.operations[node], [])]
            if first is None and rows and self.present.isdisjoint(rows):
                first = Replaced(node, rows[0])
        return first if any(self.together(own, {end, *beside}) for end in rows) else None

    def changes_nothing(self, line: Line, user: int) -> bool:
        """Whether a line computes something that goes into a node and is what it was before."""
        return any(self.trace.lines[node] == line and self.seen.idle(node) for node in self._used(user))

    def in_vain(self, node: int, line: Line) -> tuple[Line, int] | None:
        """The line before that of a node that makes what this uses, and changes nothing where correct code does by the
        same operation; and what that makes."""
        trace, rows = self.trace, self.seen.rows
        for one in sorted(self._used(node), reverse=True):
            at, made = trace.lines[one], self.uses.get(int(rows[one]), {}).get(trace.operations[one], ())
            before = at is not None and at.file == line.file and at.number < line.number
            if at and before and self.seen.idle(one) and made and int(rows[one]) not in made:
                return at, next((row for row in made if row not in self.present), -1)
        return None

    def direct(self, node: int) -> set[int]:
        """The named steps of other lines that the line of a node uses as they are."""
        own = self.trace.lines[node]
        used = [one for one in self._used(node) if self.trace.lines[one] != own]
        return {step for one in used for step in self.seen.named.get(int(self.seen.rows[one]), ())}

    def _used(self, node: int) -> set[int]:
        """What the line of a node uses, and makes on the way to it."""
        trace, seen, waiting = self.trace, set[int](), list(self.trace.inputs[node])
        while waiting:
            source = waiting.pop()
            if source not in seen:
                seen.add(source)
                waiting += trace.inputs[source] if trace.lines[source] == trace.lines[node] else ()
        return seen

    def is_aside(self, node: int, step: Step, given: Collection[int]) -> bool:
        """Whether a node is made of nothing that a missing step is made from: masks that are put together as numbers.

        Args:
            given: the steps that went into the node.
        """
        return bool(step.after) and not given and self.trace.operations[node] in COMBINING

    def begins(self, node: int) -> bool:
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

    def round_before(self, node: int) -> Line | None:
        """The line below, in a loop, that made what a node is given, if the node's line has made something right in an
        earlier round: a step at the end of the round is missing."""
        trace, line = self.trace, self.trace.lines[node]
        again = any(trace.lines[one] == line and self.seen.proven[one] for one in range(node))
        given = [trace.lines[one] for one in trace.inputs[node] if self.seen.named.get(int(self.seen.rows[one]))]
        below = [at for at in given if at and line and at.file == line.file and at.number > line.number]
        return below[-1] if again and below else None

    def drops_elsewhere(self, node: int) -> bool:
        """Whether a node is what dropout leaves of something right that correct code never gives to dropout."""
        given = self._given(node) if self.trace.operations[node].startswith(DROPOUT) else ()
        made = [name for row in given for name in self.uses.get(row, {})]
        return bool(given) and not any(name.startswith(DROPOUT) for name in made)

    def repeated(self, node: int) -> Line | None:
        """The line that makes something that a node uses, and has made it in an earlier round of other inputs, while
        correct code makes it of those only."""
        trace, seen = self.trace, self.seen
        for source in trace.inputs[node][: 2 * WIDE]:
            row, at = int(seen.rows[source]), (trace.lines[source], trace.operations[source])
            if row < 0 or at[0] is None or not seen.telling[source] or seen.binary[source] or seen.plain[source]:
                continue
            earlier = [one for one in range(source) if (trace.lines[one], trace.operations[one]) == at]
            alike = [set(self._given(one)) for one in earlier[-ROUNDS:] if seen.rows[one] == row]
            own = set(self._given(source)) - set().union(*alike)
            if alike and own and not any(row in self.uses.get(one, {}).get(at[1], ()) for one in own):
                return at[0]
        return None

    def nothing_new(self, node: int) -> bool:
        """Whether a line that has made something right in an earlier round is given what was made there, once more."""
        trace, line = self.trace, self.trace.lines[node]
        if not any(trace.lines[one] == line and self.seen.proven[one] for one in range(node)):
            return False
        for source in trace.inputs[node][: 2 * WIDE]:  # a forged record could have thousands
            at = (trace.lines[source], trace.operations[source])
            earlier = [one for one in range(source) if (trace.lines[one], trace.operations[one]) == at]
            if any(self._as_before(one, source) for one in earlier[-ROUNDS:]):
                return True
        return False

    def only_lays_out(self, node: int) -> bool:
        """Whether a node holds the numbers that it is made of, in the same order: no step is made by that."""
        own, sources = int(self.seen.rows[node]), self.trace.inputs[node]
        alike = len(sources) == 1 and self.trace.operations[node] in LAYING_OUT
        signatures = self.trace.signatures
        return alike and own < 0 and bool(np.abs(signatures[node, :-1] - signatures[sources[0], :-1]).max() <= LIMIT)

    def _as_before(self, one: int, other: int, depth: int = DEEP) -> bool:
        """Whether two tensors are made by the same operations of the same tensors, which are made in the call, too."""
        trace, inputs = self.trace, (self.trace.inputs[one], self.trace.inputs[other])
        if one == other or not depth:
            return one == other and bool(trace.made[one])
        alike = trace.operations[one] == trace.operations[other] and len(inputs[0]) == len(inputs[1])
        return (
            alike
            and 0 < len(inputs[0]) <= WIDE
            and all(self._as_before(a, b, depth - 1) for a, b in zip(*inputs, strict=True))
        )

    def made_before(self, node: int, line: Line, steps: Collection[int] = ()) -> Line | None:
        """The line of the same file, before this one, that made what goes into a node last.

        What says nothing, as a mask of nothing but ones, does not count beside what does, nor does any mask beside
        numbers; beside what some steps have made nothing else does.
        """
        sources, seen = list(self.trace.inputs[node]), set()
        lines: dict[bool, list[Line]] = {True: [], False: []}
        by_steps: list[Line] = []
        while sources:
            source = sources.pop()
            at = self.trace.lines[source]
            if at == line and source not in seen:
                seen.add(source)
                sources += self.trace.inputs[source]
            elif at is not None and at.file == line.file and at.number < line.number:
                at = self.first_line(source) or at if self.seen.rows[source] >= 0 else at
                lines[bool(self.seen.telling[source] and not self.seen.binary[source])].append(at)
                if set(self.seen.named.get(int(self.seen.rows[source]), ())) & set(steps):
                    by_steps.append(at)
        return max(by_steps or lines[True] or lines[False], key=lambda one: one.number, default=None)

    def within(self, node: int, line: Line, step: str) -> str:
        """The operation of a node, if its line makes something else of it; nothing if an earlier one may be wrong, too.

        Args:
            step: the operation that makes the missing step. If the line has it before, that may be what is wrong.
        """
        trace = self.trace
        own = [one for one in range(trace.size) if trace.lines[one] == line]
        goes_on = trace.lines[node] == line and any(user in own for user in self.seen.consumers[node])
        before = {trace.operations[one] for one in own if one < node}
        # By a mask or by places it does what it should: these may be wrong.
        led = any(self.seen.binary[one] or trace.operations[one] in CHOOSING for one in trace.inputs[node])
        return trace.operations[node] if goes_on and step not in before and not led else ""

    def in_place_of(self, node: int, row: int) -> tuple[str, ...]:
        """What a node uses in the place of another tensor, and that other one, in words; nothing if it is not the only
        difference between it and what should be made.

        Args:
            row: what should be made, by the same operation, or next of what that makes.
        """
        own, given = self.trace.operations[node], set(self._given(node))
        sources: dict[int, set[int]] = {}
        for source, operation, made in self.seen.known.made_from:
            if operation == own and (made == row or made not in self.present):
                sources.setdefault(made, set()).add(source)
        found = []
        for made, wanted in sources.items():
            odd, lacks = given - wanted, wanted - given
            one_differs = len(odd) == 1 == len(lacks) and len(given) == len(wanted) >= 2
            if one_differs and (made == row or (lacks <= self.present and row in self.later(made))):
                told = tuple(self._told(rows.pop(), node) for rows in (odd, lacks))
                found.append(told if all(told) else ())
        return found[0] if len(found) == 1 else ()

    def _told(self, row: int, until: int) -> str:
        """The name of a tensor, or where it comes from; nothing if it is nowhere before a node."""
        if name := "".join(self.seen.names({row})):
            return name
        node = next((one for one in range(until) if self.seen.rows[one] == row), None)
        if node is None or (not self.trace.made[node] and self.trace.operations[node]):
            return ""
        if not self.trace.made[node]:
            return "what the call was given"
        taken = self.trace.operations[node] == "__getitem__"
        return f"what line {line.number} {'takes' if taken else 'makes'}" if (line := self.trace.lines[node]) else ""
