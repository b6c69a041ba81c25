"""What can follow from a followed call: its faults, each at a line, and what is right before them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from autograder.sandbox.traces import Line

CLASS = re.compile(r"[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*")  # Sequential; W_v is the name of a module


@dataclass(frozen=True)
class Text:
    """What the text of a submission says of a line."""

    given: Callable[[Line], bool] = lambda line: False  # it is of a given function
    bare: Callable[[Line], bool] = lambda line: False  # it is a call whose result gets no name
    # It is a `return` of a list: how many values stand before the list, and the one line that fills it.
    filled: Callable[[Line], tuple[int, Line] | None] = lambda line: None
    gathers: Callable[[Line], bool] = lambda line: False  # it is a `return` of names, of lists that several lines fill
    makes: Callable[[Line], bool] = lambda line: False  # it is a `return` that does something with what it gives back
    early: Callable[[Line], bool] = lambda line: False  # it is a `return` of names in a block
    into: Callable[[Line], str] = lambda line: ""  # the name of a tensor that it writes into, and nothing uses any more
    names: Callable[[Line, str], bool] = lambda line, attribute: False  # it has this attribute of its object
    # The only line of its file that has it, constructors apart.
    naming: Callable[[Line, str], Line | None] = lambda line, attribute: None


@dataclass(frozen=True)
class Called:
    """A module or a function that is called with something right, which is not what it should be called with."""

    name: str
    instead: str = ""  # the module beside it to which these inputs belong
    given: tuple[str, ...] = ()  # the steps that it is called with
    wanted: tuple[str, ...] = ()  # those that it should be called with
    fewer: bool = True  # whether correct code gives more to it, perhaps
    opposite: str = ""  # the mask whose opposite it is called with
    without: str = ""  # what correct code gives to it beside all this
    differing: tuple[int, ...] = ()  # lines of its file that make what it is given in the place of something else
    unfilled: tuple[int, ...] = ()  # lines that make what stands in the place of that, and nothing fills it

    @property
    def unclear(self) -> bool:
        """Whether nothing is known but that it is called with right things which do not belong together."""
        return bool(self.differing) and not (self.instead or self.wanted or self.opposite or self.without)


@dataclass(frozen=True)
class Fault:
    """A line that was given right inputs and made something else of them than correct code does."""

    line: Line
    missing: str = ""  # the step that should come of it, if there is one that follows
    given: tuple[str, ...] = ()  # the steps that went into it
    order: str = ""  # the numbers are right, in another order: those of this step
    calls: Called | None = None  # it calls something with the wrong inputs
    left_out: bool = False  # it is the step after the missing one: that was left out
    enters: tuple[str, int] | None = None  # the module that it calls too early, and the line of this call
    mask: bool = False  # what it makes is one, in which a step cannot be missing
    misplaced: bool = False  # what it makes is right, but something else should stand in its place
    same: Line | None = None  # another line that makes the same
    elsewhere: bool = False  # the missing step is made, but not for this line
    returns: tuple[str, ...] | None = None  # it is a `return` that gives back these steps, and should give others
    tensors: tuple[int, ...] = ()  # how many it gives back, and how many correct code does at most
    anywhere: bool = False  # the missing step may be missing anywhere before it
    made: Line | None = None  # what this line makes is the only one of them that is wrong
    result: str = ""  # the name that it gives to a result which is not yet what it should be
    fills: Line | None = None  # it fills the list that the `return` of this line gives back
    together: bool = False  # it puts tensors together, of which one may not be what it should be
    nan: bool = False  # it is the first that makes NaN
    not_number: str = ""  # what that is computed as
    short: bool = False  # it is the head of a loop that ends too early
    often: int = 0  # how many times more often than it should that loop runs, if that is known
    idle: bool = False  # it is the head of a loop whose lines never run
    constant: tuple[str, int, int] | None = None  # what it asks is the same in each round of a loop of these lines
    until: Line | None = None  # the order is wrong from its line to this one
    mends: bool = False  # a small change of it, and of no other line, would mend the call
    part: int = 0  # the line of its statement that would be changed
    either: Line | None = None  # or of this one
    exchanged: int = 0  # that is, of it and this line together: they would stand in the other order
    renews: int = 0  # that is, in each round of the loop that begins on this line
    adds: str = ""  # that is, with this call before it
    unused: str | None = None  # the name under which its result goes nowhere, "" if it gets none
    overwrites: tuple[str, int] | None = None  # it gives a name something else before what this line made was used
    writes: bool = False  # it only writes into that
    nothing: bool = False  # it does nothing
    asks: bool = False  # it is a condition on which nothing is done
    opposite: str = ""  # the mask whose opposite it makes
    axes: bool = False  # its numbers are right, and axes of size 1 stand where they should not
    vain: bool = False  # it changes nothing, where correct code does by the same operation
    repeats: bool = False  # it makes of other inputs what it has made in an earlier round of a loop
    drops: bool = False  # it uses dropout on what correct code gives to no dropout
    draws: str = ""  # it draws random numbers, and not from this argument of its function
    twice: str = ""  # the module that it calls twice, and correct code once
    before: Line | None = None  # the line that made what it is given
    inside: Line | None = None  # the line of the function called there that makes it
    proven: tuple[str, str] | None = None  # this function, and the test that calls it by itself and passes
    again: Line | None = None  # the line that calls its function, in another round with right results
    node: int = -1  # the tensor with the right numbers in another order
    rows: tuple[int, ...] = ()  # what it may have to be
    turn: tuple[int, ...] = ()  # the order of its axes that would mend it
    exchange: tuple[str, ...] = ()  # what it uses in the place of another tensor, and that one
    operation: str = ""  # what makes the first wrong tensor on it, if that is not all that it does
    fillers: tuple[Line, ...] = ()  # all lines that fill the tensor whose numbers stand in another order
    # Another line puts an axis into what it uses, perhaps in the wrong place; or makes a mask that is right by chance.
    doubtful: bool = False
    breaks: str = ""  # with that small change this fails, which passes now: a test, or a part of one
    raises: tuple[int, ...] | None = None  # it raises the exception, of what these other lines of its file have made

    @property
    def says_what(self) -> bool:
        """Whether it is known what a line goes on without, or with what."""
        return bool(self.missing or self.enters or self.turn or self.calls or self.mends or self.anywhere or self.mask)

    @property
    def vague(self) -> bool:
        """Whether nothing is known but that its result is not right, or that something goes wrongly into its call."""
        if self.calls:
            return not (self.calls.instead or self.calls.given or self.calls.opposite or self.calls.without)
        told = (
            self.missing
            or self.misplaced
            or self.proven
            or self.order
            or self.left_out
            or self.fills
            or self.overwrites
            or self.result
            or self.nan
            or self.short
            or self.repeats
            or self.vain
            or self.axes
            or self.drops
            or self.draws
            or self.idle
            or self.constant
            or self.nothing
            or self.asks
            or self.mends
        )
        return (
            not (told or self.unused is not None or self.opposite or self.twice or self.until) and self.returns is None
        )


def goes_own_way(fault: Fault) -> bool:
    """Whether a line may be right, on a road that nobody has taken yet."""
    return fault.vague and fault.calls is None


def without_own_ways(faults: Mapping[Line, Fault]) -> dict[Line, Fault]:
    """The faults without lines that may be right, where more is known of another line."""
    known = {line: fault for line, fault in faults.items() if not goes_own_way(fault)}
    return known or dict(faults)


@dataclass(frozen=True)
class Finding:
    """What follows from a trace."""

    right: tuple[tuple[Line, tuple[str, ...]], ...] = ()  # lines whose results are right, with the steps made there
    faults: tuple[Fault, ...] = ()
    raised: bool = False  # the call ended with an exception
    missing: tuple[str, ...] = ()  # the first steps that nothing made
    idle: frozenset[str] = frozenset()  # the steps that are right, and nothing uses them
    made: frozenset[str] = frozenset()  # steps that are made somewhere, each perhaps not as often as it should be
    usual: bool = False  # all that is computed is also computed by correct code
    after: tuple[Line, ...] = ()  # lines that compute with what is wrong
    beside: tuple[Line, ...] = ()  # lines that may be wrong as well: what they make says too little to be sure of
    either_way: tuple[int, ...] = ()  # masks that correct code has, and their opposites as well; where no line is wrong
    opposites: tuple[int, ...] = ()  # masks of which correct code has the opposite only, where nothing else is wrong
    opposite: Line | None = None  # makes a mask with whose opposite the call gives what it should
    nan: Fault | None = None  # where NaN comes up, as in correct code, or made of what says too little
    unsure: frozenset[Line] = frozenset()  # lines of masks, of what says too little or what raises: need not be right
    never: tuple[str, ...] = ()  # modules that all correct code calls, and this code neither calls nor touches
    often: tuple[tuple[str, tuple[Line, ...]], ...] = ()  # modules that it calls more often, and lines of calls
    # What the line of a fault uses that other lines made: its name, its value if it is a number, the numbers of these.
    used: Mapping[Line, tuple[tuple[str, float | None, tuple[int, ...]], ...]] = field(default_factory=dict)

    def right_until(self, line: Line) -> tuple[tuple[Line, tuple[str, ...]], ...]:
        """What is right before a line runs, which may be right itself in the first rounds of a loop."""
        lines = [one for one, _ in self.right]
        return self.right[: lines.index(line)] if line in lines else self.right


def with_others(finding: Finding) -> Finding:
    """What follows; where each line may be a road of one's own, with the others that may be wrong."""
    lines = dict.fromkeys(line for line in finding.beside if line not in {fault.line for fault in finding.faults})
    own_ways = bool(finding.faults) and all(map(goes_own_way, finding.faults))
    return replace(finding, faults=(*finding.faults, *map(Fault, lines))) if own_ways else finding


def module_name(path: str) -> str:
    """The name of a module as a verdict tells it: "norm1", or "blocks.0" of a list."""
    names = path.split(".")
    return ".".join(names[-2:]) if names[-1].isdigit() else names[-1]
