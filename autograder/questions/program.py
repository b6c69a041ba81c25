"""A student's program as questions see it: the lines that the student wrote, their text, and changes of them."""

import ast
import io
import itertools
import textwrap
import tokenize
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from autograder.localization import SmallChange, small_changes
from autograder.submissions.syntax_tree import Offsets, functions, parse, statements, tree_of

LONGEST = 100  # characters of a statement that a question shows
SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return)
SPREAD = 14  # changes of a line that are looked at


@dataclass(frozen=True, eq=False)
class Own:
    """A statement that the student wrote."""

    module: str
    path: str  # "Class.method" or "function"
    line: int
    node: ast.stmt

    @property
    def file(self) -> str:
        return f"{self.module}.py"

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
    swapped: int = 0  # the line of the statement with which it changes places
    old: str = ""  # in a statement that is too long to be shown, the piece that becomes `new`

    @property
    def module(self) -> str:
        return self.own.module

    @property
    def path(self) -> str:
        return self.own.path

    @property
    def line(self) -> int:
        return self.own.line


class Program:
    """The modules of a stage as a student wrote them.

    Args:
        sources: module -> text.
        given: module -> the text that was handed out.
        writes: what the stage has students write, "module.Class.method".
    """

    def __init__(self, sources: Mapping[str, str], given: Mapping[str, str], writes: Collection[str]) -> None:
        self.sources, self.given, self.writes = sources, given, writes

    @cached_property
    def functions(self) -> dict[tuple[str, str], ast.FunctionDef]:
        """What the stage has students write, and their helpers: by module and path."""
        found = {}
        for module, text in self.sources.items():
            handed_out = functions(module, self.given.get(module, ""))
            for path, node in functions(module, text).items():
                if path in self.writes or path not in handed_out:
                    found[module, path.removeprefix(f"{module}.")] = node
        return found

    @cached_property
    def all_functions(self) -> dict[tuple[str, str], ast.FunctionDef]:
        """All functions and methods of the modules, in the order of the text."""
        return {
            (module, path.removeprefix(f"{module}.")): node
            for module, text in self.sources.items()
            for path, node in functions(module, text).items()
        }

    def functions_with(self, lines: Collection[tuple[str, int]]) -> set[tuple[str, str]]:
        """The functions in which some lines are, by file and number: modules and paths."""
        return {
            place
            for place, node in self.all_functions.items()
            if any(file == f"{place[0]}.py" and node.lineno < line <= (node.end_lineno or 0) for file, line in lines)
        }

    @cached_property
    def own(self) -> tuple[Own, ...]:
        """The statements of these functions that were not handed out."""
        found = []
        for (module, path), node in self.functions.items():
            before = functions(module, self.given.get(module, "")).get(f"{module}.{path}")
            old = {ast.dump(one) for one in statements(before.body)} if before else set()
            for one in statements(node.body):
                unfit = isinstance(one, (ast.FunctionDef, ast.ClassDef, ast.Pass, ast.Raise, ast.Assert, ast.Import))
                if not unfit and ast.dump(one) not in old:
                    found.append(Own(module, path, one.lineno, one))
        lines = [
            (one.module, one.line) for one in found
        ]  # where two statements share a line, nobody knows which is meant
        return tuple(one for one in found if lines.count((one.module, one.line)) == 1)

    @cached_property
    def written(self) -> str:
        """What the student wrote or imports, as one text."""
        given = {ast.dump(one) for text in self.given.values() for one in tree_of(text).body}
        imports = [
            ast.unparse(one)
            for text in self.sources.values()
            for one in tree_of(text).body
            if isinstance(one, (ast.Import, ast.ImportFrom)) and ast.dump(one) not in given
        ]
        return "\n".join([*imports, *map(ast.unparse, self.functions.values())])

    @cached_property
    def by_line(self) -> dict[tuple[str, int], Own]:
        """The same by file and line."""
        return {(one.file, one.line): one for one in self.own}

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
        """The names of the arguments of a function, or of the constructor of a class; none if it is not there."""
        own = functions(module, self.sources.get(module, "")) if module in self.sources else {}
        node = own.get(f"{module}.{path}")
        return [one.arg for one in node.args.args if one.arg != "self"] if node else []

    def changes(self, own: Own) -> Iterator[Change]:
        """Small changes of a statement, each with another text."""
        text = Offsets(self.sources[own.module])
        seen = {own.text}
        for one in _small_changes(self, own.module, own.path).get(own.line, ()):
            if one.moves or one.adds:
                continue
            at, end = text.start(own.node), text.end(own.node)
            if not at <= one.start <= one.end <= end:
                continue
            if len(own.text) > LONGEST:
                if piece := _piece(text.source, at, end, one):
                    yield Change(own, piece[1], one.unit, old=piece[0])
                continue
            whole = text.source[at : one.start] + one.text + text.source[one.end : end]
            new = on_one_line(whole)
            if new and new not in seen and len(new) <= LONGEST:
                seen.add(new)
                yield Change(own, "" if new == "pass" else new, one.unit)

    def with_text(self, own: Own, new: str) -> Change | None:
        """A simple statement with another text in its place; None if that is no statement."""
        if on_one_line(new) is None:
            return None
        text = Offsets(self.sources[own.module])
        at, end = text.start(own.node), text.end(own.node)
        gone = text.of(own.node).count("\n")  # later lines keep their numbers
        return Change(own, on_one_line(new) or "", self._unit(own, {(at, end): new + "\n" * gone}))

    def swapped(self, first: Own, second: Own) -> Change:
        """Two statements in each other's place."""
        text = Offsets(self.sources[first.module])
        spans = [(text.start(one.node), text.end(one.node)) for one in (first, second)]
        new = {spans[0]: text.of(second.node), spans[1]: text.of(first.node)}
        return Change(first, second.text, self._unit(first, new), second.line)

    def neighbours(self) -> Iterator[tuple[Own, Own]]:
        """Simple statements one after the other in one block, each on one line."""
        known = {id(one.node): one for one in self.own}
        for node in self.functions.values():
            for block in _blocks(node):
                for first, second in itertools.pairwise(block):
                    pair = known.get(id(first)), known.get(id(second))
                    simple = all(
                        isinstance(one, SIMPLE[:-1]) and one.lineno == one.end_lineno for one in (first, second)
                    )
                    if simple and pair[0] and pair[1]:
                        yield pair[0], pair[1]

    def _unit(self, own: Own, new: Mapping[tuple[int, int], str]) -> str:
        """A function with other texts in some places, as it is compiled: on its lines, in the head of its class."""
        text = Offsets(self.sources[own.module])
        node = self.functions[own.module, own.path]
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        owner = own.path.rpartition(".")[0]
        head = "\n" * (first - 2) + f"class {owner}:\n" if owner else "\n" * (first - 1)
        source, at, pieces = text.source, text.starts[first - 1], []
        for (start, end), other in sorted(new.items()):
            pieces += [source[at:start], other]
            at = end
        return head + "".join(pieces) + source[at : text.end(node)]

    def excerpt(self, shown: Collection[tuple[str, str]]) -> list[tuple[str, int, str]]:
        """Functions without comments and docstrings: file, line, text; line 0 for the name of a class.

        Args:
            shown: modules and paths.
        """
        found: list[tuple[str, int, str]] = []
        owner = ""
        for (module, path), node in self.all_functions.items():
            if (module, path) not in shown:
                continue
            lines = without_comments(self.sources[module]).splitlines()
            gone = _docstrings(node)
            if (around := f"{module}.{path}".rpartition(".")[0]) != owner and "." in path:
                found.append((f"{module}.py", 0, f"class {path.rpartition('.')[0]}:"))
            owner = around
            begin = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            for number in range(begin, (node.end_lineno or begin) + 1):
                if lines[number - 1].strip() and number not in gone:
                    found.append((f"{module}.py", number, lines[number - 1]))
        return found


def _piece(source: str, at: int, end: int, change: SmallChange) -> tuple[str, str] | None:
    """What a small change replaces in a long statement, and by what; None if that is not a piece that occurs once."""
    old, new = " ".join(source[change.start : change.end].split()), " ".join(change.text.split())
    fits = 3 < len(old) < LONGEST // 2 and 0 < len(new) < LONGEST // 2 and "`" not in old + new
    return (old, new) if fits and source[at:end].count(source[change.start : change.end]) == 1 else None


def _small_changes(program: Program, module: str, path: str) -> dict[int, list[Any]]:
    """The small changes of a function, by line; those of one line from all its places, not only the first."""
    cache = program.__dict__.setdefault("_of_function", {})
    if (module, path) not in cache:
        found: dict[int, list[Any]] = {}
        node = program.functions[module, path]
        for one in small_changes(module, program.sources[module], path, node):
            found.setdefault(one.line, []).append(one)
        cache[module, path] = {line: _spread(changes) for line, changes in found.items()}
    return cache[module, path]


def _spread(changes: list[Any]) -> list[Any]:
    """Changes in such an order that each place of the line has one before any has two."""
    turns: dict[tuple[int, int], int] = {}
    ranked: list[tuple[int, int, Any]] = []
    for one in changes:
        place = one.start, one.end
        turns[place] = turns.get(place, -1) + 1
        ranked.append((turns[place] + 2 * one.names, len(ranked), one))
    return [one for _, _, one in sorted(ranked, key=lambda rank: rank[:2])]


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for one in ast.walk(node):
        for name in ("body", "orelse"):
            if isinstance(block := getattr(one, name, None), list):
                yield block


def _docstrings(node: ast.FunctionDef) -> set[int]:
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
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column].rstrip()
    except (tokenize.TokenError, SyntaxError):
        pass
    return "\n".join(lines)


def can_be_parsed(sources: Mapping[str, str]) -> bool:
    """Whether all modules are Python."""
    try:
        return all(tree_of(text) is not None for text in sources.values())
    except (SyntaxError, ValueError, RecursionError):
        return False
