"""What the grader spends on texts that are large in one way each, beyond what it spends on the same without that.

    python -m bench.large_texts [--size 90000] [--hidden] [NAME ...]

Each text is graded in a process of its own: seconds of the processor and the peak of memory of the grader, and of the
search for forbidden parts, which is a process of the grader's as well. What the student's own code takes in its workers
has limits of its own, and is not counted.
"""

import argparse
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autograder.grading import forbidden_parts
from autograder.grading.grade_submission import grade
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.worker_processes import Workers, make_workers
from autograder.submissions.read_submission import Submission
from tests.support.large_texts import ASSIGNMENT, MODULE, SOLUTION, at_end, in_function, inside, texts, wrong

SECONDS = 150  # for one text


class WatchedSearch(Student):
    """The worker of the search, which says what it took before it ends."""

    took: tuple[float, int] = (0.0, 0)

    def close(self) -> None:
        if self._worker is not None and (pid := getattr(self._worker, "pid", 0)):
            status = Path(f"/proc/{pid}/status").read_text()
            WatchedSearch.took = self.computed(), int(status.partition("VmHWM:")[2].split()[0]) >> 10
        super().close()


def measured(sources: dict[str, str], workers: Workers, hidden: bool) -> dict[str, Any]:
    """What grading one stage of a submission takes, in a process of its own."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        signal.alarm(SECONDS)
        forbidden_parts.Student = WatchedSearch  # type: ignore[attr-defined]
        started = time.process_time()
        report = grade(
            Submission("", sources), ASSIGNMENT, workers, [ASSIGNMENT.stage("mha")], hidden_seed=7 if hidden else None
        )
        found = {
            "seconds": round(time.process_time() - started, 2),
            "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
            "search seconds": round(WatchedSearch.took[0], 2),
            "search MB": WatchedSearch.took[1],
            "points": report.points,
            "lines": sum(bool(test.pointed) for test in report.tests),
            "review": [note[:60] for note in report.review[:2]],
            "said": sorted({test.message[:40] for test in report.tests})[:3],
        }
        os.write(writer, json.dumps(found).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        answer = stream.read()
    _, status = os.waitpid(child, 0)
    return json.loads(answer) if answer else {"ended": os.waitstatus_to_exitcode(status)}


def cases(size: int) -> Iterator[tuple[str, str]]:
    """The name and the text of the module."""
    for name, junk in texts(size).items():
        yield f"{name}, right", at_end(SOLUTION[MODULE], junk)
        yield f"{name}, wrong", at_end(wrong(), junk)
        yield f"{name}, no syntax", at_end(wrong(), junk) + "\n(\n"
    for name, junk in in_function(size).items():
        yield f"{name} inside, right", inside(SOLUTION[MODULE], junk)
        yield f"{name} inside, wrong", inside(wrong(), junk)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.large_texts", description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--size", type=int, default=90_000)
    parser.add_argument("--hidden", action="store_true")
    args = parser.parse_args()
    workers = make_workers(confined=sys.platform.startswith("linux"))
    try:
        for name, text in [("nothing, right", SOLUTION[MODULE]), ("nothing, wrong", wrong()), *cases(args.size)]:
            if not args.names or any(one in name for one in args.names):
                sources = {**SOLUTION, MODULE: text}
                print(f"{name:45}", json.dumps(measured(sources, workers, args.hidden)), flush=True)
    finally:
        workers.close()


if __name__ == "__main__":
    main()
