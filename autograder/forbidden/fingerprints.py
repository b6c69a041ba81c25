"""Find copies of known functions, even with different names, a different order or added lines."""

import ast
from collections import Counter, deque
from collections.abc import Iterator, Mapping

from autograder.forbidden.aliases import Function, children

MIN_NODES = 40  # shorter bodies may be similar by chance
SHARE = 0.96  # the fraction of a known function's nodes that a copy must share; correct code had at most 0.93
MORE = 1.7  # the maximum size of a copy, relative to the known function

Bag = dict[str, int]  # kind of node -> number of occurrences


def fingerprints(tree: ast.Module) -> Iterator[tuple[str, Bag]]:
    """Yield the name and the bag of nodes of each non-trivial function; variable names and order are ignored."""
    for name, node in _defined(tree, ""):
        if sum((bag := _bag(node)).values()) >= MIN_NODES:
            yield name, bag


def _defined(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield the functions and methods of a module, including those in blocks such as `if True:`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from _defined(child, f"{child.name}.")
        elif isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            yield from _defined(child, prefix)


def copies(tree: ast.Module, known: Mapping[str, Bag]) -> Iterator[tuple[str, str]]:
    """Yield the functions that are nearly identical to a known function, with the name of the known function."""
    if not known:
        return
    sizes = {title: sum(bag.values()) for title, bag in known.items()}
    for name, bag in fingerprints(tree):
        size = sum(bag.values())
        for title, other in known.items():
            if SHARE * sizes[title] <= size <= MORE * sizes[title]:
                shared = sum(min(count, bag.get(kind, 0)) for kind, count in other.items())
                if shared >= SHARE * sizes[title]:
                    yield name, title
                    break


def _bag(function: Function) -> Bag:
    """Count the nodes in a function's body: attributes and constants by value, other nodes by kind."""
    counts: Counter[str] = Counter()
    nodes = deque[ast.AST](function.body)
    while nodes:
        node = nodes.popleft()
        if isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            continue  # has no effect, like a docstring
        kind = type(node).__name__
        if isinstance(node, ast.Attribute):
            kind = f".{node.attr}"
        elif isinstance(node, ast.Constant):
            kind = repr(node.value)[:20]
        counts[kind] += 1
        nodes.extend(child for field, child in children(node) if field not in ("annotation", "returns"))
    return dict(counts)
