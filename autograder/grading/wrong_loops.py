"""Loops whose lines never run, and whether their iterator was used up before; those that leave modules of a list out;
loops that go on behind the result."""

import ast
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from autograder.diagnosis.findings import Fault, Finding, Text
from autograder.diagnosis.known_steps import Known, constant, modules_of
from autograder.diagnosis.weak_tensors import WRITES
from autograder.grading.source_lines import idle_loops
from autograder.sandbox.traces import Line, Trace
from autograder.submissions.syntax_tree import functions, kept


def with_wrong_loop(
    finding: Finding, trace: Trace, known: Known, sources: Mapping[str, str], text: Text, raised: bool
) -> Finding:
    """What follows, with the only loop that is never entered, or that an exception ends behind the result.

    Args:
        raised: whether the call ended with an exception.
    """
    if raised:
        return _with_endless_loop(finding, trace, known, sources)
    finding = _with_round_missing(_with_idle_loop(finding, trace, sources, text), trace, sources)
    finding = _where_it_is_left(_with_rounds_missing(finding, trace, known, sources), trace, sources)
    return _with_short_loop(finding, trace, known, sources)


def _with_round_missing(finding: Finding, trace: Trace, sources: Mapping[str, str]) -> Finding:
    """What follows, with the only loop that makes the step which lacks in what a `return` behind it gives back, where
    an earlier round has made it, in a function that it calls perhaps."""
    told = finding.faults[0] if len(finding.faults) == 1 else None
    if told is None or told.made or not (told.returns is not None and told.elsewhere and told.missing):
        return finding
    made = {line for line, names in finding.right if told.missing in names}
    lines = {one for at, line in enumerate(trace.lines) if line in made for one in (line, *_callers(trace, at))}
    loops = {_loop_around(line, sources) for line in lines if line and line.file == told.line.file}
    own = functions(told.line.file.removesuffix(".py"), sources.get(told.line.file, "")).values()
    begins = max((one.lineno for one in own if one.lineno <= told.line.number), default=0)
    behind = {loop for loop in loops if loop and begins < loop.number and loop.end < told.line.number}
    if len(behind) != 1:
        return finding
    return replace(finding, faults=(Fault(_head(behind.pop()), short=True),))


def _where_it_is_left(finding: Finding, trace: Trace, sources: Mapping[str, str]) -> Finding:
    """What follows, with the only condition on which a loop was left, for one of its lines that runs too few times."""
    told = finding.faults[0] if len(finding.faults) == 1 else None
    loop = _loop_around(told.line, sources) if told and told.short and told.often < 0 else None
    if told is None or loop is None or _begins_a_loop(told.line, sources):  # that one ends too early by itself
        return finding
    found = {
        Line(loop.file, node.lineno, node.lineno)
        for function in functions(loop.file.removesuffix(".py"), sources.get(loop.file, "")).values()
        for node in ast.walk(function)
        if isinstance(node, ast.If) and isinstance(node.body[-1], (ast.Break, ast.Return))
        # Behind the line: else the last round was not done to its end.
        if told.line.number < node.lineno <= loop.end and (loop.file, node.body[-1].lineno) in trace.begun
    }
    inner = {line for line in found if _loop_around(line, sources) == loop}
    return replace(finding, faults=(Fault(inner.pop(), short=True),)) if len(found) == 1 == len(inner) else finding


def _begins_a_loop(line: Line, sources: Mapping[str, str]) -> bool:
    """Whether a line is the head of a loop."""
    below = Line(line.file, line.number + 1, line.number + 1)
    return (loop := _loop_around(below, sources)) is not None and loop.number == line.number


def _callers(trace: Trace, node: int) -> list[Line | None]:
    """The lines of the calls in which something is made."""
    number, lines = int(trace.around[node]), []
    while number >= 0:
        lines.append(trace.calls[number].line)
        number = trace.calls[number].around
    return lines


def _with_rounds_missing(finding: Finding, trace: Trace, known: Known, sources: Mapping[str, str]) -> Finding:
    """What follows, with the only loop that writes into a tensor as correct code does, where a line behind it only
    passes that on, which is then not what it should be."""
    told = finding.faults[0] if len(finding.faults) == 1 else None
    if told is None or not told.vague or told.calls or not told.before or told.before.file != told.line.file:
        return finding
    loop, nodes = _loop_around(told.before, sources), [at for at, line in enumerate(trace.lines) if line == told.line]
    rows = known.find(trace.signatures)
    made_of = [one for at in nodes for one in trace.inputs[at]]
    written = [trace.operations[one] == WRITES and trace.lines[one] == told.before for one in made_of]
    passed_on = nodes and all(rows[at] >= 0 and len(trace.inputs[at]) == 1 for at in nodes) and all(written)
    behind = loop is not None and told.line.number > loop.end
    return replace(finding, faults=(Fault(_head(loop), short=True),)) if loop and behind and passed_on else finding


def _with_short_loop(finding: Finding, trace: Trace, known: Known, sources: Mapping[str, str]) -> Finding:
    """What follows, with the only loop that calls some modules of a list and never the others, if what is wrong comes
    behind it."""
    if not trace.whole or not trace.results or not (missed := _left_behind(trace, known)):
        return finding
    lists = tuple(path.rpartition(".")[0] + "." for path in missed)
    called = {one.line for one in trace.calls if one.path.startswith(lists)}
    loops = {loop for line in called if line and (loop := _loop_around(line, sources))}
    finding = replace(finding, never=finding.never or missed)
    if len(loops) != 1:
        return finding
    [loop] = loops
    behind = all(fault.line.file == loop.file and fault.line.number > loop.end for fault in finding.faults)
    return replace(finding, faults=(Fault(_head(loop), short=True, often=-1),)) if behind else finding


def _left_behind(trace: Trace, known: Known) -> tuple[str, ...]:
    """The modules of a list that are never called nor their weights used, though others of the list are.

    Some correct code may use none of them in a way that is seen, but none uses some only. Where one is called twice
    from one place, all may be the same one.
    """
    touched = modules_of(trace)
    lists = {_list_of(path) for path in touched} - {""}
    times: Counter[tuple[int, str]] = Counter()
    for one in trace.calls:
        module = one.path.rpartition(".")[0] if one.path.endswith("()") else one.path
        inside = one.around >= 0 and trace.calls[one.around].path.startswith(f"{module}.")
        times[one.around, one.path] += _list_of(module) in lists and not inside
    if max(times.values(), default=0) > 1:
        return ()
    there = {
        ".".join(names[: end + 1]) for names in (path.split(".") for path in known.calls) for end in range(len(names))
    }
    return tuple(sorted(path for path in there - touched if _list_of(path) in lists))


def _list_of(path: str) -> str:
    """The list that a module is in: "decoder.layers" of "decoder.layers.0"."""
    name, _, number = path.rpartition(".")
    return name if number.isdigit() else ""


def _loop_around(line: Line, sources: Mapping[str, str]) -> Line | None:
    """The innermost loop around a line."""
    loops = _loops(line.file.removesuffix(".py"), sources.get(line.file, ""))
    first, last = max((one for one in loops if one[0] < line.number <= one[1]), default=(0, 0))
    return Line(line.file, first, last) if first else None


@kept(maxsize=16)
def _loops(module: str, source: str) -> list[tuple[int, int]]:
    """The first and the last line of each loop of a module's functions."""
    nodes = (node for function in functions(module, source).values() for node in ast.walk(function))
    return [(node.lineno, node.end_lineno or node.lineno) for node in nodes if isinstance(node, (ast.For, ast.While))]


def _with_idle_loop(finding: Finding, trace: Trace, sources: Mapping[str, str], text: Text) -> Finding:
    """What follows, with the only loop that is never entered, where nothing is made that is wrong, but too little; in
    place of the `return` of what was made before it, too."""
    told = finding.faults[0] if len(finding.faults) == 1 else None
    raised = trace.raised is not None or not trace.results  # what comes behind an exception never runs
    if raised or (finding.faults and (told is None or told.returns is None)):
        return finding
    made = trace.made[list(trace.results)].any()
    too_little = finding.usual and bool(finding.missing or finding.never)
    if (told and told.before is None and made) or not (told or too_little):
        return finding
    ran = trace.places()
    loops = [line for line in idle_loops(sources, ran, told.line if told else None) if not text.given(line)]
    if trace.whole:
        loops = [head for one in loops if (head := _reached(one, trace, sources))]
    if len(loops) != 1:
        return finding
    earlier = _gone_through_before(sources, loops[0])
    return replace(finding, faults=(Fault(loops[0], idle=True, before=earlier if earlier in ran else None),))


def _reached(loop: Line, trace: Trace, sources: Mapping[str, str]) -> Line | None:
    """A loop of which no line was reached but its head; or the `if` above one that was not reached itself.

    What the arguments alone decide, `if top_p is not None:` say, is as it should be.
    """
    if (loop.file, loop.number) in trace.begun:
        return None if _ran_inside(loop, trace, sources) else loop
    for function in functions(loop.file.removesuffix(".py"), sources.get(loop.file, "")).values():
        nodes = list(ast.walk(function))
        made = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        for node in reversed([one for one in nodes if isinstance(one, ast.If)]):  # the inner ones first
            inside = node.body[0].lineno <= loop.number <= (node.body[-1].end_lineno or 0)
            if inside and (loop.file, node.lineno) in trace.begun:
                computed = any(isinstance(one, ast.Name) and one.id in made for one in ast.walk(node.test))
                return Line(loop.file, node.lineno, node.lineno) if computed else None
    return None


def _ran_inside(head: Line, trace: Trace, sources: Mapping[str, str]) -> bool:
    """Whether a line inside a loop was reached."""
    reached = [Line(file, number, number) for file, number in trace.begun if file == head.file and number > head.number]
    return any((loop := _loop_around(line, sources)) and loop.number == head.number for line in reached)


def _with_endless_loop(finding: Finding, trace: Trace, known: Known, sources: Mapping[str, str]) -> Finding:
    """What follows, with the only loop around an exception, where all that should come back was made before."""
    made = set(known.find(trace.signatures)[trace.made & ~constant(trace.signatures)].tolist())
    if not known.results or not made.issuperset(known.results):
        return finding
    number = int(trace.around[-1]) if trace.size else -1
    lines = {trace.raised_at}
    while number >= 0:  # the calls that the exception has ended
        lines.add(trace.calls[number].line)
        number = trace.calls[number].around
    loops = {loop for one in filter(None, lines) if (loop := _loop_around(one, sources))}
    return replace(finding, faults=(Fault(_head(loops.pop()), short=True, often=1),)) if len(loops) == 1 else finding


def _head(loop: Line) -> Line:
    return Line(loop.file, loop.number, loop.number)


def _gone_through_before(sources: Mapping[str, str], loop: Line) -> Line | None:
    """The line above a loop that goes through the same name, which is given nothing else in between."""
    module = loop.file.removesuffix(".py")
    for function in functions(module, sources.get(loop.file, "")).values():
        if not function.lineno <= loop.number <= (function.end_lineno or 0):
            continue
        through: dict[int, set[str]] = {}
        stored: dict[str, int] = {}  # where a name is given something for the last time
        for node in ast.walk(function):
            if isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.iter, ast.Name):
                through.setdefault(node.iter.lineno, set()).add(node.iter.id)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                stored[node.id] = max(node.lineno, stored.get(node.id, 0))
        own = through.get(loop.number, set())
        earlier = [
            line
            for line, names in through.items()
            if line < loop.number and any(stored.get(name, 0) < line for name in names & own)
        ]
        return Line(loop.file, max(earlier), max(earlier)) if earlier else None
    return None
