"""Names to which a function gives something that it uses nowhere."""

import ast


def unused_names(function: ast.FunctionDef) -> set[str]:
    """The names that are stored and never read; most likely they are meant somewhere. Those with _ in front are not."""
    names = [one for one in ast.walk(function) if isinstance(one, ast.Name) and not one.id.startswith("_")]
    read = {one.id for one in names if isinstance(one.ctx, ast.Load)}
    return {one.id for one in names if isinstance(one.ctx, ast.Store)} - read
