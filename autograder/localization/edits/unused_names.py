"""Names that a function assigns and never reads, and arguments that it never uses."""

import ast


def unused_names(function: ast.FunctionDef) -> set[str]:
    """The names that are assigned but never read, probably by mistake. Names that begin with _ do not count."""
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name) and not node.id.startswith("_")]
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    return {node.id for node in names if isinstance(node.ctx, ast.Store)} - read


def unused_arguments(function: ast.FunctionDef) -> list[str]:
    """The arguments that a function neither reads nor reassigns."""
    used = {"self", *(node.id for node in ast.walk(function) if isinstance(node, ast.Name))}
    arguments = [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]
    return [name for name in arguments if name not in used and not name.startswith("_")]
