"""Innocent lines of code, by the thousand: what may stand in a correct module, and what is made of every public name.

A line must work in a confined worker if it works in an unconfined one; see `test_confine_names.py`.
"""

import importlib
import inspect
import re
import sys
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from autograder.sandbox.worker_processes import OPTIONAL

MODULES = """
torch torch.nn torch.nn.functional torch.nn.init torch.nn.utils torch.nn.utils.rnn torch.nn.utils.parametrize
torch.nn.utils.parametrizations torch.nn.parameter torch.nn.modules torch.utils torch.utils.data torch.utils.checkpoint
torch.utils.hooks torch.utils.dlpack torch.utils.deterministic torch.autograd torch.autograd.functional
torch.autograd.profiler torch.autograd.forward_ad torch.autograd.graph torch.optim torch.optim.lr_scheduler
torch.optim.swa_utils torch.func torch.linalg torch.fft torch.special torch.distributions torch.random torch.amp
torch.jit torch.cuda torch.backends torch.backends.cudnn torch.profiler torch.sparse torch.nested torch.testing
torch.overrides torch.types torch.compiler torch.signal.windows torch.serialization torch.storage torch.futures
torch.library torch.mps torch.cpu torch.xpu torch.accelerator torch.version torch.distributed
numpy numpy.linalg numpy.random numpy.fft numpy.ma numpy.testing numpy.polynomial numpy.char numpy.lib numpy.typing
numpy.exceptions math cmath random statistics itertools functools collections collections.abc operator string re json
copy datetime textwrap bisect heapq dataclasses typing enum contextlib abc types numbers decimal fractions warnings
logging inspect traceback pprint timeit uuid hashlib struct array calendar weakref keyword matplotlib.pyplot course
"""
CLASSES = ("torch.Tensor", "torch.nn.Module", "numpy.ndarray", "torch.Generator")
ARGUMENTS = (
    *("", "x", "x, x", "x, 1", "x, x, x", "3", "[x, x]", "x, (2, 2)", "f", "m", "f, x", "m.parameters(), 0.1"),
    *("[p], 0.1", "o", "o, 1", "f, (x,)", "m, 'weight'", "'cpu'", "i", "x, i", "n", "n, n"),
)
# Ends the worker, waits for somebody, or switches something on that changes all lines after it.
LEFT_OUT = re.compile(
    r"(numpy|matplotlib\.pyplot)\.(\w+\.)?(test|rundocs|info|ginput|waitforbuttonpress|pause|show_runtime|show_config)"
    r"|torch\.(\w+\.)*(sleep|_sleep|hub\w*|compile_shader|PyTorchFileWriter|PyTorchFileReader|OptionalType|set_vital"
    r"|DisableTorchFunction\w*|list_gpu_processes|opcheck|wrap_triton|sym_\w+|set_default_tensor_type|Generator)"
    r"|course\.(ask|check|explore_\w+|exploring|load|overview|own_modules|show_errors|trained|working_on)"
    r"|timeit\.\w+|typing\.reveal_type|logging\.(shutdown|disable)|torch\.distributed\.(breakpoint|init\w*|rendezvous)"
    r"|torch\.nn\.Module\.share_memory|torch\.Tensor\.(xpu|cuda|mtia|ipu|hpu|module_load|share_memory_)"
)

# What a module needs to do with every value, and what the names in the lines stand for. No word of OPTIONAL is in it.
USE = '''
import contextlib
import numpy
import torch
from torch import nn

torch.set_grad_enabled(True)


def use(value, ns):
    x, m = ns["x"], ns["m"]
    tensor = isinstance(value, torch.Tensor)
    if isinstance(value, contextlib.AbstractContextManager) and not tensor:
        with contextlib.suppress(TypeError, RuntimeError, AttributeError, AssertionError), value:
            torch.ones(3) + 1
    elif isinstance(value, nn.Module):
        for inputs in ((x,), (x, x), (torch.ones(2, 4, 4, dtype=x.dtype),)):
            with contextlib.suppress(TypeError, RuntimeError, ValueError, AttributeError, IndexError, AssertionError):
                value(*inputs)
    elif hasattr(value, "zero_grad") and hasattr(value, "step") and not isinstance(value, type):
        value.zero_grad()
        m(x.detach()).sum().backward()
        value.step()
        value.state_dict()
    elif tensor and value.requires_grad and value.numel() and value.is_floating_point():
        with contextlib.suppress(RuntimeError):
            value.sum().backward()


def names():
    x = torch.rand(4, 4, dtype=torch.float64).requires_grad_()
    m = nn.Linear(4, 4).double()
    o = None
    return dict(
        x=x, m=m, o=o, i=torch.tensor([0, 1, 2, 3]), p=nn.Parameter(torch.ones(4, 4)), f=lambda t: (t * t).sum(),
        n=numpy.ones((3, 3)),
    )


def call(start, end):
    """One letter for each line: y if it works."""
    found = ""
    for line in LINES[start:end]:
        ns = names()
        try:
            use(line(**ns), ns)
            found += "y"
        except BaseException as error:
            found += "n"
            ERRORS.append(f"{type(error).__name__}: {str(error)[:200]}")
    return found


def errors():
    return ERRORS


ERRORS = []
LINES = []
'''


def _roots(names: list[str]) -> str:
    """Import lines for the modules in some lines."""
    return "\n".join(f"import {name}" for name in sorted(names))


@cache
def public_names() -> list[str]:
    """Every public name that can be called, once: "torch.nn.Linear", "torch.Tensor.view"."""
    found: dict[int, str] = {}
    for module in MODULES.split():
        try:
            place = importlib.import_module(module)
        except ImportError:
            continue
        for name in sorted(dir(place)):
            value = inspect.getattr_static(place, name, None) if module == "torch.ops" else getattr(place, name, None)
            if name.startswith("_") or not callable(value) or isinstance(value, types.ModuleType):
                continue
            found.setdefault(id(value), f"{module}.{name}")
    for kind in CLASSES:
        module, _, name = kind.rpartition(".")
        of = getattr(sys.modules[module], name)
        for method in sorted(dir(of)):
            if not method.startswith("__"):
                found[-len(found) - 1] = f"{kind}.{method}"
    return [name for name in found.values() if not LEFT_OUT.fullmatch(name)]


def lines(names: list[str]) -> Iterator[str]:
    """Each name with all arguments that are tried."""
    for name in names:
        for arguments in ARGUMENTS:
            yield f"{name}({arguments})"


def module_of(name: str) -> str:
    """The module in which a name of a line is: "torch.nn" of "torch.nn.Linear(x)"."""
    path = name.partition("(")[0]
    return max((module for module in MODULES.split() if path.startswith(module + ".")), key=len)


def text_of(chosen: list[str]) -> str:
    """A module that tries these lines."""
    tried = "\n".join(f"LINES.append(lambda x, m, o, i, p, f, n: {line})" for line in chosen)
    return USE + _roots(list({module_of(line) for line in chosen})) + "\n" + tried + "\n"


def wanted(line: str) -> frozenset[str]:
    """What a worker has to be provided with for a line."""
    text = f"import {module_of(line)}\n{line}"
    return frozenset(name for name, words in OPTIONAL.items() if re.search(words, text))


def programs(name: str) -> list[tuple[str, str]]:
    """The programs of a file, each with the reason that stands before it, if any."""
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    blocks = text.split("\n---")[1:]
    return [(head.strip(), body.strip()) for head, _, body in (block.partition("\n") for block in blocks)]


PROGRAMS = [body for _, body in programs("innocent_programs.txt")]
REFUSED = programs("refused_programs.txt")
PREFIX = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\ntorch.set_grad_enabled(True)\n"
