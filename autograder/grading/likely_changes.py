"""Small changes of the statements that a failed call has reached, in the order in which they are tried."""

import ast
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice

import numpy as np

from autograder.diagnosis.findings import Fault, Finding, goes_own_way
from autograder.diagnosis.right_steps import PARTS
from autograder.grading.endless_loops import is_endless
from autograder.grading.point_at_line import Followed, own_files
from autograder.grading.source_lines import in_given, with_names
from autograder.sandbox.traces import MOST_LINES, Line, Trace
from autograder.submissions.attributes import unused_attributes
from autograder.submissions.filled_lists import filled_with_the_same, unfilled_lists, unread_lists, what_is_filled
from autograder.submissions.small_changes import SmallChange, small_changes
from autograder.submissions.syntax_tree import Offsets, functions, kept, statements, tree_of
from autograder.submissions.unused_names import unused_arguments, unused_names

MOST_CHANGES = 6_000  # of a call; a module of the solutions and of the tests' correct programs has at most 2,400
MANY = 8  # changes of one line, before those of the next ones are tried
FIRST, ENDS, LIKELY = -4, -2, -1  # how late


def is_sure(fault: Fault) -> bool:
    """Whether a fault is of something that its line makes, and not of what it goes on with or gives back."""
    vague = fault.calls is not None and fault.vague
    without = fault.left_out or fault.order or fault.repeats or fault.vain or fault.doubtful
    return not (without or vague) and fault.returns is None


def candidates(
    followed: Followed, mending: Mapping[tuple[str, int], tuple[SmallChange, str]]
) -> Iterator[tuple[bool, SmallChange]]:
    """The small changes of the functions that ran, and of constructors, those of the likeliest lines first.

    Where a line is told, or an exception was raised: of that line, of those that made what it uses, the nearest first,
    and of the ones before it; where none is, the line that makes the first unknown tensor takes its place. Else the
    lines come in the order of time, and names in the place of others later: that is mostly seen without trials. Lines
    that are right come late; but where an exception is raised, an axis of size 1 may be too much or missing, which is
    not seen. Before all else comes what is missing by the text alone: a call of a step of training, what fills a list;
    then what lets a loop go on that ends too early, and, where a step is missing, a condition of which one branch has
    not run. Then modules that are never called, attributes and arguments that are
    never used: those are likely, and a missing call has several places as a rule, of which none is to be named.

    Args:
        mending: the changes that mend the call, by their places, as they are found. A sign may stand in several places.
    """
    call, code = _Call(followed), followed.recipe.code
    found: list[tuple[tuple[int, int, int], SmallChange]] = []
    number = 0
    for module in code.modules:
        for name, node in functions(module, code.sources[module]).items():
            function = _Function(call, module, name.removeprefix(f"{module}."), node)
            if function.counts:
                numbers = not any(call.known.shapes)
                changes = _changes(module, code.sources[module], function.path, tuple(call.idle), numbers)
                number += len(changes)
                if number > MOST_CHANGES:  # of some alone it would not be known whether others mend it, too
                    return
                for turn, change in changes:
                    if function.may_matter(change):
                        found.append((function.rank(turn, change), change))
    ranked, signs = deque(sorted(found, key=lambda one: one[0])), False
    while ranked:
        rank, change = ranked.popleft()
        yield rank[0] == LIKELY, change
        if not signs and any(
            one.negates or one.adds_or_subtracts(code.sources[one.module]) for one, _ in mending.values()
        ):
            ranked, signs = deque(sorted(ranked, key=lambda one: not one[1].negates)), True


@kept(maxsize=16)
def _changes(
    module: str, source: str, path: str, idle: tuple[str, ...], numbers: bool
) -> list[tuple[int, SmallChange]]:
    """The changes of a function, kept for the other tests of the stage."""
    node = functions(module, source)[f"{module}.{path}"]
    return _in_turns(islice(small_changes(module, source, path, node, idle, numbers), MOST_CHANGES + 1))


class _Call:
    """What a followed call says of the lines that may be wrong."""

    def __init__(self, followed: Followed) -> None:
        recipe, self.known, self.trace, finding, *_ = followed
        self.followed, self.code, trace = followed, recipe.code, self.trace
        sources = own_files(recipe.code)
        self.given = in_given(sources, self.known.given)
        self.first: dict[tuple[str, int], int] = {}  # the first result of each line
        called = [(trace.size, line) for one in trace.calls for line in (one.line, one.returns)]
        for number, line in [*enumerate(trace.lines), *called]:
            if line:
                self.first.setdefault((line.file, line.number), number)
        told = (*(fault.line for fault in finding.faults), trace.raised_at)
        self.sure, self.own_ways = (any(map(is_sure, finding.faults)), all(map(goes_own_way, finding.faults)))
        self.end = end = next((one for one in told if one), None) or _first_unknown(followed, self.given)
        proven = [line for line, _ in finding.right if trace.raised is None and line not in finding.unsure]
        right = {(line.file, line.number) for line in proven}
        self.right = right if all(map(is_sure, finding.faults)) else set()
        self.way = with_names(_way_to(end, trace), sources) if end else {}
        if end and trace.raised_at not in (None, end):  # far from what raises, what the told line uses is near
            near = with_names({(end.file, end.number): 0}, sources)
            self.way |= {place: min(far, self.way.get(place, far)) for place, far in near.items()}
        self.idle = list(dict.fromkeys(path.rpartition(".")[2] for path in finding.never))
        texts = [recipe.code.sources[module] for module in recipe.code.modules]
        self.likely = set(self.idle)
        # Where a line does something wrong, or gives something wrong to a call, it is no call that is missing.
        if not self.sure and not any(fault.calls for fault in finding.faults):
            self.likely |= {name for text in texts for name in unused_attributes(tree_of(text))}
        self.calls = tuple(f"self.{name}(" for name in self.likely)
        self.short = any(fault.short for fault in finding.faults)  # then conditions come before what they use
        self.vague = next((fault.line.number for fault in finding.faults if fault.vague), 0)


class _Function:
    """One function of the call: which of its changes may matter, and how soon they are tried."""

    def __init__(self, call: _Call, module: str, path: str, node: ast.FunctionDef) -> None:
        self.call, self.path, self.file = call, path, f"{module}.py"
        last, end = node.end_lineno or node.lineno, call.end
        self.constructor = path.endswith("__init__")
        places = [(line, time) for (own, line), time in call.first.items() if own == self.file]
        self.times = {line: time for line, time in places if node.lineno <= line <= last}
        ran = bool(self.times or self.constructor)
        self.counts = ran and not call.given(Line(self.file, node.lineno, last))
        if not self.counts:
            return
        self.text = text = Offsets(call.code.sources[module])
        self.inside = end is not None and end.file == self.file and node.lineno <= end.number <= last
        self.of_line = Counter[int]()
        # What is never reached does not show: it may be the condition before it that is wrong.
        self.asked = {one.lineno for one in ast.walk(node) if isinstance(one, (ast.If, ast.While))}
        self.loops = {one.lineno: one for one in ast.walk(node) if isinstance(one, ast.While)}
        self.idle_names, self.idle_arguments = unused_names(node) | unread_lists(node), unused_arguments(node)
        self.empty = [name for *_, name in unfilled_lists(node)]
        self.filled = set(map(text.start, what_is_filled(node)))
        self.same = {text.start(name): changed for name, changed in filled_with_the_same(node)}
        self.skipped = _skipped(node, self.times) if end and not call.sure else set()
        own_way = {line: far for (own, line), far in call.way.items() if own == self.file}
        if filling := _filling(node, own_way, self.file):
            call.way = with_names(call.way | filling, own_files(call.code))
        self.ran = _lines_that_ran(node, self.file, call.trace)

    def may_matter(self, change: SmallChange) -> bool:
        """Whether a change may mend the call: what was not reached cannot be why, nor does a loop that never ends."""
        loop = None if change.moves else self.loops.get(change.line)
        return change.moves or (change.line in self.ran and not (loop and is_endless(loop, change, self.text)))

    def rank(self, turn: int, change: SmallChange) -> tuple[int, int, int]:
        """How soon a change is tried: how late, in which block of changes, how far from the line that is told."""
        call, place = self.call, (self.file, change.line)
        self.of_line[change.line] += 1
        late, far = self._where(change)
        seen = place in call.right
        if (seen or (self.constructor and not self.times)) and place not in call.way:
            late = 4 + int(not seen)
        if change.renews:  # what is told of a line is no matter of what it had before
            late = FIRST if call.own_ways else 5
        elif change.adds or (change.text in self.empty and change.start in self.filled):
            late = FIRST
        elif _ends_early(change, call.followed):
            late = ENDS - int(change.moves)
        elif change.text.startswith(call.calls) or change.text in {*call.likely, *self.idle_arguments}:
            late = LIKELY
        if change.line in self.loops and ") or (" in change.text:  # it may never end
            late = 6
        block = self._block(turn, change) + int(call.short and late == ENDS and change.line not in self.asked)
        if seen and not call.end and not block and self.times:  # it may lack something behind what is right
            return 0, 2, far
        return late, block, far

    def _where(self, change: SmallChange) -> tuple[int, int]:
        """How late a change is tried by its line, and how far this is from the line that is told."""
        call, place = self.call, (self.file, change.line)
        if change.line in self.skipped and not change.names:
            return ENDS, 0
        if place in call.way:
            return 0, call.way[place] + 2 * int(place in call.right)
        if call.vague and self.inside and change.line in self.asked and change.line < call.vague:
            return 0, 1 + call.vague - change.line
        if call.end is not None and self.inside:
            return 2 + int(change.line > call.end.number), abs(call.end.number - change.line)
        later = [time for at, time in self.times.items() if at >= change.line]
        return 2 * int(call.end is not None), min(later, default=0)

    def _block(self, turn: int, change: SmallChange) -> int:
        """The block of changes in which one is tried, before those of the next lines are."""
        if change.names and (change.text in self.idle_names or change.text in self.same.get(change.start, ())):
            return -1
        if change.renews:
            return 0
        if change.completes:
            return MANY + turn
        if self.call.end:
            return self.of_line[change.line] // MANY
        return turn if change.names else int(change.moves)


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


def let_go_on(finding: Finding, found: Iterable[tuple[SmallChange, str]]) -> bool:
    """Whether changes that were found let a loop go on that is known to end too early."""
    return any(fault.short for fault in finding.faults) and all(change.steers for change, _ in found)


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
