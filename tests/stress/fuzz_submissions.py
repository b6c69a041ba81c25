"""Submissions that nobody meant: mutated source, random bytes, huge files, deep nesting, odd results.

    python -m tests.stress.fuzz_submissions [--number 1000] [--out FILE]

Each changes one module of a correct submission and is graded, visible and hidden, in one stage that uses the module.
What comes of it is a verdict or a message about the file, never a fault of the grader. The results are kept in FILE,
one line each, and the same command goes on where it was stopped.
"""

import argparse
import json
import random
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

from autograder.grading.grade_submission import grade
from autograder.grading.reference_answers import AnswerBook
from autograder.manifest import Assignment, assignments
from autograder.sandbox.submission_clock import Clock
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import read_submission
from course.errors import UserError

CALL_SECONDS = 3.0
TOKEN = re.compile(r"\w+|[^\w\s]|\n[ ]*")
OPERATORS = [
    "+",
    "-",
    "*",
    "/",
    "@",
    "==",
    "<",
    ",",
    ".",
    ":",
    "(",
    ")",
    "[",
    "]",
    "=",
    "not",
    "None",
    "0",
    "-1",
    "self",
]
ODD = ["None", "self", "[]", "{}", "'x' * 10**6", "[0.0] * 10**5", "float('nan')", "(x for x in ())", "lambda: 0", "1j"]
DEEP = ["(" * 150, "x = " + "-" * 50_000 + "1", "x = a" + ".b" * 3000, "x = " + "[" * 90 + "]" * 90, "f(" * 2000]


def mutated(text: str, kind: str, rng: random.Random) -> bytes:
    """A module with a change of some kind."""
    lines = text.splitlines(keepends=True)
    place = rng.randrange(len(lines))
    if kind == "tokens":
        tokens = list(TOKEN.finditer(text))
        for token in sorted(rng.sample(tokens, min(len(tokens), rng.randint(1, 4))), key=lambda t: -t.start()):
            new = rng.choice(["", token.group() * 2, rng.choice(OPERATORS), rng.choice(tokens).group()])
            text = text[: token.start()] + new + text[token.end() :]
    elif kind == "lines":
        for _ in range(rng.randint(1, 3)):
            one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[one], lines[other] = rng.choice([(lines[other], lines[one]), ("", lines[other]), (lines[other],) * 2])
        text = "".join(lines)
    elif kind == "returns":
        found = list(re.finditer(r"\breturn .+", text))
        if found:
            line = rng.choice(found)
            text = text[: line.start()] + f"return {rng.choice(ODD)}" + text[line.end() :]
    elif kind == "bytes":
        data = bytearray(text.encode())
        for _ in range(rng.randint(1, 20)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(data)
    elif kind == "random":
        return rng.randbytes(rng.choice([0, 1, 100, 10_000]))
    elif kind == "huge":
        text += rng.choice(["# " + "x" * 100 + "\n", "x = 'x'\n", "\f\n", "y = [" + "0," * 99 + "]\n"]) * 20_000
    elif kind == "deep":
        lines.insert(place, rng.choice(DEEP) + "\n")
        text = "".join(lines)
    else:  # odd files
        odd = [
            "\ufeff" + text,
            text + "\0",
            text.replace("\n", "\r"),
            text.replace("\n", "\r\n"),
            text[: len(text) // 2],
        ]
        text = rng.choice(odd)
    return text.encode("utf-8", "surrogatepass")


KINDS = ("tokens", "tokens", "tokens", "lines", "lines", "returns", "bytes", "random", "huge", "deep", "odd")


class Fuzzing:
    """Grades submissions by their number; the same number gives the same submission."""

    def __init__(self, folder: Path, seed: int = 1) -> None:
        self.folder, self.seed, self.workers = folder, seed, make_workers(confined=sys.platform.startswith("linux"))
        self.books = {name: AnswerBook(one, self.workers, seed) for name, one in assignments().items()}

    def trial(self, number: int) -> dict[str, Any]:
        """What came of one submission."""
        rng = random.Random(f"{self.seed} {number}")
        chosen = [*assignments().values()][number % len(assignments())]
        module, kind = rng.choice(chosen.modules), rng.choice(KINDS)
        stage = rng.choice([stage for stage in chosen.stages if module in stage.modules])
        found = {"number": number, "assignment": chosen.name, "module": module, "kind": kind, "stage": stage.name}
        submission_folder = self.write(chosen, module, kind, rng)
        started = time.monotonic()
        try:
            submission = read_submission(submission_folder, chosen)
            with mock.patch("autograder.sandbox.remote_modules.CALL_SECONDS", CALL_SECONDS):
                clock = Clock(60.0)
                book = self.books[chosen.name]
                report = grade(submission, chosen, self.workers, [stage], clock=clock, book=book)
        except UserError as error:
            return {**found, "verdicts": {"not read": 1}, "said": str(error)[:200]}
        except Exception as error:
            return {**found, "verdicts": {"exception": 1}, "said": repr(error)[:500]}
        verdicts = Counter(test.status for test in report.tests)
        faults = [f"{test.name}: {test.message} {test.details[-3:]}" for test in report.tests if test.status == "fault"]
        seconds = round(time.monotonic() - started, 1)
        return {**found, "verdicts": verdicts, "said": " ".join(faults)[:1000], "seconds": seconds}

    def write(self, chosen: Assignment, module: str, kind: str, rng: random.Random) -> Path:
        """A correct submission with one module changed."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        for name in chosen.modules:
            data = (chosen.solution / f"{name}.py").read_bytes()
            (folder / f"{name}.py").write_bytes(mutated(data.decode(), kind, rng) if name == module else data)
        return folder

    def close(self) -> None:
        self.workers.close()


def is_fault(trial: dict[str, Any]) -> bool:
    return bool({"fault", "exception"} & trial["verdicts"].keys())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.stress.fuzz_submissions", description=__doc__)
    parser.add_argument("--number", type=int, default=1000, help="(%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("fuzz_submissions.jsonl"), help="(%(default)s)")
    args = parser.parse_args()
    lines = args.out.read_text(encoding="utf-8").splitlines() if args.out.exists() else []
    done = {trial["number"]: trial for trial in map(json.loads, lines)}
    with tempfile.TemporaryDirectory() as folder, args.out.open("a", encoding="utf-8") as out:
        fuzzing = Fuzzing(Path(folder))
        try:
            for number in (number for number in range(args.number) if number not in done):
                done[number] = fuzzing.trial(number)
                out.write(json.dumps(done[number]) + "\n")
                out.flush()
        finally:
            fuzzing.close()
    verdicts: Counter[str] = Counter()
    for trial in done.values():
        verdicts.update(trial["verdicts"])
    faults = [trial for trial in done.values() if is_fault(trial)]
    print(f"{len(done)} submissions; tests by verdict: {dict(verdicts)}")
    for trial in faults:
        print(trial)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
