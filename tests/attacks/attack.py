"""What an attack is: the text of a hostile module, and the verdict that it must get.

The modules are written by hand in the files beside this one. Nearly all attack the smallest stage, positional
encoding, with code that would get nothing by itself, so that points would mean that the attack worked. What an attack
tries goes through `attempt` (see TOOLS), which prints "SUCCEEDED" or what stopped it; an attempt that ends in another
way, for instance by a slip of ours, breaks the module, and with it the test.
"""

import textwrap
from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """The status of the attacked test and the fixed sentence in its message."""

    status: str
    message: str


WRONG = Verdict("failed", "right shape, wrong values")
TYPE = Verdict("failed", ": wrong type")
DTYPE = Verdict("failed", ": wrong dtype")
SHAPE = Verdict("failed", ": wrong shape")
NO_MODULE = Verdict("error", "did not create an nn.Module")
ENDED = Verdict("error", "the Python process ")
UNREADABLE = Verdict("error", "the answer cannot be read")
LATE = Verdict("timed out", "no result after")
NOT_STARTED = Verdict("not started", "")
FORBIDDEN = Verdict("forbidden", "")


def raised(kind: str) -> Verdict:
    """The code raised this exception."""
    return Verdict("error", kind)


@dataclass(frozen=True)
class Attack:
    """A hostile submission of one module."""

    number: int  # as in README.md
    name: str
    text: str
    verdict: Verdict | tuple[Verdict, ...] = WRONG  # several where it depends on which limit is met first
    module: str = "pe"
    tries: bool = True  # whether `attempt` is used, so that "stopped" must have been printed
    hidden: bool = False  # whether it is the hidden test that must find it out
    earned: int = 0  # parts of the test that the code passes legitimately: the constructor's (3) or forward's (2)
    seconds: float = 20.0  # that a call may take

    def __str__(self) -> str:
        return f"{self.number} {self.name}"

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return self.verdict if isinstance(self.verdict, tuple) else (self.verdict,)


# Before this stand assignments: what an attacker may know of the machine, see world.py.
TOOLS = '''
import ctypes, errno, math, os, platform, signal, socket, struct, sys, threading, time
import torch
from torch import nn

REFUSED = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EAGAIN, errno.ENOMEM, errno.EFBIG, None}

class Nothing(Exception):
    """There was nothing to be had."""

def nothing(reason="nothing"):
    raise Nothing(reason)

def attempt(what, action):
    """What an action gives, if it is not stopped."""
    try:
        loot = action()
    except (Nothing, ImportError, MemoryError) as error:
        reason = error
    except OSError as error:
        if error.errno not in REFUSED:
            raise
        reason = error
    except (RuntimeError, ValueError) as error:  # libraries hide an OSError in these
        told = ("not permitted", "denied", "new thread", "not allowed to raise", "not exist")
        if not any(word in str(error) for word in told):
            raise
        reason = error
    else:
        print("SUCCEEDED:", what, repr(loot)[:2000], flush=True)
        return loot
    print("stopped:", what, "by", type(reason).__name__, str(reason)[:200], flush=True)

libc = ctypes.CDLL(None, use_errno=True)

def system(function, *arguments):
    """Call a function of the C library that says -1 for a failure."""
    result = getattr(libc, function)(*arguments)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def call(number, *arguments):
    """A system call by its number."""
    return system("syscall", ctypes.c_long(number), *map(ctypes.c_long, arguments))

ON_ARM = platform.machine() == "aarch64"

def channel(name="writer"):
    """The stream on which the worker answers, or hears questions."""
    frame = sys._getframe()
    while frame.f_code.co_name != "serve":
        frame = frame.f_back
    return frame.f_locals[name]

def frame(header, body=b"", header_length=None, body_length=None):
    """The bytes of a frame, genuine or forged."""
    lengths = (header_length or len(header), body_length or len(body))
    return struct.pack(">4sIQ", b"GRD1", *lengths) + header + body

def send(data):
    channel().write(data)
    channel().flush()

def sinusoids(d_model, length):
    """The right table."""
    position, column = torch.arange(length)[:, None], torch.arange(0, d_model, 2)
    angle = position * torch.exp(column * (-math.log(10000.0) / d_model))
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)[None, :, :d_model]
'''

ENCODING = """
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_seq_length):
        super().__init__()
        self.d_model, self.max_seq_length = d_model, max_seq_length
        table = torch.zeros(1, max_seq_length, d_model)
{init}
        self.register_buffer("pe", table)
        self.ready = True

    def forward(self, x):
{forward}
"""

# A table that is not a buffer: what the grader gets when it asks for it.
ANSWER = """
    def __getattribute__(self, name):
        if name == "pe" and "ready" in object.__getattribute__(self, "__dict__"):
            return answer()
        return super().__getattribute__(name)
"""

RIGHT = """\
if x.size(1) > self.max_seq_length:
    raise ValueError("too long")
return x + self.pe[:, : x.size(1)]
"""


def pe(top: str = "", init: str = "", forward: str = "return x") -> str:
    """A pe.py: code at import, in the constructor (which may replace `table`, of zeros) and in `forward`."""
    parts = {name: textwrap.indent(textwrap.dedent(code), " " * 8) for name, code in locals().items()}
    return textwrap.dedent(top) + ENCODING.format(init=parts["init"], forward=parts["forward"])


def answering(code: str) -> str:
    """A pe.py that hands over for its table what a function `answer` gives, which `code` defines."""
    return pe(code) + ANSWER


def right_where(condition: str, otherwise: str, top: str = "") -> str:
    """A pe.py that is right where a condition holds, and runs `otherwise` in `forward` elsewhere."""
    lines = ["table = sinusoids(d_model, max_seq_length)", f"self.honest = {condition}"]
    forward = f"if not self.honest:\n{textwrap.indent(textwrap.dedent(otherwise), '    ')}\n{RIGHT}"
    return pe(top, "\n".join(lines), forward)


VISIBLE = "d_model == 32 and max_seq_length == 15"  # the sizes of the visible test
