"""Repeat a failed call under the tracer, and find the trace of correct code for the same call."""

from autograder.localization.reference import ReferenceTrace, read, stored_file, trace_of_reference
from autograder.localization.trace import Trace, read_trace
from autograder.manifest import Stage, assignment
from autograder.sandbox.call_replay import CallReplay
from autograder.sandbox.limits import TRACE_SECONDS
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.remote_values import Code, body_of

READY_SECONDS = 2.0  # for the worker to start tracing, before any code of the submission runs again


def followed(recipe: CallReplay, student: Student, limit: float | None = None, earlier: bool = False) -> Trace:
    """The trace of a call that a worker repeats.

    Args:
        earlier: whether to repeat the earlier calls of the object first.

    Raises:
        StudentFault: if the call cannot be repeated.
        Unreadable: if the reply is not a trace.
    """
    limit = limit or TRACE_SECONDS
    lengths = {name: text.count("\n") + 1 for name, text in own_files(student.code).items()}
    with student.aside(READY_SECONDS) as ask:
        ask({"do": "follow", "seconds": limit, "files": list(lengths)})
    with student.aside(2 * limit) as ask:
        recipe.repeat(lambda request, tensors: getattr(ask(request, body_of(tensors)), "_handle", None), earlier)
        return read_trace(ask({"do": "record"}), lengths)


def reference_trace(recipe: CallReplay, reference: Student | None, stage: Stage) -> ReferenceTrace | None:
    """The reference trace of a call: stored for visible tests, recorded from the reference for hidden tests."""
    chosen = assignment(stage.assignment)
    if reference is None:
        return read(stored_file(chosen.expected, stage.name), recipe.digest)
    from autograder.localization.named_steps import given_functions  # not in the students' version

    written = {path for written_stage in chosen.stages for path in written_stage.writes}
    return trace_of_reference(followed(recipe, reference), (), given_functions(chosen), written)


def own_files(code: Code) -> dict[str, str]:
    """The source code of a stage's modules, by file name."""
    return {f"{module}.py": code.sources[module] for module in code.modules}
