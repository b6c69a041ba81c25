"""Turn diagnoses into the sentences and marks of a verdict, in plain English."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from autograder.diagnosis.line_verdict import LineMark, LineVerdict
from autograder.localization.arbitrate import Diagnosis
from autograder.localization.case import Case
from autograder.localization.code_text import text_of
from autograder.localization.source import Source
from autograder.localization.suspects import module_name, never_called
from autograder.localization.trace import Line

NAMES = 3  # correct steps to list: the last ones
NEVER = 2  # uncalled modules to list
CODE = "    "
# What a repeated call showed about a line; {name} is an argument, a module or an operation.
CLAIMS = {
    "random": "It draws random numbers.",
    "unfilled": "It creates a tensor without values. Fill it, or use zeros.",
    "kept": "It uses a tensor left over from an earlier call.",
    "argument": "It changes the argument {name} in place.",
    "output": "The output of {name} is used here without the operation that should follow.",
    "misplaced": "It applies {name} in a different place than correct code does.",
    "dtype": "Its result has the wrong dtype.",
    "type": "It returns a value of the wrong type.",
    "nan": "It computes NaN, which stays in the gradient even if the result is replaced later.",
    "graph": "It detaches values from the autograd graph.",
}


def rendered(diagnosis: Diagnosis | None, case: Case | None, source: Source) -> LineVerdict:
    """Put a diagnosis into sentences."""
    never = [f"{module_name(path)} is never called." for path in never_called(case.alignment)] if case else []
    never = list(dict.fromkeys(never))[:NEVER]
    if diagnosis is None:
        return LineVerdict(tuple(never))
    right = _right_before(case, diagnosis) if case else []
    step = diagnosis.suspect.step if diagnosis.suspect else ""
    sentences = [*_where(diagnosis, source), *_why(diagnosis), *never, *_correct(right)]
    marks = [_mark(line, source, "right", steps) for line, steps in right]
    wrong = [_mark(line, source, "wrong", (step,) if step else ()) for line in diagnosis.lines]
    marks += [replace(mark, gap=_is_gap(line, diagnosis)) for mark, line in zip(wrong, diagnosis.lines, strict=True)]
    return LineVerdict(tuple(sentences), tuple(sorted(marks, key=lambda mark: (mark.file, mark.line))), step)


def _mark(line: Line, source: Source, state: str, steps: tuple[str, ...]) -> LineMark:
    return LineMark(line.file, line.number, text_of(line, source.texts), state, steps)


def _is_gap(line: Line, diagnosis: Diagnosis) -> bool:
    """Whether the line itself is right, as far as is known, but another line is missing before it."""
    suspect, repair = diagnosis.suspect, diagnosis.repair
    return repair is None and suspect is not None and suspect.where == "before" and line == suspect.line


def _where(diagnosis: Diagnosis, source: Source) -> list[str]:
    places = " or ".join(f"{line.file}:{line.number}" for line in diagnosis.lines)
    code = [CODE + text_of(line, source.texts) for line in diagnosis.lines]
    return [f"{places} {diagnosis.confidence.value}:", *code]


def _why(diagnosis: Diagnosis) -> list[str]:
    suspect, repair = diagnosis.suspect, diagnosis.repair
    if diagnosis.claim:
        return [CLAIMS[diagnosis.claim].format(name=diagnosis.name)]
    fixes = ["A change to this line alone makes the result right."] if repair and not repair.breaks else []
    if suspect is None:
        return fixes
    if suspect.kind == "discarded":
        return ["Its result is discarded: assign it to a name, or work in place."]
    if suspect.kind == "call":
        meant = f" with the inputs of {suspect.instead}" if suspect.instead else " with the wrong inputs"
        return [f"It calls {suspect.called}{meant}."]
    if suspect.where == "before" and not repair:
        return [f"Before this line, correct code computes {suspect.step}."]  # here it is missing or comes later
    if suspect.where == "next":
        return [f"From the same values, correct code computes {suspect.step}."]
    return [f"Expected here: {suspect.step}."] if suspect.step else fixes


def _right_before(case: Case, diagnosis: Diagnosis) -> list[tuple[Line, tuple[str, ...]]]:
    """The lines before the diagnosed line, in the same file, that compute named steps correctly."""
    if case.raised:
        return []
    until = diagnosis.suspect.node if diagnosis.suspect else case.trace.size
    first = diagnosis.lines[0]
    proved = diagnosis.repair is not None and not diagnosis.repair.breaks
    right = [entry for entry in case.alignment.lines_right(until, proved=proved) if entry[0].file == first.file]
    if diagnosis.repair:  # later lines may run differently
        right = [entry for entry in right if entry[0].number < first.number]
    count = Counter(step for _, steps in right for step in steps)  # if two lines compute one step, one may be wrong
    return [(line, steps) for line, steps in right if line not in diagnosis.lines and steps and count[steps[-1]] == 1]


def _correct(right: Sequence[tuple[Line, tuple[str, ...]]]) -> list[str]:
    named = [f"{steps[-1]} (line {line.number})" for line, steps in right]
    return [f"Correct up to here: {', '.join(named[-NAMES:])}."] if named else []
