"""In a worker, no function shows its globals or its closure, and no string becomes code; honest code works."""

import pytest

from autograder.sandbox.student_faults import Raised
from tests.support.confining import needs_confinement, needs_linux, run

# Each is 1 where nothing is closed. The source search does not see these programs.
DOORS = {
    "globals of a function": "return int('F' in getattr(torch.nn.functional.relu, '__globals__') or 1)",
    "closure of a function": "return len(torch.nn.functional.max_pool1d.__closure__) and 1",
    "built-in names": "return int('len' in getattr(torch.nn.functional.relu, '__builtins__'))",
    "globals of a frame": "return int('Worker' in sys._getframe(1).f_globals)",
    "variables of a frame": "return int('self' in sys._getframe(1).f_locals)",
    "built-in names of a frame": "return int('len' in sys._getframe(1).f_builtins)",
    "frame of an exception": (
        "try: torch.nn.functional.one_hot(torch.ones(2, 2), 'x', 1)\nexcept Exception as error: found = error\n"
        "try: torch.nn.Linear(2, 2)(torch.ones(3))\nexcept Exception as error: found = error\n"
        "frame = found.__traceback__\nwhile frame.tb_next: frame = frame.tb_next\n"
        "return int('input' in frame.tb_frame.f_locals)"
    ),
    "the descriptor itself": (
        "found = type(call).__dict__['__globals__'].__get__(torch.nn.functional.relu)\nreturn int('torch' in found)"
    ),
    "modules behind functions": "return int('getattr' in print.__self__.__dict__)",
    "the grader's classes": (
        "found = [kind for kind in object.__subclasses__() if kind.__module__.startswith('autograder.')]\n"
        "return min(1, len(found))"
    ),
    "lent privileges": (
        "from operator import methodcaller\nkinds = torch.overrides.TorchFunctionMode.__subclasses__()\n"
        "kind = next(each for each in kinds if each.__name__ == 'WithoutChance')\n"
        "reader = type(call).__dict__['__globals__'].__get__\n"
        "return int('torch' in kind().__torch_function__(reader, (), (torch.nn.functional.relu,)))"
    ),
    "all objects": "import gc\nreturn min(1, len(gc.get_objects()))",
    "referents": "import gc\nreturn min(1, len(gc.get_referents([call])))",
    "referrers": "import gc\nreturn min(1, len(gc.get_referrers(call)))",
    "eval": "return getattr(__import__('builtins'), 'eval')('1')",
    "exec": "kept = {}\ngetattr(__import__('builtins'), 'exec')('kept = 1', kept)\nreturn kept['kept']",
    "an annotation": (
        "import typing\ndef f(x: 'str() and getattr or int'): pass\nreturn len(typing.get_type_hints(f))"
    ),
    "a signature": (
        "import inspect\ndef f(x: 'str(1) and int'): pass\n"
        "return int(inspect.signature(f, **{'eval_str': True}).parameters['x'].annotation is int)"
    ),
    "a field with code for a name": (
        "import dataclasses\n@dataclasses.dataclass(init=False)\nclass A:\n    note: str = ''\n"
        "dataclasses.fields(A)[0].name += ' or __import__'\n"
        "@dataclasses.dataclass(init=False)\nclass B(A): pass\nreturn int(B() == B())"
    ),
    "a named tuple's code": "import collections\nreturn min(1, len(collections.namedtuple.__globals__))",
    "timed code": "import timeit\nreturn int(timeit.timeit('exec(\"1\")', number=1) > 0)",
    "code of another function": "def f(): return 1\ndef g(): return 2\ng.__code__ = f.__code__\nreturn g()",
    "a function from code": "return type(call)((lambda: 1).__code__, {})()",
    "changed code": "return type(call)((lambda: 2).__code__.replace(co_consts=(None, 1)), {})()",
    "marshalled code": "import marshal\nreturn int(marshal.loads(marshal.dumps(1)))",
    "the C library": "import ctypes\nreturn int(ctypes.CDLL(None).getpid() > 0)",
    "Python's own library": "import ctypes\nreturn int(ctypes.pythonapi.Py_IsInitialized())",
    "memory": ("import ctypes\nkept = ctypes.c_int(1)\nreturn ctypes.c_int.from_address(ctypes.addressof(kept)).value"),
    "copied memory": "import ctypes\nctypes.memmove(ctypes.create_string_buffer(4), bytes(4), 4)\nreturn 1",
    "cast memory": (
        "import ctypes\nkept = ctypes.pointer(ctypes.c_int(1))\n"
        "return ctypes.cast(kept, ctypes.POINTER(ctypes.c_int))[0]"
    ),
    "traced calls": "import sys\nsys.settrace(lambda *_: None)\nsys.settrace(None)\nreturn 1",
    "profiled calls": "import sys\nsys.setprofile(lambda *_: None)\nsys.setprofile(None)\nreturn 1",
    "profiled threads": "import profile\nkept = profile.Profile()\nkept.runcall(len, 'a')\nreturn 1",
}
HONEST = {
    "dataclasses": (
        "import dataclasses\n@dataclasses.dataclass(frozen=True, order=True)\nclass A:\n    x: int = 1\n"
        "    y: list = dataclasses.field(default_factory=list)\n"
        "@dataclasses.dataclass\nclass B:\n    z: 'int' = 2\nreturn int(A() == A() and B().z == 2)"
    ),
    "fields with the names of built-in functions": (
        "import collections, dataclasses\n@dataclasses.dataclass(order=True)\nclass A:\n"
        "    compile: bool = True\n    open: int = 1\n    eval: str = ''\n    sys: int = 2\n    getattr: int = 3\n"
        "B = collections.namedtuple('B', 'start stop open exec vars')\n"
        "return int(A() == A() and 'open=1' in repr(A())) and B(1, 2, 3, 4, 5).start"
    ),
    "types in strings": (
        "import functools, typing\n@functools.singledispatch\ndef f(x): return 0\n"
        "def g(x: 'int'): return 1\nf.register(g)\nreturn f(2) * len(typing.get_type_hints(g))"
    ),
    "a function's own globals": (
        "import inspect\nkept = 1\ndef f(): return kept\nreturn inspect.getclosurevars(f).nonlocals['kept']"
    ),
    "a frame's own variables": "import inspect\nkept = 1\nreturn inspect.currentframe().f_locals['kept']",
    "a mock": "from unittest import mock\ndef f(x): return x\nmock.create_autospec(f)(1)\nreturn 1",
    "slots": "import dataclasses\n@dataclasses.dataclass(slots=True)\nclass A:\n    x: int = 1\nreturn A().x",
    "tuples": (
        "import collections, typing\nA = collections.namedtuple('A', 'a b')\n"
        "class B(typing.NamedTuple):\n    a: int = 1\nreturn A(B().a, 2).a"
    ),
    "enums": "import enum\nA = enum.Enum('A', 'one two')\nreturn A.one.value",
    "a printed traceback": "import traceback\ntry: 1 / 0\nexcept ZeroDivisionError: return len(traceback.format_exc())",
    "a stack": "import inspect, traceback\nreturn len(inspect.stack()) and len(traceback.format_stack())",
    "the caller's name": "import inspect\nreturn int(inspect.currentframe().f_code.co_name == 'call')",
    "warnings and logs": "import logging, warnings\nwarnings.warn('slow')\nlogging.warning('slow')\nreturn 1",
    "a signature": "import inspect\ndef f(x: int = 1): pass\nreturn inspect.signature(f).parameters['x'].default",
    "dispatch": (
        "import functools\n@functools.singledispatch\ndef f(x): return 0\n"
        "@f.register\ndef _(x: int): return 1\nreturn f(2)"
    ),
    "closures": (
        "def count():\n    n = 0\n    def step():\n        nonlocal n\n        n += 1\n        return n\n"
        "    return step\nreturn count()()"
    ),
    "timed calls": "import timeit\nreturn int(timeit.timeit(lambda: 1, number=1) >= 0)",
    "a profile": "import cProfile\nkept = cProfile.Profile()\nkept.runcall(len, 'a')\nreturn 1",
    "collected garbage": "import gc\ngc.collect()\nreturn int(gc.isenabled())",
    "abstract classes": "import abc\nclass A(abc.ABC): pass\nclass B(A): pass\nreturn int(issubclass(B, A))",
    "memory of an array": "import numpy as np\nreturn int(np.ones(2).ctypes.data > 0)",
    "copies": "import copy, torch\nreturn copy.deepcopy(torch.nn.Linear(2, 2)).in_features - 1",
}


@needs_linux
@pytest.mark.parametrize("what", DOORS)
def test_doors_are_closed(workers, bare_unconfined, what):
    body = f"import torch\n{DOORS[what]}"
    assert run(bare_unconfined, body) == 1
    assert outcome(workers, body) != 1


@needs_confinement
@pytest.mark.parametrize("what", DOORS)
def test_doors_are_closed_to_confined_code(confined_workers, what):
    assert outcome(confined_workers, f"import torch\n{DOORS[what]}") != 1


@needs_confinement
@pytest.mark.parametrize("what", HONEST)
def test_honest_code_works(both, what):
    for workers in both:
        assert run(workers, HONEST[what]) >= 1


def outcome(workers, body):
    try:
        return run(workers, body)
    except Raised as error:
        return str(error)
