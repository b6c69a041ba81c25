"""Questions for one submission: run a stage's tests to find its calls, then try each kind of question in turn."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from autograder.grading.graded_case import StageTestCase
from autograder.grading.run_test import run_test, stage_tests
from autograder.localization import harmless
from autograder.manifest import Assignment, Stage
from autograder.questions.kinds import KINDS
from autograder.questions.lab import Lab
from autograder.questions.program import Program
from autograder.questions.question import Question
from autograder.sandbox.call_replay import CallReplay
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.submission_clock import Clock
from autograder.sandbox.worker_processes import Workers
from autograder.submissions.read_submission import Submission
from autograder.submissions.stage_with_standins import code_of_all, code_of_stage

ONCE = ("times",)  # kinds for which a second question would reveal nothing new


@dataclass(frozen=True)
class Paper:
    """The questions for one student about one stage."""

    student: str
    stage: str
    complete: bool = False  # whether all visible tests pass: only then do the answers of the self-check make sense
    questions: tuple[Question, ...] = ()
    code: tuple[tuple[str, int, str], ...] = ()  # that the questions are about: file, line (0: no number), code
    trouble: str = ""  # why there are no questions, or few
    file: str = ""  # the student's name as a part of file names


def paper(
    submission: Submission,
    stage: Stage,
    assignment: Assignment,
    workers: Workers,
    count: int,
    seed: int,
    clock: Clock | None = None,
) -> Paper:
    """The questions for one student about a stage, from easy to hard.

    Args:
        seed: the same seed gives the same questions for the same program.
        clock: limits the time of all calls together.
    """
    nothing = Paper(submission.name, stage.name)
    sources = {module: submission.sources.get(module, "") for module in stage.modules}
    if missing := [module for module in stage.modules if module not in submission.sources]:
        return replace(nothing, trouble=f"{missing[0]}.py is missing or cannot be read")
    try:
        # In a handout, the folder of released files contains the student's own files.
        paths = {module: assignment.released / f"{module}.py" for module in stage.modules}
        given = {module: path.read_text(encoding="utf-8") for module, path in paths.items() if path.is_file()}
        given = {module: text for module, text in given.items() if text != sources[module]}
        program = Program(sources, given, stage.writes)
        harmful = not workers.confined and not harmless("\n".join(sources.values()), submission.sources)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return replace(nothing, trouble="the code cannot be parsed")
    if harmful:
        return replace(nothing, trouble="the code may touch files, so it is not changed here")
    # The student's own modules for all stages, if they work together; else stand-ins for the other stages.
    for code in (code_of_all(submission, assignment), code_of_stage(submission, stage, assignment, {})):
        student = Student(workers, code, clock=clock)
        passed, recipes = _visible_tests(student, stage)
        if len(passed) == len(stage.points):
            break
        student.close()
    try:
        lab = Lab(student, program, recipes, passed, f"{seed} {submission.name}")
        questions = tuple(_chosen(lab, count))
        ran = {place for call in lab.calls for place, times in call.base.counts.items() if times}
    finally:
        student.close()
    trouble = "" if len(questions) >= count else f"there are only {len(questions)} questions about the code"
    complete, lines = len(passed) == len(stage.points), tuple(program.excerpt(ran))
    return replace(nothing, complete=complete, questions=questions, code=lines, trouble=trouble)


def _visible_tests(student: Student, stage: Stage) -> tuple[dict[str, StageTestCase], list[CallReplay]]:
    """The visible tests that pass, and the calls made by all visible tests."""
    student.noted, passed = {}, {}
    for name, case in stage_tests(stage).items():
        case.student = student
        result, _ = run_test(name, case, stage)
        if result.status == "fault":
            raise RuntimeError("\n".join([result.message, *result.details]))
        if result.status == "passed":
            passed[name] = case
    recipes, student.noted = [*student.noted.values()], None
    return passed, recipes


def _chosen(lab: Lab, count: int) -> list[Question]:
    """Choose questions of as many kinds as possible, sorted by difficulty; no kind is used twice for the same line."""
    order = [*KINDS]
    lab.rng.shuffle(order)
    waiting = {name: KINDS[name](lab) for name in order}
    chosen: list[Question] = []
    turns = deque(order)
    while turns and len(chosen) < count:
        name = turns.popleft()
        if one := next((one for one in waiting[name] if _is_new(one, chosen)), None):
            chosen.append(one)
            turns.append(name)
    return sorted(chosen, key=lambda one: (one.difficulty, order.index(one.kind)))


def _is_new(question: Question, chosen: Sequence[Question]) -> bool:
    """Whether a question's text is new, and whether its first line and answer are new for its kind."""
    alike = [one for one in chosen if one.kind == question.kind]
    answers = [one.options[one.right] for one in alike]
    known = (alike and question.kind in ONCE) or question.options[question.right] in answers
    lines, texts = [one.lines[:1] for one in alike], [one.text for one in chosen]
    return not known and question.lines[:1] not in lines and question.text not in texts
