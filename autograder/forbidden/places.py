"""List the nodes of a module, each with its place: the function around it, and the names that are bound there."""

import ast
from typing import NamedTuple

from autograder.forbidden.aliases import Function, bound_by, children

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)  # with names of their own
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Bound(NamedTuple):
    """The names that are bound at a place."""

    here: frozenset[str]
    inside: frozenset[str]  # those that a function defined here can see, which excludes the names of a class
    local: frozenset[str]  # the variables of the functions around the place, unless an import binds them too


class Place(NamedTuple):
    """A node, its enclosing class and function, its parent, its field in the parent, and where it runs."""

    node: ast.AST
    scope: str
    parent: ast.AST
    field: str
    in_class: bool = False  # directly in the body of a class, where names become attributes
    bound: Bound = Bound(frozenset(), frozenset(), frozenset())


def with_scopes(tree: ast.Module) -> list[Place]:
    """Return all nodes except docstrings, parents before children."""
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    top = _names_of(tree)[0]
    places = [Place(tree, "", tree, "", bound=Bound(top, top, frozenset()))]
    for node, scope, _, _, in_class, bound in places:
        inside = scope
        attributes = isinstance(node, ast.ClassDef) or (in_class and not isinstance(node, Function | ast.Lambda))
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if not scope:
                inside = node.name
            elif scope in classes and not isinstance(node, ast.ClassDef):
                inside = f"{scope}.{node.name}"
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            # Only the body runs when the function is called; decorators and defaults run with the module.
            names = _bound_inside(node, bound, top)
            places += [
                Place(child, inside, node, field, attributes, names)
                if field == "body" or isinstance(node, COMPREHENSIONS)
                else Place(child, scope, node, field, attributes, bound)
                for field, child in children(node)
            ]
    return places


def _bound_inside(node: ast.AST, bound: Bound, top: frozenset[str]) -> Bound:
    """The names bound in the body of a function or class, or in a comprehension; else those bound around the node."""
    if isinstance(node, Function | ast.Lambda):
        own, variables, of_module = _names_of(node)
        seen = ((bound.inside | own) - of_module) | (of_module & top)
        return Bound(seen, seen, (bound.local - own - of_module) | variables)
    if isinstance(node, ast.ClassDef):
        return bound._replace(here=bound.here | _names_of(node)[0])
    if isinstance(node, COMPREHENSIONS):
        targets = frozenset(name for part in node.generators for name in _stored(part.target))
        return Bound(bound.here | targets, bound.inside | targets, bound.local)
    return bound


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
