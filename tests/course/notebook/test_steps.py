"""Verdicts on a step: only what grades it is shown, and what is said is about it."""

import shutil
from dataclasses import replace

import pytest

from autograder.grading.results import PartResult, Report, StageResult, TestResult
from autograder.manifest import every_assignment
from course.errors import UserError
from course.notebook.steps import graded_parts, narrowed
from tests.support.worth import ASSIGNMENT

STAGES = pytest.mark.parametrize(
    "stage", [stage for one in every_assignment() for stage in one.stages], ids=lambda stage: stage.name
)
MHA = ASSIGNMENT.stage("mha")
BOTH = "test_mha_no_mask"


@STAGES
def test_every_function_part_and_test_is_a_step(stage):
    for written in stage.writes:
        for step in (written, written.partition(".")[2]):
            found = graded_parts(stage, step)
            assert all(stage.graded_by(test, part) == written for test, parts in found.items() for part in parts)
    for test in stage.points:
        assert graded_parts(stage, test)[test] == tuple(stage.parts.get(test, ("",)))
        for part in stage.parts.get(test, ()):
            assert part in graded_parts(stage, part)[test]


def test_a_name_that_is_no_step_lists_the_steps():
    with pytest.raises(UserError, match=r"no step 'heads'; it has MultiHeadAttention\.compute_mh_qkv_transformation"):
        graded_parts(MHA, "heads")


def report(projections: str, attention: str) -> Report:
    """A report in which the first test has two parts, and its message is that of the first part that failed."""
    parts = (
        PartResult("projections", projections, 12 * (projections == "passed"), 12, f"projections {projections}"),
        PartResult("attention", attention, 6 * (attention == "passed"), 6, f"attention {attention}"),
    )
    worst = next((part for part in parts if part.status != "passed"), parts[0])
    first = TestResult("mha", BOTH, "Both", worst.status, 0, 18, worst.message, ("details",), parts=parts)
    first = replace(first, points=sum(part.points for part in parts))
    second = TestResult("mha", "test_mha_key_padding_mask", "Padding", "not started", 0, 4)
    return Report("title", "name", (StageResult("mha", 1, "title", False, (first, second)),), 1.0)


@pytest.mark.parametrize(
    ("projections", "attention", "step", "status", "message", "points"),
    [
        ("passed", "not started", "compute_mh_qkv_transformation", "passed", "", 12),
        ("passed", "not started", "attention", "not started", "attention not started", 0),
        ("failed", "passed", "attention", "passed", "", 6),
        ("failed", "error", "attention", "error", "attention error", 0),
        ("failed", "error", "projections", "failed", "projections failed", 0),
    ],
)
def test_a_step_has_the_status_the_points_and_the_words_of_its_own_part(
    projections, attention, step, status, message, points
):
    (stage,) = narrowed(report(projections, attention), MHA, step).stages
    (test,) = stage.tests
    assert (test.status, test.message, test.points) == (status, message, points)
    own_is_first = status != "passed" and (step != "attention" or projections == "passed")
    assert bool(test.details) == own_is_first  # details are about the first part that failed


def test_in_a_notebook_a_step_shows_its_verdict_and_no_number(kernel):
    from tests.support.kernels import SOLUTION, STUBS

    kernel.fill(STUBS)
    text = (SOLUTION / "mha.py").read_text(encoding="utf-8")
    start, end = text.index("        scores = query @"), text.index("        x = torch.softmax(")
    raising = (
        'raise NotImplementedError("Stage 1: MultiHeadAttention.compute_scaled_dot_product_attention is not here")'
    )
    (kernel.folder / "mha.py").write_text(f"{text[:start]}        {raising}\n{text[end:]}", encoding="utf-8")
    output = kernel.run('check("mha", "compute_mh_qkv_transformation")')
    assert (output.result, output.error) == ("", [])
    assert "Stage 1, compute_mh_qkv_transformation: 12 of 12 points" in output.html
    assert 'class="tc-strip"' not in output.html
    output = kernel.run('check("mha", "attention")')
    assert "not started" in output.html
    assert "0 of 6 points" in output.html
    shutil.copy(SOLUTION / "mha.py", kernel.folder)
    output = kernel.run('check("mha")')
    assert output.result == "30.0"  # what nbgrader reads
    assert 'go on with <a href="2_pe.ipynb">' in output.html
    kernel.run('import os; os.environ["NBGRADER_EXECUTION"] = "autograde"')
    output = kernel.run('check("mha", "attention")')
    assert (output.result, output.html) == ("", "")  # nbgrader does not wait for steps
    kernel.run('del os.environ["NBGRADER_EXECUTION"]')
