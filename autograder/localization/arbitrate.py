"""Decide which line or lines the evidence about a failed call points to, and with what confidence.

| evidence | verdict |
|---|---|
| an edit to a suspected line fixes the call | the line is wrong |
| an edit to a line that is not suspected fixes the call | the line is probably wrong |
| edits to two lines fix the call | one of the two may be wrong |
| an edit to one line fixes the call, but breaks another test | the line is probably wrong |
| a suspect with correct inputs, where a known step, call or use is missing | the line is probably wrong |
| the same, where nothing known is missing, another function ran, or a loop did | the line may be wrong |
| a suspect with inputs that may be right by chance | that line or the lines of its inputs may be wrong |
| only masks or chosen positions differ from correct code, on at most two lines | one of them may be wrong |
"""

from collections.abc import Sequence
from dataclasses import dataclass

from autograder.diagnosis.line_verdict import Confidence
from autograder.localization.repair import Repair
from autograder.localization.suspects import Suspect
from autograder.localization.trace import Line

MOST_LINES = 3  # the largest number of lines of which one may be wrong


@dataclass(frozen=True)
class Diagnosis:
    """One of these lines is wrong."""

    lines: tuple[Line, ...]
    confidence: Confidence
    suspect: Suspect | None = None
    repair: Repair | None = None
    claim: str = ""  # the result of a repeated call, a key of `render.CLAIMS`
    name: str = ""  # the argument, module or operation that the claim names


def arbitrate(suspects: Sequence[Suspect], repairs: Sequence[Repair]) -> Diagnosis | None:
    """The diagnosis that the evidence supports; None if it supports none."""
    by_line = {suspect.line: suspect for suspect in suspects}
    whole = [repair for repair in repairs if not repair.breaks]
    agreeing = [repair for repair in whole if repair.line in by_line]
    if agreeing:
        return _repaired(agreeing[0], by_line, Confidence.PROVED)
    if len(whole) == 1:
        return _repaired(whole[0], by_line, Confidence.PROBABLE)
    if len(whole) == 2 and whole[0].line.file == whole[1].line.file:
        lines = tuple(sorted((repair.line for repair in whole), key=lambda line: line.number))
        return Diagnosis(lines, Confidence.POSSIBLE)
    partly = [repair for repair in repairs if repair.breaks]
    partly = [repair for repair in partly if repair.line in by_line] or (partly if len(partly) == 1 else [])
    if partly:
        return _repaired(partly[0], by_line, Confidence.PROBABLE)
    suspects = [suspect for suspect in suspects if suspect.kind != "return"]  # on its own, a return proves nothing
    discarded = [suspect for suspect in suspects if suspect.kind == "discarded"]
    unsure = ("exception", "weak")
    strong = discarded or [
        suspect for suspect in suspects if suspect.founded and not suspect.sources and suspect.kind not in unsure
    ]
    if strong:
        return Diagnosis((strong[0].line,), _confidence(strong[0]), strong[0])
    weak = tuple(suspect.line for suspect in suspects if suspect.kind == "weak")
    if 0 < len(weak) < MOST_LINES:
        return Diagnosis(weak, Confidence.POSSIBLE, suspects[0])
    for suspect in suspects:
        lines = (suspect.line, *suspect.sources)
        if len(lines) <= MOST_LINES and suspect.founded and suspect.kind != "exception":
            return Diagnosis(lines, Confidence.POSSIBLE, suspect)
    return None


def _confidence(suspect: Suspect) -> Confidence:
    """The confidence in a suspect without a repair. A wrong value on its own may come from an untraced number."""
    expects = suspect.kind in ("call", "discarded") or (suspect.where in ("here", "next") and not suspect.elsewhere)
    return Confidence.PROBABLE if expects else Confidence.POSSIBLE


def _repaired(repair: Repair, by_line: dict[Line, Suspect], confidence: Confidence) -> Diagnosis:
    return Diagnosis((repair.line,), confidence, by_line.get(repair.line), repair)
