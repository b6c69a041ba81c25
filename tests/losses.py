"""What each known mistake costs in its stage: `python -m tests.losses [NAME] [--every N] [--kept FILE]`.

A mistake changes one function. The table has the points that it costs, visible and hidden tests together: of that
function, and of the other functions of the stage, which should lose none.
"""

import argparse
import contextlib
import json
import statistics
from pathlib import Path
from typing import Any

from autograder.authoring.audit.mistakes import code_of
from autograder.authoring.audit.subject import SEED, Subject
from autograder.manifest import assignment, assignments


def changed_by(subject: Subject, name: str) -> str:
    """The function that a mistake changes."""
    mistake = subject.mistakes[name]
    texts = subject.solution[mistake.module], mistake.apply(subject.solution)[mistake.module]
    before, after = (code_of(mistake.module, text) for text in texts)
    return ", ".join(sorted(one for one in before | after if before.get(one) != after.get(one)))


def lost(subject: Subject, name: str) -> dict[str, float]:
    """The points that a mistake costs, by test, or by "test.part"."""
    visible = [ran.result for ran in subject.run_mistake(name)]
    hidden = {ran.result.name: ran.result for ran in subject.run_mistake(name, SEED)}
    found = {}
    for seen in visible:
        both = seen if not seen.points else seen.guarded_by(hidden[seen.name])
        for one in both.parts or (both,):
            key = f"{both.name}.{one.name}" if both.parts else both.name
            found[key] = one.max_points - one.points
    return {key: points for key, points in found.items() if points}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.losses")
    parser.add_argument("names", nargs="*", help="assignments (all)")
    parser.add_argument("--every", type=int, default=1, help="one mistake of so many")
    parser.add_argument("--stage")
    parser.add_argument("--kept", type=Path, help="a file of results, which is continued")
    args = parser.parse_args()
    known: dict[str, Any] = {}
    if args.kept and args.kept.exists():
        known = {one["id"]: one for one in map(json.loads, args.kept.read_text().splitlines())}
    for name in args.names or assignments():
        with contextlib.closing(Subject(assignment(name))) as subject:
            for stage in subject.assignment.stages:
                ids = [one for one in subject.mistakes if subject.mistakes[one].stage == stage.name][:: args.every]
                if args.stage and stage.name != args.stage:
                    continue
                for one in ids:
                    if one in known:
                        continue
                    known[one] = {"id": one, "function": changed_by(subject, one), "lost": lost(subject, one)}
                    if args.kept:
                        with args.kept.open("a") as file:
                            file.write(json.dumps(known[one]) + "\n")
                costs = [sum(known[one]["lost"].values()) for one in ids]
                share = [cost / stage.max_points for cost in costs] or [0.0]
                print(
                    f"{name:12} {stage.name:10} {len(stage.writes)} functions {len(ids):4} mistakes "
                    f"median {statistics.median(share):4.0%} worst {max(share):4.0%} {max(zip(costs, ids, strict=True))}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
