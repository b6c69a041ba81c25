"""List the nodes of a module, each with its place: the function around it, and the names that are bound there."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from autograder.forbidden.aliases import Function, bound_by, children

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)  # with names of their own
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """The names that a module, function, class or comprehension binds, and the scope around it."""

    names: frozenset[str]
    variables: frozenset[str] = frozenset()  # in a function: the names that are bound there, but not by an import
    of_module: frozenset[str] = frozenset()  # declared `global`
    around: "Scope | None" = None
    is_class: bool = False

    def binds(self, name: str) -> bool:
        """Whether a name is bound here or in a scope around it."""
        return any(name in scope.names for scope in self._visible(name))

    def has_variable(self, name: str) -> bool:
        """Whether a name is a variable of a function here: the innermost scope that binds it is a function."""
        return next((name in scope.variables for scope in self._visible(name) if name in scope.names), False)

    def _visible(self, name: str) -> Iterator["Scope"]:
        scope: Scope | None = self
        while scope is not None:
            of_module = name in scope.of_module
            if not of_module:
                yield scope
            scope = scope.around
            while of_module and scope is not None and scope.around is not None:
                scope = scope.around


class Place(NamedTuple):
    """A node, its enclosing class and function, its parent, its field in the parent, and where it runs."""

    node: ast.AST
    scope: str
    parent: ast.AST
    field: str
    in_class: bool = False  # directly in the body of a class, where names become attributes
    names: Scope = Scope(frozenset())


def with_scopes(tree: ast.Module) -> list[Place]:
    """Return all nodes except docstrings, parents before children."""
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    places = [Place(tree, "", tree, "", names=Scope(_names_of(tree)[0]))]
    for node, scope, _, _, in_class, names in places:
        inside = scope
        attributes = isinstance(node, ast.ClassDef) or (in_class and not isinstance(node, Function | ast.Lambda))
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if not scope:
                inside = node.name
            elif scope in classes and not isinstance(node, ast.ClassDef):
                inside = f"{scope}.{node.name}"
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            # Only the body runs when the function is called; decorators and defaults run with the module.
            inner = _scope_of(node, names)
            places += [
                Place(child, inside, node, field, attributes, inner)
                if field == "body" or isinstance(node, COMPREHENSIONS)
                else Place(child, scope, node, field, attributes, names)
                for field, child in children(node)
            ]
    return places


def _scope_of(node: ast.AST, around: Scope) -> Scope:
    """The scope of a function, class or comprehension; of any other node, the scope around it."""
    if isinstance(node, Function | ast.Lambda):
        outer = around.around if around.is_class else around  # a method does not see the names of its class
        return Scope(*_names_of(node), outer)
    if isinstance(node, ast.ClassDef):
        return Scope(_names_of(node)[0], around=around, is_class=True)
    if isinstance(node, COMPREHENSIONS):
        return Scope(frozenset(name for part in node.generators for name in _stored(part.target)), around=around)
    return around


def _names_of(scope: ast.AST) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The names that a function, class or module binds; those that no import binds; and those declared `global`."""
    names: set[str] = set()
    imported: set[str] = set()
    of_module: set[str] = set()
    targets: set[str] = set()  # the variables of comprehensions, which have a scope of their own
    waiting = [child for field, child in children(scope) if field in ("args", "body")]
    while waiting:
        node = waiting.pop()
        if name := bound_by(node):
            (imported if isinstance(node, ast.alias) else names).add(name)
        if isinstance(node, ast.Global):
            of_module |= set(node.names)
        if isinstance(node, ast.comprehension):
            targets |= _stored(node.target)
            waiting += [node.iter, *node.ifs]
        elif isinstance(node, ast.arguments):
            waiting += [child for field, child in children(node) if "defaults" not in field]
        elif not isinstance(node, SCOPES):
            waiting += [child for _, child in children(node)]
    return frozenset(names | imported), frozenset(names - imported - targets - of_module), frozenset(of_module)


def _stored(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
