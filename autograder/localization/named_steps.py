"""The named steps of an assignment: `steps.toml`, next to its manifest, names expressions in the reference.

    ["mha.MultiHeadAttention.compute_scaled_dot_product_attention"]
    "query @ key.transpose(-2, -1)" = "the scores, q k^T"

In the reference, each of these expressions is wrapped in a call that passes its name to the tracer. Nothing else
changes. The file is for instructors only, since it contains lines of the solution.
"""

import ast
import sys
from collections.abc import Mapping
from pathlib import Path

from autograder.manifest import Assignment, Stage
from autograder.sandbox.remote_values import Code
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.stage_with_standins import code_of_stage
from autograder.submissions.syntax_tree import functions, parse
from autograder.worker.available_libraries import MARKS
from course.errors import UserError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = "steps.toml"
MARK = "_named_step"
Names = dict[str, dict[str, str]]  # "module.Class.method" -> expression -> name


def named_reference(chosen: Assignment, stage: Stage) -> Code:
    """The reference's code with named steps."""
    solution = read_submission(chosen.solution, chosen)
    named = with_names(solution.sources, read_names(chosen.folder))
    return code_of_stage(Submission("reference", named), stage, chosen, {})


def given_functions(chosen: Assignment) -> tuple[str, ...]:
    """The paths "module.Class.method" of the reference's functions that students do not write."""
    written = {path for stage in chosen.stages for path in stage.writes}
    sources = read_submission(chosen.solution, chosen).sources
    return tuple(path for module, text in sources.items() for path in functions(module, text) if path not in written)


def read_names(folder: Path) -> Names:
    """The names of an assignment's steps; empty if it has no steps.toml.

    Raises:
        UserError: if the file cannot be read.
    """
    path = folder / FILE
    if not path.is_file():
        return {}
    try:
        with path.open("rb") as file:
            return {function: dict(names) for function, names in tomllib.load(file).items()}
    except (ValueError, TypeError) as error:
        raise UserError(f"{folder.name}/{FILE} cannot be read: {error}") from error


def with_names(sources: Mapping[str, str], names: Names) -> dict[str, str]:
    """The modules of the reference, in which the named expressions pass their names to the tracer.

    Raises:
        UserError: if an expression is not found.
    """
    changed = dict(sources)
    for module, text in sources.items():
        wanted = {function: steps for function, steps in names.items() if function.split(".")[0] == module}
        if wanted:
            tree = parse(text)
            for function, steps in wanted.items():
                _mark(_function(tree, function), function, steps)
            start = 1 + max((i for i, node in enumerate(tree.body) if _first(node)), default=-1)
            tree.body.insert(start, parse(f"from {MARKS} import step as {MARK}").body[0])
            changed[module] = ast.unparse(ast.fix_missing_locations(tree))
    return changed


def _first(node: ast.stmt) -> bool:
    """Whether a statement must come before every import: the docstring, and imports from __future__."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _function(tree: ast.Module, path: str) -> ast.AST:
    node: ast.AST = tree
    for name in path.split(".")[1:]:
        node = next((child for child in ast.iter_child_nodes(node) if getattr(child, "name", "") == name), ast.Pass())
    if isinstance(node, ast.Pass):
        raise UserError(f"{FILE} names {path}, which is not in the reference")
    return node


def _mark(function: ast.AST, path: str, steps: Mapping[str, str]) -> None:
    wanted = {ast.unparse(parse(text)): name for text, name in steps.items()}
    marked: set[str] = set()

    class Marking(ast.NodeTransformer):
        def generic_visit(self, node: ast.AST) -> ast.AST:
            text = ast.unparse(node) if isinstance(node, ast.expr) else ""
            super().generic_visit(node)
            if text not in wanted or isinstance(getattr(node, "ctx", None), ast.Store):
                return node
            marked.add(text)
            assert isinstance(node, ast.expr)
            return ast.Call(ast.Name(MARK, ast.Load()), [ast.Constant(wanted[text]), node], [])

    Marking().visit(function)
    if missing := wanted.keys() - marked:
        raise UserError(f"{FILE} names {min(missing)!r} of {path}, which is not in the reference")
