"""Grade repeatedly with one warm process, for notebooks and `--watch`."""

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autograder.diagnosis.compare_tensors import Incorrect
from autograder.grading.grade_submission import grade
from autograder.grading.results import Report
from autograder.manifest import Assignment, Stage
from autograder.sandbox.confine import unsupported
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import Submission, read_submission


def foreign_code() -> bool:
    """Whether nbgrader is grading other people's code, on a machine that can confine it."""
    return os.environ.get("NBGRADER_EXECUTION") == "autograde" and not unsupported()


class Ended(Exception):
    """Grading was stopped before it finished."""


class Session:
    """Grades stages, using the modules in a folder. Every verdict is computed in a fresh worker from the current files.

    The warm process, which has imported torch and contains no student code, starts with the first verdict. `close`
    stops it; otherwise it ends with this process.
    """

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.mistakes: dict[str, list[tuple[str, Incorrect]]] = {}  # stage -> its failed visible tests, in order
        self._workers: Any = None
        self._ended = False

    def grade(self, folder: Path, stages: Sequence[Stage] | None = None, jobs: int = 1) -> Report:
        """Grade stages, all by default; an interrupt stops the grading.

        Raises:
            UserError: if the folder is missing or contains none of the modules.
            Ended: if `end` was called in the meantime.
        """
        submission = read_submission(folder, self.assignment)
        chosen = list(self.assignment.stages if stages is None else stages)
        for stage in chosen:
            self.mistakes[stage.name] = []
        kept = self._workers is not None
        result = self._attempt(submission, stages, jobs)
        if self._ended:
            raise Ended
        if kept and (isinstance(result, Exception) or result.faulty):
            # The warm process may have died in the meantime: a new one shows whether that was the reason.
            self.close()
            for stage in chosen:
                self.mistakes[stage.name] = []
            result = self._attempt(submission, stages, jobs)
        if isinstance(result, Exception):
            self.close()
            raise result
        return result

    def _attempt(self, submission: Submission, stages: Sequence[Stage] | None, jobs: int) -> Report | Exception:
        outcome: list[Report | Exception] = []

        def work() -> None:
            try:
                if self._workers is None:
                    self._workers = make_workers(confined=foreign_code())
                if self._ended:  # while the warm process was starting
                    self.close()
                outcome.append(
                    grade(submission, self.assignment, self._workers, stages, jobs=jobs, on_error=self._keep)
                )
            except Exception as error:
                outcome.append(error)

        # In a separate thread: an interrupt reaches the main thread at once, even while a worker is busy.
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            thread.join()
        except BaseException:
            self.close()
            raise
        if self._ended:
            raise Ended
        return outcome[0]

    def _keep(self, stage: Stage, test: str, error: BaseException) -> None:
        if isinstance(error, Incorrect):
            self.mistakes[stage.name].append((test, error))

    def end(self) -> None:
        """Stop the grading from another thread, so that `grade` raises `Ended`. Nothing can be graded afterwards."""
        self._ended = True
        self.close()

    def close(self) -> None:
        """Stop the warm process."""
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.close()
