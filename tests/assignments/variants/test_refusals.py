"""Code that refuses every input earns no points for refusing the wrong ones."""

import pytest

from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.submissions.read_submission import Submission, read_submission

VARIANTS = assignment("variants")
SOURCES = read_submission(VARIANTS.solution, VARIANTS).sources
NUMBERS = 'raise ValueError(" ".join(map(str, range(400))))'


@pytest.mark.parametrize(
    ("stage", "module", "line"),
    [
        ("lm", "language_model", "def forward(self, tokens"),
        ("generate", "generate", "def forward_cached("),
        ("tagger", "tagger", "def forward(self, tokens"),
        ("vit", "vit", "def forward(self, images"),
        ("modern", "modern", "def rotate("),
    ],
)
def test_who_refuses_everything_refuses_nothing(workers, stage, module, line):
    text = SOURCES[module]
    start = text.index(line)
    end = text.index(":\n", start) + 2
    indent = " " * (4 + start - text.rindex("\n", 0, start) - 1)
    text = f"{text[:end]}{indent}{NUMBERS}\n{text[end:]}"
    for seed in (None, 1):
        sources = {**SOURCES, module: text}
        report = grade(Submission("", sources), VARIANTS, workers, [VARIANTS.stage(stage)], hidden_seed=seed)
        parts = {part.name: part.points for test in report.tests for part in test.parts}
        assert {parts.get("too_long", 0), parts.get("other_size", 0), parts.get("odd", 0)} == {0}
