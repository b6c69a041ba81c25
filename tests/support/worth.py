"""Points as the manifest says them: a test that knows a number itself would forbid to change it."""

from autograder.diagnosis.mistakes import all_mistakes
from autograder.manifest import assignment
from autograder.reports.short_verdict import points as shown

__all__ = ["ASSIGNMENT", "FULL", "NOTHING", "PROJECTIONS", "REQUIRED", "TESTS", "TOTAL", "WRONG_MASK"]
__all__ += ["WRONG_MASK_HINT", "of", "shown", "total"]

ASSIGNMENT = assignment("transformer")
FULL = {stage.name: stage.max_points for stage in ASSIGNMENT.stages}
NOTHING = dict.fromkeys(FULL, 0.0)
TOTAL = ASSIGNMENT.max_points
REQUIRED = sum(stage.max_points for stage in ASSIGNMENT.stages if not stage.extra_credit)
TESTS = {name: points for stage in ASSIGNMENT.stages for name, points in stage.points.items()}
# The points left of the first stage when the key padding mask is inverted, and the hint that names this mistake.
WRONG_MASK_HINT = {one.id: one.looks_like for one in all_mistakes("transformer")}["mha.padding-mask-inverted"]
WRONG_MASK = TESTS["test_mha_no_mask"] + TESTS["test_mha_different_query_and_key"]
# What is left of it when attention fails in every test and the projections are right.
PROJECTIONS = ASSIGNMENT.stage("mha").parts["test_mha_no_mask"]["projections"]


def of(points: float, most: float) -> str:
    """Points as a report says them, "5 of 30"."""
    return f"{shown(points)} of {shown(most)}"


def total(required: float, extra: float) -> str:
    """The last line of a verdict on all stages."""
    return f"Total: {of(required, REQUIRED)} points, and {of(extra, TOTAL - REQUIRED)} extra"
