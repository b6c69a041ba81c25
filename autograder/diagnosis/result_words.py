"""What is known of a wrong result, in sentences for students: its order, what went into it, what should come of it."""

from collections.abc import Sequence

from autograder.diagnosis.findings import Called, Fault, goes_own_way
from autograder.diagnosis.right_steps import UNNAMED


def listed(items: Sequence[str]) -> str:
    """Some items as a sentence lists them."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


LAYING_OUT = ("unsqueeze", "squeeze", "view", "reshape", "expand", "transpose", "permute", "flatten", "unflatten", "to")
# What operations look like where they are written as signs.
SIGNS = {"matmul": " @ ", "add": " + ", "sub": " - ", "mul": " * ", "div": " / ", "truediv": " / "}


def within(fault: Fault, text: str) -> str:
    """The operation that makes the first wrong tensor of a line, as its text has it; nothing if that is not seen."""
    call, sign = f"{fault.operation}(", SIGNS.get(fault.operation, "")
    lays_out = fault.operation in LAYING_OUT and goes_own_way(fault)  # what is laid out may be what is wrong
    if not fault.operation or lays_out or text.count(call) + (text.count(sign) if sign else 0) != 1:
        return ""
    return f"{call})" if call in text else sign.strip()


def what(fault: Fault, operation: str) -> list[str]:
    """What is known of a wrong result.

    Args:
        operation: the operation of the line that makes it, if there are several.
    """
    if fault.calls:
        return [_called(fault.calls)]
    if fault.until:
        return [
            f"The numbers are right, but from here to line {fault.until.number} their order or shape becomes wrong."
        ]
    if fault.order:
        made = (
            f"It makes {fault.order}: the"
            if fault.order != UNNAMED
            else f"Of what {operation} makes, the"
            if operation
            else "Its"
        )
        turned = f" permute{fault.turn} of it would be right." if fault.turn else ""
        return [f"{made} numbers are right, but they stand in another order or shape than they should.{turned}"]
    if fault.exchange:
        used, wanted = fault.exchange
        instead = f"{used} in the place of {wanted}" if used != wanted else f"another part of {used} than it should"
        return [f"It uses {instead}, and so does not make {fault.missing}."]
    if fault.same and fault.same.file == fault.line.file:
        should = f" What should come next: {fault.missing}." if fault.missing else ""
        return [f"It makes the same as line {fault.same.number}, where correct code has something else.{should}"]
    given = f"It is given {listed(fault.given)}. " if 0 < len(fault.given) <= 2 else ""
    told = [f"{given}What should come next: {fault.missing}."] if fault.missing else [given.strip()] if given else []
    first = f"The first of its operations whose result no correct code that we know makes is {operation}."
    return [*told, *([first] if operation else [])]


def _called(called: Called) -> str:
    """What is wrong with a call."""
    if called.instead:
        return f"It calls {called.name} with what {called.instead} should be called with."
    if called.without:
        at = listed([str(number) for number in called.unfilled]) if called.unfilled else ""
        blank = f" What line {at} makes is in its place, and nothing is written into that." if at else ""
        return f"It calls {called.name} without {called.without}.{blank}"
    if called.opposite:
        return f"It calls {called.name} with the opposite of {called.opposite}."
    if called.given and called.wanted:
        return f"It calls {called.name} with {listed(called.given)}; it should be called with {listed(called.wanted)}."
    if called.wanted:
        return f"It calls {called.name} with something else than {listed(called.wanted)}."
    return f"It calls {called.name} with other inputs than it should{', or leaves some out' if called.fewer else ''}."
