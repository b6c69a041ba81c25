"""A student's program as a source of questions: the lines that the student wrote, and changes to them."""

import ast
import io
import itertools
import re
import textwrap
import tokenize
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from autograder.localization import SmallChange, small_changes
from autograder.submissions.syntax_tree import Offsets, functions, parse, statements, tree_of

LONGEST = 110  # characters of a statement that a question shows
SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return)
UNFIT = (ast.FunctionDef, ast.ClassDef, ast.Pass, ast.Raise, ast.Assert, ast.Import)
SILLY = re.compile(r"--|-0(?![.\d])|\*\*|return _$")  # code that no one would write
LARGE = re.compile(r"\d{2,}")  # changing it by 1 does not make a good question
HUGE = re.compile(r"\b\d{6,}\.0\b")
Place = tuple[str, int]  # file and line


@dataclass(frozen=True, eq=False)
class Own:
    """A statement that the student wrote."""

    module: str
    path: str  # "Class.method" or "function"
    node: ast.stmt
    text: str  # on one line; for an `if` or a loop, only its head
    file: str = ""  # " of mha.py" if the program has several files

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
    def name(self) -> str:
        return f"line {self.line}{self.file}"


@dataclass(frozen=True, eq=False)
class Change:
    """A statement, and the code that replaces it."""

    own: Own
    new: str  # on one line
    unit: str  # the changed function, at its line numbers
    renames: bool = False  # whether it replaces one name with another

    @property
    def option(self) -> str:
        return f"{self.own.name}: `{self.new}`"

    @property
    def sentence(self) -> str:
        return f"L{self.own.name[1:]} becomes `{self.new}`."


@dataclass(frozen=True, eq=False)
class Program:
    """The modules of a stage as a student wrote them."""

    sources: Mapping[str, str]  # module -> source code
    given: Mapping[str, str]  # module -> the code that was handed out; all other statements count as the student's
    writes: Collection[str]  # "module.Class.method" that students write; used for modules without handed-out code
    _changes: dict[tuple[str, str], list[SmallChange]] = field(default_factory=dict, init=False)  # of functions

    @cached_property
    def functions(self) -> dict[tuple[str, str], ast.FunctionDef]:
        """All functions and methods, by module and path, in source order."""
        return {
            (module, path.removeprefix(f"{module}.")): node
            for module, text in self.sources.items()
            for path, node in functions(module, text).items()
        }

    @cached_property
    def own(self) -> tuple[Own, ...]:
        """The statements that the student wrote, except those that share a line."""
        found = []
        for (module, path), node in self.functions.items():
            before = functions(module, self.given.get(module, "")).get(f"{module}.{path}")
            if module not in self.given and f"{module}.{path}" not in self.writes:
                continue
            old = {ast.dump(one) for one in statements(before.body)} if before else set()
            file = f" of {module}.py" if len(self.sources) > 1 else ""
            for one in statements(node.body):
                if not isinstance(one, UNFIT) and ast.dump(one) not in old:
                    found.append(Own(module, path, one, head(one), file))
        places = [one.place for one in found]
        return tuple(one for one in found if places.count(one.place) == 1)

    @cached_property
    def by_place(self) -> dict[Place, Own]:
        return {one.place: one for one in self.own}

    def changes(self, own: Own) -> Iterator[Change]:
        """Small changes to a statement."""
        text, seen = Offsets(self.sources[own.module]), {own.text}
        at, end = text.start(own.node), text.end(own.node)
        for one in self._small_changes(own):
            inside = one.line == own.line and at <= one.start <= one.end <= end and one.kind in ("expression", "name")
            if inside and not LARGE.fullmatch(text.source[one.start : one.end]):
                source = text.source[at : one.start] + one.text + text.source[one.end : end]
                try:
                    new = head(parse(textwrap.dedent(" " * own.node.col_offset + source)).body[0])
                except SyntaxError:
                    continue
                if new not in seen and len(new) <= LONGEST and len(SILLY.findall(new)) <= len(SILLY.findall(own.text)):
                    seen.add(new)
                    yield Change(own, new, one.unit, one.kind == "name")

    def swaps(self) -> Iterator[tuple[Own, Own, Change]]:
        """Pairs of consecutive simple statements in a block, each on one line, and the change that swaps them."""
        for first, second in itertools.pairwise(self.own):
            text = Offsets(self.sources[first.module])
            pair = [one.node for one in (first, second) if one.simple and not isinstance(one.node, ast.Return)]
            same = first.path == second.path and first.node.col_offset == second.node.col_offset
            if same and first.text != second.text and [one.end_lineno for one in pair] == [first.line, second.line]:
                between = text.source[text.end(first.node) : text.start(second.node)]
                if not between.strip() and (small := self._small_changes(first)):
                    swapped = text.of(second.node) + between + text.of(first.node)
                    unit = small[0].function.changed(text.start(first.node), text.end(second.node), swapped)
                    yield first, second, Change(first, second.text, unit)

    def _small_changes(self, own: Own) -> list[SmallChange]:
        """All small changes to the function that contains a statement."""
        if (at := (own.module, own.path)) not in self._changes:
            self._changes[at] = [*small_changes(own.module, self.sources[own.module], own.path, self.functions[at])]
        return self._changes[at]

    def excerpt(self, places: Collection[Place]) -> list[tuple[str, int, str]]:
        """The functions that contain the given lines, as (file, line, code) without comments and docstrings."""
        found: list[tuple[str, int, str]] = []
        for module, source in self.sources.items():
            file, lines, shown = f"{module}.py", without_texts(source).splitlines(), set[int]()
            for node in tree_of(source).body:
                for inner in node.body if isinstance(node, ast.ClassDef) else [node]:
                    begin = min([inner.lineno, *(one.lineno for one in getattr(inner, "decorator_list", ()))])
                    span = range(begin, (inner.end_lineno or begin) + 1)
                    if isinstance(inner, ast.FunctionDef) and any((file, line) in places for line in span):
                        shown |= {node.lineno, *span}
            found += [(file, line, lines[line - 1]) for line in sorted(shown) if lines[line - 1].strip()]
        return found


def head(node: ast.stmt) -> str:
    """A statement on one line, without unnecessary parentheses; for an `if` or a loop, only the header."""
    return HUGE.sub(lambda found: f"{float(found[0]):g}".replace("e+0", "e"), ast.unparse(node).partition("\n")[0])


def without_texts(source: str) -> str:
    """Return source code without its comments and docstrings; line numbers stay the same."""
    lines, before = source.splitlines(), tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        (first, column), (last, end) = token.start, token.end
        begins = before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and begins):
            rest = lines[last - 1][end:]
            lines[first - 1 : last] = [lines[first - 1][:column].rstrip() + rest, *[""] * (last - first)]
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token.type
    return "\n".join(lines)
