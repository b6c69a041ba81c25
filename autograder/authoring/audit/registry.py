"""The checks that `audit` runs, by name and in order: a check comes after the checks that it relies on."""

from autograder.authoring.audit import (
    cross_stage_mistakes,
    formulations,
    indistinguishable_mistakes,
    manifest,
    mistakes,
    module_isolation,
    notebooks,
    once,
    parts,
    release,
    seeds,
    solution,
    standins,
    stored,
    stubs,
    texts,
    tolerance,
)
from autograder.authoring.audit.check import Check

CHECKS: dict[str, Check] = {
    "manifest": manifest,
    "texts": texts,
    "parts": parts,
    "stubs": stubs,
    "solution": solution,
    "alone": module_isolation,
    "standins": standins,
    "seeds": seeds,
    "formulations": formulations,
    "mistakes": mistakes,
    "alike": indistinguishable_mistakes,
    "elsewhere": cross_stage_mistakes,
    "once": once,
    "tolerance": tolerance,
    "stored": stored,
    "release": release,
    "notebooks": notebooks,
}
