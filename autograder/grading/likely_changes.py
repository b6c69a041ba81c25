"""Small changes of the functions that ran in a failed call, in the order in which they are tried."""

import ast
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator

import numpy as np

from autograder.diagnosis.findings import Fault, goes_own_way
from autograder.diagnosis.right_steps import PARTS
from autograder.grading.point_at_line import Followed, own_files
from autograder.grading.source_lines import in_given, with_names
from autograder.sandbox.traces import MOST_LINES, Line, Trace
from autograder.submissions.attributes import unused_attributes
from autograder.submissions.filled_lists import filled_with_the_same, unfilled_lists, unread_lists, what_is_filled
from autograder.submissions.small_changes import SmallChange, small_changes
from autograder.submissions.syntax_tree import Offsets, functions, parse, statements
from autograder.submissions.unused_names import unused_arguments, unused_names

MANY = 8  # changes of one line, before those of the next ones are tried


def is_sure(fault: Fault) -> bool:
    """Whether a fault is of something that its line makes, and not of what it goes on with or gives back."""
    vague = fault.calls is not None and fault.vague
    without = fault.left_out or fault.order or fault.repeats or fault.vain or fault.doubtful
    return not (without or vague) and fault.returns is None


def candidates(followed: Followed) -> Iterator[tuple[bool, SmallChange]]:
    """The small changes of the functions that ran, and of constructors, those of the likeliest lines first.

    Where a line is told, or an exception was raised: of that line, of those that made what it uses, the nearest first,
    and of the ones before it; where none is, the line that makes the first unknown tensor takes its place. Else the
    lines come in the order of time, and names in the place of others later: that is mostly seen without trials. Lines
    that are right come late; but where an exception is raised, an axis of size 1 may be too much or missing, which is
    not seen. Before all else comes what lets a loop go on that ends too early, and, where a step is missing, a
    condition of which one branch has not run. Then modules that are never called, attributes and arguments that are
    never used: those are likely, and a missing call has several places as a rule, of which none is to be named.
    """
    recipe, known, trace, finding, *_ = followed
    code = recipe.code
    given = in_given({f"{module}.py": code.sources[module] for module in code.modules}, known.given)
    first: dict[tuple[str, int], int] = {}  # the first result of each line
    called = [(trace.size, line) for one in trace.calls for line in (one.line, one.returns)]
    for number, line in [*enumerate(trace.lines), *called]:
        if line:
            first.setdefault((line.file, line.number), number)
    told = (*(fault.line for fault in finding.faults), trace.raised_at)
    end = next((one for one in told if one), None) or _first_unknown(followed, given)
    proven = [line for line, _ in finding.right if trace.raised is None and line not in finding.unsure]
    right = {(line.file, line.number) for line in proven} if all(map(is_sure, finding.faults)) else set()
    way = with_names(_way_to(end, trace), own_files(code)) if end else {}
    if end and trace.raised_at not in (None, end):  # far from what raises, what the told line uses is near
        near = with_names({(end.file, end.number): 0}, own_files(code))
        way |= {place: min(far, way.get(place, far)) for place, far in near.items()}
    idle = list(dict.fromkeys(path.rpartition(".")[2] for path in finding.never))
    likely = {*idle, *(name for module in code.modules for name in unused_attributes(parse(code.sources[module])))}
    calls = tuple(f"self.{name}(" for name in likely)
    vague = next((fault.line.number for fault in finding.faults if fault.vague), 0)
    found: list[tuple[int, int, int, SmallChange]] = []
    for module in code.modules:
        file, text = f"{module}.py", Offsets(code.sources[module])
        for name, node in functions(module, code.sources[module]).items():
            path, last = name.removeprefix(f"{module}."), node.end_lineno or node.lineno
            constructor = path.endswith("__init__")
            times = {line: time for (own, line), time in first.items() if own == file and node.lineno <= line <= last}
            if given(Line(file, node.lineno, last)) or not (times or constructor):
                continue
            inside = end is not None and end.file == file and node.lineno <= end.number <= last
            of_line = Counter[int]()
            # What is never reached does not show: it may be the condition before it that is wrong.
            asked = {one.lineno for one in ast.walk(node) if isinstance(one, (ast.If, ast.While))}
            endless = {one.lineno for one in ast.walk(node) if isinstance(one, ast.While)}
            idle_names, idle_arguments = unused_names(node) | unread_lists(node), unused_arguments(node)
            empty, filled = [name for *_, name in unfilled_lists(node)], set(map(text.start, what_is_filled(node)))
            same = {text.start(name): changed for name, changed in filled_with_the_same(node)}
            skipped = _skipped(node, times) if end and not any(map(is_sure, finding.faults)) else set()
            if filling := _filling(node, {line: far for (own, line), far in way.items() if own == file}, file):
                way = with_names(way | filling, own_files(code))
            ran = _lines_that_ran(node, file, trace)
            for turn, change in _in_turns(small_changes(module, code.sources[module], path, node, idle)):
                # What was not reached cannot be why; what is missing in a computation with tensors is seen.
                if (not change.moves and change.line not in ran) or (change.completes and any(known.shapes)):
                    continue
                of_line[change.line] += 1
                seen = (file, change.line) in right
                if change.line in skipped and not change.names:
                    late, far = -2, 0
                elif (file, change.line) in way:
                    late, far = 0, way[file, change.line] + 2 * int(seen)
                elif vague and inside and change.line in asked and change.line < vague:
                    late, far = 0, 1 + vague - change.line
                elif end is not None and inside:
                    late, far = 2 + int(change.line > end.number), abs(end.number - change.line)
                else:
                    later = [time for at, time in times.items() if at >= change.line]
                    late, far = 2 * int(end is not None), min(later, default=0)
                if seen or (constructor and not times):
                    late = late if (file, change.line) in way else 4 + int(not seen)
                if change.renews:  # what is told of a line is no matter of what it had before
                    late = -4 if all(map(goes_own_way, finding.faults)) else 5
                elif change.adds or (change.text in empty and change.start in filled):
                    late = -4
                elif _ends_early(change, followed):
                    late = -2 - int(change.moves)
                elif change.text.startswith(calls) or change.text in likely or change.text in idle_arguments:
                    late = -1
                block = of_line[change.line] // MANY if end else turn if change.names else int(change.moves)
                block = 0 if change.renews else MANY + turn if change.completes else block
                if change.names and (change.text in idle_names or change.text in same.get(change.start, ())):
                    block = -1
                if change.line in endless and ") or (" in change.text:  # it may never end
                    late = 6
                if seen and not end and not block and times:  # it may lack something behind what is right
                    late, block = 0, 2
                found.append((late, block, far, change))
    yield from ((late == -1, change) for late, *_, change in sorted(found, key=lambda one: one[:3]))


def _first_unknown(followed: Followed, given: Callable[[Line], bool]) -> Line | None:
    """The first line that makes something which no correct code makes, of what it makes; not a part of that, which
    everybody takes as he likes."""
    trace, rows = followed.trace, followed.known.find(followed.trace.signatures)
    known = (rows >= 0) | ~trace.made
    for node in np.flatnonzero(~known):
        line = trace.lines[node]
        if line and not given(line) and trace.inputs[node] and known[list(trace.inputs[node])].all():
            return line if trace.operations[node] not in PARTS else None
    return None


def _lines_that_ran(function: ast.FunctionDef, file: str, trace: Trace) -> Collection[int]:
    """The first lines of the statements of a function that were reached; of all, where that is not known."""
    every = list(statements(function.body))
    found = {
        one.lineno
        for one in every
        if any((file, line) in trace.begun for line in range(one.lineno, _end_of_head(one) + 1))
    }
    known = trace.whole and found and len(trace.begun) < MOST_LINES
    return found if known else {one.lineno for one in every}


def _end_of_head(statement: ast.stmt) -> int:
    """The last line of a statement; of one with a block that before its block."""
    body = getattr(statement, "body", None)
    return max(statement.lineno, body[0].lineno - 1) if body else statement.end_lineno or statement.lineno


def _skipped(function: ast.FunctionDef, ran: Collection[int]) -> set[int]:
    """The lines of conditions of which one branch has not run, that makes something; or that have led to a `return`
    behind which nothing has run."""
    found = set()
    for node in (one for one in ast.walk(function) if isinstance(one, ast.If)):
        left = isinstance(node.body[-1], ast.Return) and node.body[-1].lineno in ran
        rest = [one for one in function.body if one.lineno > (node.end_lineno or 0)] if left else []
        for block in (node.body, node.orelse, rest):
            lines = {at for one in block for at in range(one.lineno, (one.end_lineno or 0) + 1)}
            makes = any(
                isinstance(one, (ast.Call, ast.BinOp, ast.Subscript)) for part in block for one in ast.walk(part)
            )
            if makes and not isinstance(block[-1], ast.Raise) and lines.isdisjoint(ran):
                found.add(node.lineno)
    return found


def _filling(function: ast.FunctionDef, way: dict[int, int], file: str) -> dict[tuple[str, int], int]:
    """The heads of loops on a way, and what fills in a loop something that is used on it: how far they are.

    The head says how often the loop runs: of one that ends too early not all is seen to be missing. What is put into a
    list is not followed.
    """
    used = {one.id for one in ast.walk(function) if isinstance(one, ast.Name) and one.lineno in way}
    found = {}
    for loop in (one for one in ast.walk(function) if isinstance(one, (ast.For, ast.While))):
        inside = [far for at, far in way.items() if loop.lineno < at <= (loop.end_lineno or 0)]
        filling = [one.lineno for one in ast.walk(loop) if isinstance(one, ast.expr) and _filled(one) & used]
        for line in (loop.lineno, *filling) if inside or filling else ():
            found[file, line] = min(inside, default=0) + 1
    return {(_, line): far for (_, line), far in found.items() if line not in way}


def _filled(node: ast.expr) -> set[str]:
    """The name of what an expression writes into, or what it appends to."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("append", "extend"):
        return _name_of(node.func.value)
    return _name_of(node.value) if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) else set()


def _name_of(node: ast.expr) -> set[str]:
    return {node.id} if isinstance(node, ast.Name) else set()


def _ends_early(change: SmallChange, followed: Followed) -> bool:
    """Whether a change lets a loop go on that ends too early, or is of the order in a loop that chooses tokens."""
    finding = followed.finding
    early = {fault.line.number for fault in finding.faults if fault.short}
    # Nothing is wrong but that there is no more of it; or whole numbers are, such as the tokens that a loop chooses.
    ended = all(fault.vague for fault in finding.faults) and (finding.usual or followed.whole)
    exchanged = change.other > 0 and not early.isdisjoint({change.line, change.other})
    return exchanged or (change.steers and (ended or (bool(early) and not change.other)))


def _in_turns(changes: Iterable[SmallChange]) -> list[tuple[int, SmallChange]]:
    """Changes in an order in which those of one place are far from each other, and names and moves come last; each with
    its number among those of its place."""
    of_place = Counter[tuple[int, int]]()
    ranked = []
    for change in changes:
        of_place[change.start, change.end] += 1
        ranked.append((change.names + 2 * change.moves, of_place[change.start, change.end], change))
    return [(turn, change) for _, turn, change in sorted(ranked, key=lambda one: one[:2])]


def _way_to(end: Line, trace: Trace) -> dict[tuple[str, int], int]:
    """The lines from which a line, or what raised an exception there, has what it uses: how many operations away."""
    found = {(end.file, end.number): 0}
    if trace.raised is not None:
        nodes = list(trace.raised)
    else:
        nodes = [node for node, line in enumerate(trace.lines) if line == end]
        nodes += [node for call in trace.calls if call.line == end for node in call.inputs]
    # Where another line is told than the one that raises, what that one uses by its names comes first.
    seen, far, calls = set(nodes), int(trace.raised_at not in (None, end)), set[int]()
    while nodes:
        far += 1
        lines = [one for node in nodes for one in (trace.lines[node], trace.callers[node])]
        around = {int(trace.around[node]) for node in nodes} - calls - {-1}
        while around:  # the lines of all calls that are open there
            calls |= around
            lines += [trace.calls[number].line for number in sorted(around)]
            around = {trace.calls[number].around for number in around} - calls - {-1}
        for line in filter(None, lines):
            found.setdefault((line.file, line.number), far)
        nodes = [
            one for one in dict.fromkeys(source for node in nodes for source in trace.inputs[node]) if one not in seen
        ]
        seen.update(nodes)
    return found
