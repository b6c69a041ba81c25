"""Random numbers that a line draws from torch's own generator, though its function is given another one."""

import ast
from collections.abc import Mapping
from dataclasses import replace

from autograder.diagnosis.findings import Fault, Finding
from autograder.diagnosis.right_steps import RANDOM
from autograder.sandbox.traces import Line, Trace
from autograder.submissions.syntax_tree import functions

NAME = "generator"  # of the argument, as torch calls it


def with_other_generator(finding: Finding, trace: Trace, sources: Mapping[str, str]) -> Finding:
    """What follows, with the only line that draws so, where no other line is wrong."""
    if finding.faults or trace.raised is not None:
        return finding
    lines = {line for line, name in zip(trace.lines, trace.operations, strict=True) if line and name in RANDOM}
    found = [line for line in sorted(lines, key=lambda line: line.number) if _draws_otherwise(line, sources)]
    return replace(finding, faults=(Fault(found[0], draws=NAME),)) if len(found) == 1 else finding


def _draws_otherwise(line: Line, sources: Mapping[str, str]) -> bool:
    module = line.file.removesuffix(".py")
    for node in functions(module, sources[line.file]).values():
        arguments = {one.arg for one in (*node.args.args, *node.args.kwonlyargs)}
        if node.lineno <= line.number <= (node.end_lineno or node.lineno) and NAME in arguments:
            return any(_is_bare(one) for one in ast.walk(node) if getattr(one, "lineno", 0) == line.number)
    return False


def _is_bare(node: ast.AST) -> bool:
    """Whether a node is a call that draws, without a generator."""
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return name in RANDOM and not any(one.arg in (NAME, None) for one in node.keywords)
