"""Code that refuses every input earns no points for refusing the wrong ones."""

import pytest

from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.submissions.read_submission import Submission, read_submission

pytestmark = pytest.mark.usefixtures("without_trials")

VARIANTS = assignment("variants")
SOURCES = read_submission(VARIANTS.solution, VARIANTS).sources
NUMBERS = 'raise ValueError(" ".join(map(str, range(400))))'


@pytest.mark.parametrize(
    ("stage", "module", "line", "part"),
    [
        ("lm", "language_model", "def forward(self, tokens", "too_long"),
        ("generate", "generate", "def forward_cached(", "too_long"),
        ("tagger", "tagger", "def forward(self, tokens", "too_long"),
        ("vit", "vit", "def forward(self, images", "other_size"),
        ("modern", "modern", "def rotate(", "odd"),
    ],
)
def test_code_that_refuses_every_input_earns_nothing_for_it(workers, stage, module, line, part):
    text = SOURCES[module]
    start = text.index(line)
    end = text.index(":\n", start) + 2
    indent = " " * (4 + start - text.rindex("\n", 0, start) - 1)
    text = f"{text[:end]}{indent}{NUMBERS}\n{text[end:]}"
    for seed in (None, 1):
        sources = {**SOURCES, module: text}
        report = grade(Submission("", sources), VARIANTS, workers, [VARIANTS.stage(stage)], hidden_seed=seed)
        points = {result.points for test in report.tests for result in test.parts if result.name == part}
        assert points == {0}
