"""No function that students can import answers a task: each is tried as the answer of each function of a stage."""

import ast
from collections.abc import Iterator

import pytest

from autograder.grading.forbidden_parts import Checked
from autograder.grading.grade_submission import grade
from autograder.manifest import Assignment, Stage, assignments
from autograder.sandbox.submission_clock import Clock
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.stage_with_standins import code_of_stage

SECONDS = 30.0  # for an answer, which takes two if it is right


@pytest.fixture(scope="module")
def workers():
    workers = make_workers()
    yield workers
    workers.close()


@pytest.fixture(autouse=True)
def unchecked(monkeypatch):
    """No search of the text: `standin_mha` would be forbidden by its name."""
    monkeypatch.setattr("autograder.grading.grade_submission.check_submission", lambda *_, **__: Checked())
    monkeypatch.setattr("autograder.sandbox.remote_modules.CALL_SECONDS", 5.0)


def importable(assignment: Assignment, stage: Stage) -> Iterator[tuple[str, str]]:
    """The functions and methods, "Class.method", of the modules of others that are there while a stage is graded."""
    code = code_of_stage(read_submission(assignment.solution, assignment), stage, assignment, {})
    for module, text in code.sources.items():
        for node in ast.parse(text).body if module not in code.modules else ():
            if isinstance(node, ast.FunctionDef):
                yield module, node.name
            if isinstance(node, ast.ClassDef):
                methods = (inner.name for inner in node.body if isinstance(inner, ast.FunctionDef))
                yield from ((module, f"{node.name}.{method}") for method in methods if method != "__init__")


def answered(assignment: Assignment, written: str, module: str, name: str) -> Submission:
    """The reference with one function that hands its arguments on."""
    owner, _, path = written.partition(".")
    sources = read_submission(assignment.solution, assignment).sources
    tail = f"\n\nimport {module} as _ready\n\n{path} = lambda *args, **kwargs: _ready.{name}(*args, **kwargs)\n"
    return Submission("ready", {**sources, owner: sources[owner] + tail})


CASES = [
    pytest.param(one, stage, id=f"{one.name} {stage.name}") for one in assignments().values() for stage in one.stages
]


@pytest.mark.slow
@pytest.mark.parametrize(("assignment", "stage"), CASES)
def test_no_function_of_the_handout_is_an_answer(workers, assignment, stage):
    found = []
    for written in stage.writes:
        for module, name in importable(assignment, stage):
            clock = Clock(SECONDS)  # without one, what only explains has no limit either
            report = grade(answered(assignment, written, module, name), assignment, workers, [stage], clock=clock)
            assert not report.faulty, (written, module, name)
            if report.complete and all(test.status == "passed" for test in report.tests):
                found.append((written, f"{module}.{name}"))
    assert found == []
