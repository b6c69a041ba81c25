"""What correct code computes in the calls of the visible tests, stored for the line that a verdict points at.

A part of `python -m autograder expected`. The calls are those that the reference's own visible tests make. Each is
followed once with the reference, whose steps have names, and once with every other correct submission that is known,
since students take other roads than the reference.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from autograder.authoring.formulations import correct_submissions
from autograder.authoring.spelled_out import spelled_out
from autograder.grading.run_test import run_test, stage_tests
from autograder.localization.named_steps import given_functions, named_reference, read_names
from autograder.localization.reference import LIMIT, ReferenceTrace, no_tensor, pack, stored_file, trace_of_reference
from autograder.localization.replay import followed
from autograder.localization.trace import Trace, Unreadable
from autograder.manifest import Assignment, Stage
from autograder.sandbox.call_replay import CallReplay
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.remote_values import Code
from autograder.sandbox.student_faults import StudentFault
from autograder.sandbox.worker_processes import Workers
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.stage_with_standins import code_of_stage

SECONDS = 60.0  # for a call; there is time
SELDOM = 4  # of so many programs one makes the calls too that are too long to be recorded


def recipes(stage: Stage, code: Code, workers: Workers) -> dict[str, CallReplay]:
    """The calls of the visible tests of a stage, by their digests."""
    student = Student(workers, code)
    student.noted = {}
    try:
        for name, case in stage_tests(stage).items():
            case.student = student
            run_test(name, case, stage)
    finally:
        student.close()
    return student.noted


def traces(wanted: Iterable[CallReplay], code: Code, workers: Workers) -> dict[str, Trace]:
    """The records of calls with some code, as far as it can be followed and gives the same each time."""
    found: dict[str, Trace] = {}
    student = Student(workers, code)
    try:
        for recipe in wanted:
            try:
                twice = [followed(recipe, student, SECONDS) for _ in range(2)]
            except (StudentFault, Unreadable):
                continue
            if twice[0].raised is None and (trace := steady(*twice)):
                found[recipe.digest] = trace
    finally:
        student.close()
    return found


def steady(first: Trace, second: Trace) -> Trace | None:
    """A record without the numbers that change from time to time; None if those of a result do, or the operations.

    Dropout draws random numbers, and the number of an object (`id`) is another one each time; so is a time, by little,
    and therefore numbers of Python have to be the same.
    """
    if first.operations != second.operations:
        return None
    changed = ~np.isclose(first.signatures, second.signatures, rtol=0, atol=LIMIT, equal_nan=True).all(axis=1)
    changed |= no_tensor(first.signatures) & (first.signatures != second.signatures).any(axis=1)
    if changed[list(first.results)].any():
        return None
    return replace(first, signatures=np.where(changed[:, None], np.nan, first.signatures))


def other_code(assignment: Assignment, stage: Stage) -> dict[str, Code]:
    """The code of every correct submission that differs from the solution in this stage, by name; and that of all with
    their numbers spelled out, where that is something else."""
    correct = correct_submissions(assignment).items()
    others = {name: submission for name, (submission, written) in correct if written & set(stage.modules)}
    solution = read_submission(assignment.solution, assignment)
    for name, submission in {"solution": solution, **others}.items():
        own = {module: submission.sources[module] for module in stage.modules}
        if own != (spelled := {module: spelled_out(text) for module, text in own.items()}):
            others[f"{name}, spelled out"] = Submission(submission.name, {**submission.sources, **spelled})
    return {name: code_of_stage(submission, stage, assignment, {}) for name, submission in others.items()}


def known(assignment: Assignment, stage: Stage, workers: Workers) -> dict[str, ReferenceTrace]:
    """What correct code computes in the calls of the visible tests of a stage."""
    reference = named_reference(assignment, stage)
    calls = recipes(stage, reference, workers)
    seen = traces(calls.values(), reference, workers)
    right = {digest: one for digest, one in seen.items() if one.results or one.steps}
    calls = {digest: calls[digest] for digest in right}
    whole = [recipe for digest, recipe in calls.items() if right[digest].whole]
    others = [
        traces(calls.values() if number % SELDOM == 0 else whole, code, workers)
        for number, code in enumerate(other_code(assignment, stage).values())
    ]
    given, written = given_functions(assignment), {path for one in assignment.stages for path in one.writes}
    return {
        digest: trace_of_reference(trace, [one[digest] for one in others if digest in one], given, written)
        for digest, trace in right.items()
    }


def store_steps(assignment: Assignment, workers: Workers) -> None:
    """Write what is known of every stage that has named steps; the file of one that has none is removed."""
    from safetensors.numpy import save

    names = read_names(assignment.folder)
    for stage in assignment.stages:
        path = stored_file(assignment.expected, stage.name)
        if any(written in names for written in stage.writes):
            data = save(*pack(known(assignment, stage, workers)))
            # Not by save_file, whose file nobody else may read.
            path.write_bytes(data)
            print(f"  {stage.name}: {len(data):,} bytes of what correct code computes", flush=True)
        else:
            path.unlink(missing_ok=True)
