"""Functions that a test of their own finds right: where one gives something wrong to another function, it may be called
with something wrong. What is no tensor is not compared with what correct code hands over, so no record shows that."""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from autograder.diagnosis.findings import Fault
from autograder.grading.mending_lines import Failed
from autograder.grading.point_at_line import own_files, with_finding
from autograder.grading.results import TestResult
from autograder.sandbox.traces import Line
from autograder.submissions.syntax_tree import functions

DIRECT = re.compile(r"([A-Za-z_]\w*)\((?!.*\)[.(])")  # a call of a function, and not of an object


def called_directly(call: str) -> str:
    """The name of the function that a test calls by itself; nothing if it calls an object."""
    found = DIRECT.match(call)
    return found[1] if found else ""


def with_callers(
    tests: Mapping[str, TestResult], failed: Sequence[Failed], tested: Mapping[str, str]
) -> tuple[dict[str, TestResult], list[Failed]]:
    """The results of tests, and how they failed, with the line of the call where a function is told that is tested.

    Args:
        tested: the functions that tests call by themselves which pass, and these tests. What such a function calls is
            tested with it.
    """
    results, found = dict(tests), []
    for one in failed:
        if fault := _of_caller(one, tested):
            finding = replace(one.followed.finding, faults=(fault,))
            one = one._replace(followed=one.followed._replace(finding=finding))
            results[one.name] = with_finding(tests[one.name], finding, own_files(one.followed.recipe.code))
        found.append(one)
    return results, found


def _of_caller(failed: Failed, tested: Mapping[str, str]) -> Fault | None:
    """The fault of the only line that calls the function of the told line, if this passes a test of its own."""
    _, _, trace, finding, raised, _ = failed.followed
    if raised or len(finding.faults) != 1 or finding.faults[0].calls:
        return None
    told = finding.faults[0]
    module = told.line.file.removesuffix(".py")
    sources = failed.followed.recipe.code.sources
    every = functions(module, sources.get(module, ""))
    by_way = {
        name: test
        for path, node in every.items()
        for name, test in _called_in(node, tested.get(path[len(module) + 1 :]))
    }
    tested = {**by_way, **tested}
    for path, node in every.items():
        name, own = path.removeprefix(f"{module}."), range(node.lineno, (node.end_lineno or node.lineno) + 1)
        if told.line.number in own and tested.get(name, failed.name) != failed.name:
            calls = [one for one in trace.calls if one.path.rpartition(".")[2] == f"{name}()"]
            lines = {one.line for one in calls if one.line and not _inside(one.line, told.line, own)}
            if len(lines) == 1 and all(one.line for one in calls):
                return Fault(lines.pop(), doubtful=True, proven=(name, tested[name]))
    return None


def _called_in(function: ast.FunctionDef, test: str | None) -> list[tuple[str, str]]:
    """The names of functions that a tested one calls, each with the test; none of one that is not tested."""
    called = [one.func for one in ast.walk(function) if isinstance(one, ast.Call)] if test else []
    return [(one.id, test) for one in called if isinstance(one, ast.Name) and test]


def _inside(line: Line, told: Line, own: range) -> bool:
    return line.file == told.file and line.number in own
