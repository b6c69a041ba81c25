"""What follows from a followed call, in sentences for students."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from autograder.diagnosis.code_text import leaves_early, statement_text, takes_a_step, text_of
from autograder.diagnosis.findings import Fault, Finding, goes_own_way, module_name
from autograder.diagnosis.result_words import listed, what, within
from autograder.diagnosis.right_steps import UNNAMED
from autograder.sandbox.traces import Line

MOST = 2  # faults that are told at once
CODE = "    "  # what a line of code begins with among the sentences
MOST_USED = 4  # names that are told with a line
NAMES = 5  # steps that are listed, the last ones
EITHER = "Either a step is missing before this line, or this line does something else than it should."
BETWEEN = "Either a step is missing between these lines, or one of them does something else than it should."


def sentences(finding: Finding, sources: Mapping[str, str], named: bool = False) -> tuple[str, ...]:
    """The sentences; none if nothing is known for sure.

    Args:
        sources: the texts of the student's files, by their names.
        named: whether a known mistake is told beside them: then a line that may be right, or that only goes on too
            early, is told as the place where the mistake shows.
    """
    if not finding.faults:
        return _without_fault(finding, sources, named)
    faults = [
        fault
        for fault in finding.faults
        if not (named and fault.left_out and fault.returns is None and not (fault.says_what or _between(fault)))
    ]
    told = [*_right_before(finding, faults[0])] if faults else []
    for number, fault in enumerate(faults[:MOST]):
        shown = _where_it_shows(fault, _several(finding) or not told) if named else ""
        code = CODE + statement_text(fault.line, sources)
        if shown and takes_a_step(fault.line, sources):
            told.append(f"{shown[:-1]}.")
        elif shown:
            told += [shown, *([code] if shown.endswith(":") else [])]
        else:
            told += _fault(fault, finding, sources, bool(told), number > 0, named)
    told += ["Not all of them need be wrong."] if len(faults) > 1 and all(map(goes_own_way, faults)) else []
    told = [sentence for sentence in told if sentence not in (EITHER, BETWEEN)] if named else told
    return (*told, *_calls_of_modules(finding))


def _between(fault: Fault) -> bool:
    """Whether a fault is between two lines of a file, in their order."""
    return fault.before is not None and fault.before.number < fault.line.number


def _where_it_shows(fault: Fault, with_file: bool) -> str:
    """Where a known mistake shows, if the fault itself says less than that."""
    where = f"line {fault.line.number}" + (f" of {fault.line.file}" if with_file else "")
    if fault.breaks:  # its change mends one thing, and not all
        return f"L{where[1:]} has a part in it:"
    together = fault.together and not fault.calls  # what should come before it may come after it
    if together or (fault.vague and not (fault.calls and fault.calls.wanted)):
        return f"Look for the known mistake around {where}."
    if (
        fault.anywhere
        or fault.exchange  # what stands in the place of what follows from a road that the mistake may have left
        or (fault.doubtful and not (fault.vain or fault.proven))
        or (fault.enters and fault.enters[1] != fault.line.number)
    ):
        return f"The known mistake shows on {where} or before it:"
    if fault.left_out and not fault.says_what and fault.before and _between(fault):
        return f"Look for the known mistake from line {fault.before.number} to {where}."
    early = fault.enters or (fault.left_out and not fault.mask and not fault.calls)
    after = f", after line {fault.before.number}" if fault.before and fault.before != fault.line else ""
    if not early or fault.mends or fault.returns is not None or (after and fault.missing):
        return ""
    if not after:  # it goes on without something that should have been made by then
        return f"The known mistake shows on {where} or before it:"
    return f"The known mistake shows first on {where}{after}:"


def _calls_of_modules(finding: Finding) -> tuple[str, ...]:
    """The modules that are never called, or too often."""
    names = dict.fromkeys(map(module_name, finding.never))
    told = [f"{name} is never called." for name in names]
    wrong = {fault.line for fault in finding.faults}
    for path, calls in finding.often if not any(fault.twice for fault in finding.faults) else ():
        lines = dict.fromkeys(str(line.number) for line in wrong.intersection(calls) or calls)
        where = f"in line{'s' * (len(lines) > 1)} {listed([*lines])}"
        told.append(f"{module_name(path)} is called more often than it should be, {where}.")
    told = list(dict.fromkeys(told))
    return tuple(told[:MOST])


def _several(finding: Finding) -> bool:
    """Whether lines of more than one file are named."""
    return len({line.file for line, _ in finding.right} | {fault.line.file for fault in finding.faults}) > 1


def _right_before(finding: Finding, fault: Fault) -> tuple[str, ...]:
    """What is right before a fault, with its lines, which are of the same file."""
    right = [(line, names) for line, names in finding.right if line.file == fault.line.file]
    if fault.short or fault.idle or fault.mends:  # when their lines run is not known
        right = [(line, names) for line, names in right if line.number < fault.line.number]
    if fault.nan:  # infinities that are as right as any other low number, as long as they make no NaN
        right = [(line, tuple(name for name in names if name not in fault.given)) for line, names in right]
    return _right_so_far(right, _several(finding), idle=finding.idle)


def _right_so_far(
    right: Sequence[tuple[Line, tuple[str, ...]]], several: bool, raised: bool = False, idle: Collection[str] = ()
) -> tuple[str, ...]:
    """What is right, on which line, and whether nothing uses it; before an exception only of the numbers, since a shape
    may be what is wrong."""
    named = [(name, line) for line, names in right for name in names]
    named = [(name, line) for at, (name, line) in enumerate(named) if name not in [one for one, _ in named[:at]]]
    if not named:
        return ()
    told: dict[Line, list[str]] = {}
    for name, line in named[-NAMES:]:
        told.setdefault(line, []).append(name)
    unused = {line: "; nothing uses it" if names[-1] in idle else "" for line, names in told.items()}
    places = [f"{'; '.join(names)} (line {line.number}{unused[line]})" for line, names in told.items()]
    shown, last = "; ".join(places), ", to name the last" if len(named) > NAMES else ""
    where = f" in {named[0][1].file}" if several and len({line.file for _, line in named}) == 1 else ""
    if raised:
        return (f"Right numbers, whatever their shapes, until the exception{where}{last}: {shown}.",)
    return (f"Right so far{where}{last}: {shown}.",)


def _fault(
    fault: Fault, finding: Finding, sources: Mapping[str, str], led: bool, another: bool, named: bool
) -> tuple[str, ...]:
    where = f"Line {fault.line.number}" + (f" of {fault.line.file}" if _several(finding) or not led else "")
    code = CODE + statement_text(fault.line, sources)
    if fault.unused is not None:
        made = (
            f"makes {fault.unused}, which is used nowhere:"
            if fault.unused
            else "computes something that is used nowhere: its result gets no name."
        )
        made = f"writes into {fault.unused}, which nothing uses after that:" if fault.writes else made
        told = [f"{where} {made}", code]
    elif fault.nothing:
        told = [f"{where} does nothing: it only names something, and neither calls nor changes it.", code]
    elif fault.overwrites:
        name, before = fault.overwrites
        told = [f"{where} gives {name} something else before anything has used what line {before} made:", code]
    elif fault.asks:
        told = [f"{where} makes no difference: whether its condition holds or not, the same is done.", code]
    elif fault.opposite:
        told = [f"{where} makes the opposite of {fault.opposite}:", code]
    elif fault.twice:
        told = [f"{where} calls {module_name(fault.twice)} twice; once would be right:", code]
    elif fault.fillers:
        lines = listed([str(line.number) for line in fault.fillers])
        filled = fault.order if fault.order != UNNAMED else "a tensor"
        where = f"Lines {lines}" + where.removeprefix(f"Line {fault.line.number}")
        told = [f"{where} fill {filled} with the right numbers, but not all of them in the right places:"]
        told += [CODE + text_of(line, sources) for line in fault.fillers]
    elif fault.draws:
        told = [f"{where} draws random numbers, but not from the {fault.draws} that its function is given:", code]
    elif fault.axes:
        told = [
            f"{where} makes the right numbers, but axes of size 1 stand where they should not, or are missing:",
            code,
        ]
    elif fault.vain:
        meant = [f"What should come of it: {fault.missing}."] if fault.missing else []
        told = [f"{where} changes nothing of what it is given:", code, *meant]
    elif fault.repeats:
        told = [f"{where} makes the same as in an earlier round, although it is given something else:", code]
    elif fault.drops:
        told = [f"{where} uses dropout in another place than correct code:", code]
        told += [f"It is given {listed(fault.given)}."] if fault.given else []
    elif fault.mends and fault.either:
        lines = f"{where.replace('Line', 'line', 1)} alone, or of line {fault.either.number} alone"
        told = [f"With a small change of {lines}, the call gives what it should. As they are:", code]
        told += [CODE + statement_text(fault.either, sources)]
    elif fault.mends:
        at = fault.part or fault.line.number
        shown = [code if at == fault.line.number else CODE + text_of(Line(fault.line.file, at, at), sources)]
        place = str(at)
        if fault.exchanged:
            shown.append(CODE + statement_text(Line(fault.line.file, fault.exchanged, fault.exchanged), sources))
        place += where.removeprefix(f"Line {fault.line.number}")
        breaks = f", but {fault.breaks} fails with that very change: a better one is needed" if fault.breaks else ""
        told = [f"With a small change of line {place} alone, the call gives what it should{breaks}. As it is:"]
        if fault.exchanged:
            both = f"lines {at} and {fault.exchanged}" + place.removeprefix(str(at))
            first = f"With the statements that begin on {both} in the other order"
            told = [f"{first}, the call gives what it should{breaks}. As they are:"]
        if fault.renews:
            first = f"With line {place} in each round of the loop of line {fault.renews}, and not once before it"
            told = [f"{first}, the call gives what it should{breaks}. As it is:"]
        if fault.adds:
            told = [f"With {fault.adds} before line {place}, the call gives what it should{breaks}. As it is:"]
        told += shown
        # A statement that is exchanged makes it, perhaps, and was not reached in this call.
        told += [f"Nothing makes {fault.missing}."] if fault.missing and not fault.exchanged else []
        if fault.before and fault.order not in ("", UNNAMED):
            told += [f"Line {fault.before.number} makes {fault.order}, but with the elements in another order."]
    elif fault.constant:
        asked, begin, end = fault.constant
        loop = f"the loop from line {begin} to line {end}"
        told = [f"{where} asks {asked}, but nothing in {loop} changes that:", code]
    elif fault.idle:
        kind = "a loop" if code.lstrip().startswith(("for ", "while ")) else "a branch"
        told = [f"{where} begins {kind} whose lines never run:", code]
        if fault.before:
            told.append(f"Line {fault.before.number} goes through the same: of an iterator nothing is left then.")
    elif fault.short:
        often = (
            f"runs {'more' if fault.often > 0 else 'less'} often than it should" if fault.often else "ends too early"
        )
        if fault.often <= 0 and leaves_early(fault.line, sources):
            often = "ends too early, or is left before all of its last round is done"
        if code.lstrip().startswith(("if ", "elif ")):
            often = "leaves its loop too early"
        told = [f"{where} {often}:", code]
    elif fault.result:
        yet = f"what it should be, {fault.missing}" if fault.missing else "what it should be"
        place = f"{where} or one that makes what it uses" if fault.doubtful else where
        told = [f"{place} makes {fault.result}, which comes back and is not yet {yet}:", code]
    elif fault.fills:
        told = [
            f"{where} puts something else than it should into the list that line {fault.fills.number} returns:",
            code,
        ]
    elif fault.returns is not None and fault.before:
        told = [f"{where} returns what line {fault.before.number} makes{_without(fault)}:", code]
    elif fault.returns is not None:
        back = f"It gives back {listed(fault.returns)}." if fault.returns else ""
        step = "the same once more" if fault.missing in fault.returns else fault.missing
        should = f"{'What is missing' if fault.left_out else 'It should be'}: {step}." if step else ""
        should = f"What is missing, there or anywhere before: {step}." if step and fault.anywhere else should
        should = should or ("Correct code makes something more of that." if fault.left_out else "")
        many = (
            "It gives back {} tensors in all; correct code at most {}.".format(*fault.tensors) if fault.tensors else ""
        )
        wrong = (
            f"Of what it gives back, what line {fault.made.number} makes is not what should come back."
            if fault.made
            else ""
        )
        said = " ".join(one for one in (back, many, wrong, should) if one)
        told = [f"{where} returns something else than it should:", code, *([said] if said else [])]
    elif fault.enters and fault.missing:
        name, number = fault.enters
        after = f" after line {fault.before.number}" if fault.before and fault.before != fault.line else ""
        if number == fault.line.number:
            told = [f"{where} goes on{after}{_without(fault)}:", code, f"It calls {name}, which should be given that."]
        else:  # what the function makes by itself may be meant for this step
            told = [f"{where} goes on too early{after}:", code]
            told += [f"It calls {name} in line {number}, which should be called with {fault.missing}."]
    elif fault.left_out and not fault.mask and not fault.calls:
        given = [f"It is given {listed(fault.given)}."] if 0 < len(fault.given) <= 2 else []
        after = f" after line {fault.before.number}" if fault.before and fault.before != fault.line else ""
        told = [f"{where} goes on{after}{_without(fault)}:", code, *given]
        told.append(BETWEEN if after and _between(fault) else EITHER)
    else:
        first = "is the first that makes NaN:" if fault.nan else "is the first whose result is not right:"
        first = "or one that makes what it uses is the first whose result is not right:" if fault.doubtful else first
        first = "puts together something else than correct code does:" if fault.together else first
        head = "gives a wrong result, too:" if another else first
        own_way = goes_own_way(fault)
        if own_way:
            head = f"{'also ' if another else ''}makes numbers that no correct code that we know makes:"
            head = f"or one that makes what it uses {head}" if fault.doubtful else head
        head = "raises the exception:" if fault.raises is not None else head
        told = [f"{where} {head}", code, *_not_number(fault)]
        if fault.inside and not fault.exchange:
            told += [f"In there, line {fault.inside.number} makes it:", CODE + statement_text(fault.inside, sources)]
        # What a known mistake says of a line is more than the step that usually comes next.
        next_step = "" if named and not fault.exchange else fault.missing
        told += what(replace(fault, missing=next_step), within(fault, text_of(fault.line, sources)))
        if fault.raises and all(value is not None for _, value, _ in finding.used.get(fault.line, ())):
            lines = f"line{'s' * (len(fault.raises) > 1)} {listed([str(number) for number in fault.raises])}"
            told.append(f"What goes in there is made by {lines}.")
        if fault.proven:
            name, test = fault.proven
            told += [f"{name}() passes {test}: perhaps it is called with something else than it should."]
    if fault.again and not fault.mends:
        told.append(f"Its result is right in another round; line {fault.again.number} calls it each time.")
    # Where the operation is told that is not right, what else the line uses only draws the eye away.
    single = fault.vague and fault.operation and within(fault, text_of(fault.line, sources))
    return (*told, *(() if single else _used(fault, finding)))


def _without(fault: Fault) -> str:
    """What a line goes on without. That a step is missing would be too much: it may be there, and come to nothing."""
    turn = f", as by permute{fault.turn}" if fault.turn else ""
    if fault.missing and not fault.elsewhere:
        return f", but nothing has made {fault.missing}{turn}"
    if fault.missing or turn:
        return f" without a step, {fault.missing or 'between the two'}{turn}"
    return ", but correct code makes something else of that first"


def _used(fault: Fault, finding: Finding) -> list[str]:
    """What a line uses that other lines made: numbers, and all of it where nothing tells what is wrong with it."""
    right = [(line, names) for line, names in finding.right if line.file == fault.line.file]
    proven = {line.number for line, names in right if names or fault.calls}
    differing = set(fault.calls.differing) if fault.calls and fault.calls.unclear else set()
    numbers: list[str] = []
    others: list[str] = []
    for name, value, lines in finding.used.get(fault.line, ()):
        of = f"of line{'s' * (len(lines) > 1)} {listed([str(line) for line in lines])}"
        if value is not None:
            numbers.append(f"{name} = {value:g} {of}")
        elif (fault.vague or fault.doubtful or fault.nan or fault.repeats or fault.vain or fault.raises) and (
            not differing.isdisjoint(lines) if differing else fault.calls is None or not proven.issuperset(lines)
        ):
            others.append(f"{name} (line{of.removeprefix('of line')})")
    enough = len(numbers) > bool(fault.order)  # of sizes that stand in the wrong order there are two
    used = [f"It uses {listed(numbers[:MOST_USED])}."] if enough else []
    goes_in = others[: max(0, MOST_USED - len(numbers))]
    head = "If that line is right, look at what goes in there" if fault.vain else "What goes in there"
    return [*used, f"{head}: {listed(goes_in)}."] if goes_in else used


def _without_fault(finding: Finding, sources: Mapping[str, str], named: bool) -> tuple[str, ...]:
    files = [line.file for line, names in finding.right if names] if finding.raised else []
    right = [(line, names) for line, names in finding.right if line.file in files[-1:]]  # of the file that ran last
    if told := _right_so_far(right, len({line.file for line, _ in finding.right}) > 1, raised=True):
        return told
    if finding.opposite:
        where = f"line {finding.opposite.number} of {finding.opposite.file}"
        code = CODE + statement_text(finding.opposite, sources)
        return (f"With the opposite of what {where} makes, the call gives what it should:", code)
    if finding.nan:
        line = finding.nan.line
        also = "Either what goes in there is not what it should be, or NaN has to be kept from coming up."
        told = (*_not_number(finding.nan), *(() if named else (also,)))
        return (
            f"NaN comes up first on line {line.number} of {line.file}:",
            CODE + statement_text(line, sources),
            *told,
        )
    if finding.missing and finding.usual and not finding.raised:
        [step, *_] = finding.missing
        often = step in finding.made  # a loop may have ended too early
        lacks = f"correct code makes {step} more often" if often else f"nothing makes {step}"
        return () if often and named else (f"No line is wrong for sure, but {lacks}.",)
    return _calls_of_modules(finding)


def _not_number(fault: Fault) -> tuple[str, ...]:
    """What the first NaN is, if that is known."""
    return (f"There NaN is {fault.not_number}.",) if fault.not_number else ()
