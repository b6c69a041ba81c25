"""The source check and libraries as values: what goes where no name can be followed is noted, whatever takes it."""

import importlib
import sys
from types import ModuleType

import pytest

from autograder.forbidden.lists import USUAL
from autograder.forbidden.rules import check_modules

HEAD = "import sys\nimport os.path\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
# Where a library can be put, with the words that lead to it again.
PLACES = {
    "list": ("", "[{}][0]"),
    "dict": ("", "{{'a': {}}}['a']"),
    "tuple": ("", "({}, 1)[0]"),
    "set": ("", "next(iter({{{}}}))"),
    "argument": ("def f(m):\n    return m\n", "f({})"),
    "keyword": ("def f(m):\n    return m\n", "f(m={})"),
    "stars": ("def f(*m):\n    return m[0]\n", "f(*[{}])"),
    "lambda": ("", "(lambda: {})()"),
    "lambda with a default": ("", "(lambda m={}: m)()"),
    "comprehension": ("", "[{} for _ in range(1)][0]"),
    "returned": ("def f():\n    return {}\n", "f()"),
    "yielded": ("def f():\n    yield {}\n", "next(f())"),
    "attribute": ("class A: pass\nA.m = {}\n", "A.m"),
    "class": ("class A:\n    m = {}\n", "A.m"),
    "annotated class": ("class A:\n    m: object = {}\n", "A.m"),
    "class, in a block": ("class A:\n    if True:\n        m = {}\n", "A.m"),
    "class, named": ("class A:\n    (m := {})\n", "A.m"),
    "class, one of some": ("class A:\n    for m in ({},): pass\n", "A.m"),
    "matched": ("match {}:\n    case m: pass\n", "m"),
    "decorator": ("@lambda f: {}\ndef m(): pass\n", "m"),
    "default": ("def f(m={}):\n    return m\n", "f()"),
    "one of two, in a list": ("", "[{} if sys else None][0]"),
    "or, in a list": ("", "[None or {}][0]"),
    "named, in a list": ("", "[(m := {})][0]"),
    "item": ("d = dict()\nd['a'] = {}\n", "d['a']"),
    "compared": ("class A:\n    def __eq__(self, m):\n        self.m = m\na = A()\na == {}\n", "a.m"),
    "type of an attribute": ("class A:\n    m: {} = None\n", "A.__annotations__['m']"),
    "type of an argument": ("def f(m: {}): pass\n", "f.__annotations__['m']"),
    "type of a result": ("def f() -> {}: pass\n", "f.__annotations__['return']"),
    "in a class statement": ("class A:\n    def __class_getitem__(cls, m):\n        return m\n", "A[{}]"),
}
LIBRARIES = ["sys", "torch", "nn", "F", "torch.nn", "torch.nn.functional", "torch.optim", "os", "nn.modules.linear"]
CRITICAL = ["_C", "_VF", "meta_path", "_getframe", "__globals__", "__subclasses__", "scaled_dot_product_attention"]
NOTED = ["modules", "__dict__", "__code__", "_call_impl", "_anything", "sys", "builtins", "importlib"]
HONEST = """
import functools, math, sys
import torch
import torch.nn as nn
import torch.nn.functional as F
try:
    import numpy as np
except ImportError:
    np = None
functional = nn.functional
activation = F.relu
table = {"relu": F.relu, "tanh": torch.tanh, torch.float32: 1}
act = functional.gelu if hasattr(F, "gelu") and torch is not None else F.relu
class A(nn.Module):
    norm = nn.LayerNorm
    kind: type = torch.Tensor
    def __init__(self, size, act=F.relu, kind=nn.Linear, pi=math.pi):
        super().__init__()
        self.act, self.kind, self._hidden = act, kind, [kind(size, size)]
        self.parts = nn.ModuleList(kind(size, size) for _ in range(2))
    def forward(self, x, drop=None):
        if np and not torch.is_grad_enabled():
            x = functools.partial(F.dropout, p=0.1)(x)
        for module in self.modules():
            assert isinstance(module, nn.Module)
        for module in self.parts[0].modules():
            module._modules, module._hidden
        counts = sum(1 for model in self.parts for _ in model.modules())
        with torch.no_grad():
            x = map(self.act, [x])
        return self._run(list(x)[0])
    def _run(self, x):
        return functional.softmax(x, dim=-1), torch.backends.mps.is_available(), x.device, x._version
"""


def found(text: str) -> tuple[list[str], list[str]]:
    findings, _ = check_modules({"decoder": text, "mha": "import torch\nt = torch\n", "encoder": ""})
    forbidden = [finding.what for _, finding in findings if finding.forbidden]
    return forbidden, [finding.what for _, finding in findings if not finding.forbidden]


@pytest.mark.parametrize("place", PLACES)
def test_a_library_that_is_put_somewhere_is_noted(place):
    before, used = PLACES[place]
    for library in LIBRARIES:
        text = before.replace("{}", library) if "{}" in before else before
        text = f"{HEAD}{text}x = {used.format(library)}.something\n"
        compile(text, "decoder.py", "exec")
        _, review = found(text)
        assert any("used as a value" in what for what in review), text


@pytest.mark.parametrize("line", ["import torch.optim as m", "from torch import nn as m", "import sys as m"])
def test_a_library_that_is_imported_in_a_class_is_noted(line):
    for body in (line, f"if True:\n        {line}", f"try:\n        {line}\n    finally: pass"):
        assert any("used as a value" in what for what in found(f"{HEAD}class A:\n    {body}\n")[1]), body
    assert found(f"class A:\n    from torch.nn import Linear\n    def f(self):\n        {line}\n") == ([], [])


# Ways to call something `self` that is no object of a class in the module.
NOT_SELF = {
    "function": "def f(self, n):\n    return {}\n",
    "second parameter": "class A:\n    def f(this, self, n):\n        return {}\n",
    "static": "class A:\n    @staticmethod\n    def f(self, n):\n        return {}\n",
    "inner function": "class A:\n    def f(this):\n        def g(self, n):\n            return {}\n",
    "lambda": "f = lambda self, n: {}\n",
    "comprehension": "x = [{} for self, n in d]\n",
    "loop": "for self, n in d:\n    {}\n",
    "assigned": "class A:\n    def f(self, n):\n        self = n\n        return {}\n",
    "with": "with d as self:\n    {}\n",
    "imported": "import math as self\n{}\n",
    "matched": "match d:\n    case (self, n):\n        {}\n",
}


@pytest.mark.parametrize("way", NOT_SELF)
def test_what_is_only_called_self_is_searched(way):
    for use in ("getattr(self, n)", "self._C", "self._ops", "self.__globals__"):
        assert any(found(NOT_SELF[way].format(use))), use
    for use in ("getattr(self, f'W_{n}')", "getattr(self, 'W_' + n + '_out')", "self._x", "setattr(self, n, 1)"):
        assert found(f"class A:\n    def f(self, n):\n        return {use}\n") == ([], []), use
    for use in ("getattr(self, n)", "getattr(self, f'{n}_')", "getattr(self, '_' + n)"):  # A.f(anything, n)
        assert found(f"class A:\n    def f(self, n):\n        return {use}\n")[1], use


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n    __match_args__ = (n,)\n",
        "class A(type):\n    def __instancecheck__(cls, x): return True\n",
        "import functools\nfunctools.update_wrapper(a, b, (n,))\n",
        "import functools\nfunctools.wraps(f, assigned=(n,))(g)\n",
        "import types\ntypes.CodeType()\n",
        "from types import FunctionType\n",
        "import numpy as np\nnp.testing.runstring(t, d)\n",
        "from typing_extensions import get_type_hints\n",
        "import gc\nx: gc = 0\n__annotations__['x']\n",
        "import math, gc\n" + "".join(f"a = math.f{number}\n" for number in range(40)) + "a = gc\na.get_referents()\n",
        "import gc\nisinstance(gc, A)\n",
        "import gc\ndef hasattr(x): return x\nhasattr(gc).get_referents()\n",
    ],
)
def test_other_ways_to_names_are_noted(text):
    assert any(found(text))


PUBLIC = {name for name in sys.stdlib_module_names if not name.startswith("_")}
LIBRARY_MODULES = ["torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch.utils", "numpy", "numpy.ma.core"]


@pytest.mark.parametrize("name", [*sorted(USUAL & sys.stdlib_module_names), *LIBRARY_MODULES])
def test_a_module_inside_another_is_known_whatever_its_name(name):
    module = importlib.import_module(name)
    top = name.partition(".")[0]
    for attribute, value in list(vars(module).items()):
        both = [f"import {name}\nx = {name}.{attribute}\n", f"from {name} import {attribute} as x\n"]
        both = both if isinstance(value, ModuleType) else both[:1]
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] in sys.stdlib_module_names - {top}:
            assert all(any(found(text + f"f({name}.{attribute})\n")) for text in both), attribute
        elif name in LIBRARY_MODULES and attribute in PUBLIC:  # a function, or a part of the library
            assert found(both[0]) == ([], []), attribute
