"""Determine what a module's names refer to from its source alone, such as "torch.nn.functional" for `F`."""

import ast
import contextlib
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence

Function = ast.FunctionDef | ast.AsyncFunctionDef
MAX_MEANINGS = 16  # meanings of one name
MAX_STEPS = 200_000  # expressions looked at while following aliases
SELF = {"self", "cls"}
# Built-in functions that turn strings into names or code.
BUILTINS = {"eval", "exec", "compile", "globals", "locals", "vars", "getattr", "setattr", "delattr"}
BINDING = (
    *(ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef),
    *(ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.For, ast.comprehension),
)
# Nodes that bind a name, besides `ast.Name`, and the field with that name.
NAMING: dict[type[ast.AST], str] = {
    ast.arg: "arg",
    ast.ExceptHandler: "name",
    ast.FunctionDef: "name",
    ast.AsyncFunctionDef: "name",
    ast.MatchAs: "name",
    ast.MatchStar: "name",
    ast.MatchMapping: "rest",
}


class Names:
    """The names bound anywhere in a module. One name can have several meanings.

    `known` maps each name to its possible meanings: dotted names such as "torch.nn", or "" for one of the module's own
    objects. `others` contains the names of the student's other modules.
    """

    def __init__(self, nodes: Iterable[ast.AST]) -> None:
        self.known: dict[str, set[str]] = defaultdict(set)
        self.bound: set[str | None] = set()  # all names bound in any way, such as parameters
        self.rebound: set[str | None] = set()  # those that are bound otherwise than by an import
        self.imported: dict[str, set[str]] = defaultdict(set)  # the meanings that come from an import
        self.assigned: dict[str, set[str]] = defaultdict(set)  # the meanings that come from an assignment
        self.elsewhere: set[str] = set()  # names that a function binds in a scope around it
        self.members: set[str] = set()  # names of methods, and of attributes set on `self`
        self.written: set[str] = set()  # names of functions, classes, class attributes and keywords
        self.stars: list[str] = []  # modules imported by `import *`
        self.libraries: set[str] = set()  # names imported as modules
        self.others: dict[str, Names] = {}
        self.selves: set[str | None] = set(SELF)  # those that are always the first parameter of a method in this module
        aliases: list[tuple[ast.expr, ast.expr]] = []
        first: set[int] = set()  # the first parameters of methods
        for node in nodes:
            self.bound.add(bound_by(node))
            if not isinstance(node, ast.alias):
                self.rebound.add(bound_by(node))
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                self.elsewhere |= set(node.names)
            if isinstance(node, ast.ClassDef):
                first |= {id(argument) for child in node.body for argument in _first_parameter(child)}
            elif id(node) not in first:
                self.selves.discard(bound_by(node))
            if isinstance(node, ast.Call):
                self.written |= {keyword.arg for keyword in node.keywords if keyword.arg}
            if not isinstance(node, BINDING):
                continue
            if isinstance(node, ast.Import):
                for name in node.names:
                    origin = name.name if name.asname else name.name.split(".")[0]
                    self.known[name.asname or origin].add(origin)
                    self.imported[name.asname or origin].add(origin)
                    self.libraries |= {name.name, origin}
            elif isinstance(node, ast.ImportFrom):
                for name in node.names:
                    self.known[name.asname or name.name].add(f"{node.module or ''}.{name.name}")
                    if name.name == "*":
                        self.stars.append(node.module or "")
            elif isinstance(node, ast.ClassDef):
                self.known[node.name].add("")
                self.members |= {child.name for child in node.body if isinstance(child, Function)}
                self.written |= {node.name, *_class_attributes(node)}
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.written.add(node.name)
                if node.name not in self.members:
                    self.known[node.name].add("")
                arguments = [*node.args.posonlyargs, *node.args.args]
                optional = [*arguments[len(arguments) - len(node.args.defaults) :], *node.args.kwonlyargs]
                defaults = [*node.args.defaults, *node.args.kw_defaults]
                for argument, default in zip(optional, defaults, strict=True):
                    if default is not None:
                        aliases.append((ast.Name(argument.arg, ast.Store()), default))
            elif isinstance(node, ast.Assign):
                aliases += [(target, node.value) for target in node.targets]
            elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value:
                aliases.append((node.target, node.value))
            elif isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.iter, (ast.Tuple, ast.List)):
                aliases += [(node.target, item) for item in node.iter.elts]
        pairs = [pair for alias in aliases for pair in _unpacked(*alias)]
        for target, _ in pairs:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id in SELF:
                self.members.add(target.attr)
        self.unfollowed = not self._follow([(one.id, value) for one, value in pairs if isinstance(one, ast.Name)])

    def _follow(self, aliases: Sequence[tuple[str, ast.expr]]) -> bool:
        """Follow chains of aliases, in whatever order they are written; return whether that was possible."""
        users: dict[str, list[int]] = defaultdict(list)
        costs = []
        for number, (_, value) in enumerate(aliases):
            nodes = list(ast.walk(value))
            costs.append(len(nodes))
            for name in {node.id for node in nodes if isinstance(node, ast.Name)}:
                users[name].append(number)
        waiting = deque(range(len(aliases)))
        steps, complete = 0, True
        while waiting and steps <= MAX_STEPS:
            number = waiting.popleft()
            steps += costs[number]
            name, value = aliases[number]
            meanings = self.resolve(value) or {""}
            self.assigned[name] |= meanings
            if new := meanings - self.known[name]:
                if len(self.known[name]) < MAX_MEANINGS:
                    self.known[name] |= new
                    waiting += users[name]
                else:
                    complete = False
        return complete and not waiting

    def of_local(self, name: str) -> set[str]:
        """Return what a local variable may refer to: never the module that has the same name outside its function."""
        return self.known[name] - (self.imported[name] - self.assigned[name])

    def is_self(self, node: ast.AST) -> bool:
        """Whether an expression is `self`, `cls` or `super()`, and therefore an object of a class in this module."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return node.func.id == "super" and not node.args
        return isinstance(node, ast.Name) and node.id in self.selves

    def resolve(self, node: ast.AST | None) -> set[str]:
        """Return the dotted names that an expression may refer to, if known; "" for the module's own objects."""
        if isinstance(node, ast.Name):
            known = self.known.get(node.id)
            return known if known else {f"builtins.{node.id}"} if node.id in BUILTINS else set()
        if isinstance(node, ast.Attribute):
            bases = (origin for origin in self.resolve(node.value) if origin)
            return {meaning for origin in bases for meaning in self.member(origin, node.attr)}
        if isinstance(node, ast.NamedExpr):
            return self.resolve(node.value)
        if isinstance(node, ast.IfExp):
            return self.resolve(node.body) | self.resolve(node.orelse)
        if isinstance(node, ast.BoolOp):
            return set().union(*map(self.resolve, node.values))
        return set()

    def member(self, origin: str, name: str) -> set[str]:
        """Return what a name taken from a module refers to. Names in the student's own modules are looked up."""
        known = self.others[origin].known.get(name) if origin in self.others else None
        return {meaning or f"{origin}.{name}" for meaning in known or {""}}


def children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the child nodes with their field names, without expression contexts."""
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            for item in value:
                if isinstance(item, ast.AST):
                    yield name, item
        elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
            yield name, value


def fold(node: ast.expr) -> str | None:
    """Return the value of an expression made up of constant strings, or None."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    pieces: list[str | None] = [None]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        pieces = [fold(node.left), fold(node.right)]
    elif isinstance(node, ast.JoinedStr):
        pieces = [fold(part.value if isinstance(part, ast.FormattedValue) else part) for part in node.values]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join":
        between = fold(node.func.value)
        if between is not None and len(node.args) == 1 and isinstance(node.args[0], (ast.List, ast.Tuple)):
            items = [fold(item) for item in node.args[0].elts]
            return between.join(item for item in items if item is not None) if None not in items else None
    elif isinstance(node, ast.Subscript):
        text = fold(node.value)
        parts = [node.slice.lower, node.slice.upper, node.slice.step] if isinstance(node.slice, ast.Slice) else []
        with contextlib.suppress(ValueError, IndexError, TypeError):  # not constant, or out of range
            if text is not None and parts:
                return text[slice(*[part and ast.literal_eval(part) for part in parts])]  # type: ignore[arg-type]
            return text[ast.literal_eval(node.slice)] if text is not None else None
    return "".join(piece for piece in pieces if piece is not None) if None not in pieces else None


def _unpacked(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Split `a, b = x, y` into individual assignments; names unpacked from anything else have no known origin."""
    if isinstance(target, (ast.Tuple, ast.List)):
        same = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
        values = value.elts if same else [ast.Constant(None)] * len(target.elts)  # type: ignore[attr-defined]
        for item, other in zip(target.elts, values, strict=True):
            yield from _unpacked(item, other)
    else:
        yield target, value


def _class_attributes(node: ast.ClassDef) -> Iterator[str]:
    """Yield the names assigned in the body of a class, such as the members of an enumeration."""
    for child in node.body:
        targets = child.targets if isinstance(child, ast.Assign) else [getattr(child, "target", None)]
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def _first_parameter(child: ast.stmt) -> Iterator[ast.arg]:
    """Yield the first parameter of a method, which is the object or the class."""
    decorators = child.decorator_list if isinstance(child, Function) else []
    if isinstance(child, Function) and not any(getattr(one, "id", "") == "staticmethod" for one in decorators):
        yield from [*child.args.posonlyargs, *child.args.args][:1]


def bound_by(node: ast.AST) -> str | None:
    """Return the name that a node binds, if any."""
    if isinstance(node, ast.Name):
        return None if isinstance(node.ctx, ast.Load) else node.id
    if isinstance(node, ast.alias):
        return node.asname or node.name.partition(".")[0]
    field = NAMING.get(type(node), "")
    return getattr(node, field) if field else None


def without_main_block(tree: ast.Module, text: str) -> ast.Module:
    """Remove the blocks `if __name__ == "__main__":` from a module. The grader neither searches nor runs them.

    The search must see exactly the code that runs. A module without the word `__main__` is run without being parsed, so
    it is left unchanged.
    """
    if "__main__" in text:
        tree.body = [node for node in tree.body if not _is_main_block(node)]
    return tree


def _is_main_block(node: ast.stmt) -> bool:
    if not isinstance(node, ast.If) or node.orelse or not isinstance(node.test, ast.Compare):
        return False
    sides = {ast.dump(side) for side in (node.test.left, *node.test.comparators)}
    equal = len(node.test.ops) == 1 and isinstance(node.test.ops[0], ast.Eq)
    return equal and sides == {ast.dump(ast.Name("__name__", ast.Load())), ast.dump(ast.Constant("__main__"))}


def through_modules(names: dict[str, Names]) -> None:
    """Resolve names that modules import from the student's other modules.

    If a chain of `from ... import *` ends in a library, the meaning of a name stays unknown.
    """
    for here in names.values():
        here.others = names
    for _ in names:  # each round follows one link of a chain
        for here in names.values():
            for meanings in here.known.values():
                for meaning in list(meanings):
                    module, _, name = meaning.rpartition(".")
                    meanings |= here.member(module, name) if module in names else set()
    for module, here in names.items():
        visited, waiting, libraries = {module}, list(here.stars), []
        while waiting:
            star = waiting.pop()
            if star not in names:
                libraries.append(star)
            elif star not in visited:
                visited.add(star)
                waiting += names[star].stars
        if here.stars and not libraries:
            for other in visited - {module}:
                for name, meanings in list(names[other].known.items()):
                    if not name.startswith("_"):
                        here.known[name] |= meanings
            here.stars = []
