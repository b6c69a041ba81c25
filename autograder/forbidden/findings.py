"""Findings from searching a module, and the selection of findings to report if there are too many."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

MAX_FINDINGS = 20  # per module


class Finding(NamedTuple):
    """A finding in a module."""

    forbidden: bool  # unless a manifest allows it
    line: int
    scope: str  # "Class.method", "function" or ""
    what: str
    parts: Sequence[str] = ()  # parts of torch, as named in a manifest; if one is forbidden, so is this


def needless(module: str) -> str:
    """The message about importing a module that an assignment does not need."""
    return f"{module} is imported, which this assignment does not need"


def told_first(found: Iterable[Finding]) -> list[Finding]:
    """Return the findings to report: forbidden ones first, then one of each kind, so that no kind is hidden."""
    kinds: set[str] = set()
    ordered = []
    for finding in sorted(found, key=lambda finding: finding.line):
        ordered.append((not (finding.forbidden or finding.parts), finding.what in kinds, finding.line, finding))
        kinds.add(finding.what)
    findings = [finding for *_, finding in sorted(ordered)]
    if (more := len(findings) - MAX_FINDINGS) > 0:
        findings[MAX_FINDINGS:] = [Finding(False, 1, "", f"{more} more places to look at in this module")]
    return findings
