"""What follows from a followed call, in sentences for students."""

from collections.abc import Mapping, Sequence

from autograder.diagnosis.first_fault import Fault, Finding
from autograder.sandbox.traces import Line

MOST = 2  # faults that are told at once
CODE = "    "  # what a line of code begins with among the sentences
NAMES = 5  # steps that are listed, the last ones


def sentences(finding: Finding, sources: Mapping[str, str]) -> tuple[str, ...]:
    """The sentences; none if nothing is known for sure.

    Args:
        sources: the texts of the student's files, by their names.
    """
    if not finding.faults:
        return _without_fault(finding, sources)
    told = [*_right_before(finding, finding.faults[0])]
    for number, fault in enumerate(finding.faults[:MOST]):
        told += _fault(fault, sources, bool(told), number > 0, _several(finding))
    return tuple(told)


def text_of(line: Line, sources: Mapping[str, str]) -> str:
    """The first line of a statement, without the comment behind it."""
    lines = sources.get(line.file, "").splitlines()
    text = lines[line.number - 1].strip() if line.number <= len(lines) else ""
    code, _, comment = text.rpartition("  #")
    return (code.rstrip() if code and not any(quote in comment for quote in "'\"") else text)[:160]


def _several(finding: Finding) -> bool:
    """Whether lines of more than one file are named."""
    return len({line.file for line, _ in finding.right} | {fault.line.file for fault in finding.faults}) > 1


def _right_before(finding: Finding, fault: Fault) -> tuple[str, ...]:
    """The lines of the same file that are right, and the steps that they make."""
    right = [(line, names) for line, names in finding.right if line.file == fault.line.file]
    return _lines_are_right(right, _several(finding))


def _lines_are_right(right: Sequence[tuple[Line, tuple[str, ...]]], several: bool) -> tuple[str, ...]:
    named = [(line, names) for line, names in right if names]
    if not named:
        return ()
    names = list(dict.fromkeys(name for _, own in named for name in own))
    shown = "; ".join(names[-NAMES:]) if len(names) <= NAMES else "... ; " + "; ".join(names[-NAMES:])
    spans = _spans([line for line, _ in named], [line for line, _ in right])
    where = f" of {named[0][0].file}" if several and len({line.file for line, _ in named}) == 1 else ""
    many = len(spans) > 1 or "to" in spans[0]
    return (f"{'Lines' if many else 'Line'} {_and(spans)}{where} {'are' if many else 'is'} right: {shown}.",)


def _spans(wanted: Sequence[Line], right: Sequence[Line]) -> list[str]:
    """Line numbers: "38 to 41" where all lines that computed something between the two are right."""
    numbers = sorted({line.number for line in right})
    chosen = sorted({line.number for line in wanted})
    spans: list[list[int]] = []
    for number in chosen:
        if spans and number - spans[-1][1] <= 3 and numbers.index(number) - numbers.index(spans[-1][1]) <= 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return [str(a) if a == b else f"{a} to {b}" for a, b in spans]


def _and(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _fault(fault: Fault, sources: Mapping[str, str], led: bool, another: bool, several: bool) -> tuple[str, ...]:
    where = f"Line {fault.line.number}" + (f" of {fault.line.file}" if several or not led else "")
    if fault.left_out:
        head = f"{where} goes on without a step, {fault.missing}:"
    elif another:
        head = f"{where} gives a wrong result, too:"
    else:
        head = f"{where} is the first whose result is not right:"
    told = [head, CODE + text_of(fault.line, sources)]
    if fault.calls:
        called, _, instead = fault.calls.partition(" ")
        if instead:
            told.append(f"It calls {called} with what {instead} should be called with.")
        else:
            told.append(f"It calls {called} with other inputs than it should, or leaves some out.")
    elif fault.order:
        told.append(f"It makes {fault.order}: the numbers are right, but they stand in another order or shape.")
    elif fault.left_out:
        told += [f"It is given {_and(fault.given)}."] if 0 < len(fault.given) <= 2 else []
    elif fault.missing:
        given = f"It is given {_and(fault.given)}. " if 0 < len(fault.given) <= 2 else ""
        told.append(f"{given}What should come next: {fault.missing}.")
    return tuple(told)


def _without_fault(finding: Finding, sources: Mapping[str, str]) -> tuple[str, ...]:
    if finding.raised:
        told = _lines_are_right(finding.right, len({line.file for line, _ in finding.right}) > 1)
        return (told[0].removesuffix(".") + ", until the exception.",) if told else ()
    if finding.order:
        where = f"line {finding.order.number} of {finding.order.file}"
        return (
            f"What comes back was made last by {where}:",
            CODE + text_of(finding.order, sources),
            "Its numbers are right, but they stand in another order or shape than they should.",
        )
    if finding.returned and finding.missing:
        return (f"What comes back is {finding.returned}. What is missing: {finding.missing[0]}.",)
    return ()
