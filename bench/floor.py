"""What grading a submission cannot go below: fork, import of the modules, and the forward passes themselves.

`python -m bench.floor SUBMISSION` grades once while it writes down every request to the student's workers, then
repeats these requests in forks of a warm process: nothing is framed, sent, confined, compared or reported.
"""

import argparse
import os
import pickle
import statistics
import sys
import time
from pathlib import Path
from typing import Any
from unittest import mock

from autograder.grading import grade_submission as grading
from autograder.grading import stage_run
from autograder.grading.reference_answers import AnswerBook
from autograder.manifest import assignment
from autograder.sandbox.remote_modules import ObjectProxy, Student
from autograder.sandbox.remote_values import Code
from autograder.sandbox.submission_clock import Clock
from autograder.sandbox.worker_processes import Workers, make_workers
from autograder.submissions.read_submission import read_submission

# header, body, whether it fails (some tests ask for an error), and the number of the object that it returns
Request = tuple[dict[str, Any], bytes, bool, int | None]
Session = list[Request]  # the requests to one worker, from its start to its end


class RecordedStudent(Student):
    """A student whose requests are written down; not those of the reference, which has no clock."""

    sessions: list[Session] = []  # noqa: RUF012, shared on purpose

    def __init__(self, workers: Workers, code: Code, dtype: str = "float64", clock: Clock | None = None) -> None:
        super().__init__(workers, code, dtype, clock)
        self.counts = clock is not None
        self.session = Session()  # two students' workers live at the same time, each with a session of its own

    def _ask(self, request: dict[str, Any], body: bytes = b"", call: str = "") -> Any:
        if not self.counts:
            return super()._ask(request, body, call)
        if request["do"] == "load":
            self.session = Session()
            self.sessions.append(self.session)
        fails, value = True, None
        try:
            value = super()._ask(request, body, call)
            fails = False
        finally:
            number = value._handle if isinstance(value, ObjectProxy) else None
            self.session.append((request, body, fails, number))
        return value


def record(folder: Path, name: str) -> list[Session]:
    """The requests that grading a submission makes of its code."""
    chosen = assignment(name)
    workers = make_workers()
    try:
        submission, book = read_submission(folder, chosen), AnswerBook(chosen, workers, 1)
        grading.grade(submission, chosen, workers, hidden_seed=1, book=book)  # finds out the reference's answers
        with (
            mock.patch.object(grading, "Student", RecordedStudent),
            mock.patch.object(stage_run, "Student", RecordedStudent),
            mock.patch("autograder.localization.localize", return_value={}),  # what explains is no floor
        ):
            grading.grade(submission, chosen, workers, hidden_seed=1, book=book, clock=Clock())
    finally:
        workers.close()
    assert len(RecordedStudent.sessions) >= len(chosen.stages), "a stage's requests were not written down"
    return RecordedStudent.sessions


def replay(session: Session) -> None:
    """Do in a fork what a worker was asked for; objects get the numbers that they had."""
    from autograder.worker.answer_requests import Worker

    if (pid := os.fork()) == 0:
        code = 1
        try:
            worker = Worker()
            handlers = {"load": worker.load, "import": worker.import_module, "call": worker.call, "get": worker.get}
            others = {"state": worker.state, "shapes": worker.shapes, "seed": worker.seed, "check": worker.check}
            for request, body, fails, number in session:
                value = None
                try:
                    value = {**handlers, **others}[request["do"]](request, body)
                except Exception:
                    assert fails
                if number is not None:
                    worker.objects[number] = value
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.floor", description=__doc__)
    parser.add_argument("submission", type=Path)
    parser.add_argument("--assignment", default="transformer", help="(%(default)s)")
    parser.add_argument("--runs", type=int, default=5, help="counted runs (%(default)s)")
    parser.add_argument("--sessions", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.sessions is None:
        # The forks come from a process that has imported nothing but what a warm process has.
        import subprocess
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "sessions")
            path.write_bytes(pickle.dumps(record(args.submission, args.assignment)))
            command = [sys.executable, "-m", "bench.floor", str(args.submission), "--sessions", str(path)]
            return subprocess.run([*command, "--runs", str(args.runs)], check=False).returncode
    sessions: list[Session] = pickle.loads(args.sessions.read_bytes())
    import gc

    from autograder.worker.warm_torch import prepare_torch

    prepare_torch()
    gc.freeze()
    figures = []
    for _ in range(args.runs + 1):
        before, started = os.times(), time.perf_counter()
        for session in sessions:
            replay(session)
        after = os.times()
        cpu = sum(after[2:4]) - sum(before[2:4]) + sum(after[:2]) - sum(before[:2])
        figures.append((time.perf_counter() - started, cpu))
    wall, cpu = (statistics.median(column) for column in zip(*figures[1:], strict=True))
    print(f"{wall:.4f} {cpu:.4f} {len(sessions)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
