"""Repeat a test that failed with NaN, replacing infinity in the code with a large finite number.

If a mask forbids every key of a query, all inputs to the softmax are -inf and its result is NaN. The NaN then hides the
numbers that would identify a mistake in a mask; with -1e9, they would be visible. The test is therefore run again with
all infinities in the code replaced, and the new outcome is compared with known mistakes.
"""

import ast
from dataclasses import replace

import numpy as np

from autograder.diagnosis.compare_tensors import Incorrect
from autograder.diagnosis.mistake_signatures import Signature, signature
from autograder.grading.graded_case import StageTestCase
from autograder.grading.run_test import run_test
from autograder.manifest import Stage
from autograder.sandbox.remote_values import Code
from autograder.submissions.syntax_tree import parse

LARGE = 1e30  # acts like infinity in every softmax, and fits into float32
LIBRARIES = ("math", "torch", "np", "numpy")


def shown_finite(case: StageTestCase, error: BaseException | None, stage: Stage) -> tuple[Signature, Code] | None:
    """Rerun a test that failed with NaN, with infinities replaced; return the signature and the changed code.

    Return None if the code contains no infinity, or if the repeated test does not fail because of wrong numbers. `case`
    is restored afterwards.
    """
    if not isinstance(error, Incorrect) or not isinstance(error.actual, np.ndarray):
        return None
    if error.actual.dtype.kind != "f" or np.isfinite(error.actual).all():
        return None
    student, before = case.student, (case.checks, case.outcomes, case.warnings, case.explains)
    code = without_infinity(student.code)
    if code is None:
        return None
    case.student, case.explains = student.with_code(code), False
    try:
        _, new_error = run_test(case._testMethodName, case, stage)
        shown = signature(new_error, case.checks)
        return (shown, code) if shown is not None and shown.projections else None
    finally:
        case.student.close()
        case.student = student
        case.checks, case.outcomes, case.warnings, case.explains = before


def without_infinity(code: Code) -> Code | None:
    """Return the code with infinity replaced by a large number; None if it contains no infinity."""
    changed = {}
    for module in code.modules:
        try:
            tree = parse(code.sources.get(module, ""))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        finite = Finite()
        finite.visit(tree)
        if finite.replaced:
            changed[module] = ast.unparse(ast.fix_missing_locations(tree))
    return replace(code, sources={**code.sources, **changed}) if changed else None


class Finite(ast.NodeTransformer):
    """Replaces `math.inf`, `torch.inf`, `float("inf")`, `inf`, `1e999` and the like with a large number."""

    replaced = 0

    def visit(self, node: ast.AST) -> ast.AST:
        sign = _infinite(node)
        if not sign:
            return self.generic_visit(node)
        self.replaced += 1
        return ast.Constant(sign * LARGE)


def _infinite(node: ast.AST) -> int:
    """Return the sign of an infinite constant; 0 for all other nodes."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in LIBRARIES:
        return {"inf": 1, "Inf": 1, "NINF": -1}.get(node.attr, 0)
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return int(node.id == "inf")
    value = None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "float" and node.args:
        value = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        value = node.value
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 0
    return int(np.sign(number)) if np.isinf(number) else 0
