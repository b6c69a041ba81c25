"""Check a submission for ready-made parts: find the stages that use one, and lines that a person should look at.

The code is parsed in a worker that loads nothing and is discarded afterwards, because a parser can be made to crash.
"""

import json
import subprocess
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from autograder.forbidden.findings import Finding, needless
from autograder.forbidden.fingerprints import Bag, fingerprints
from autograder.grading.results import StageResult, TestResult
from autograder.grading.run_test import stage_tests
from autograder.manifest import Assignment, Stage, assignments
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.remote_values import Code
from autograder.sandbox.student_faults import StudentFault
from autograder.sandbox.worker_processes import PlainWorkers, Workers, clean_environment, python_command
from autograder.submissions.read_submission import Submission
from autograder.submissions.syntax_tree import parse
from course.location import ENGINE

SECONDS = 20
WHY = 'Graded modules use the basic parts of torch, by their plain names; see "What is not allowed" in the README.'
# Attributes of a model; a function that uses one might solve a task.
OF_MODELS = {
    ".self_attn",
    ".encoder_attn",
    ".W_q",
    ".W_o",
    ".fc1",
    ".softmax",
    ".final_layer_norm",
    ".decoder_embedding",
}
COMMAND = "from autograder.forbidden.rules import main; main()"


@dataclass(frozen=True)
class Line:
    """A line of a submission that contains a forbidden part."""

    module: str
    number: int
    what: str
    text: str


@dataclass(frozen=True)
class Checked:
    """The result of the check."""

    forbidden: dict[str, list[Line]] = field(default_factory=dict)  # stage -> lines; the verdict names the first one
    review: tuple[str, ...] = ()
    # stage -> the modules with forbidden parts, whichever stage their lines belong to
    modules: dict[str, frozenset[str]] = field(default_factory=dict)


def check_submission(submission: Submission, assignment: Assignment, workers: Workers, copies: bool = False) -> Checked:
    """Search the modules of a submission for ready-made parts. If the check itself fails, the result is a note.

    Args:
        copies: also look for functions copied from the handout, for the instructors.
    """
    try:
        known = known_functions(assignment.name) if copies else {}
        findings, copied = _found_in(submission.sources, known, parts_of(assignment), workers)
    except Exception as error:
        why = error.message if isinstance(error, StudentFault) else str(error)
        return Checked(review=(f"the source check did not finish; look at the modules: {why[:200]}",))
    forbidden: dict[str, list[Line]] = {}
    modules: dict[str, set[str]] = {}
    review = []
    missing_modules = set(map(needless, assignment.modules))  # found only if the module was not handed in
    for module, finding in findings:
        lines = submission.sources[module].splitlines()
        text = lines[finding.line - 1].strip()[:120] if 0 < finding.line <= len(lines) else ""
        refused = [stage for stage in assignment.stages if is_forbidden(finding, stage)]
        if not finding.forbidden and not finding.parts and finding.what not in missing_modules:
            review.append(f"{module}.py:{finding.line}: {finding.what}")
        for stage in refused:
            modules.setdefault(stage.name, set()).add(module)
            if stage in stages_of(module, finding.scope, assignment):
                forbidden.setdefault(stage.name, []).append(Line(module, finding.line, finding.what, text))
    review += [f"{name} is nearly the same as {title}" for name, title in copied]
    return Checked(forbidden, tuple(review), {stage: frozenset(held) for stage, held in modules.items()})


def parts_of(assignment: Assignment) -> list[str]:
    """Return all parts of torch that are named in an assignment's manifest."""
    return sorted({part for stage in assignment.stages for part in (*stage.forbids, *stage.allows)})


def is_forbidden(finding: Finding, stage: Stage) -> bool:
    """Whether the part that was found is forbidden in a stage's code."""
    refused = finding.forbidden or any(part in stage.forbids for part in finding.parts)
    return refused and not any(part in stage.allows for part in finding.parts)


def stages_of(module: str, scope: str, assignment: Assignment) -> list[Stage]:
    """Return the stages that a line belongs to: its function's stage, or else all stages that use its module."""
    writer = assignment.stage_of(f"{module}.{scope}")
    return [writer] if writer else [stage for stage in assignment.stages if module in stage.modules]


def forbidden_stage(stage: Stage, lines: list[Line]) -> StageResult:
    """Return the result of a stage that uses a ready-made part: no points, and the forbidden lines."""
    first = lines[0]
    tests = [
        TestResult(
            stage=stage.name,
            name=name,
            title=case.shortDescription() or name,
            status="forbidden",
            points=0,
            max_points=stage.points[name],
            message=f"{first.module}.py:{first.number}: {first.what}",
            details=(*(f"{line.module}.py:{line.number}: {line.text}" for line in lines[:5]), WHY),
            places=tuple((f"{line.module}.py", line.number) for line in lines[:5]),
        )
        for name, case in stage_tests(stage).items()
    ]
    return StageResult(stage.name, stage.number, stage.title, stage.extra_credit, tuple(tests))


def _found_in(
    sources: dict[str, str], known: dict[str, Bag], parts: list[str], workers: Workers
) -> tuple[list[tuple[str, Finding]], list[tuple[str, str]]]:
    """Search the modules in a worker; return the findings and the copied functions.

    Raises:
        Exception: if the search crashed, hung, or returned an invalid answer.
    """
    if isinstance(workers, PlainWorkers):  # a worker would import torch first
        process = subprocess.run(
            python_command(COMMAND),
            input=json.dumps([sources, known, parts]),
            env=clean_environment(),
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
            check=True,
        )
        answer = json.loads(process.stdout)
    else:
        student = Student(workers, Code({}, {}, ()))
        try:
            answer = student.request({"do": "check", "sources": sources, "known": known, "parts": parts}, {}, "")
        finally:
            student.close()
    findings, copied = answer
    valid = [(module, _finding(*finding)) for module, finding in findings if module in sources]
    return valid, [(str(name), title) for name, title in copied if title in known]


def _finding(forbidden: Any, line: Any, scope: Any, what: Any, parts: Any) -> Finding:
    """Convert an entry in a worker's answer to a finding.

    Raises:
        ValueError: if it does not have the form of a finding.
    """
    texts = isinstance(parts, list) and all(isinstance(text, str) for text in (scope, what, *parts))
    if not (isinstance(forbidden, bool) and type(line) is int and texts):
        raise ValueError("the answer of the source check is malformed")
    return Finding(forbidden, line, scope, what, tuple(parts))


@cache
def known_functions(assignment_name: str) -> dict[str, Bag]:
    """Return the fingerprints of the functions that students could copy from the handout.

    These are the stand-ins of all assignments (functions that students write, and private helpers), and functions in
    `course` that use parts of a model.
    """
    known = {}
    for assignment in assignments().values():
        written = {name for stage in assignment.stages for name in stage.writes}
        for path in assignment.standins.glob("[!_]*.py"):
            for name, bag in fingerprints(parse(path.read_text(encoding="utf-8"))):
                full = f"{path.stem}.{name}"
                if full in written or name.startswith("_"):
                    known[f"the stand-in {full}" + (f" ({assignment.name})" * (assignment.name != assignment_name))] = (
                        bag
                    )
    for path in sorted((ENGINE / "course").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not any(name[1:] in text for name in OF_MODELS):
            continue  # skips most files: parsing them takes as long as searching three submissions
        module = ".".join(path.relative_to(ENGINE).with_suffix("").parts)
        known |= {f"{module}.{name}": bag for name, bag in fingerprints(parse(text)) if OF_MODELS & bag.keys()}
    return known
