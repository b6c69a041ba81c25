"""Size limits for student code that is searched for a faulty line; larger code loses no points.

No faulty line is named in code that exceeds a limit, since the search time grows faster than the size of the code. The
solutions and all correct programs in the tests are far below the limits. Their modules have at most 13,000 characters,
and at most 630 per line. They have at most 1,600 syntax tree nodes, at most 430 per function, and a nesting depth of at
most 20.
"""

import ast

from autograder.submissions.syntax_tree import functions, kept, tree_of

CHARACTERS, LINE = 50_000, 2_000
BRACES = 1_000  # each may begin an expression in an f-string, which older releases of Python parse separately
NODES, IN_FUNCTION = 4_000, 1_200
DEPTH = 60  # of nested nodes, such as blocks and brackets


@kept(maxsize=16)
def too_large(source: str) -> str:
    """Return the limit that a module exceeds, or "" if it exceeds none or is not valid Python."""
    if len(source) > CHARACTERS:
        return f"more than {CHARACTERS:,} characters"
    if source.count("{") > BRACES:
        return f"more than {BRACES:,} braces"
    if any(len(line) > LINE for line in source.splitlines()):
        return f"a line of more than {LINE:,} characters"
    try:
        level: list[ast.AST] = [tree_of(source)]
        nodes = depth = 0
        while level:
            nodes, depth = nodes + len(level), depth + 1
            level = [inner for node in level for inner in ast.iter_child_nodes(node)]
        if nodes > NODES:
            return f"more than {NODES:,} names, numbers, operations and so on"
        sizes = [sum(1 for _ in ast.walk(function)) for function in functions("", source).values()]
    except (SyntaxError, ValueError):
        return ""
    except (RecursionError, MemoryError):
        depth, sizes = DEPTH + 1, []
    if depth > DEPTH:
        return f"blocks or brackets nested more than {DEPTH} deep"
    if any(size > IN_FUNCTION for size in sizes):
        return f"a function of more than {IN_FUNCTION:,} names, numbers, operations and so on"
    return ""
