"""The source check and libraries as values: what goes where no name can be followed is noted, whatever takes it."""

import importlib
import itertools
import sys
from types import ModuleType

import pytest

from autograder.forbidden.lists import USUAL, USUAL_IN, USUAL_MODULES
from autograder.forbidden.rules import check_modules

HEAD = (
    "import sys\nimport os.path\nimport torch\nimport mha\nimport decoder as me\n"
    "import torch.nn.functional as F\nfrom torch import nn\n"
)
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
LIBRARIES += ["mha", "me"]  # the student's own modules lead to the libraries that they import
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
    for use in ("getattr(self, f'W_{n}')", "getattr(self, 'W_' + n + '_out')", "self._x", "setattr(self, f'W_{n}', 1)"):
        assert found(f"class A:\n    def f(self, n):\n        return {use}\n") == ([], []), use
    # Somebody can call A.f(anything, n), by any name of A or f: f'g{n}' may be gi_frame.
    for use in ("getattr(self, n)", "getattr(self, f'{n}_')", "getattr(self, '_' + n)", "getattr(self, f'g{n}')"):
        assert found(f"class A:\n    def f(self, n):\n        return {use}\n")[1], use


@pytest.mark.parametrize("bound", ["def f({}): {}(F)", "f = lambda {}: {}(F)", "with d as {}:\n    {}(F)"])
@pytest.mark.parametrize("name", ["hasattr", "getattr", "vars"])
def test_a_name_of_a_built_in_function_may_stand_for_another(bound, name):
    assert any("used as a value" in what for what in found(HEAD + bound.format(name, name) + "\n")[1])


@pytest.mark.parametrize("name", ["eval", "exec", "compile"])
@pytest.mark.parametrize(
    "bound", ["def f(m, {0}): return m if {0} else 1", "for {0} in x: g({0})", "f = lambda {0}: {0}"]
)
def test_a_parameter_with_the_name_of_a_built_in_function_is_only_noted(bound, name):
    forbidden, review = found(bound.format(name))
    assert not forbidden
    assert review


@pytest.mark.parametrize("name", ["eval", "exec", "compile"])
@pytest.mark.parametrize(
    "bound",
    [
        "def f({0}):\n    return {0}\n\ndef g(x):\n    return {0}(x)\n",
        "def f():\n    {0} = 1\n    return {0}\n\n{0}(x)\n",
        "def f(x, {0}={0}):\n    return {0}(x)\n",
        "def f(x):\n    from builtins import {0}\n    {0} = {0} or 1\n    return {0}(x)\n",
        "def f({0}):\n    def g(x):\n        global {0}\n        return {0}(x)\n    return g\n",
        "@{0}(x)\ndef f({0}):\n    return 1\n",
        "f = lambda {0}: {0}\ny = {0}(x)\n",
        "class A:\n    {0} = 1\n\n    def f(self, x):\n        return {0}(x)\n",
        "y = [{0} for {0} in x]\nz = {0}(x)\n",
    ],
)
def test_a_name_bound_elsewhere_does_not_excuse_a_built_in_function(bound, name):
    assert found(bound.format(name))[0]


@pytest.mark.parametrize(
    ("text", "noted"),
    [
        ("import mha\n\ndef f(x):\n    mha = x + 1\n    return g(mha)\n", False),
        ("import mha\n\ndef f(mha):\n    return [mha]\n", False),
        ("import mha\n\ndef f(mha):\n    return lambda: g(mha)\n", False),
        ("import mha\n\ndef f(x, mha=mha):\n    return x\n", True),
        ("import mha\n\ndef f(x):\n    return g(mha)\n", True),
        ("import mha\nm = mha\n\ndef f(x):\n    mha = m\n    return g(mha)\n", True),
        ("def f(x):\n    import mha\n    mha = mha or x\n    return g(mha)\n", True),
        ("import mha\n\ndef f(mha):\n    def h():\n        global mha\n        return g(mha)\n    return h\n", True),
    ],
)
def test_a_local_variable_with_the_name_of_a_module_is_not_noted(text, noted):
    forbidden, review = found(text)
    assert not forbidden
    assert any("mha is used as a value" in what for what in review) == noted


@pytest.mark.parametrize(
    "text",
    [
        "import enum\n@enum.global_enum\nclass A(enum.Enum):\n    X = 1\n",
        "class A:\n    __module__ = 'mha'\n",
        "import enum\nenum.IntEnum._convert_('A', 'mha', x)\n",
        "import contextlib\nclass A(contextlib.redirect_stdout):\n    _stream = n\n",
        "import inspect\ninspect.signature(f, eval_str=True)\n",
        "import dataclasses\ndataclasses.make_dataclass('A', [n])\n",
        "class A:\n    __array_interface__ = d\n",
        "import sys\nsys.addaudithook(f)\n",
        "import numpy as np\nnp.ctypeslib.as_ctypes(x)\n",
        "import einops\neinops._backends\n",
        "import mha\ngetattr(mha, 'F')\n",
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


def test_a_module_inside_another_is_known_whatever_its_name():
    known = 0
    for name in sorted(USUAL & sys.stdlib_module_names):
        module = importlib.import_module(name)
        for attribute, value in list(vars(module).items()):
            if isinstance(value, ModuleType) and not f"{value.__name__}.".startswith(f"{name}."):
                known += 1
                assert any(found(f"import {name}\nx = {name}.{attribute}\n")), (name, attribute)
                assert any(found(f"from {name} import {attribute} as x\n")), (name, attribute)
    assert known > 50


PUBLIC = {name for name in sys.stdlib_module_names if not name.startswith("_")}


@pytest.mark.parametrize(
    "name", ["torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch.utils", "numpy", "numpy.linalg"]
)
def test_a_module_of_the_standard_library_inside_another_library_is_known(name):
    """A part of the library itself may have the same name."""
    for attribute, value in list(vars(importlib.import_module(name)).items()):
        if attribute in PUBLIC:
            foreign = isinstance(value, ModuleType) and value.__name__ in PUBLIC
            assert any(found(f"import {name}\nx = {name}.{attribute}\n")) == foreign, attribute
            if foreign:
                assert any(found(f"from {name} import {attribute} as x\n")), attribute


ODD = ["torch.distributions.utils", "torch.utils.data.datapipes", "torch.xpu", "numpy.ma", "matplotlib.backends"]
ODD += ["torch.utils.data"]  # for other names than the usual ones: `argument_validation` evaluates annotations
USUALLY = [name for name in sorted(USUAL_MODULES - USUAL_IN.keys()) if name.startswith(("torch", "numpy"))]


@pytest.mark.parametrize("module", ODD)
@pytest.mark.parametrize("text", ["import {0} as m\nm.read\n", "from {0} import read\n", "import {1}\n{0}.read\n"])
def test_only_the_usual_modules_of_libraries_need_no_note(text, module):
    forbidden, noted = found(text.format(module, module.partition(".")[0]))
    assert (forbidden, bool(noted)) == ([], True)


@pytest.mark.parametrize("module", USUALLY)
def test_the_usual_modules_of_libraries_need_no_note(module):
    assert found(f"import {module} as m\nm.read\n") == ([], [])


@pytest.mark.parametrize("length", [1, 4, 40])
def test_aliases_are_followed_in_any_order(length):
    chain = [f"a{number + 1} = a{number}\n" for number in range(length)]
    blocks = "".join("    " * number + "if x:\n" for number in range(length)) if length < 20 else ""
    if blocks:
        lines = ["    " * (length - number) + line for number, line in enumerate(chain)]
        assert found(f"{HEAD}x, a0 = 1, torch\n{blocks}{''.join(lines)}a{length}._C\n")[0]
    assert found(f"{HEAD}a0 = torch\n{''.join(reversed(chain))}a{length}._C\n")[0]


def test_more_aliases_than_can_be_followed_are_noted():
    chain = "".join(f"a{number} = {' or '.join(f'a{other}' for other in range(200))}\n" for number in range(200))
    heads = "".join(f"a{number} = nn.x{number}\n" for number in range(200))
    assert any("too many aliases" in what for what in found(f"{HEAD}{chain}{heads}")[1])


def test_a_name_in_pieces_is_put_together():
    name = "scaled_dot_product_attention"
    for cut in range(1, len(name)):
        for pieces in (
            f"{name[:cut]!r} + {'_' + name[cut:]!r}[1:]",
            f"({name!r} + 'x')[:-1]",
            f"{name[:cut]!r} '' + {name[cut:]!r}",
        ):
            assert found(f"{HEAD}x = {pieces}\n")[0], pieces
    for name in ("__closure__", "__code__", "__globals__", "_getframe"):
        assert any(f"names {name}" in what for what in found(f"{HEAD}x = {name[:3]!r} + {name[3:]!r}\n")[1])
        assert any(f"names {name}" in what for what in found(f"{HEAD}x = f({name!r})\n")[1])


@pytest.mark.parametrize("name", CRITICAL)
def test_a_critical_name_is_forbidden_whatever_stands_before_the_dot(name):
    for before in ("x()", "[sys][0]", "d['a']", "self.m", "(lambda: m)()", "m", "model.layers[0]"):
        assert found(f"{HEAD}def f(self, m):\n    return {before}.{name}\n")[0], before
    assert found(f"{HEAD}def f(m):\n    return getattr(m, {name!r})\n")[0]
    assert found(f"{HEAD}def f(m):\n    match m:\n        case object({name}=x):\n            return x\n")[0]


@pytest.mark.parametrize("name", NOTED)
def test_a_doubtful_name_is_noted_whatever_stands_before_the_dot(name):
    for before in ("x()", "d['a']", "m", "model.layers[0]"):
        forbidden, review = found(f"{HEAD}def f(m):\n    return {before}.{name}\n")
        assert forbidden or review, before


def test_names_of_the_student_s_own_are_no_doubt():
    own = "class A:\n    def __init__(self):\n        self._C = self.modules = self.sys = 1\n    def _x(self): pass\n"
    for name in ("modules", "_x"):
        assert found(f"{own}def f(a):\n    return a.{name}\n") == ([], []), name
    for name in ("_C", "sys"):
        forbidden, review = found(f"{own}def f(a):\n    return a.{name}\n")
        assert not forbidden
        assert review, "another object may have it too"
        assert found(f"{own}    def f(self):\n        return self.{name}\n") == ([], []), name


# Ways in which a student's code can have a name of its own, and read it again.
OWN = {
    "member of an enumeration": ("import enum\nclass A(enum.Enum):\n    {} = 1\n", "A.{}"),
    "field": ("import typing\nclass A(typing.NamedTuple):\n    {}: int = 1\na = A()\n", "a.{}"),
    "method": ("class A:\n    def {}(self): pass\na = A()\n", "a.{}(1)"),
    "static method": ("def f(): pass\nclass A:\n    {} = staticmethod(f)\na = A()\n", "a.{}()"),
    "keyword": ("import types\na = types.SimpleNamespace({}=1)\n", "a.{}"),
    "class of a module": ("class {}: pass\ndef f(module): return module.{}\nimport sys\n", "f(encoder)"),
}


@pytest.mark.parametrize("way", OWN)
@pytest.mark.parametrize(
    "name", ["Transformer", "TransformerEncoder", "scaled_dot_product_attention", "get_field", "_ops"]
)
def test_a_name_of_the_student_s_own_is_never_forbidden(way, name):
    before, used = (text.replace("{}", name) for text in OWN[way])
    assert not found(f"{before}x = {used}\n")[0]
    assert found(f"x = f().{name}\n")[0], "nobody has defined it"


@pytest.mark.parametrize("path", ["F.torch", "nn.functional.torch", "torch.nn.modules.torch", "torch.cuda.torch"])
def test_torch_is_torch_in_whatever_module_it_is_found(path):
    for part in ("ops.aten", "_C._nn", "hub.load", "nn.MultiheadAttention", "jit.script"):
        assert found(f"{HEAD}x = {path}.{part}\n")[0], part


def test_a_function_that_returns_a_module_is_noted():
    forbidden, review = found(f"{HEAD}x = torch.get_device_module('cpu').torch.ops.aten.gelu_(y)\n")
    assert forbidden or review


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n    def __post_init__(self):\n        object.__setattr__(self, 'rows', 2)\n",
        "class A(B):\n    def freeze(self):\n        super().__setattr__('frozen', True)\n",
        "class A:\n    def __init_subclass__(cls, name=''): cls.name = name\nclass B(A, name='b'): ...\n",
        "import functools\n@functools.singledispatch\ndef f(x): ...\n",
        "import traceback\ndef f():\n    traceback.print_exc()\n",
        "def f(x, name): return getattr(x, 'W_' + name) + getattr(x, 'W_%s' % name)\n",
        "import numpy as np\ndef f(x): return isinstance(x, np.ndarray)\n",
    ],
)
def test_honest_classes_are_no_doubt(text):
    assert found(text) == ([], [])


def test_honest_uses_of_libraries_are_no_doubt():
    assert found(HONEST) == ([], [])


WAYS = (
    "import mha\nx = mha.t.{}",
    "from mha import t\nx = t.{}",
    "from mha import t as u\nx = u.{}",
    "import mha as m\nx = m.t.{}",
)


@pytest.mark.parametrize("way", WAYS)
def test_a_library_under_the_name_of_another_module_is_followed(way):
    assert found(way.format("ops"))[0]
    assert found(way.format("_C._nn"))[0]


FILES = [
    "open('/etc/passwd')",
    "print(open)",
    "np.load('x')",
    "np.fromfile('x')",
    "np.loadtxt('x')",
    "numpy.memmap('x')",
    "np.lib.format.open_memmap('x')",
    "torch.load('x')",
    "torch.save(x, 'x')",
    "torch.from_file('x')",
    "Path('/etc/passwd').read_text()",
    "path.read_bytes()",
    "x.tofile('y')",
    "io.open('x')",
    "logging.FileHandler('x')",
    "getattr(np, 'fromfile')('x')",
    "[io][0].open('x')",
]


@pytest.mark.parametrize("way", FILES)
def test_a_file_that_is_opened_is_noted(way):
    _, review = found(
        f"import io, logging\nimport numpy\nimport numpy as np\nimport torch\ndef f(x, path):\n    return {way}\n"
    )
    assert any("opens a file" in what or "torch.load" in what for what in review)


def test_methods_of_one_s_own_open_no_file():
    text = "class A:\n    def open(self): pass\n    def load(self): pass\n"
    assert found(f"{text}    def f(self, a):\n        a.open(), self.load()\n") == ([], [])


@pytest.mark.parametrize(("depth", "way"), list(itertools.product((1, 4), ("list", "attribute", "class"))))
def test_aliases_before_it_change_nothing(depth, way):
    names = "m0 = torch.nn\n" + "".join(f"m{n + 1} = m{n}\n" for n in range(depth))
    before, used = PLACES[way]
    text = f"{HEAD}{names}{before.replace('{}', f'm{depth}')}x = {used.format(f'm{depth}')}\n"
    assert any("used as a value" in what for what in found(text)[1]), text


@pytest.mark.parametrize(
    "line",
    [
        'def f(a: "torch._C._VariableFunctions.layer_norm"): return a',
        'W = "{0.forward.__globals__[torch]}"',
        'np.testing.measure("box.append(torch._C)")',
        '@dispatch.register\ndef g(a: "box.append(sys._getframe()) or int"): return a',
    ],
)
def test_code_in_a_string_is_noted(line):
    """Annotations, formats and some functions run what a string says."""
    assert any("a string names" in words for words in found(line)[1])


def test_a_docstring_may_speak_of_anything():
    text = '"""This is not torch._C, nor __globals__."""\ndef f(a):\n    """Nor sys._getframe."""\n    return a\n'
    assert found(text) == ([], [])


# Ways to give a built-in function's name another meaning, which hides the uses of the function itself.
SHADOWS = {
    "argument of another function": "def f({0}=None): return {0}\n",
    "variable of another function": "def f():\n    {0} = None\n    return {0}\n",
    "class attribute": "class A:\n    {0} = None\n",
    "import": "from math import sqrt as {0}\ndel {0}\n",
    "loop": "for {0} in (): pass\n",
    "definition": "def {0}(x): return x\ndel {0}\n",
    "walrus": "({0} := 1)\ndel {0}\n",
    "comprehension": "y = [{0} for {0} in x]\n",
}


@pytest.mark.parametrize("shadow", SHADOWS)
@pytest.mark.parametrize("use", ["getattr(x, n)", "setattr(x, n, 1)", "f(getattr)", "globals()[n]", "vars(x)[n]"])
def test_another_meaning_of_its_name_does_not_hide_a_built_in_function(shadow, use):
    name = next(name for name in ("getattr", "setattr", "globals", "vars") if name in use)
    text = SHADOWS[shadow].format(name)
    compile(text, "decoder.py", "exec")
    for place in (use, f"def g(x, n):\n    return {use}\n"):
        assert any(found(text + place)), place


@pytest.mark.parametrize("name", ["getattr", "vars", "globals"])
def test_a_variable_with_the_name_of_a_built_in_function_is_fine(name):
    assert found(f"def f({name}):\n    return {name} + 1\n") == ([], [])
    assert found(f"def f(x):\n    {name} = x.sum()\n    return lambda: {name} * 2\n") == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        "gc = None\ndef f():\n    global gc\n    import gc\n    return [gc]\n",
        "gc = None\ndef f():\n    global gc\n    import gc\nf()\nx = [gc]\n",
        "def f():\n    gc = None\n    def g():\n        nonlocal gc\n        import gc\n    g()\n    return [gc]\n",
        "import gc\ndef f(gc=None):\n    class A:\n        x = [gc]\n        for gc in (): pass\n",
        "import gc\ndef f(gc=None):\n    class A:\n        gc = 1\n        del gc\n        x = [gc]\n",
        "import gc\ndef f():\n    [1 for gc in ()]\n    return [gc]\n",
    ],
)
def test_a_module_is_not_taken_for_a_variable(text):
    compile(text, "decoder.py", "exec")
    assert any("gc is used as a value" in what for what in found(text)[1])


@pytest.mark.parametrize("name", ["eval", "exec", "compile"])
@pytest.mark.parametrize(
    "text",
    [
        "y = max({0} for {0} in x)\n",
        "class A:\n    {0} = False\n    graphs = {0}\n",
        "import enum\nclass A(enum.Enum):\n    {0} = 1\n    default = {0}\n",
        "from re import {0}\np = {0}('a')\n",
        "def f(x):\n    from re import {0}\n    return {0}('a')\n",
        "from mha import {0}\n{0}(x)\n",
        "def f(x):\n    [({0} := one) for one in x]\n    return {0}\n",
        "{0} = None\ndef f():\n    global {0}\n    {0} = 1\n    return {0}\n",
        "class A:\n    {0} = [1]\n    y = [one for one in {0}]\n",
        "try:\n    from regex import {0}\nexcept ImportError:\n    from re import {0}\np = {0}('a')\n",
    ],
)
def test_an_own_name_costs_no_points(text, name):
    text = text.format(name)
    compile(text, "decoder.py", "exec")
    assert found(text)[0] == []


@pytest.mark.parametrize(
    "text",
    [
        "import string\nclass A(string.Formatter): ...\n",
        "import abc\nA = abc.ABCMeta('A', (), d)\n",
        "class A:\n    def __reduce_ex__(self, n): return f, ()\n",
        "A = type('A', (), d)\n",
        "import dataclasses\nx = dataclasses.dataclass(init=False)(A)\n",
        "import functools\nf = functools.partial(functools.update_wrapper, assigned=n)\n",
        "import inspect\ninspect.signature(f, **d)\n",
        "import typing\ntyping.ForwardRef(n)\n",
        "from typing import _eval_type\n",
        "import sys\nsys.exc_info()\n",
        "import sys\nsys.__class__ = A\n",
        "from numpy.f2py import crackfortran\n",
        "import types\ntypes.new_class('A', (), d)\n",
        "x = c.cell_contents\n",
        "def look(*both): return getattr(*both)\n",
        "def change(*three): setattr(*three)\n",
        "class A:\n    def f(self, n): return getattr(self, f'tb_{n}')\n",
        "x = template.format(f)\n",
        "x = (a + b).translate(d).format_map(d)\n",
        "try: F.nothing\nexcept AttributeError as e: x = e.obj\n",
        "x = make().gi_code\n",
        "async def f(): ...\nx = f().cr_code\n",
        "c = f.c.replace(co_names=n)\n",
        "type(A).__setattr__(A, n, v)\n",
        "object.__setattr__(*three)\n",
        "import functools\nfunctools.wraps(*three)(f)\n",
        "import numpy as np\nnp.ndarray((1,), dtype=object, buffer=b)\n",
        "import torch\ntorch.sparse_csr_tensor(a, b, c)\n",
        "import matplotlib.pyplot as plt\nplt.getp(a, n)\n",
        "getattr(a, 'z' * 0 + n)\n",
        "getattr(a, 'z' @ n)\n",
        "class A(str):\n    def __radd__(self, other): return self\ngetattr(a, 'z' + A(n))\n",
        "class A(B, **d): ...\n",
        "A.register(type(x))\n",
        "class A(type):\n    def __new__(cls, *a): ...\n",
        "class A(metaclass=M): ...\n",
        "class A:\n    __dict__ = d\n",
        "import numpy as np\nnp.testing.decorate_methods(x, keep)\n",
    ],
)
def test_reflection_by_other_means_is_noted(text):
    compile(text, "decoder.py", "exec")
    assert any(found(text))


def test_a_module_that_cannot_be_searched_hides_nothing_in_the_others():
    number = "0x" + "f" * 4000  # Python refuses to write it in decimals
    for harmful in (f"@same({number})\ndef f(x): ...\n", f"def f(x):\n    return {number} + x\n"):
        sources = {"pe": harmful, "decoder": f"{HEAD}F.scaled_dot_product_attention\n"}
        findings, _ = check_modules(sources, {"known": {}})
        assert any(finding.forbidden for module, finding in findings if module == "decoder"), harmful
