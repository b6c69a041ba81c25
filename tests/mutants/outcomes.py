"""What becomes of a mutant: whether it is caught, and whether its line is named."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from operator import attrgetter
from typing import Any

from autograder.authoring.formulations import correct_submissions
from autograder.grading.grade_submission import grade
from autograder.grading.results import TestResult
from autograder.manifest import Assignment, Stage, assignment
from autograder.sandbox.worker_processes import Workers
from autograder.submissions.read_submission import Submission, read_submission
from tests.mutants.caught import caught_by
from tests.mutants.changes import GONE, Change, changes

# right: only the changed statement is named (of two, one of them or both). next: one at most two lines away, or the
# one after a statement that was dropped. mixed: the right one and another. another: only others. nothing: none.
VERDICTS = ("right", "next", "mixed", "another", "nothing")
BY_PLACE = attrgetter("start")
NEAR = 2


@cache
def programs(name: str) -> dict[str, tuple[dict[str, str], set[str]]]:
    """The texts of all correct programs of an assignment, each with the modules of its own."""
    chosen = assignment(name)
    solution = read_submission(chosen.solution, chosen).sources
    found = {"solution": (dict(solution), set(chosen.modules))}
    found |= {name: (dict(one.sources), own) for name, (one, own) in correct_submissions(chosen).items()}
    return found


def all_mutants(chosen: Assignment, stages: Iterable[Stage]) -> Iterator[tuple[str, Stage, str, Change]]:
    """Every mutant: the program, the stage, the module and the change."""
    texts = programs(chosen.name)
    for stage in stages:
        for module in stage.modules:
            written = {path.partition(".")[2] for path in stage.writes if path.partition(".")[0] == module}
            seen = set()
            for name, (sources, own) in texts.items():
                if module in own and (text := sources[module]) not in seen:
                    seen.add(text)
                    for change in changes(text, written):
                        yield name, stage, module, change


def outcome(
    chosen: Assignment,
    program: str,
    stage: Stage,
    module: str,
    parts: Sequence[Change],
    workers: Workers,
    hidden: bool = False,
    seeds: int = 0,
) -> dict[str, Any]:
    """What becomes of a mutant.

    Args:
        hidden: whether to run the hidden tests as well.
        seeds: if it is not 0, only look who catches it, by hidden tests with so many seeds.
    """
    sources, _ = programs(chosen.name)[program]
    text = sources[module]
    for change in sorted(parts, key=lambda one: -one.start):
        text = change.apply(text)
    try:
        compile(text, module, "exec")
    except SyntaxError:
        return {"caught": "syntax"}
    changed = Submission("", {**sources, module: text})
    if seeds:
        return {"caught": caught_by(chosen, stage, changed, workers, range(1, seeds + 1))}
    report = grade(changed, chosen, workers, [stage], hidden_seed=1 if hidden else None)
    failed = [test for test in report.tests if test.status != "passed"]
    visible = [test for test in failed if not test.hidden]
    pointing = visible or failed
    file = f"{module}.py"
    lines = _lines_of(sources[module], parts)
    wrong = {(file, line) for line, _ in lines}
    gone = [line for line, change in lines if change.kind in GONE and _computes_nothing(text, line)]
    # What is wrong with an exception, or its message, is no value.
    values = any(test.status == "failed" and "ValueError" not in test.message for test in pointing)
    named = [_named(test, not values) for test in pointing]
    after = (file, min(gone)) if gone else None
    judged = [_judged(own, test, wrong, after) for own, test in zip(named, pointing, strict=True) if own]
    return {
        "caught": "visible" if visible else "hidden" if failed else "no",
        "verdict": _of_all(judged),
        "values": values,
        "named": named,
        "tests": [[test.name, test.status, test.message[:200], list(test.pointed)] for test in pointing],
    }


def _lines_of(source: str, parts: Sequence[Change]) -> list[tuple[int, Change]]:
    """The lines of the changed statements in the changed text: earlier changes may have added or taken lines."""
    found, more = [], 0
    for change in sorted(parts, key=BY_PLACE):
        found.append((change.line + more, change))
        more += change.text.count("\n") - source[change.start : change.end].count("\n")
    return found


def _computes_nothing(text: str, line: int) -> bool:
    """Whether the statement of a line only gives a name to what is there already: no verdict can name it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and node.lineno == line:
            if isinstance(node, (ast.If, ast.While)):
                return True
            own = [type(one) for one in ast.walk(node)]
            return not {ast.Call, ast.BinOp, ast.Compare, ast.Subscript, ast.AugAssign} & set(own)
    return False


def _named(test: TestResult, only_raises: bool) -> list[tuple[str, int]]:
    """The lines that a test calls wrong. Where nothing but exceptions comes, these name their lines themselves."""
    lines = [(mark.file, mark.line) for mark in test.marks if mark.state == "wrong"]
    if only_raises and test.status == "error" and not lines:
        traced = [re.match(r"(\w+\.py):(\d+)", detail) for detail in test.details]
        lines = [(found[1], int(found[2])) for found in traced if found]
    return lines


def _judged(
    lines: list[tuple[str, int]], test: TestResult, wrong: set[tuple[str, int]], gone: tuple[str, int] | None
) -> str:
    if wrong & set(lines):
        # The lines of an exception lead to the place where it was raised; of others each is called wrong.
        return "right" if wrong >= set(lines) or test.status == "error" else "mixed"
    if any(file == other and abs(line - at) <= NEAR for file, line in lines for other, at in wrong):
        return "next"
    return "next" if gone is not None and (lines[0][0] != gone[0] or lines[0] > gone) else "another"


def _of_all(judged: Sequence[str]) -> str:
    kinds = set(judged)
    if not kinds:
        return "nothing"
    if "another" in kinds or "mixed" in kinds:
        return "another" if kinds == {"another"} else "mixed"
    return max(kinds, key=VERDICTS.index)


def table(results: Iterable[dict[str, Any]]) -> str:
    """The verdicts, a row for each stage: of mutants that give wrong values, and of those that only raise."""
    counts: dict[tuple[str, str, bool], Counter[str]] = {}
    for entry in results:
        if entry["caught"] not in ("syntax", "no"):
            for row in ((entry["assignment"], entry["stage"]), ("all", "")):
                counts.setdefault((*row, entry["values"]), Counter())[entry["verdict"]] += 1
    rows = [f"| wrong | assignment | stage | caught | {' | '.join(VERDICTS)} |", "|---" * (4 + len(VERDICTS)) + "|"]
    for (name, stage, values), count in sorted(counts.items(), key=lambda row: (not row[0][2], row[0][0] == "all")):
        numbers = " | ".join(str(count[verdict]) for verdict in VERDICTS)
        kind = "values" if values else "exception"
        rows.append(f"| {kind} | {name} | {stage} | {count.total()} | {numbers} |")
    return "\n".join(rows)
