"""A fixed sample of mutants (`make mutants` runs more): they are caught, and no verdict names a line that is right."""

import ast
import random
from typing import Any

import pytest

from autograder.manifest import assignment
from autograder.sandbox.worker_processes import make_workers
from tests.mutants.changes import Change, changes
from tests.mutants.outcomes import all_mutants, outcome, table

ASSIGNMENT = assignment("transformer")
SAMPLE = 8
PAIRS = 4
SOURCE = '''
class Layer:
    def forward(self, x, mask=None):
        """Words: 1 + 1."""
        x = self.norm(x + 2 * self.first(x))
        if mask is not None:
            x = x.masked_fill(mask, value=0)
        return x[:, 1:]

    def other(self, x):
        return x + 1
'''


def test_changes_stay_in_the_function_and_know_their_lines():
    found = list(changes(SOURCE, {"Layer.forward"}))
    assert {change.line for change in found} == {5, 6, 7, 8}
    kinds = {change.kind for change in found}
    assert {"operator", "constant", "statement dropped", "condition negated", "slice bound dropped", "name"} <= kinds
    for change in found:
        text = change.apply(SOURCE)
        ast.parse(text)
        assert text != SOURCE
        differing = [n for n, (a, b) in enumerate(zip(SOURCE.split("\n"), text.split("\n"), strict=True), 1) if a != b]
        assert len(differing) == 1
        assert text.endswith("        return x + 1\n")


def test_a_dropped_statement_keeps_the_lines_behind_it():
    text = SOURCE.replace(
        "x.masked_fill(mask, value=0)", "x.masked_fill(\n                mask, value=0\n            )"
    )
    dropped = [one for one in changes(text, {"Layer.forward"}) if one.kind == "statement dropped" and one.line == 7]
    assert [one.apply(text).count("\n") for one in dropped] == [text.count("\n")]


def of_stage(chosen: list[list[Change]], programs: list[str], hidden: bool = False) -> list[dict[str, Any]]:
    """What becomes of mutants of the module mha."""
    stage = ASSIGNMENT.stage("mha")
    workers = make_workers()
    try:
        return [
            {"assignment": "transformer", "stage": "mha", "program": name, "changes": parts}
            | outcome(ASSIGNMENT, name, stage, "mha", parts, workers, hidden)
            for name, parts in zip(programs, chosen, strict=True)
        ]
    finally:
        workers.close()


def test_a_sample_of_mutants():
    wanted = list(all_mutants(ASSIGNMENT, [ASSIGNMENT.stage("mha")]))
    assert len(wanted) > 2000
    chosen = random.Random(4).sample(wanted, SAMPLE)
    results = of_stage([[change] for *_, change in chosen], [name for name, *_ in chosen])
    wrong = [entry for entry in results if entry.get("verdict") in ("another", "mixed") and entry["values"]]
    assert wrong == [], table(results)
    told = [entry for entry in results if entry.get("verdict") in ("right", "uses", "next")]
    assert len(told) >= 0.8 * sum(entry["caught"] == "visible" for entry in results), table(results)


def test_pairs_of_mutants():
    own = [change for name, *_, change in all_mutants(ASSIGNMENT, [ASSIGNMENT.stage("mha")]) if name == "solution"]
    chance = random.Random(7)
    pairs: list[list[Change]] = []
    while len(pairs) < PAIRS:
        first, second = chance.sample(own, 2)
        if first.line != second.line and (first.end < second.start or second.end < first.start):
            pairs.append([first, second])
    results = of_stage(pairs, ["solution"] * PAIRS)
    told = [entry for entry in results if entry.get("verdict") in ("right", "next")]
    assert len(told) >= 0.75 * sum(entry["caught"] == "visible" for entry in results), table(results)


@pytest.mark.slow
def test_a_larger_sample_of_all_stages():
    workers = make_workers()
    results = []
    try:
        for name, stage, module, change in random.Random(1).sample(
            list(all_mutants(ASSIGNMENT, ASSIGNMENT.stages)), 100
        ):
            entry = outcome(ASSIGNMENT, name, stage, module, [change], workers, hidden=True)
            results.append({"assignment": "transformer", "stage": stage.name, **entry})
    finally:
        workers.close()
    values = [entry for entry in results if entry.get("values")]
    assert sum(entry["verdict"] == "another" for entry in values) <= 0.05 * len(values), table(results)
