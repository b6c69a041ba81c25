"""Which functions of a submission are those of a known text, with other names, another order, or more lines in them."""

import ast
from collections import Counter, deque
from collections.abc import Iterator, Mapping

from autograder.forbidden.aliases import Function, children

MIN_NODES = 40  # shorter bodies look alike by chance
SHARE = 0.96  # of the nodes of a known function that a copy has at least; of correct code, none was above 0.93
MORE = 1.7  # times as many nodes as the known function a copy may have

Bag = dict[str, int]  # how often each kind of node occurs


def fingerprints(tree: ast.Module) -> Iterator[tuple[str, Bag]]:
    """For each function that is not trivial its name and its nodes, in which names and order do not count."""
    for name, node in _defined(tree, ""):
        if sum((bag := _bag(node)).values()) >= MIN_NODES:
            yield name, bag


def _defined(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The functions and methods of a module, those in blocks such as `if True:` among them."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from _defined(child, f"{child.name}.")
        elif isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            yield from _defined(child, prefix)


def copies(tree: ast.Module, known: Mapping[str, Bag]) -> Iterator[tuple[str, str]]:
    """The functions that are nearly the same as a known one, with the name of that."""
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
    """The nodes of a body: attributes and constants by what they are, names without it."""
    found: Counter[str] = Counter()
    nodes = deque[ast.AST](function.body)
    while nodes:
        node = nodes.popleft()
        if isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            continue  # says nothing, as a docstring
        kind = type(node).__name__
        if isinstance(node, ast.Attribute):
            kind = f".{node.attr}"
        elif isinstance(node, ast.Constant):
            kind = repr(node.value)[:20]
        found[kind] += 1
        nodes.extend(child for field, child in children(node) if field not in ("annotation", "returns"))
    return dict(found)
