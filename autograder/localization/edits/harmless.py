"""Check that a changed program does nothing but compute.

A change must not have effects that its author never intended, such as touching files or starting programs on the
author's own machine.
"""

import ast
from collections.abc import Collection

from autograder.submissions.syntax_tree import tree_of

HARMLESS = {
    *("torch", "numpy", "math", "cmath", "random", "statistics", "decimal", "fractions", "numbers", "einops"),
    *("collections", "itertools", "functools", "operator", "heapq", "bisect", "array", "string", "re", "copy", "enum"),
    *("typing", "types", "abc", "dataclasses", "contextlib", "warnings", "logging", "inspect", "time", "__future__"),
}
RISKY = {
    *("open", "exec", "eval", "compile", "input", "breakpoint", "exit", "quit", "globals", "__builtins__"),
    *("__import__", "import_module", "save", "load", "savez", "savetxt", "tofile", "memmap", "export"),
    *("FileHandler", "basicConfig", "hub", "multiprocessing", "cpp_extension", "distributed"),
}


def harmless(source: str, modules: Collection[str] = ()) -> bool:
    """Whether a changed function only computes, judging by the module's imports and names.

    Args:
        modules: the other modules of the submission.
    """
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.Import):
            roots = {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            roots = {
                (node.module or "").partition(".")[0],
                *(alias.name for alias in node.names if alias.name in RISKY),
            }
        else:
            roots = {name for name in (getattr(node, "id", ""), getattr(node, "attr", "")) if name in RISKY}
        if roots - HARMLESS - set(modules):
            return False
    return True
