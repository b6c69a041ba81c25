"""Grade a class on a Dask cluster: the scheduler sends submissions, as source code, to workers on other machines.

Every machine in the cluster needs the same version of this project, including the reference. Each thread of a Dask
worker keeps its own warm process, whose forks run the submissions, confined as on a single machine.
"""

import threading
import traceback
import uuid
from collections.abc import Generator
from pathlib import Path
from typing import Any

from autograder.classroom.job_processes import Grader, Outcome, Queue, Settings
from autograder.submissions.read_submission import Submission
from course.errors import UserError

AHEAD = 2  # submissions in the cluster per thread: one being graded, one waiting
WAIT_SECONDS = 30
RETRIES = 1  # for tasks that raise; if a worker dies, the scheduler restarts its tasks elsewhere


def grade_on_cluster(
    queue: Queue, settings: Settings, address: str | None, scheduler_file: Path | None
) -> Generator[Outcome, None, None]:
    """Grade submissions on a cluster; yield the outcomes as they arrive.

    Args:
        address: the scheduler's address, or None if the file contains it.
        scheduler_file: the file written by `dask scheduler --scheduler-file`.

    Raises:
        UserError: if the cluster cannot be reached, or the connection is lost.
    """
    client = connect(address, scheduler_file)
    from distributed import as_completed

    try:
        under_way: dict[Any, Submission] = {}
        completed = as_completed(loop=client.loop)

        def fill() -> None:
            # A window, so that neither the scheduler nor this process holds all submissions. Workers may join or leave.
            window = max(AHEAD, AHEAD * sum(client.nthreads().values()))
            while len(under_way) < window and (submission := queue.take()) is not None:
                key = f"grade-{uuid.uuid4().hex}"
                future = client.submit(grade_there, settings, submission, key=key, pure=False, retries=RETRIES)
                under_way[future] = submission
                completed.add(future)

        fill()
        for future in completed:
            submission = under_way.pop(future)
            outcome = outcome_of(future, submission)
            future.release()  # lets the cluster delete it
            final = not queue.comes_back(submission, outcome)
            fill()
            if final:
                yield outcome
        client.run(close_graders, settings)
    finally:
        client.close()


def connect(address: str | None, scheduler_file: Path | None) -> Any:
    """Wait until a worker has joined the cluster, then return a client for the cluster.

    Raises:
        UserError: if there is no cluster, or it has no workers.
    """
    try:
        from distributed import Client
    except ImportError:
        raise UserError('a cluster needs Dask: pip install -c constraints.txt -e ".[cluster]"') from None
    if scheduler_file is not None and not scheduler_file.is_file():
        raise UserError(f"there is no file {scheduler_file}; `dask scheduler --scheduler-file` writes it")
    place = address or f"the scheduler of {scheduler_file}"
    try:
        where = {"address": address} if address else {"scheduler_file": str(scheduler_file)}
        client = Client(**where, timeout=WAIT_SECONDS, set_as_default=False)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{place} cannot be reached: {error or type(error).__name__}") from error
    try:
        client.wait_for_workers(1, timeout=WAIT_SECONDS)
    except TimeoutError:
        client.close()
        raise UserError(f"{place} has no workers: start some with `dask worker --nthreads 1 ...`") from None
    return client


def outcome_of(future: Any, submission: Submission) -> Outcome:
    """Return the outcome of a finished task, or an outcome with a fault if the task failed.

    Raises:
        UserError: if the cluster is gone.
    """
    from distributed.client import FutureCancelledError

    try:
        outcome: Outcome = future.result()
        return outcome
    except FutureCancelledError as error:
        raise UserError(
            "the connection to the scheduler was lost. The results so far are kept; run the same command to continue"
        ) from error
    except Exception:  # KilledWorker: several workers died while running it
        return Outcome.failed(submission, traceback.format_exc())


# The rest runs in the cluster's workers.

_of_thread = threading.local()
_all: list[Grader] = []


def grade_there(settings: Settings, submission: Submission) -> Outcome:
    """Grade a submission in a Dask worker, using this thread's warm process.

    Raises:
        RuntimeError: if this machine has a different grader from the requesting one, or cannot confine submissions.
    """
    from autograder.classroom.saved_results import grader_hash
    from autograder.sandbox.confine import unsupported

    grader: Grader | None = getattr(_of_thread, "grader", None)
    if grader is None or grader.settings != settings:
        if grader_hash(settings.assignment) != settings.grader:
            raise RuntimeError("the grader on this worker differs from the grader on the machine that runs the batch")
        if settings.confined and (why := unsupported()):
            raise RuntimeError(f"this worker cannot confine submissions: {why}")
        if grader is not None:
            grader.close()  # left by a different class, whose batch was stopped
        _of_thread.grader = grader = Grader(settings)
        _all.append(grader)
    return grader.grade(submission)


def close_graders(settings: Settings) -> None:
    """Stop the warm processes that this Dask worker keeps for a class."""
    for grader in [grader for grader in _all if grader.settings == settings]:
        _all.remove(grader)
        grader.close()
