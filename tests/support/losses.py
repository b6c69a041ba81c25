"""What each known mistake costs in its stage: `python -m tests.support.losses [NAME ...] [--stage STAGE] [--every N]`.

A mistake changes one function. The table has the share of the stage's points that it costs, visible and hidden tests
together, and how many mistakes cost points of other functions: none should.
"""

import argparse
import contextlib
import json
import statistics
from pathlib import Path
from typing import Any

from autograder.authoring.audit.once import changed_by, points_lost
from autograder.authoring.audit.subject import Subject
from autograder.manifest import Stage, assignment, assignments

HEADING = ("assignment", "stage", "functions", "mistakes", "median", "worst", "elsewhere", "the worst one")


def row(stage: Stage, found: list[dict[str, Any]]) -> tuple[str, ...]:
    """What the mistakes of a stage cost."""
    shares = [sum(one["lost"].values()) / stage.max_points for one in found]
    graded = [{stage.graded_by(*name.partition(".")[::2]) for name in one["lost"]} for one in found]
    elsewhere = [one for one, functions in zip(found, graded, strict=True) if functions - {*one["functions"]}]
    numbers = f"{len(stage.writes)}", f"{len(found)}", f"{statistics.median(shares):.0%}", f"{max(shares):.0%}"
    worst = found[shares.index(max(shares))]["id"]
    return stage.assignment, stage.name, *numbers, f"{len(elsewhere)}", worst


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.losses")
    parser.add_argument("names", nargs="*", metavar="NAME", help="assignments (all)")
    parser.add_argument("--stage", help="only this one")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one mistake of N")
    parser.add_argument(
        "--kept", type=Path, metavar="FILE", help="results, a line each; what is in it is not run again"
    )
    args = parser.parse_args()
    lines = args.kept.read_text(encoding="utf-8").splitlines() if args.kept and args.kept.exists() else []
    known = {one["id"]: one for one in map(json.loads, lines)}
    print("{:12} {:10} {:>9} {:>8} {:>6} {:>5} {:>9}  {}".format(*HEADING))
    for name in args.names or assignments():
        with contextlib.closing(Subject(assignment(name))) as subject:
            for stage in subject.assignment.stages:
                ids = [one for one in subject.mistakes if subject.mistakes[one].stage == stage.name][:: args.every]
                for one in ids if args.stage in (None, stage.name) else ():
                    if one not in known:
                        known[one] = {
                            "id": one,
                            "functions": changed_by(subject, one),
                            "lost": points_lost(subject, one),
                        }
                        if args.kept:
                            with args.kept.open("a", encoding="utf-8") as file:
                                file.write(json.dumps(known[one]) + "\n")
                if found := [known[one] for one in ids if one in known]:
                    print("{:12} {:10} {:>9} {:>8} {:>6} {:>5} {:>9}  {}".format(*row(stage, found)), flush=True)


if __name__ == "__main__":
    main()
