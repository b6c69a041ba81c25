"""What a search has found in a module, and which of it is told when there is too much."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

MAX_FINDINGS = 20  # of a module


class Finding(NamedTuple):
    """Something in a module."""

    forbidden: bool  # wherever a manifest does not say otherwise
    line: int
    scope: str  # "Class.method", "function" or ""
    what: str
    parts: Sequence[str] = ()  # of torch, as a manifest names them; forbidding one forbids this


def needless(module: str) -> str:
    """What is said of the import of a module that an assignment does not need."""
    return f"{module} is imported, which this assignment does not need"


def told_first(found: Iterable[Finding]) -> list[Finding]:
    """The findings that are told: what is forbidden, then the first of each kind, so that a flood hides nothing."""
    kinds: set[str] = set()
    ordered = []
    for finding in sorted(found, key=lambda finding: finding.line):
        ordered.append((not (finding.forbidden or finding.parts), finding.what in kinds, finding.line, finding))
        kinds.add(finding.what)
    findings = [finding for *_, finding in sorted(ordered)]
    if (more := len(findings) - MAX_FINDINGS) > 0:
        findings[MAX_FINDINGS:] = [Finding(False, 1, "", f"{more} more places to look at in this module")]
    return findings
