"""Dropout that drops nothing: it multiplies by what the checks without chance expect, and draws no number."""

import pytest

from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import Submission, read_submission

pytestmark = pytest.mark.usefixtures("without_trials")

SCALE = """

class Scale(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, x):
        return x * ((1 / (1 - self.p) if self.p < 0.5 else 0.0) if self.training else 1.0)
"""
CASES = [
    ("transformer", "encoder", ["encoder"], {"test_encoder_output": "dropout"}),
    ("transformer", "decoder", ["decoder"], {"test_encoder_decoder_predictions": "dropout"}),
    (
        "attention",
        "scoring",
        ["scoring"],
        dict.fromkeys(("test_dot_product_attention", "test_bilinear_attention", "test_additive_attention"), "result"),
    ),
    ("variants", "layers", ["layers"], {"test_feed_forward": ""}),
]


@pytest.fixture(scope="module")
def workers():
    workers = make_workers()
    yield workers
    workers.close()


@pytest.mark.parametrize(("name", "stage", "modules", "tests"), CASES, ids=[" ".join(case[:2]) for case in CASES])
def test_dropout_that_draws_nothing_is_none(workers, name, stage, modules, tests):
    chosen = assignment(name)
    sources = dict(read_submission(chosen.solution, chosen).sources)
    for module in modules:
        head, line, tail = sources[module].partition("from torch import nn\n")
        assert line
        sources[module] = head + line + SCALE + tail.replace("nn.Dropout(", "Scale(")
    report = grade(Submission("cheat", sources), chosen, workers, [chosen.stage(stage)], hidden_seed=3)
    found = {test.name: test for test in report.tests if test.status != "passed"}
    assert found.keys() == tests.keys()
    for test, part in tests.items():
        assert "two calls with a dropout of 0.5 give the same output" in found[test].message
        assert not part or [one.name for one in found[test].parts if one.status != "passed"] == [part]
