"""The loop whose lines never run, and whether its iterator was used up before."""

import ast
from collections.abc import Mapping
from dataclasses import replace

from autograder.diagnosis.findings import Fault, Finding, Text
from autograder.grading.source_lines import idle_loops
from autograder.sandbox.traces import Line, Trace
from autograder.submissions.syntax_tree import functions


def with_idle_loop(finding: Finding, trace: Trace, sources: Mapping[str, str], text: Text) -> Finding:
    """What follows, with the only loop that is never entered, where nothing is made that is wrong, but too little; in
    place of the `return` of what was made before it, too."""
    told = finding.faults[0] if len(finding.faults) == 1 else None
    raised = trace.raised is not None or not trace.results  # what comes behind an exception never runs
    if raised or (finding.faults and (told is None or told.returns is None)):
        return finding
    made = trace.made[list(trace.results)].any()
    too_little = finding.usual and bool(finding.missing or finding.never)
    if (told and told.before is None and made) or not (told or too_little):
        return finding
    ran = trace.places()
    loops = [line for line in idle_loops(sources, ran, told.line if told else None) if not text.given(line)]
    if len(loops) != 1:
        return finding
    earlier = _gone_through_before(sources, loops[0])
    return replace(finding, faults=(Fault(loops[0], idle=True, before=earlier if earlier in ran else None),))


def _gone_through_before(sources: Mapping[str, str], loop: Line) -> Line | None:
    """The line above a loop that goes through the same name, which is given nothing else in between."""
    module = loop.file.removesuffix(".py")
    for function in functions(module, sources.get(loop.file, "")).values():
        if not function.lineno <= loop.number <= (function.end_lineno or 0):
            continue
        through: dict[int, set[str]] = {}
        stored: dict[str, int] = {}  # where a name is given something for the last time
        for node in ast.walk(function):
            if isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.iter, ast.Name):
                through.setdefault(node.iter.lineno, set()).add(node.iter.id)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                stored[node.id] = max(node.lineno, stored.get(node.id, 0))
        own = through.get(loop.number, set())
        earlier = [
            line
            for line, names in through.items()
            if line < loop.number and any(stored.get(name, 0) < line for name in names & own)
        ]
        return Line(loop.file, max(earlier), max(earlier)) if earlier else None
    return None
