"""Calls of modules and functions with something right that correct code does not give to them."""

from collections.abc import Sequence

import numpy as np

from autograder.diagnosis.beside_fault import caller_of_helper, of_helper
from autograder.diagnosis.findings import CLASS, Called, Fault, Text, module_name
from autograder.diagnosis.known_steps import LIMIT, MEANS, given_to
from autograder.diagnosis.right_steps import TO_FILL
from autograder.diagnosis.usual_steps import DROPOUT, Usual
from autograder.sandbox.traces import Call, Line


class WrongCalls:
    """The calls of a record, beside what correct code gives to them."""

    def __init__(self, usual: Usual, text: Text) -> None:
        self.usual, self.text = usual, text
        self.seen, self.trace, self.known = usual.seen, usual.trace, usual.seen.known

    def wrong(self, entry: Call) -> bool:
        """Whether a call is given something that is right, but is not what correct code gives to it."""
        sets = self.known.calls.get(entry.path, ())
        rows = given_to(entry, self.seen.row)
        return bool(sets) and -1 not in rows and rows not in sets and all(self.seen.fine[one] for one in entry.inputs)

    def idle_and_wrong(self, calls: Sequence[Call]) -> set[Line]:
        """The lines of wrong calls that give back what they are given, as dropout does behind `eval()`."""
        return {entry.line for entry in calls if entry.line and entry.inputs == entry.outputs and self.wrong(entry)}

    def usual_inputs(self, entry: Call) -> bool:
        """Whether a call is given what correct code gives to it."""
        return given_to(entry, self.seen.row) in self.known.calls.get(entry.path, ())

    def _opposite(self, entry: Call) -> str:
        """The mask whose opposite a call is given, if it is one."""
        rows, means = set(given_to(entry, self.seen.row)), self.known.rows[:, :MEANS]
        for one in self.known.calls[entry.path]:
            for given in rows - set(one):
                opposite = (0.5 - means[given, 0]) * 0.5 ** np.arange(MEANS)
                for wanted in set(one) - rows:
                    if np.abs(means[wanted] - opposite).max() <= LIMIT:
                        return "".join(self.seen.names({wanted})) or "a mask"
        return ""

    def doubtful(self, entry: Call) -> bool:
        """Whether a call may be given the right things all the same: what alike tensors should be is not known."""
        alike = self._alike(entry)
        rows = set(given_to(entry, self.seen.row))
        fits = any(rows <= set(one) for one in self.known.calls[entry.path])  # what should not be there is known
        return fits and any(self.trace.made[one] for one in alike) and not self._unfilled(entry)

    def _unfilled(self, entry: Call) -> bool:
        """Whether what is alike all over in a call is only made, and nothing fills it, where correct code always gives
        something else beside the rest."""
        alike = self._alike(entry)
        rows = set(given_to(entry, self.seen.row))
        more = [len(set(one)) > len(rows) for one in self.known.calls[entry.path] if rows <= set(one)]
        made = all(self.trace.made[one] and self.trace.operations[one].startswith(TO_FILL) for one in alike)
        return bool(alike and more) and all(more) and made

    def line(self, entry: Call, line: Line) -> Line:
        """The line that calls a helper function, if this passes on what it was given, or is right in another call.

        Where another module of that object is meant, it is the line that has its name.
        """
        if self.told(entry).instead:
            name = module_name(entry.path)
            if self.text.names(line, name):
                return line
            if naming := self.text.naming(line, name):  # as in `for project in (self.W_q, self.W_q, self.W_v)`
                return naming
        for number in self.seen.around(entry.around):
            around = self.trace.calls[number]
            if not of_helper(around, self.known) or not around.line:
                break
            # One that is given more could have made something else of it.
            given, passed = ({node for node in one.inputs if self.seen.telling[node]} for one in (around, entry))
            if passed != given and not (self._rightly_elsewhere(entry, around.line) or self._not_handed(entry, around)):
                break
            line = around.line
        return line

    def _not_handed(self, entry: Call, helper: Call) -> bool:
        """Whether a call in a helper function lacks what this function was not given either, and its caller was."""
        if helper.around < 0:
            return False
        rows = set(given_to(entry, self.seen.row))
        handed = set(map(self.seen.row, helper.inputs))
        there = set(map(self.seen.row, self.trace.calls[helper.around].inputs))
        lacking = [set(one) - rows for one in self.known.calls[entry.path] if rows < set(one)]
        return any(one <= there - handed for one in lacking)

    def with_numbers(self, node: int) -> Line | None:
        """The line that calls a given function with numbers of which this makes a wrong tensor, as a mask."""
        numbers = all(self.seen.plain[one] or self.seen.alike[one] for one in self.trace.inputs[node])
        return self.trace.callers[node] if numbers else None

    def caller(self, entry: Call) -> Line | None:
        """The line that calls the helper function in which a call is made."""
        return caller_of_helper(entry, self.trace, self.known)

    def _rightly_elsewhere(self, entry: Call, caller: Line) -> bool:
        """Whether the line of a call, in a helper function, gives something usual where another line calls that."""
        others = [one for one in self.trace.calls if one.line == entry.line and self.caller(one) not in (None, caller)]
        return any(map(self.usual_inputs, others))

    def told(self, entry: Call) -> Called:
        """What is known of a call with the wrong inputs."""
        rows = given_to(entry, self.seen.row)
        name, parent = module_name(entry.path), entry.path.rpartition(".")[0]
        # One that is called with these inputs anyhow, as dropout with anything, is not the one that was meant.
        made = {(one.path, given_to(one, self.seen.row)) for one in self.trace.calls}
        beside = [
            module_name(path)
            for path in self.known.counts
            if rows
            and rows in self.known.calls[path]
            and path.rpartition(".")[0] == parent
            and (path, rows) not in made
            and not CLASS.fullmatch(path.rpartition(".")[2])
        ]
        sets = self.known.calls[entry.path]
        return Called(
            name,
            beside[0] if beside and not f"{beside[0]}{name}".count("()") else "",
            self.seen.names(set(rows).difference(*sets)),
            self.seen.names(self._lacking(entry)),
            any(len(one) > len(rows) for one in sets),
            self._opposite(entry),
            self._without(entry),
            self._differing(entry),
            tuple(
                line.number for one in self._alike(entry) if (line := self.trace.lines[one]) and self._unfilled(entry)
            ),
        )

    def _alike(self, entry: Call) -> list[int]:
        """What a call is given that is alike all over."""
        return [one for one in entry.inputs if self.seen.alike[one] and not self.seen.plain[one]]

    def _differing(self, entry: Call) -> tuple[int, ...]:
        """The lines of what a call is given that is not in all calls of correct code which share most with it: each of
        its inputs may be right, but not beside the others."""
        nodes = {node: self.seen.row(node) for node in entry.inputs}
        shared = [set(one) & set(nodes.values()) for one in self.known.calls[entry.path]]
        most = max(map(len, shared), default=0)
        usual = set.intersection({-2, *nodes.values()}, *(one | {-2} for one in shared if len(one) == most))
        made = {self.trace.lines[node] for node, row in nodes.items() if row not in usual}
        own = entry.line.file if entry.line else ""
        return tuple(sorted(line.number for line in made if line and line.file == own))

    def _lacking(self, entry: Call) -> set[int]:
        """What a call should be given and is not, if that is clear: by what correct code gives to it, where this
        record has no such call yet, and which shares most with what it is given."""
        rows, calls = set(given_to(entry, self.seen.row)), self.trace.calls
        made = {given_to(one, self.seen.row) for one in calls if one.path == entry.path}
        left = [set(one) for one in self.known.calls[entry.path] if one not in made]
        most = max((len(one & rows) for one in left), default=0)
        lacking = {frozenset(one - rows) for one in left if len(one & rows) == most}
        return set(lacking.pop()) if len(lacking) == 1 else set()

    def _without(self, entry: Call) -> str:
        """What a call is not given that correct code gives to it, beside all that it is given; nothing if that is not
        seen, as of a mask that allows everything."""
        rows = set(given_to(entry, self.seen.row))
        if self._alike(entry) and not self._unfilled(entry):
            return ""
        lacking = [set(one) - rows for one in self.known.calls[entry.path] if rows < set(one)]
        if not rows or not lacking:
            return ""
        names = self.seen.names(min(lacking, key=len))
        return " and ".join(names) if 0 < len(names) <= 2 else "something that it should be given"

    def without_mask(self) -> Fault | None:
        """The first call with something wrong that is not given a mask, either, which is there and right, and which all
        correct code gives to it."""
        seen = self.seen
        there = {int(row) for node, row in enumerate(seen.rows) if seen.binary[node] and seen.proven[node]}
        for entry in self.trace.calls:
            rows = [seen.row(node) for node in entry.inputs]
            sets = [one for one in self.known.calls.get(entry.path, ()) if {*rows} - {-1} <= {*one}]
            if not sets or -1 not in rows or -2 in rows or not entry.line or self.text.given(entry.line):
                continue
            always = set.intersection(*map(set, sets)) - set(rows)
            lacking = [row for row in always if row in there]
            if len(rows) < min(map(len, sets)) and len(lacking) == 1:
                name = "".join(seen.names({*lacking})) or "a mask that it should be given"
                return Fault(self.line(entry, entry.line), calls=Called(module_name(entry.path), without=name))
        return None

    def opposite_made(self, entry: Call, line: Line) -> Fault | None:
        """The earlier line of the same file that makes a mask whose opposite the call should be given."""
        name, given = self._opposite(entry), set(given_to(entry, self.seen.row))
        rows = given.difference(*self.known.calls[entry.path])
        made = [self.usual.first_line(node) for node in entry.inputs if self.seen.row(node) in rows]
        place = made[0] if name and len(made) == 1 else None
        if place is None or place.file != line.file or place.number >= line.number or self.text.given(place):
            return None
        return Fault(place, opposite=name)

    def left_out(self, entry: Call, line: Line) -> Fault | None:
        """The step that is missing between what a call is given and what it should be given, if it is one."""
        rows = set(given_to(entry, self.seen.row))
        pairs = [(rows - set(one), set(one) - rows) for one in self.known.calls[entry.path]]
        skipped = [(extra, lacking) for extra, lacking in pairs if len(extra) == 1 == len(lacking)]
        skipped = [(extra, lacking) for extra, lacking in skipped if lacking <= set(self.usual.later(*extra))]
        if not skipped:
            return None
        extra, lacking = skipped[0]
        before = next(self.trace.lines[node] for node in entry.inputs if self.seen.row(node) in extra)
        missing = self.seen.names(lacking) or self._by_module(extra, lacking)
        own = before is None or before.file == line.file
        if not own or not (missing or (before and before.number < line.number)):
            return None
        enters = module_name(entry.path), (entry.line or line).number
        step, given = missing[0] if missing else "", self.seen.names(extra)
        if first := self._first_missing(extra, lacking):  # what should be given to it comes later still
            return Fault(line, first, given, left_out=True, before=before)
        return Fault(line, step, given, left_out=True, before=before, enters=enters)

    def _first_missing(self, given: set[int], wanted: set[int]) -> str:
        """The first step that is nowhere of several on the way from what is given to what should be given."""
        steps, present = self.known.steps, self.usual.present
        nowhere = [one for one, step in enumerate(steps) if step.row not in present]
        far = any(set(steps[one].after) & set(nowhere) for one in nowhere if steps[one].row in wanted)
        own = {one for row in given for one in self.seen.named.get(row, ())}
        return next((steps[one].name for one in nowhere if far and set(steps[one].after) & own), "")

    def _by_module(self, given: set[int], wanted: set[int]) -> tuple[str, ...]:
        """What makes a tensor of another one in correct code, if it is a module, or dropout."""
        made = {name for source, name, row in self.known.made_from if source in given and row in wanted}
        return tuple(f"the output of {name}" for name in sorted(made) if CLASS.fullmatch(name) or name in DROPOUT)
