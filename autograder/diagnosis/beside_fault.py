"""What is said beside the first wrong line: lines that are right or of no use, modules called never or too often."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from autograder.diagnosis.findings import CLASS, Called, Fault, Text, goes_own_way, module_name
from autograder.diagnosis.known_steps import Known, Step, given_to, modules_of
from autograder.diagnosis.right_steps import PARTS, Comparison
from autograder.diagnosis.weak_tensors import CHOOSING, COMPUTED
from autograder.sandbox.traces import TRAINED, Call, Line, Trace

Often = tuple[tuple[str, tuple[Line, ...]], ...]  # modules, and lines that call them
# Operations that change a tensor.
IN_PLACE = re.compile(r"[^_]_$|^__setitem__$|^__i(add|sub|mul|truediv|floordiv|pow|and|or|xor|mod|matmul)__$")


def unused_lines(seen: Comparison, bare: Callable[[Line], bool]) -> list[Line]:
    """The lines whose results get no name and go nowhere, as that of `scores.masked_fill(mask, value)`.

    Args:
        bare: whether a line is a call whose result gets no name.
    """
    trace = seen.trace
    made: dict[Line, list[int]] = {}
    for node, line in enumerate(trace.lines):
        if line and trace.made[node] and not seen.plain[node]:
            made.setdefault(line, []).append(node)
    ends = {*trace.results, *(trace.raised or ())}
    return [
        line
        for line, nodes in made.items()
        if bare(line)
        and not ends.intersection(nodes)
        and not any(IN_PLACE.search(trace.operations[node]) for node in nodes)
        and all(trace.lines[user] == line for node in nodes for user in seen.consumers[node])
    ]


def unused_writes(seen: Comparison, into: Callable[[Line], str]) -> dict[Line, Fault]:
    """The faults of lines that write into a tensor which nothing uses after that: it may have been meant for another.

    Args:
        into: the name of a tensor into which a line writes, and which its function does not use any more.
    """
    trace, found = seen.trace, dict[Line, Fault]()
    ends = {*trace.results, *(trace.raised or ())}
    for node in [node for node, name in enumerate(trace.operations) if IN_PLACE.search(name) and trace.made[node]]:
        line = trace.lines[node]
        # A mask that is right should have been used by another line.
        if line and (name := into(line)) and not (seen.binary[node] and seen.rows[node] >= 0):
            found[line] = Fault(line, unused=name, writes=True)
            ends |= {node} if any(trace.lines[user] != line for user in seen.consumers[node]) else set()
    used = {trace.lines[node] for node in ends if IN_PLACE.search(trace.operations[node])}
    return {line: fault for line, fault in found.items() if line not in used}


def goes_on_without(seen: Comparison, faults: Mapping[Line, Fault], never: Sequence[str]) -> dict[Line, Fault]:
    """The faults, of which those go on without a step that lack what a module makes which is never called."""
    given = {row for path in never for rows in seen.known.calls.get(path, ()) for row in rows}
    lacking = {made for source, _, made in seen.known.made_from if source in given}
    steps = {step.name for step in seen.known.steps if step.row in lacking and step.row not in seen.rows}
    return {
        line: replace(fault, left_out=True, operation="") if fault.again and fault.missing in steps else fault
        for line, fault in faults.items()
    }


def never_called(trace: Trace, known: Known) -> tuple[str, ...]:
    """The modules that all correct code calls and this code neither calls nor uses the weights of."""
    if trace.raised is not None or not trace.whole or not trace.results:
        return ()
    touched = modules_of(trace)
    # Of one that is known by its class only it is not seen whether its weights are used.
    missed = [path for path in known.counts if path not in touched and not CLASS.fullmatch(path.rpartition(".")[2])]
    # Of a module that is never called, those in it need not be named.
    return tuple(path for path in missed if not any(path.startswith(f"{other}.") for other in missed))


def of_helper(entry: Call, known: Known) -> bool:
    """Whether a call is one of a function of the student's own."""
    return entry.path.endswith("()") and entry.path not in known.calls


def in_helper(seen: Comparison, node: int) -> bool:
    """Whether a node is made in a function of the student's own."""
    number = int(seen.trace.around[node])
    return number >= 0 and of_helper(seen.trace.calls[number], seen.known)


def helper_around(seen: Comparison, call: int) -> int:
    """The number of the innermost call of a function of the student's own that is around a place, or -1."""
    return next((one for one in seen.around(call) if of_helper(seen.trace.calls[one], seen.known)), -1)


def given_to_helper(seen: Comparison, node: int) -> Line | None:
    """The line that calls the helper function in which a node is made of nothing but what this was given."""
    for number in seen.around(int(seen.trace.around[node])):
        entry = seen.trace.calls[number]
        if entry.path.endswith("()"):
            own = of_helper(entry, seen.known) and set(seen.trace.inputs[node]) <= set(entry.inputs)
            return entry.line if own else None
    return None


def caller_of_helper(entry: Call, trace: Trace, known: Known) -> Line | None:
    """The line that calls the helper function in which a call is made."""
    around = trace.calls[entry.around] if entry.around >= 0 else None
    return around.line if around and of_helper(around, known) else None


def _calling_line(entry: Call, trace: Trace, known: Known, text: Text) -> Line | None:
    """The line that says which module is called: in a helper function that is given it, the one that calls this."""
    if entry.line and text.names(entry.line, module_name(entry.path)):
        return entry.line
    return caller_of_helper(entry, trace, known) or entry.line


def called_often(trace: Trace, known: Known, text: Text) -> Often:
    """The modules that this code calls more often than any correct code, with the lines of all calls."""
    if trace.raised is not None or not trace.whole or not trace.results:
        return ()
    lines: dict[str, list[Line]] = {}
    callers: dict[str, list[Line | None]] = {}
    for entry in trace.calls:
        if entry.path in known.counts and (line := _calling_line(entry, trace, known, text)):
            lines.setdefault(entry.path, []).append(line)
            callers.setdefault(entry.path, []).append(caller_of_helper(entry, trace, known))
    for path, own in callers.items():  # of a helper function, which several lines call
        if len(set(lines[path])) == 1 and len(set(own)) == len(own) > 1 and None not in own:
            lines[path] = [line for line in own if line]
    often = [path for path in lines if len(lines[path]) > known.counts[path]]
    # A line that calls it again and again is in a loop, which may only end later since something else is wrong.
    often = [path for path in often if len(set(lines[path])) == len(lines[path]) or known.counts[path] == 1]
    # Of a module that is called too often, those in it need not be named.
    return tuple((path, tuple(lines[path])) for path in often if not any(path.startswith(f"{one}.") for one in often))


def surplus_calls(seen: Comparison, often: Often) -> Often:
    """Of modules that are called too often, with the lines of all calls, the lines that call them with something else
    than correct code does, if as many calls as should be are as they should be."""
    found = []
    for path, lines in often:
        calls = [entry for entry in seen.trace.calls if entry.path == path and entry.line]
        usual = [given_to(one, seen.row) in seen.known.calls[path] for one in calls]
        told = tuple(line for line, right in zip(lines, usual, strict=False) if not right)
        found.append((path, told if told and sum(usual) == seen.known.counts[path] else lines))
    return tuple(found)


def steps_missing(seen: Comparison, faults: Mapping[Line, Fault], until: Line) -> dict[Line, Fault]:
    """The faults that are steps which are missing before a line that calls one module in the place of another."""
    where = list(zip(seen.trace.lines, seen.trace.callers, strict=True))
    first = {
        line: next((at for at, lines in enumerate(where) if line in lines), len(where)) for line in (*faults, until)
    }
    kept = [one for one in faults.values() if one.left_out and one.missing and not one.calls]
    return {one.line: one for one in kept if first[one.line] < first[until]}


def in_place_of(seen: Comparison, often: Often, never: Sequence[str], text: Text) -> Fault | None:
    """The line that calls a module too often, in the place of the only one that is never called.

    That is: with what that one should be called with. It does not matter then whether a module may be called with
    anything, as dropout.
    """
    if len(often) != 1 or len(never) != 1 or len(set(often[0][1])) != 1:
        return None
    [(path, (line, *_))] = often
    given = [given_to(one, seen.row) for one in seen.trace.calls if one.path == path and one.line == line]
    if text.given(line) or any(rows not in seen.known.calls[never[0]] for rows in given):
        return None
    return Fault(line, calls=Called(module_name(path), module_name(never[0])))


def around_module(seen: Comparison, never: Sequence[str], text: Text) -> Fault | None:
    """The only line that makes something unknown of what the only module should be given that is never called."""
    sets = seen.known.calls.get(never[0], ()) if len(never) == 1 else ()
    given, lines = {rows[0] for rows in sets if len(rows) == 1}, dict[Line | None, Line | None]()
    for node in np.flatnonzero(seen.trace.made & seen.flows & (seen.rows < 0) & ~seen.unknown & ~seen.plain):
        for source in seen.trace.inputs[node]:
            if seen.row(source) in given:
                entry = seen.trace.calls[int(seen.trace.around[node])] if in_helper(seen, int(node)) else None
                at = entry.line if entry and source in entry.inputs else seen.trace.lines[node]
                lines[at] = seen.trace.lines[source]
    [(line, before)] = lines.items() if len(lines) == 1 else [(None, None)]
    if line is None or text.given(line):
        return None
    name = module_name(never[0])
    made = {row for source, module, row in seen.known.made_from if source in given and module == name}
    missing = "".join(seen.names(made)[:1]) or f"the output of {name}"
    return Fault(line, missing, left_out=True, before=before if before != line else None)


def without_gaps(faults: Mapping[Line, Fault], often: Often) -> dict[Line, Fault]:
    """The faults, none of which has a step missing where a call is too much."""
    surplus = {line for _, lines in often for line in lines}
    return {
        line: replace(fault, left_out=False, missing="", before=None) if line in surplus and fault.left_out else fault
        for line, fault in faults.items()
    }


def called_twice(trace: Trace, known: Known, text: Text) -> tuple[str, Line] | None:
    """A module that one line calls twice, and correct code once, if only that line calls modules too often."""
    often = called_often(trace, known, text)
    if len({line for _, lines in often for line in lines}) == 1:
        path, lines = often[0]
        return (path, lines[0]) if len(lines) == 2 and known.counts[path] == 1 else None
    return None


def could_make(seen: Comparison, step: Step) -> bool:
    """Whether there is something that correct code makes a step of: without it another road may not need the step."""
    present = {int(row) for row in seen.rows if row >= 0}
    return bool(step.after) or any(row == step.row and source in present for source, _, row in seen.known.made_from)


def unused_steps(seen: Comparison) -> frozenset[str]:
    """The named steps that are tensors, right, and used by nothing."""
    trace, used, idle = seen.trace, set[int](), set[int]()
    if not trace.whole or trace.raised is not None:
        return frozenset()
    ends = {*trace.results, *(node for call in trace.calls for node in call.inputs)}
    for node in np.flatnonzero(trace.made & ~seen.plain):
        row = int(seen.rows[node])  # a view of it is the same
        uses = int(node) in ends or any(seen.rows[user] != row for user in seen.consumers[node])
        (used if uses else idle).add(row)
    return frozenset(seen.known.steps[step].name for row in idle - used for step in seen.named.get(row, ()))


def right_lines(seen: Comparison, wrong: set[Line], until: int) -> tuple[tuple[Line, tuple[str, ...]], ...]:
    """The lines on which everything is right, with the steps that are made there, in the order of time.

    A step has no name where its line goes on to something that only correct code of another kind could have.

    Args:
        until: the node before which they are.
    """
    lines: dict[Line, list[str]] = {}
    told: set[int] = set()
    wrong = wrong | _calling(seen, wrong)
    last = {line: node for node, line in enumerate(seen.trace.lines[:until]) if seen.trace.made[node]}
    for node, line in enumerate(seen.trace.lines[:until]):
        row = int(seen.rows[node])
        if line and line not in wrong and seen.proven[node]:
            names = lines.setdefault(line, [])
            telling = seen.telling[node] and not seen.weak[node] and not _beside_wrong_part(seen, node)
            telling = telling and not (_inside_given(seen, node) or _asks(seen, node) or _by_chance(seen, node))
            telling = telling and not _compares_by_chance(seen, node)
            if row in seen.named and row not in told and telling and seen.rows[last.get(line, node)] >= 0:
                told.add(row)
                # Of steps that change nothing here it is not seen whether they were made: not of those after the first.
                same = set(seen.named[row])
                first = [step for step in seen.named[row] if same.isdisjoint(seen.known.steps[step].after)]
                names += [name for step in first if (name := seen.known.steps[step].name) not in names]
    return tuple((line, tuple(names)) for line, names in lines.items())


def behind_ranges(seen: Comparison, faults: Mapping[Line, Fault]) -> dict[Line, Fault]:
    """The faults; those of ranges, which everybody counts as he likes, stand at the only line that uses them."""
    trace, found = seen.trace, dict[Line, Fault]()
    for line, fault in faults.items():
        own = [node for node, at in enumerate(trace.lines) if at == line and trace.made[node]]
        inside = all(trace.lines[one] == line for node in own for one in trace.inputs[node] if not seen.plain[one])
        users = {trace.lines[one] for node in own for one in seen.consumers[node]} - {line}
        counts = goes_own_way(fault) and inside and any(trace.operations[node] == "arange" for node in own)
        user = users.pop() if counts and len(users) == 1 else None
        found.setdefault(user or line, Fault(user, doubtful=True) if user else fault)
    return found


def _by_chance(seen: Comparison, node: int) -> bool:
    """Whether a number or a text is like what another line makes of it and of something else: that may be the step."""
    trace, rows = seen.trace, seen.rows
    if not seen.plain[node]:
        return False
    same = [one for one in seen.consumers[node] if rows[one] == rows[node] and trace.lines[one] != trace.lines[node]]
    beside = {other for one in same for other in trace.inputs[one]} - {node, *trace.inputs[node]}
    return any(seen.telling[one] and rows[one] != rows[node] for one in beside)


def _asks(seen: Comparison, node: int) -> bool:
    """Whether a node is a mask that has the numbers of what it is made from, as `weights != 0` of zeros and ones."""
    same = any(seen.rows[source] == seen.rows[node] for source in seen.trace.inputs[node])
    return same and seen.trace.operations[node] in CHOOSING


def _calling(seen: Comparison, wrong: set[Line]) -> set[Line]:
    """The lines from which functions with a wrong line are called: in an earlier round these may have been right."""
    trace = seen.trace
    nodes = [node for node, line in enumerate(trace.lines) if line in wrong and not seen.fine[node]]
    around = {number for node in nodes for number in seen.around(int(trace.around[node]))}
    lines = {trace.callers[node] for node in nodes} | {trace.calls[number].line for number in around}
    return {line for line in lines if line}


def _inside_given(seen: Comparison, node: int) -> bool:
    """Whether a node is made on the way in a function that its line calls, and that is not the student's: what stands
    in for another stage is right, but that stage may have another line for it, which is not."""
    around = [seen.trace.calls[number] for number in seen.around(int(seen.trace.around[node]))]
    own = [entry for entry in around if entry.line == seen.trace.lines[node] and entry.path.endswith("()")]
    return any(node not in entry.outputs for entry in own)


def in_standin(seen: Comparison, node: int) -> bool:
    """Whether a node is made in what stands in for the tested object: right code, which correct code does not call."""
    around = [seen.trace.calls[number] for number in seen.around(int(seen.trace.around[node]))]
    own = [one for one in around if one.line and one.line == seen.trace.lines[node] and not one.returns]
    return any(one.path == "it" and one.path not in seen.known.calls for one in own)


def works_aside(seen: Comparison, node: int) -> bool:
    """Whether a node is made in given code that only changes what it has already, as an optimizer does in `step()`."""
    around = [seen.trace.calls[number] for number in seen.around(int(seen.trace.around[node]))]
    own = [one for one in around if one.line and one.line == seen.trace.lines[node] and not one.returns]
    return any(one.path.endswith("()") and not (one.inputs or one.outputs) for one in own)


def _compares_by_chance(seen: Comparison, node: int) -> bool:
    """Whether a node compares where the step of its numbers computes: a narrow kernel is 1 on the diagonal only."""
    steps = {seen.known.steps[step].operation for step in seen.named.get(int(seen.rows[node]), ())}
    return seen.trace.operations[node] in CHOOSING and bool(steps & {*COMPUTED})


def _beside_wrong_part(seen: Comparison, node: int) -> bool:
    """Whether a node is a part of a tensor of which another part is not right."""
    parts = seen.trace.operations
    wholes = [one for one in seen.trace.inputs[node] if seen.rows[one] < 0] if parts[node] in PARTS else []
    beside = [one for whole in wholes for one in seen.consumers[whole] if parts[one] in PARTS]
    return any(seen.rows[one] < 0 and not seen.proven[one] for one in beside)


def is_usual(seen: Comparison) -> bool:
    """Whether correct code computes all of this, up to weights that are trained otherwise.

    Numbers of Python beside tensors are also added up in other ways; what is right that comes of them is enough.
    """
    trained = [node for node, name in enumerate(seen.trace.operations) if name == TRAINED and seen.rows[node] < 0]
    until = np.arange(seen.trace.size) < min(trained, default=seen.trace.size)
    known = (seen.rows >= 0) | (seen.plain & seen.proven & seen.tensors)
    return bool(known[until & seen.trace.made & ~seen.alike & ~seen.unknown].all())
