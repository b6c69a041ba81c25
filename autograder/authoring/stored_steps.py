"""Trace correct code in the calls made by the visible tests, and store the results for locating faulty lines.

Part of `python -m autograder expected`. The traced calls are the ones that the visible tests make when they run the
reference. Each call is traced with the reference, whose steps have names, and with every other known correct
submission. Students compute the same result in different ways.
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

SECONDS = 60.0  # for one call; no hurry here
SELDOM = 4  # every fourth program also runs calls that are too long to be recorded completely


def recipes(stage: Stage, code: Code, workers: Workers) -> dict[str, CallReplay]:
    """Return the calls made by a stage's visible tests, keyed by digest."""
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
    """Trace the wanted calls with the given code. Calls that fail or are not reproducible are left out."""
    recorded: dict[str, Trace] = {}
    student = Student(workers, code)
    try:
        for recipe in wanted:
            try:
                twice = [followed(recipe, student, SECONDS) for _ in range(2)]
            except (StudentFault, Unreadable):
                continue
            if twice[0].ending.raised is None and (trace := steady(*twice)):
                recorded[recipe.digest] = trace
    finally:
        student.close()
    return recorded


def steady(first: Trace, second: Trace) -> Trace | None:
    """Mask signatures that differ between two runs; return None if the operations or a result's signatures differ.

    Dropout draws random numbers, and an object's `id` differs in every run. Python numbers are compared exactly: they
    may be times, which differ by less than the tolerance.
    """
    if first.operations != second.operations:
        return None
    changed = ~np.isclose(first.signatures, second.signatures, rtol=0, atol=LIMIT, equal_nan=True).all(axis=1)
    changed |= no_tensor(first.signatures) & (first.signatures != second.signatures).any(axis=1)
    if changed[list(first.ending.results)].any():
        return None
    return replace(first, signatures=np.where(changed[:, None], np.nan, first.signatures))


def other_code(assignment: Assignment, stage: Stage) -> dict[str, Code]:
    """Return the code of each correct submission that differs from the solution in this stage, keyed by name.

    The spelled-out version of a submission is included, if it is different.
    """
    correct = correct_submissions(assignment).items()
    others = {name: submission for name, (submission, written) in correct if written & set(stage.modules)}
    solution = read_submission(assignment.solution, assignment)
    for name, submission in {"solution": solution, **others}.items():
        texts = {module: submission.sources[module] for module in stage.modules}
        if texts != (spelled := {module: spelled_out(text) for module, text in texts.items()}):
            others[f"{name}, spelled out"] = Submission(submission.name, {**submission.sources, **spelled})
    return {name: code_of_stage(submission, stage, assignment, {}) for name, submission in others.items()}


def known(assignment: Assignment, stage: Stage, workers: Workers) -> dict[str, ReferenceTrace]:
    """Trace correct code in the calls made by a stage's visible tests."""
    reference = named_reference(assignment, stage)
    calls = recipes(stage, reference, workers)
    recorded = traces(calls.values(), reference, workers)
    right = {digest: trace for digest, trace in recorded.items() if trace.ending.results or trace.steps}
    calls = {digest: calls[digest] for digest in right}
    whole = [recipe for digest, recipe in calls.items() if right[digest].ending.whole]
    others = [
        traces(calls.values() if number % SELDOM == 0 else whole, code, workers)
        for number, code in enumerate(other_code(assignment, stage).values())
    ]
    given, written = given_functions(assignment), {path for each in assignment.stages for path in each.writes}
    return {
        digest: trace_of_reference(trace, [traced[digest] for traced in others if digest in traced], given, written)
        for digest, trace in right.items()
    }


def store_steps(assignment: Assignment, workers: Workers) -> None:
    """Write the traces of every stage that has named steps; remove the files of all other stages."""
    from safetensors.numpy import save

    names = read_names(assignment.folder)
    for stage in assignment.stages:
        path = stored_file(assignment.expected, stage.name)
        if any(written in names for written in stage.writes):
            data = save(*pack(known(assignment, stage, workers)))
            # save_file would make the file unreadable for other users.
            path.write_bytes(data)
            print(f"  {stage.name}: {len(data):,} bytes of traces of correct code", flush=True)
        else:
            path.unlink(missing_ok=True)
