"""Run the corpus of bugs: `python -m tests.bugs [--sample 60] [--held]`; what --out holds already is not run again."""

import argparse
import json
from pathlib import Path

from autograder.sandbox.worker_processes import make_workers
from tests.bugs.corpus import chosen_bugs
from tests.bugs.judge import Outcome, as_entry, outcome, table


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bugs", description=__doc__)
    parser.add_argument("--assignment", nargs="*", default=[], metavar="NAME", help="(all)")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="so many bugs, at random (all)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample and of the hidden tests")
    parser.add_argument("--held", action="store_true", help="the held-out third, for a report (else the other two)")
    parser.add_argument("--out", type=Path, default=Path("build/bugs.jsonl"), metavar="FILE", help="one outcome a line")
    args = parser.parse_args()
    wanted = chosen_bugs(args.held, args.sample, args.seed, args.assignment)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    known: dict[str, Outcome] = {}
    if args.out.is_file():
        known = {(one := Outcome(**json.loads(line))).id: one for line in args.out.read_text("utf-8").splitlines()}
    workers = make_workers()
    try:
        with args.out.open("a", encoding="utf-8") as file:
            for bug in wanted:
                if bug.id not in known:
                    known[bug.id] = outcome(bug, workers, args.seed)
                    file.write(json.dumps(as_entry(known[bug.id])) + "\n")
                    file.flush()
    finally:
        workers.close()
    print(table(known[bug.id] for bug in wanted))


if __name__ == "__main__":
    main()
