"""Measure the tests and the verdicts by mutants: `python -m tests.mutants --sample 200 --seed 1`.

Every mutant is a correct program (the reference or another formulation) with one change by syntax at a known line. The
outcome of each is a line of the file --out; what stands there already is not run again.
"""

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from autograder.authoring.formulations import correct_submissions
from autograder.grading.grade_submission import grade
from autograder.manifest import Assignment, Stage, assignment
from autograder.sandbox.worker_processes import Workers, make_workers
from autograder.submissions.read_submission import Submission, read_submission
from tests.mutants.changes import GONE, Change, changes

VERDICTS = ("right", "next", "mixed", "another", "nothing")


@cache
def programs(name: str) -> dict[str, tuple[dict[str, str], set[str]]]:
    """The texts of all correct programs of an assignment, each with the modules of its own."""
    chosen = assignment(name)
    solution = read_submission(chosen.solution, chosen).sources
    found = {"solution": (dict(solution), set(chosen.modules))}
    found |= {name: (dict(one.sources), own) for name, (one, own) in correct_submissions(chosen).items()}
    return found


def all_mutants(chosen: Assignment, stages: Iterable[Stage]) -> Iterator[tuple[str, Stage, str, Change]]:
    """Every mutant: the program, the stage, the module and the change."""
    texts = programs(chosen.name)
    for stage in stages:
        for module in stage.modules:
            written = {path.partition(".")[2] for path in stage.writes if path.partition(".")[0] == module}
            seen = set()
            for name, (sources, own) in texts.items():
                if module in own and (text := sources[module]) not in seen:
                    seen.add(text)
                    for change in changes(text, written):
                        yield name, stage, module, change


def outcome(
    chosen: Assignment, program: str, stage: Stage, module: str, parts: list[Change], workers: Workers, hidden: bool
) -> dict[str, Any]:
    """What becomes of a mutant: whether it is caught, and what line is named."""
    sources, _ = programs(chosen.name)[program]
    text = sources[module]
    for change in sorted(parts, key=lambda one: -one.start):
        text = change.apply(text)
    try:
        compile(text, module, "exec")
    except SyntaxError:
        return {"caught": "syntax"}
    seed = 1 if hidden else None
    report = grade(Submission("", {**sources, module: text}), chosen, workers, [stage], hidden_seed=seed)
    failed = [test for test in report.tests if test.status != "passed"]
    visible = [test for test in failed if not test.hidden]
    caught = "visible" if visible else "hidden" if failed else "no"
    pointing = visible if visible else failed
    wrong = {change.line for change in parts}
    gone = [change.line for change in parts if change.kind in GONE]
    named: list[list[tuple[str, int]]] = []
    for test in pointing:
        lines = [mark for mark in test.marks if mark.state == "wrong"]
        # Lines of the changed text, in which earlier changes may have added or taken lines.
        named.append([(mark.file, mark.line) for mark in lines])
        # An exception names its line itself.
        traced = [re.match(r"(\w+\.py), line (\d+)", detail) for detail in test.details]
        if test.status == "error" and not lines:
            named[-1] = [(found[1], int(found[2])) for found in traced if found]
    said = [lines for lines in named if lines]
    verdict = "nothing"
    if said:
        own = [{line for file, line in lines if file == f"{module}.py"} for lines in said]
        right = [bool(lines & wrong) for lines in own]
        # A statement that computes nothing any more cannot be named: what goes on without it can.
        left_out = [" goes on without a step, " in " ".join(test.pointed) for test in pointing if test.pointed]
        passed = [bool(gone) and max(lines, default=0) > min(gone) for lines in own]
        next_ = [bool(lines & wrong) or after for lines, after in zip(own, passed, strict=True)]
        next_ = [one or (bool(gone) and any(left_out)) for one in next_]
        verdict = "right" if all(right) else "next" if all(next_) else "mixed" if any(next_) else "another"
    kinds = sorted({test.status for test in pointing})
    wrong_values = any(test.status == "failed" for test in pointing)
    told = next((list(test.pointed) for test in pointing if test.pointed), [])
    return {"caught": caught, "verdict": verdict, "status": kinds, "values": wrong_values, "named": named, "told": told}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--assignment", default="transformer")
    parser.add_argument("--stage", nargs="*", default=[])
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="so many, chosen at random (all)")
    parser.add_argument("--pairs", action="store_true", help="two changes at a time, of different statements")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hidden", action="store_true", help="run the hidden tests too")
    parser.add_argument("--out", type=Path, default=Path("build/mutants.jsonl"))
    args = parser.parse_args()
    chosen = assignment(args.assignment)
    stages = [chosen.stage(name) for name in args.stage] or list(chosen.stages)
    chance = random.Random(args.seed)
    wanted = [(name, stage, module, [change]) for name, stage, module, change in all_mutants(chosen, stages)]
    if args.pairs:
        wanted = [(n, s, m, [c, d]) for n, s, m, [c] in wanted for d in _partner(wanted, n, s, m, c, chance)]
    if args.sample:
        wanted = chance.sample(wanted, min(args.sample, len(wanted)))
    args.out.parent.mkdir(parents=True, exist_ok=True)
    known = {}
    if args.out.is_file():
        known = {(entry := json.loads(line))["id"]: entry for line in args.out.read_text().splitlines()}
    workers = make_workers()
    results = []
    try:
        with args.out.open("a") as file:
            for name, stage, module, parts in wanted:
                key = " ".join([args.assignment, stage.name, name, module, str(args.hidden), *map(_key, parts)])
                if key not in known:
                    told = [[change.kind, change.line, change.text[:80]] for change in parts]
                    head = {"id": key, "program": name, "stage": stage.name, "module": module, "changes": told}
                    known[key] = head | outcome(chosen, name, stage, module, parts, workers, args.hidden)
                    file.write(json.dumps(known[key]) + "\n")
                    file.flush()
                results.append(known[key])
    finally:
        workers.close()
    print(table(results))


def _partner(
    wanted: list[Any], name: str, stage: Stage, module: str, change: Change, chance: random.Random
) -> list[Change]:
    others = [c for n, s, m, [c] in wanted if (n, s, m) == (name, stage, module) and c.line != change.line]
    apart = [c for c in others if c.end < change.start or c.start > change.end]
    return [chance.choice(apart)] if apart else []


def _key(change: Change) -> str:
    return f"{change.start}-{change.end}:{change.text}"


def table(results: list[dict[str, Any]]) -> str:
    """The outcomes in rows, one for each stage and one for all."""
    rows = ["stage      mutants  caught: visible hidden no | wrong values: right ... nothing | exceptions: ..."]
    ran = [entry for entry in results if entry["caught"] != "syntax"]
    for stage in [*dict.fromkeys(entry["stage"] for entry in ran), "all"]:
        own = [entry for entry in ran if stage in ("all", entry["stage"])]
        caught = Counter(entry["caught"] for entry in own)
        rows.append(
            f"{stage:<10} {len(own):>7}          {caught['visible']:>7} {caught['hidden']:>6} {caught['no']:>2} | "
            + " | ".join(
                "  ".join(f"{verdict} {count[verdict]}" for verdict in VERDICTS)
                for values in (True, False)
                for count in [Counter(e["verdict"] for e in own if e["caught"] != "no" and e["values"] == values)]
            )
        )
    return "\n".join(rows)


if __name__ == "__main__":
    main()
