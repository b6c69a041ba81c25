"""Measure the tests and the verdicts by mutants: `python -m tests.mutants --sample 50 --seed 1`.

Every mutant is a correct program (the reference or another formulation) with one change by syntax at a known line. The
outcome of each is a line of the file --out; what stands there already is not run again, so a run can be stopped.
"""

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autograder.localization import repair
from autograder.manifest import Assignment, Stage, assignment, every_assignment
from autograder.sandbox.worker_processes import make_workers
from tests.mutants import caught
from tests.mutants.changes import Change
from tests.mutants.outcomes import all_mutants, outcome, table


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--assignment", nargs="*", default=[], help="names (all)")
    parser.add_argument("--stage", nargs="*", default=[])
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="so many of each stage, at random (all)")
    parser.add_argument("--pairs", action="store_true", help="two changes at a time, of different statements")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hidden", action="store_true", help="run the hidden tests too")
    parser.add_argument(
        "--caught",
        type=int,
        default=0,
        metavar="N",
        help="only who catches it: visible tests or hidden ones, N seeds",
    )
    parser.add_argument("--out", type=Path, default=Path("build/mutants.jsonl"))
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    known = {}
    if args.out.is_file():
        known = {(entry := json.loads(line))["id"]: entry for line in args.out.read_text().splitlines()}
    repair.SECONDS, repair.CALL_SECONDS = 60.0, 2.0  # the verdicts of an idle machine
    workers = make_workers()
    results = []
    try:
        with args.out.open("a") as file:
            for chosen, name, stage, module, parts in _wanted(args):
                key = " ".join([chosen.name, stage.name, name, module, str(args.hidden), *map(_key, parts)])
                if key not in known:
                    told = [[change.kind, change.line, change.text[:80]] for change in parts]
                    head = {"id": key, "assignment": chosen.name, "program": name, "stage": stage.name}
                    found = outcome(chosen, name, stage, module, parts, workers, args.hidden, args.caught)
                    known[key] = head | {"module": module, "changes": told} | found
                    file.write(json.dumps(known[key]) + "\n")
                    file.flush()
                results.append(known[key])
    finally:
        workers.close()
    print(caught.table(results) if args.caught else table(results))


def _wanted(args: argparse.Namespace) -> Iterator[tuple[Assignment, str, Stage, str, list[Change]]]:
    """The mutants that are asked for."""
    for name in args.assignment or [one.name for one in every_assignment()]:
        chosen = assignment(name)
        for stage in chosen.stages:
            if args.stage and stage.name not in args.stage:
                continue
            chance = random.Random(args.seed)
            found = [(n, s, m, [change]) for n, s, m, change in all_mutants(chosen, [stage])]
            if args.sample:
                found = chance.sample(found, min(args.sample, len(found)))
            if args.pairs:
                whole = [(n, s, m, [change]) for n, s, m, change in all_mutants(chosen, [stage])]
                found = [(n, s, m, [c, d]) for n, s, m, [c] in found for d in _partner(whole, n, s, m, c, chance)]
            for program, _, module, parts in found:
                yield chosen, program, stage, module, parts


def _partner(
    wanted: list[Any], name: str, stage: Stage, module: str, change: Change, chance: random.Random
) -> list[Change]:
    others = [c for n, s, m, [c] in wanted if (n, s, m) == (name, stage, module) and c.line != change.line]
    apart = [c for c in others if c.end < change.start or c.start > change.end]
    return [chance.choice(apart)] if apart else []


def _key(change: Change) -> str:
    return f"{change.start}-{change.end}:{change.text}"


if __name__ == "__main__":
    main()
