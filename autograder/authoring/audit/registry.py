"""All checks by name, in the order of the table: checks come after those that they rely on."""

from autograder.authoring.audit import (
    alike,
    alone,
    elsewhere,
    formulations,
    manifest,
    mistakes,
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
    "alone": alone,
    "standins": standins,
    "seeds": seeds,
    "formulations": formulations,
    "mistakes": mistakes,
    "alike": alike,
    "elsewhere": elsewhere,
    "once": once,
    "tolerance": tolerance,
    "stored": stored,
    "release": release,
    "notebooks": notebooks,
}
