"""A fixed sample of mutants (`make mutants` runs more): they are caught, and no verdict names a line that is right."""

import ast
import random

import pytest

from autograder.manifest import assignment
from autograder.sandbox.worker_processes import make_workers
from tests.mutants.changes import changes
from tests.mutants.outcomes import all_mutants, outcome, table

ASSIGNMENT = assignment("transformer")
SAMPLE = 14
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


def test_a_sample_of_mutants():
    stage = ASSIGNMENT.stage("mha")
    wanted = list(all_mutants(ASSIGNMENT, [stage]))
    assert len(wanted) > 2000
    workers = make_workers()
    results = []
    try:
        for name, _, module, change in random.Random(4).sample(wanted, SAMPLE):
            entry = outcome(ASSIGNMENT, name, stage, module, [change], workers, hidden=False)
            results.append(
                {"assignment": "transformer", "stage": stage.name, "program": name, "change": change, **entry}
            )
    finally:
        workers.close()
    wrong = [entry for entry in results if entry.get("verdict") == "another" and entry["values"]]
    assert wrong == [], table(results)
    told = [entry for entry in results if entry.get("verdict") in ("right", "next")]
    assert len(told) >= 0.7 * sum(entry["caught"] == "visible" for entry in results), table(results)


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
