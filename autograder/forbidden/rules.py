"""The rules for graded modules, and the search for violations in the syntax tree. No submitted code is executed.

Clear violations count as `forbidden`. If honest code could look the same, the finding is marked for `review` by a
person. The search is not complete: Python has more ways to reach a name than any list can contain.
"""

import ast
import functools
import gc
import importlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence, Set
from types import ModuleType
from typing import Any

from autograder.forbidden.aliases import Names, fold, through_modules, without_main_block
from autograder.forbidden.findings import MAX_FINDINGS, Finding, needless, told_first
from autograder.forbidden.fingerprints import Bag, copies
from autograder.forbidden.lists import (
    ASKED_ABOUT,
    BY_NAME,
    CALLS_BY_STRING,
    DUNDERS_IN_STRINGS,
    FILES,
    FILES_OF_LIBRARIES,
    FORBIDDEN_IN,
    HARMLESS_IN,
    HOOKS,
    LEADING_ANYWHERE,
    LEADING_ATTRIBUTES,
    LEADING_OR_OWN,
    LIBRARIES,
    MASK,
    MODULES_BEHIND,
    MODULES_OF_TORCH,
    NAMESPACES,
    NOTED_ANYWHERE,
    NOTED_IN,
    OF_LIBRARIES,
    OF_TORCH,
    PACKAGES_OF_TORCH,
    PARTS_OF_TORCH,
    READY,
    READY_LIBRARIES,
    READY_OR_OWN,
    RULES,
    TOLD_BY_FRAMES,
    UNUSUAL_IN_TORCH,
    USUAL,
    USUAL_DUNDERS,
    USUAL_IN,
    USUAL_MODULES,
    USUAL_PRIVATE,
)
from autograder.forbidden.parts import named, named_arguments
from autograder.forbidden.places import Place, with_scopes
from autograder.forbidden.search_budget import parsed

WORD = re.compile(r"\w+")
DEPTH = 50_000  # recursion limit of the search, which is pure Python: more than any parsed syntax tree needs
MAX_LARGE = 3  # unsearched statements to report
REFLECTED = frozenset({"__radd__", "__rmod__"})
COMPUTED = "an attribute's name is computed while the program runs"
LONGEST = 200  # characters of a name or message, so that all findings fit into a reply


def check_modules(
    sources: dict[str, str], known: dict[str, Bag] | None = None, parts: Sequence[str] = ()
) -> tuple[list[tuple[str, Finding]], list[tuple[str, str]]]:
    """Search the modules of a submission together.

    Args:
        known: the fingerprints of functions that nobody should hand in, by name.
        parts: parts of torch named in a manifest.

    Returns:
        The findings, each with its module's name, and the functions that are nearly identical to one of `known`, each
        with the known name. A module with a syntax error has no findings, since it cannot be imported either. A module
        that cannot be searched for any other reason is noted; the others are still searched.
    """
    trees, findings = {}, []
    for module, text in sources.items():
        try:
            tree, large = parsed(text)
            trees[module] = without_main_block(tree, text)
            findings += [(module, Finding(False, line, "", "is too long to be searched")) for line in large[:MAX_LARGE]]
        except SyntaxError:
            continue
        except (MemoryError, RecursionError, ValueError) as error:
            findings.append((module, Finding(False, 1, "", f"cannot be searched: {type(error).__name__}")))
    sys.setrecursionlimit(DEPTH)
    scoped = {module: with_scopes(tree) for module, tree in trees.items()}
    names = {module: Names(place.node for place in places) for module, places in scoped.items()}
    through_modules(names)
    members = {member for module_names in names.values() for member in module_names.members}
    written = members | {name for module_names in names.values() for name in module_names.written}
    libraries = {library for module_names in names.values() for library in module_names.libraries} - sources.keys()
    for module, places in scoped.items():
        search = Search(names[module], sources.keys(), members, written, libraries, parts)
        try:
            findings += [(module, finding) for finding in search.run(places)]
        except (ValueError, RecursionError) as error:  # such as a number too long to be written in decimals
            findings += [(module, finding) for finding in told_first(search.found.values())]
            findings.append((module, Finding(False, 1, "", f"cannot be searched: {type(error).__name__}")))
    copied = []
    for module, tree in trees.items():
        try:
            copied += [(f"{module}.{name}", title) for name, title in copies(tree, known or {})]
        except (ValueError, RecursionError) as error:
            findings.append((module, Finding(False, 1, "", f"cannot be compared: {type(error).__name__}")))
    return findings, copied


ASSEMBLED = (ast.BinOp, ast.JoinedStr, ast.Subscript, ast.Call)  # what `fold` may evaluate
# The nodes of `nn.Linear`, `(A, *B)`, `{A}`, `A | None` and `dict[str, A]`.
NAMES_OF_CLASSES = (
    *(ast.Name, ast.Attribute, ast.Tuple, ast.List, ast.Set, ast.Starred, ast.BinOp, ast.BitOr, ast.Subscript),
    *(ast.Constant, ast.expr_context),
)
VALUES = (ast.Name, ast.Attribute, ast.IfExp, ast.BoolOp, ast.NamedExpr)  # expressions that may refer to a library
# Positions in which a value is not stored anywhere, or in which the enclosing node is examined instead.
WITHOUT_VALUE: set[tuple[type[ast.AST], str]] = {
    *(
        (ast.Attribute, "value"),
        (ast.Call, "func"),
        (ast.Expr, "value"),
        (ast.Delete, "targets"),
    ),
    *((ast.IfExp, "test"), (ast.IfExp, "body"), (ast.IfExp, "orelse"), (ast.BoolOp, "values")),
    *((ast.If, "test"), (ast.While, "test"), (ast.Assert, "test"), (ast.UnaryOp, "operand")),
}


def answer(sources: dict[str, str], known: dict[str, Bag], parts: Sequence[str]) -> list[Any]:
    """Return the result of `check_modules` as lists, for the calling process."""
    gc.disable()  # syntax trees are many small objects, and the process ends soon
    findings, copied = check_modules(sources, known, parts)
    copied = [(name[:LONGEST], title) for name, title in copied[:MAX_FINDINGS]]
    return [[[module, list(finding)] for module, finding in findings], [list(pair) for pair in copied]]


def main() -> None:
    """Run the search as a separate process: read the modules as JSON from stdin, and write the answer to stdout."""
    sys.stdout.write(json.dumps(answer(*json.load(sys.stdin))))


class Search:
    """The search in one module.

    Args:
        modules: the student's modules.
        defined: names of methods and attributes defined anywhere by the student.
        written: these names, and all other names that the student's code defines, such as classes and keywords.
        libraries: names imported anywhere as modules.
        parts: parts of torch named in a manifest.
    """

    def __init__(
        self,
        names: Names,
        modules: Set[str],
        defined: Set[str],
        written: Set[str],
        libraries: Set[str],
        parts: Sequence[str],
    ) -> None:
        self.names, self.modules, self.defined, self.written = names, modules, defined, written
        self.libraries, self.parts = libraries, parts
        self.found: dict[tuple[int, str], Finding] = {}
        self.place = Place(ast.Module([], []), "", ast.Module([], []), "")
        self.done: set[int] = set()  # nodes that were examined as part of another node
        self.asked: set[int] = set()  # nodes of classes that are only named, as in a type hint
        self.hinted: set[str] = set()  # names read there
        self.used: set[str] = set()  # names read anywhere else

    def run(self, places: Iterable[Place]) -> list[Finding]:
        rules = {kind: getattr(self, f"_{kind.__name__}") for kind in RULES}
        places = list(places)
        self.asked = {id(node) for place in places for node in self._only_named(place.node)}
        for place in places:
            if isinstance(place.node, ast.Name) and isinstance(place.node.ctx, ast.Load):
                (self.hinted if id(place.node) in self.asked else self.used).add(place.node.id)
        for assign in (place.node for place in places if isinstance(place.node, ast.Assign)):
            names = {target.id if isinstance(target, ast.Name) else "" for target in assign.targets}
            if names <= self.hinted - self.used and _only_classes(assign.value):  # such as KINDS = (A, B)
                self.asked |= set(map(id, ast.walk(assign.value)))
        if self.names.unfollowed:
            self.report(self.place.node, "has too many aliases to follow", forbidden=False)
        for self.place in places:
            node = self.place.node
            if isinstance(node, VALUES):
                self._value(node)
            if rule := rules.get(type(node)):
                rule(node)
        return told_first(self.found.values())

    def ready(self, node: ast.AST, name: str, forbidden: bool = True, parts: Sequence[str] = ()) -> None:
        if id(node) in self.asked:
            forbidden, parts = False, ()
        self.report(node, f"{name} is a ready-made part, and this course has you write it yourself", forbidden, parts)

    def report(self, node: ast.AST, what: str, forbidden: bool = True, parts: Sequence[str] = ()) -> None:
        line = getattr(node, "lineno", 1)
        key = (line, what)
        self.found.setdefault(key, Finding(forbidden, line, self.place.scope[:LONGEST], what[:LONGEST], parts))

    def _only_named(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes of classes with which nothing is done. A call inside is judged as anywhere else."""
        named: list[ast.AST | None] = []
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            named = [node.returns]
        elif isinstance(node, (ast.arg, ast.AnnAssign)):
            named = [node.annotation]
        elif isinstance(node, ast.MatchClass):
            named = [node.cls]
        elif isinstance(node, ast.Compare):
            named = [node.left, *node.comparators]
        elif isinstance(node, ast.Dict):
            named = [*node.keys]
        elif isinstance(node, (ast.For, ast.comprehension)):
            named = [node.iter]
        elif isinstance(node, ast.keyword) and node.arg == "bound":  # of a TypeVar
            named = [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 2:
            named = [node.args[1]] if node.func.id in {"isinstance", "issubclass"} - self.names.bound else []
        for each in filter(None, named):
            if _only_classes(each):
                yield from ast.walk(each)

    def _foreign(self, origins: Iterable[str]) -> list[str]:
        """Return the origins that are outside the student's and the assignment's modules."""
        return [origin for origin in origins if origin and origin.split(".")[0] not in self.modules]

    def _value(self, node: ast.AST) -> None:
        """Report a library stored as a value, since it can no longer be tracked; plain aliases are tracked."""
        _, _, parent, field, in_class, _ = self.place
        if (
            (type(parent), field) in WITHOUT_VALUE
            or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
            or (not in_class and isinstance(parent, ast.NamedExpr))
            or (
                not in_class
                and field == "value"
                and isinstance(parent, (ast.Assign, ast.AnnAssign))
                and _names_only(parent)
            )
            or (
                isinstance(parent, ast.Compare)
                and all(isinstance(operator, (ast.Is, ast.IsNot)) for operator in parent.ops)
            )
            or (
                isinstance(parent, ast.Call)
                and isinstance(parent.func, ast.Name)
                and parent.func.id in ASKED_ABOUT - self.names.bound
            )
        ):
            return
        if isinstance(node, ast.Name) and self._is_local(node.id):
            self._kept(node, self.names.of_local(node.id))
        else:
            self._kept(node, self.names.resolve(node))

    def _is_local(self, name: str) -> bool:
        """Whether a name is a variable of a function here, and never anything else. A class body skips the function."""
        return self.place.names.has_variable(name) and not self.place.in_class and name not in self.names.elsewhere

    def _kept(self, node: ast.AST, origins: Iterable[str]) -> None:
        """Report any modules among these names; a student's module gives access to its imported libraries."""
        origins = set(origins)
        for module in sorted(origins & self.modules):
            self.report(node, f"the module {module} is used as a value, and its uses are not searched", forbidden=False)
        for origin in map(_from_last_torch, self._foreign(origins)):
            package, _, name = origin.rpartition(".")
            of_torch = origin.startswith("torch.") and (name in MODULES_OF_TORCH or _module_of_torch(package, name))
            if origin in self.libraries or of_torch:
                message = f"{_short(origin)} is used as a value, and later uses of that value are not searched"
                self.report(node, message, forbidden=False)

    # The rules, by the kind of node

    def _ClassDef(self, node: ast.ClassDef) -> None:
        named = any(keyword.arg in (None, "metaclass") for keyword in node.keywords)
        if named or any(isinstance(base, ast.Name) and base.id == "type" for base in node.bases):
            self.report(node, "a class has a metaclass", forbidden=False)

    def _FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name in HOOKS:
            self.report(node, f"{node.name} intercepts comparisons or operations", forbidden=False)

    def _Import(self, node: ast.Import) -> None:
        for name in node.names:
            self._module(node, name.name)
            if self.place.in_class:
                self._kept(node, [name.name])

    def _ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level:
            return self.report(node, "a relative import: modules are imported by their bare names", forbidden=False)
        module = node.module or ""
        only_named = [name for name in node.names if (name.asname or name.name) in self.hinted - self.used]
        self.asked |= {id(node) if len(only_named) == len(node.names) else 0, *map(id, only_named)}
        self._module(node, module)
        for name in node.names:
            if name.name == "*":
                if module.split(".")[0] not in self.modules:
                    self.report(node, f"all names of {module} are imported", forbidden=False)
            else:
                self._member(name, module, name.name)
                if self.place.in_class:
                    self._kept(node, [f"{module}.{name.name}"])
        return None

    def _module(self, node: ast.stmt, path: str) -> None:
        top, *rest = path.split(".")
        if top in READY_LIBRARIES:
            self.report(node, f"{top} has ready-made Transformers")
        elif top in LEADING_ANYWHERE or top.startswith("standin_"):
            self.report(node, f"{top} must not be imported")
        elif top not in USUAL and top not in self.modules:
            self.report(node, needless(top), forbidden=False)
        for length in range(1, len(rest) + 1):
            self._member(node, ".".join([top, *rest][:length]), rest[length - 1])

    def _member(self, node: ast.AST, module: str, name: str) -> None:
        """Check a name taken from a module."""
        path = _from_last_torch(f"{module}.{name}")
        module = path.rpartition(".")[0]
        top = module.split(".")[0]
        if top == "torch":
            parts = named(path, self.parts)
            if name == MASK:
                self.report(node, f"{MASK} is taken from torch", forbidden=False)
            elif OF_TORCH.fullmatch(name) and not path.startswith("torch.backends."):
                self.ready(node, _short(path), parts=parts)
            elif parts:
                self.ready(node, _short(path), forbidden=False, parts=parts)
            elif path in PARTS_OF_TORCH:
                self.report(node, f"{path} leads to ready-made parts of torch")
            elif path in UNUSUAL_IN_TORCH or (name.startswith("_") and name not in USUAL_DUNDERS | {"__dict__"}):
                self.report(node, f"{_short(path)} is not a usual part of torch", forbidden=False)
        elif top in self.modules:
            if name.startswith("_"):
                self.report(node, f"{path} is private to {top}.py", forbidden=False)
            return
        harmless = HARMLESS_IN.get(top)
        if name in FORBIDDEN_IN.get(module.rpartition(".")[2], ()) or (harmless and name not in harmless):
            self.report(node, f"{path} gives indirect access to names")
        elif (
            name in NOTED_ANYWHERE | NOTED_IN.get(module.rpartition(".")[2], set())
            or _is_unusual_module(module)
            or name not in USUAL_IN.get(module, {name})
            or _is_private(name)
        ):
            self.report(node, f"{_short(path)} is not needed for this course", forbidden=False)
        # Modules expose the modules that they import: warnings.sys, enum.bltns.
        exposed = exposed_module(module, name) if module else ""
        if module and (exposed or name.lstrip("_")) in LEADING_ANYWHERE | {"sys", "gc", "inspect"}:
            self.report(node, f"{_short(path)} gives indirect access to names")
        elif exposed:
            self.report(node, f"{_short(path)} is the module {exposed}, which may lead to other names", forbidden=False)

    def _Attribute(self, node: ast.Attribute) -> None:
        if id(node) in self.done:
            return
        if node.attr in TOLD_BY_FRAMES:
            self._frame(node.value)
        if node.attr == MASK and isinstance(node.value, ast.Attribute):
            self.report(node, f"{MASK} is taken from torch", forbidden=False)
            self.done.add(id(node.value))
        else:
            self._taken(node, node.value, node.attr)

    def _taken(self, node: ast.AST, base: ast.expr, name: str) -> None:
        """Check a name taken from an expression, whose value may be unknown."""
        origins = self.names.resolve(base)
        foreign = self._foreign(origins)
        for origin in foreign:
            self._member(node, origin, name)
        sets = isinstance(node, ast.Call) or isinstance(getattr(node, "ctx", None), ast.Store)
        if sets and (parts := [part for part in self.parts if part.endswith(f"({name})")]):
            if name in self.defined | self.written:  # an attribute of a class of the student's
                self.report(node, f"{name} is set, which is also an argument of a ready-made part", forbidden=False)
            else:
                self.ready(node, name, forbidden=False, parts=parts)  # an argument that is set later, as an attribute
        if name == "__class__" and isinstance(getattr(node, "ctx", None), ast.Store):
            self.report(node, "the class of an object is replaced", forbidden=False)
        own = name in self.defined or self.names.is_self(base)
        # Another value may have the name of an imported module: a parameter, or what `with`, `for` or `except` binds.
        of_module = bool(origins) and origins <= self.modules and self._is_import(base)
        unknown = not (foreign or self.names.is_self(base) or of_module)
        open_base = unknown and not own
        called = (type(self.place.parent), self.place.field) == (ast.Call, "func")
        if READY.fullmatch(name) or READY_OR_OWN.fullmatch(name):
            of_torch = any(origin.split(".")[0] == "torch" for origin in foreign)
            if not of_torch and not of_module and not (self.names.is_self(base) and name in self.written):
                self.ready(node, name, name not in self.written, named(name, self.parts))
        elif name in LEADING_ATTRIBUTES or (name in LEADING_OR_OWN and not self.names.is_self(base)):
            forbidden = name in LEADING_ATTRIBUTES or name not in self.written
            self.report(node, f"{name} gives indirect access to names", forbidden)
        elif name == "__dict__":
            self.report(node, "__dict__ leads from strings to names", forbidden=bool(foreign))
        elif re.fullmatch("__.*__", name) and name not in USUAL_DUNDERS:
            self.report(node, f"{name} is unusual in a module like this", forbidden=False)
        elif (unknown and name in MODULES_BEHIND) or (open_base and name == "modules" and not called):
            self.report(node, f"{name} may give indirect access to names", forbidden=False)
        elif open_base and name.startswith("_") and name not in USUAL_PRIVATE | USUAL_DUNDERS:
            self.report(node, f"{name} is a private name of another object", forbidden=False)
        if not own and (name in FILES or (foreign and name in FILES_OF_LIBRARIES)):
            self.report(node, f"{name} opens a file", forbidden=False)

    def _is_import(self, node: ast.expr) -> bool:
        """Whether a name refers only to what is imported under it, everywhere in this module."""
        return not (isinstance(node, ast.Name) and node.id in self.names.rebound)

    def _frame(self, node: ast.expr) -> None:
        """Allow code to read a string directly from a frame, without storing the frame itself."""
        steps: list[ast.AST] = []
        while isinstance(node, ast.Attribute) and node.attr in ("f_code", "f_back"):
            steps.append(node)
            node = node.value
        if isinstance(node, ast.Call) and "inspect.currentframe" in self.names.resolve(node.func):
            self.done |= {id(step) for step in (*steps, node.func)}

    def _Name(self, node: ast.Name) -> None:
        known = self.names.known.get(node.id)
        if node.id in HOOKS or (node.id == "__annotations__" and not known):
            self.report(node, f"{node.id} leads from strings to names", forbidden=False)
        if not isinstance(node.ctx, ast.Load):
            if node.id in LEADING_ATTRIBUTES:  # such as a field of a dataclass, which `match` reads
                self.report(node, f"{node.id} gives indirect access to names", forbidden=False)
            return
        if node.id in CALLS_BY_STRING:
            forbidden = not self.place.names.binds(node.id)
            self.report(node, f"{node.id} turns strings into code or names", forbidden=forbidden)
        elif not known and self.names.stars and (READY.fullmatch(node.id) or READY_OR_OWN.fullmatch(node.id)):
            self.ready(node, node.id, parts=named(node.id, self.parts))
        elif not known and self.names.stars and (parts := named(node.id, self.parts)):
            self.ready(node, node.id, forbidden=False, parts=parts)
        elif node.id == "open" and not known:
            self.report(node, "open opens a file", forbidden=False)
        elif node.id in NAMESPACES and not self._is_local(node.id):
            self.report(node, f"{node.id}() leads from strings to names", forbidden=False)
        elif node.id in BY_NAME and not self._is_local(node.id):
            if node.id in self.names.bound:
                self.report(node, f"{node.id} is also the name of something else here", forbidden=False)
            elif id(node) not in self.done:
                self.report(node, f"{node.id} is passed on instead of called", forbidden=False)

    def _Call(self, node: ast.Call) -> None:
        called = self.names.resolve(node.func)
        self.done.add(id(node.func) if isinstance(node.func, ast.Name) else 0)
        if "builtins.vars" in called and node.args and self._foreign(self.names.resolve(node.args[0])):
            self.report(node, "vars() of a library leads from strings to names")
        self._arguments(node, called)
        function = node.func.id if isinstance(node.func, ast.Name) else ""
        options = {keyword.arg for keyword in node.keywords}
        if "eval_str" in options or (None in options and "inspect.signature" in called):
            self.report(node, "eval_str evaluates annotations, which may be strings", forbidden=False)
        starred = any(isinstance(argument, ast.Starred) for argument in node.args)
        if "functools.wraps" in called and (node.keywords or len(node.args) > 1 or starred):
            self.report(node, COMPUTED, forbidden=False)
        if "numpy.ndarray" in called:
            self.report(node, "np.ndarray(...) reads memory without a check", forbidden=False)
        if called & {f"builtins.{name}" for name in BY_NAME}:
            if len(node.args) < 2 or starred:
                self.report(node, COMPUTED, forbidden=False)
            else:
                self._by_name(node, node.args[0], node.args[1])
        called_twice = isinstance(node.func, ast.Call) and getattr(node.func.func, "id", "") == "type"
        if (function == "type" or called_twice) and len(node.args) > 1:
            self.report(node, "a class is created by a call", forbidden=False)
        if isinstance(node.func, ast.Call) and "dataclasses.dataclass" in self.names.resolve(node.func.func):
            self.report(node, "dataclass is called with a class", forbidden=False)
        if isinstance(node.func, ast.Attribute):
            self._method(node, node.func, options)
        if isinstance(node.func, ast.Attribute) and "builtins.globals" in self._called(node.func.value):
            self.report(node, "globals() leads from strings to names")

    def _method(self, node: ast.Call, method: ast.Attribute, options: set[str | None]) -> None:
        """Check methods that read attributes by strings, or create code and classes."""
        if method.attr == "join":
            self._text(node)
        elif method.attr in ("format", "format_map") and fold(method.value) is None:
            self.report(node, "a format string is computed, and it can read any attribute", forbidden=False)
        elif method.attr == "__setattr__" and not self.names.is_self(method.value):
            if len(node.args) == 3 and not any(isinstance(argument, ast.Starred) for argument in node.args):
                self._by_name(node, node.args[0], node.args[1])  # object.__setattr__(self, "name", value)
            else:
                self.report(node, COMPUTED, forbidden=False)
        if any(name and name.startswith("co_") for name in options):
            self.report(node, "the code of a function is changed", forbidden=False)

    def _arguments(self, node: ast.Call, called: Set[str]) -> None:
        """Check the arguments of a torch function, or of a wrapper such as `partial(f, x=1)`, against a manifest."""
        for keyword in node.keywords:
            unused = isinstance(keyword.value, ast.Constant) and not keyword.value.value  # the default of all of them
            if unused or not any(f"({keyword.arg})" in part for part in self.parts):
                continue
            functions = {origin for value in node.args for origin in self.names.resolve(value)} | called
            if isinstance(node.func, ast.Name) and not called and self.names.stars:
                functions.add(f"torch.{node.func.id}")
            for path in self._foreign(functions):
                if path.startswith("torch.") and (parts := named_arguments(path, str(keyword.arg), self.parts)):
                    self.ready(node, f"{_short(path)}({keyword.arg}=...)", forbidden=False, parts=parts)

    def _by_name(self, node: ast.Call, base: ast.expr, name: ast.expr) -> None:
        """Check getattr, setattr or delattr."""
        text, foreign = fold(name), self._foreign(self.names.resolve(base))
        if text is not None:
            self._taken(node, base, text)
        if foreign and text is None:
            self.report(node, "a name in a library is built from a string", forbidden=False)
        elif foreign or self.names.resolve(base) & self.modules:
            self.report(node, f"a name in a module is given as the string {text!r}", forbidden=False)
        elif text is None and not _begins_plainly(name, self.defined):
            self.report(node, COMPUTED, forbidden=False)

    def _Subscript(self, node: ast.Subscript) -> None:
        if (
            isinstance(node.value, ast.Attribute)
            and node.value.attr == "__dict__"
            and not self.names.is_self(node.value.value)
        ):
            self.report(node, "__dict__ leads from strings to names")
        if self._called(node.value) & {"builtins.globals", "builtins.locals"}:
            self.report(node, "globals() and locals() lead from strings to names")
        if "builtins.vars" in self._called(node.value) and not any(map(self.names.is_self, node.value.args)):  # type: ignore[attr-defined]
            self.report(node, "vars() leads from strings to names", forbidden=not node.value.args)  # type: ignore[attr-defined]
        self._text(node)

    def _called(self, node: ast.AST) -> set[str]:
        """The called names, if the node is a call."""
        return self.names.resolve(node.func) if isinstance(node, ast.Call) else set()

    def _MatchClass(self, node: ast.MatchClass) -> None:
        for name in node.kwd_attrs:
            self._taken(node, ast.Constant(None), name)

    def _Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and READY.fullmatch(node.value.rpartition(".")[2]):
            self.report(node, f"the string {node.value[:60]!r} is the name of a ready-made part", forbidden=False)
        elif isinstance(node.value, str) and not isinstance(self.place.parent, ast.Expr):  # a docstring
            self._names_in(node, node.value)

    def _names_in(self, node: ast.AST, text: str) -> None:
        """Report suspicious names in a string, since annotations, formats and some functions evaluate strings."""
        for name in sorted(set(WORD.findall(text))):
            unusual = re.fullmatch("__.*__", name) and name not in USUAL_DUNDERS | DUNDERS_IN_STRINGS
            if name in LEADING_ATTRIBUTES | LEADING_OR_OWN or unusual:
                self.report(node, f"a string names {name}, which gives indirect access to names", forbidden=False)

    def _BinOp(self, node: ast.BinOp) -> None:
        self._text(node)

    def _JoinedStr(self, node: ast.JoinedStr) -> None:
        self._text(node)

    def _text(self, node: ast.expr) -> None:
        """Check that a string assembled from pieces is not the name of a ready-made part."""
        inside = {id(child) for child in ast.iter_child_nodes(node) if isinstance(child, ASSEMBLED)}
        if id(node) in self.done:
            self.done |= inside
            return
        text = fold(node) or ""
        self.done |= inside if text else set()
        name = text.rpartition(".")[2]
        if READY.fullmatch(name) or READY_OR_OWN.fullmatch(name):
            self.report(node, f"the name of the ready-made part {name} is assembled from pieces")
        else:
            self._names_in(node, text)


def _only_classes(node: ast.AST) -> bool:
    """Whether an expression consists of names of classes; the search ends at the first other node."""
    return all(isinstance(inside, NAMES_OF_CLASSES) for inside in ast.walk(node))


def _is_private(name: str) -> bool:
    """Whether a name in a library is private and not commonly used."""
    return name.startswith("_") and not name.endswith("__") and name not in USUAL_PRIVATE


def _is_unusual_module(path: str) -> bool:
    """Whether a path is that of a library's module that this course does not need; classes have capitals."""
    known = path in USUAL_MODULES or path.startswith(("torch.backends.", "course."))
    return path.split(".")[0] in LIBRARIES and path.islower() and not known


def _begins_plainly(name: ast.expr, defined: Set[str]) -> bool:
    """Whether a computed string begins with constant text, such as f"W_{name}", that leads to no name of interest.

    Args:
        defined: the names of the student's methods; `__radd__` and `__rmod__` could change what + and % return.
    """
    while isinstance(name, ast.BinOp) and isinstance(name.op, (ast.Add, ast.Mod)) and not defined & REFLECTED:
        name = name.left
    first = name.values[0] if isinstance(name, ast.JoinedStr) and name.values else name
    text = first.value if isinstance(first, ast.Constant) else ""
    names = LEADING_ATTRIBUTES | LEADING_OR_OWN | MODULES_BEHIND | {"modules"}
    return (
        isinstance(text, str) and text[:1] not in ("", "_", "%") and not any(other.startswith(text) for other in names)
    )


def _module_of_torch(package: str, name: str) -> bool:
    """Whether a name is a module in one of the torch packages in which only modules have lower-case names."""
    return package in PACKAGES_OF_TORCH and name.islower()


def _from_last_torch(path: str) -> str:
    """Cut off everything before the last "torch": torch.nn.functional.torch becomes torch."""
    return path[max(0, f".{path}.".rfind(".torch.")) :]


@functools.cache
def exposed_module(path: str, name: str) -> str:
    """Return the name of an unrelated module that can be reached through a commonly used module, or ""."""
    top, *rest = path.split(".")
    if top in LIBRARIES:
        return name if name in sys.stdlib_module_names - OF_LIBRARIES else ""
    if top not in USUAL & sys.stdlib_module_names:
        return ""
    value: Any = importlib.import_module(top)
    for part in (*rest, name):
        value = getattr(value, part, None)
    own = not isinstance(value, ModuleType) or f"{value.__name__}.".startswith(f"{top}.")
    return "" if own else value.__name__


def _names_only(node: ast.Assign | ast.AnnAssign) -> bool:
    """Whether the value is assigned only to plain names, which `Names` can follow."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return all(isinstance(target, ast.Name) for target in targets)


def _short(path: str) -> str:
    """Abbreviate a name with the usual aliases, and truncate it if it is too long."""
    path = path.replace("torch.nn.functional.", "F.").replace("torch.nn.", "nn.")
    return path if len(path) <= 80 else path[:80] + "..."
