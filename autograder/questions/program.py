"""A student's program as questions see it: the lines that the student wrote, and changes of them."""

import ast
import io
import itertools
import textwrap
import tokenize
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from autograder.localization import SmallChange, small_changes
from autograder.submissions.syntax_tree import Offsets, functions, parse, statements, tree_of

LONGEST = 100  # characters of a statement that a question shows
SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return)
UNFIT = (ast.FunctionDef, ast.ClassDef, ast.Pass, ast.Raise, ast.Assert, ast.Import)
Place = tuple[str, int]  # file and line


@dataclass(frozen=True, eq=False)
class Own:
    """A statement that the student wrote."""

    module: str
    path: str  # "Class.method" or "function"
    node: ast.stmt

    @property
    def line(self) -> int:
        return self.node.lineno

    @property
    def place(self) -> Place:
        return f"{self.module}.py", self.line

    @property
    def simple(self) -> bool:
        return isinstance(self.node, SIMPLE)

    @property
    def text(self) -> str:
        """The statement on one line; of an `if` or a loop its head."""
        return ast.unparse(self.node).partition("\n")[0]


@dataclass(frozen=True, eq=False)
class Change:
    """A statement with another text in its place."""

    own: Own
    new: str  # on one line; "" for none
    unit: str  # the changed function, on its lines
    old: str = ""  # in a statement that is too long to be shown, the piece that becomes `new`

    @property
    def option(self) -> str:
        """The change as an option."""
        if self.old:
            return f"line {self.own.line}: `{self.old}` becomes `{self.new}`"
        return f"line {self.own.line}: `{self.new}`" if self.new else f"line {self.own.line} is deleted"

    @property
    def sentence(self) -> str:
        if self.old:
            return f"In line {self.own.line} `{self.old}` becomes `{self.new}`."
        return f"Line {self.own.line} becomes `{self.new}`." if self.new else f"Line {self.own.line} is deleted."


class Program:
    """The modules of a stage as a student wrote them.

    Args:
        sources: module -> text.
        given: module -> the text that was handed out.
        writes: what the stage has students write, "module.Class.method".
    """

    def __init__(self, sources: Mapping[str, str], given: Mapping[str, str], writes: Collection[str]) -> None:
        self.sources, self.given, self.writes = sources, given, writes
        self._changes: dict[tuple[str, str], dict[int, list[SmallChange]]] = {}  # of functions, by line

    @cached_property
    def all_functions(self) -> dict[tuple[str, str], ast.FunctionDef]:
        """All functions and methods, by module and path, in the order of the text."""
        return {
            (module, path.removeprefix(f"{module}.")): node
            for module, text in self.sources.items()
            for path, node in functions(module, text).items()
        }

    @cached_property
    def functions(self) -> dict[tuple[str, str], ast.FunctionDef]:
        """What the stage has students write, and their helpers."""
        return {
            (module, path): node
            for (module, path), node in self.all_functions.items()
            if f"{module}.{path}" in self.writes or self._handed_out(module, path) is None
        }

    def _handed_out(self, module: str, path: str) -> ast.FunctionDef | None:
        return functions(module, self.given.get(module, "")).get(f"{module}.{path}")

    @cached_property
    def own(self) -> tuple[Own, ...]:
        """The statements of these functions that were not handed out, of those that share a line none."""
        found = []
        for (module, path), node in self.functions.items():
            before = self._handed_out(module, path)
            old = {ast.dump(one) for one in statements(before.body)} if before else set()
            for one in statements(node.body):
                if not isinstance(one, UNFIT) and ast.dump(one) not in old:
                    found.append(Own(module, path, one))
        places = [one.place for one in found]
        return tuple(one for one in found if places.count(one.place) == 1)

    @cached_property
    def by_place(self) -> dict[Place, Own]:
        return {one.place: one for one in self.own}

    @cached_property
    def written(self) -> str:
        """What the student wrote or imports, as one text."""
        given = {ast.dump(one) for text in self.given.values() for one in tree_of(text).body}
        nodes = [one for text in self.sources.values() for one in tree_of(text).body]
        imports = [one for one in nodes if isinstance(one, (ast.Import, ast.ImportFrom)) and ast.dump(one) not in given]
        return "\n".join(map(ast.unparse, [*imports, *self.functions.values()]))

    @cached_property
    def keeps(self) -> bool:
        """Whether a function other than a constructor keeps something on its object."""
        return any(
            isinstance(one, ast.Attribute) and isinstance(one.ctx, (ast.Store, ast.Del))
            for (_, path), node in self.all_functions.items()
            if not path.endswith("__init__")
            for one in ast.walk(node)
        )

    def parameters(self, module: str, path: str) -> list[str]:
        """The names of the arguments of a function; none if it is not there."""
        node = self.all_functions.get((module, path))
        return [one.arg for one in node.args.args if one.arg != "self"] if node else []

    def changes(self, own: Own) -> Iterator[Change]:
        """Small changes of a statement, each with another text."""
        text = Offsets(self.sources[own.module])
        at, end = text.start(own.node), text.end(own.node)
        seen = {own.text}
        for one in self._small_changes(own):
            if one.moves or one.adds or not at <= one.start <= one.end <= end:
                continue
            if len(own.text) > LONGEST:
                if piece := _piece(text.source[at:end], text.source[one.start : one.end], one.text):
                    yield Change(own, piece[1], one.unit, piece[0])
                continue
            new = on_one_line(text.source[at : one.start] + one.text + text.source[one.end : end])
            if new and new not in seen and len(new) <= LONGEST:
                seen.add(new)
                yield Change(own, "" if new == "pass" else new, one.unit)

    def _small_changes(self, own: Own) -> list[SmallChange]:
        """The small changes of a statement, in such an order that each place of it has one before any has two."""
        node = self.functions[own.module, own.path]
        if (own.module, own.path) not in self._changes:
            of_line = self._changes.setdefault((own.module, own.path), {})
            for one in small_changes(own.module, self.sources[own.module], own.path, node):
                of_line.setdefault(one.line, []).append(one)
        turns: dict[tuple[int, int], int] = {}
        ranked: list[tuple[int, int, SmallChange]] = []
        for number, one in enumerate(self._changes[own.module, own.path].get(own.line, ())):
            turn = turns[one.start, one.end] = turns.get((one.start, one.end), -1) + 1
            ranked.append((turn + 2 * one.names, number, one))
        return [one for _, _, one in sorted(ranked, key=lambda rank: rank[:2])]

    def with_text(self, own: Own, new: str) -> Change:
        """A statement with another text, of one line, in its place."""
        gone = Offsets(self.sources[own.module]).of(own.node).count("\n")  # later lines keep their numbers
        return Change(own, new, self._unit(own, {own: new + "\n" * gone}))

    def swapped(self, first: Own, second: Own) -> Change:
        """Two statements in each other's place."""
        text = Offsets(self.sources[first.module])
        return Change(first, second.text, self._unit(first, {first: text.of(second.node), second: text.of(first.node)}))

    def neighbours(self) -> Iterator[tuple[Own, Own]]:
        """Simple statements one after the other in one block, each on one line."""
        for node in self.functions.values():
            for inner in ast.walk(node):
                for block in (getattr(inner, "body", None), getattr(inner, "orelse", None)):
                    for pair in itertools.pairwise(block) if isinstance(block, list) else ():
                        own = [known for known in self.own if any(known.node is one for one in pair)]
                        if len(own) == 2 and all(_exchangeable(one.node) for one in own):
                            yield own[0], own[1]

    def _unit(self, own: Own, new: Mapping[Own, str]) -> str:
        """A function with other texts for some statements, as it is compiled: on its lines, in the head of its class."""
        text = Offsets(self.sources[own.module])
        node = self.functions[own.module, own.path]
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        owner = own.path.rpartition(".")[0]
        head = "\n" * (first - 2) + f"class {owner}:\n" if owner else "\n" * (first - 1)
        at, pieces = text.starts[first - 1], []
        for one in sorted(new, key=lambda one: one.line):
            pieces += [text.source[at : text.start(one.node)], new[one]]
            at = text.end(one.node)
        return head + "".join(pieces) + text.source[at : text.end(node)]

    def functions_with(self, places: Collection[Place]) -> set[tuple[str, str]]:
        """The functions in which some lines are, by module and path."""
        return {
            (module, path)
            for (module, path), node in self.all_functions.items()
            if any(file == f"{module}.py" and node.lineno < line <= (node.end_lineno or 0) for file, line in places)
        }

    def excerpt(self, shown: Collection[tuple[str, str]]) -> list[tuple[str, int, str]]:
        """Functions without comments and docstrings: file, line, text; line 0 for the name of a class.

        Args:
            shown: modules and paths.
        """
        found: list[tuple[str, int, str]] = []
        around = ""
        for (module, path), node in self.all_functions.items():
            if (module, path) not in shown:
                continue
            owner = path.rpartition(".")[0]
            if owner and f"{module}.{owner}" != around:
                found.append((f"{module}.py", 0, f"class {owner}:"))
            around = f"{module}.{owner}"
            lines, gone = without_comments(self.sources[module]).splitlines(), _docstrings(node)
            begin = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            numbers = range(begin, (node.end_lineno or begin) + 1)
            found += [(f"{module}.py", n, lines[n - 1]) for n in numbers if lines[n - 1].strip() and n not in gone]
        return found


def _piece(statement: str, old: str, new: str) -> tuple[str, str] | None:
    """What a change replaces in a long statement, and by what; None if that is not a piece that occurs once."""
    once = statement.count(old) == 1
    old, new = " ".join(old.split()), " ".join(new.split())
    fits = 3 < len(old) < LONGEST // 2 and 0 < len(new) < LONGEST // 2 and "`" not in old + new
    return (old, new) if fits and once else None


def _exchangeable(node: ast.stmt) -> bool:
    return isinstance(node, SIMPLE) and not isinstance(node, ast.Return) and node.lineno == node.end_lineno


def _docstrings(node: ast.FunctionDef) -> set[int]:
    """The lines of texts that are no more than statements."""
    return {
        number
        for one in ast.walk(node)
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str)
        for number in range(one.lineno, (one.end_lineno or one.lineno) + 1)
    }


def on_one_line(text: str) -> str | None:
    """A statement as one line of text; of an `if` or a loop the head; None if it is none."""
    try:
        body = parse(textwrap.dedent(text)).body
    except (SyntaxError, ValueError):
        return None
    return ast.unparse(body[0]).partition("\n")[0] if len(body) == 1 else None


def without_comments(source: str) -> str:
    """A source text without its comments, each line in its place."""
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip()
    return "\n".join(lines)
