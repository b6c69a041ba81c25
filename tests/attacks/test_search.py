"""Attacks on the search of the text: one that does not come to an end finds nothing in the other modules either."""

import json

import pytest

from autograder.grading.forbidden_parts import check_submission
from autograder.manifest import assignment
from autograder.sandbox.confine import unsupported
from autograder.sandbox.limits import MAX_HEADER
from autograder.submissions.read_submission import Submission, read_submission

pytestmark = pytest.mark.skipif(bool(unsupported()), reason=unsupported())
ASSIGNMENT = assignment("transformer")
SOLUTION = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources
READY = "\nfrom torch.nn import functional as G\n\ndef ready(q):\n    return G.scaled_dot_product_attention(q, q, q)\n"
NAME = "N" * 5000
FLOOD = f"\nclass {NAME}:\n    def {NAME}(self):\n" + "".join(f"        F.x{n}.__dict__['y']\n" for n in range(30))
WAYS = {
    "a long chain": ("mha", "\ndef chain(x):\n    return x" + ".a" * 1400 + "\n"),
    "many calls in each other": ("mha", "\ndef nest(f, x):\n    return " + "f(" * 80 + "x" + ")" * 80 + "\n"),
    "findings with long names": ("mha", FLOOD),
    "a module that no parser takes": ("pe", "x = " + "-" * 60_000 + "1\n"),
    "a module of brackets": ("pe", "(" * 150 + "\n"),
    "a module with NUL": ("pe", "x = 1\0\n"),
}


@pytest.fixture
def workers(confined_workers):
    return confined_workers


@pytest.mark.parametrize("way", WAYS)
def test_what_stands_beside_it_is_found(workers, way):
    module, text = WAYS[way]
    sources = {**SOLUTION, "mha": SOLUTION["mha"] + READY}
    sources[module] = sources[module] + text if module == "mha" else text
    checked = check_submission(Submission("somebody", sources), ASSIGNMENT, workers, copies=True)
    assert not any("did not finish" in note for note in checked.review)
    whats = [line.what for line in checked.forbidden["mha"]]
    assert any(what.startswith("F.scaled_dot_product_attention is a ready-made part") for what in whats)
    assert len(json.dumps([checked.review, whats])) < MAX_HEADER / 4


def test_a_copy_in_a_block_is_noted(workers):
    standin = (ASSIGNMENT.standins / "pe.py").read_text(encoding="utf-8")
    lines = ["if True:", *("    " + line for line in standin.splitlines())]
    sources = {**SOLUTION, "pe": "\n".join(lines)}
    checked = check_submission(Submission("somebody", sources), ASSIGNMENT, workers, copies=True)
    assert any("is nearly the same as the stand-in pe." in note for note in checked.review)
