"""Lines that the search for ready-made parts must find, must note, and must leave alone."""

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"

FORBIDDEN = {
    "imported for a hint and a call": "from torch.nn import Transformer\ndef f(x: Transformer): return Transformer()",
    "called in a hint": "def f(x: nn.Transformer()): pass",
    "parameter named like a module": "import mha\ndef f(mha): return mha.scaled_dot_product_attention(1)",
    "attention module": "a = nn.MultiheadAttention(8, 2)",
    "full path": "a = torch.nn.modules.activation.MultiheadAttention(8, 2)",
    "functional": "x = F.scaled_dot_product_attention(q, k, v)",
    "functional from nn": "x = nn.functional.scaled_dot_product_attention(q, k, v)",
    "forward": "x = F.multi_head_attention_forward(q, k, v)",
    "encoder layer": "layer = nn.TransformerEncoderLayer(8, 2)",
    "whole model": "model = nn.Transformer(8)",
    "imported": "from torch.nn import MultiheadAttention",
    "imported under another name": "from torch.nn import MultiheadAttention as M",
    "layer under another name": "from torch.nn import TransformerDecoderLayer as Layer",
    "module under another name": "import torch.nn.modules.activation as a\nb = a.MultiheadAttention(8, 2)",
    "module of Transformers": "import torch.nn.modules.transformer as t",
    "import in a function": "def f():\n    from torch.nn.functional import scaled_dot_product_attention as s",
    "star": "from torch.nn import *\na = MultiheadAttention(8, 2)",
    "own module's name": "import torch.nn as encoder\nx = encoder.TransformerEncoderLayer(8, 2)",
    "own name for torch": "mha = nn\nlayer = mha.TransformerEncoderLayer(8, 2)",
    "alias": "t = torch\nx = t.nn.functional.scaled_dot_product_attention(q, k, v)",
    "alias of an alias": "a, b = torch, nn\nc = b\nx = c.Transformer(8)",
    "through another module": "import mha\nx = mha.F.scaled_dot_product_attention(q, k, v)",
    "default value": "def f(x, m=nn.MultiheadAttention):\n    return m",
    "unknown base": "x = f()[0].MultiheadAttention(8, 2)",
    "decorator": "@nn.MultiheadAttention\ndef f(): pass",
    "base class": "class A(nn.TransformerEncoder): pass",
    "full-width letters": "a = nn.\N{FULLWIDTH LATIN CAPITAL LETTER M}ultiheadAttention(8, 2)",
    "private function": "x = torch._scaled_dot_product_attention_math(q, k, v)",
    "native": "x = torch._native_multi_head_attention(q)",
    "flash": "x = torch._flash_attention_forward(q, k, v)",
    "flex": "from torch.nn.attention.flex_attention import flex_attention",
    "attention package": "import torch.nn.attention",
    "ops": "x = torch.ops.aten.softmax(q)",
    "C": "x = torch._C._nn",
    "C imported": "from torch._C import _nn",
    "hub": "model = torch.hub.load('a', 'b')",
    "script": "@torch.jit.script\ndef f(x: torch.Tensor): return x.gelu()",
    "script by from": "from torch.jit import script\nf = script(torch.sin)",
    "compilation unit": "m = torch.jit.CompilationUnit('def f(): pass')",
    "cpp": "from torch.utils import cpp_extension",
    "getattr": "a = getattr(nn, 'MultiheadAttention')",
    "getattr of an alias": "g = getattr\na = g(F, 'scaled_dot_product_attention')",
    "getattr in pieces": "a = getattr(object(), 'Multi' + 'headAttention')",
    "getattr by join": "a = getattr(o, ''.join(['scaled_dot', '_product_', 'attention']))",
    "getattr backwards": "a = getattr(o, 'noitnettAdaehitluM'[::-1])",
    "getattr by format": "a = getattr(o, f'{\"Multi\"}headAttention')",
    "eval": "a = eval('nn.' + name)",
    "exec": "exec('a = 1')",
    "exec by another name": "e = exec\ne('a = 1')",
    "compile": "compile('a', 'b', 'exec')",
    "import function": "t = __import__('torch')",
    "builtins": "import builtins",
    "builtins name": "a = __builtins__['getattr']",
    "importlib": "import importlib\nm = importlib.import_module('torch.nn')",
    "importlib of another": "import warnings\nm = warnings.sys",
    "builtins of another": "import dataclasses\nm = dataclasses.builtins",
    "importlib of torch": "m = torch.importlib",
    "ctypes": "import ctypes",
    "sys.modules": "import sys\nm = sys.modules['torch.nn']",
    "sys.modules imported": "from sys import modules",
    "frames": "import sys\nf = sys._getframe(1)",
    "gc": "import gc\no = gc.get_objects()",
    "inspect": "import inspect\no = inspect.stack()",
    "vars": "a = vars(nn)['Linear']",
    "vars in a variable": "space = vars(F)",
    "dict": "a = F.__dict__[name]",
    "globals": "a = globals()[name]",
    "globals get": "a = globals().get(name)",
    "globals of a function": "a = F.softmax.__globals__[name]",
    "subclasses": "a = nn.Module.__subclasses__()",
    "sys by another module": "import torch\na = torch.utils.collections._sys.modules['gc']",
    "pickle": "import pickle\na = pickle.loads(b'')",
    "type hints": "import typing\na = typing.get_type_hints(f)",
    "format field": "import string\na = string.Formatter().get_field(name, (nn,), {})",
    "match": "match nn:\n    case object(MultiheadAttention=m): pass",
    "transformers": "import transformers",
    "torchvision": "from torchvision.models import VisionTransformer",
    "stand-in": "from standin_mha import MultiHeadAttention",
    "grader": "import autograder.assignments.transformer.standins.mha",
    "getattribute": "a = nn.__getattribute__('MultiheadAttention').__globals__",
}

REVIEW = {
    "a module of torch under a short name": "def f(home): return home\na = f(torch.functional.F)",
    "torch behind a parameter": "def f(home): return home.torch",
    "getattr computed": "def f(name):\n    return getattr(nn, name)",
    "getattr by bytes": "a = getattr(F, bytes([115, 100]).decode())",
    "getattr by walrus": "a = getattr((m := nn), name)",
    "getattr of one of two": "a = getattr(nn if q else F, name)",
    "getattr in a loop": "for m in (nn, F):\n    getattr(m, name)",
    "class in a hint": "def f(x: Optional[nn.MultiheadAttention]) -> dict[str, nn.Transformer]:\n    return x",
    "class in a dataclass": "@dataclass\nclass A:\n    layers: list[nn.TransformerEncoderLayer]",
    "class compared": "a = type(q) is nn.MultiheadAttention",
    "class matched": "match q:\n    case nn.MultiheadAttention():\n        pass",
    "class imported for a hint": "from torch.nn import Transformer\ndef f(x: Transformer): pass",
    "computed attributes of self": "class A:\n  def f(self, d):\n    for n in d: setattr(self, n, 1)",
    "attrgetter": "from operator import attrgetter\na = attrgetter('b')(nn)",
    "attrgetter by another module": "import typing\na = typing.operator.attrgetter('sys.modules')(typing)",
    "attrgetter of nobody knows what": "for a in [nn]:\n    b = a.operator.methodcaller('get', 'x')(a)",
    "attrgetter of the module": "import operator\na = operator.attrgetter(name)(nn)",
    "a door into the standard library": "a = torch.glob.re",
    "a door of NumPy": "import numpy as np\na = np.ma.core.re",
    "torch by another way, as an argument": "a = f(F.torch)",
    "torch by another way, in a list": "self = [nn.functional.torch][0]",
    "a dispatch mode": "from torch.utils.checkpoint import TorchDispatchMode",
    "an override": "class T(torch.Tensor):\n    def __torch_function__(cls, *a):\n        return a",
    "isinstance of a function": "import types\na = isinstance(f, types.FunctionType)",
    "os": "import os",
    "pandas": "import pandas as pd",
    "star of torch": "from torch import *",
    "private part of torch": "torch._assert(True, 'x')",
    "load": "w = torch.load('w.pt')",
    "jit": "f = torch.jit.trace(torch.sin, torch.ones(2))",
    "constant name": "a = getattr(torch, 'float32')",
    "computed name of something": "def f(layer, name):\n    return getattr(layer, name)",
    "mask of torch": "mask = nn.Transformer.generate_square_subsequent_mask(5)",
    "dunder": "a = object().__reduce__()",
    "own dict": "class A:\n    def f(self):\n        return self.__dict__",
    "vars of self": "class A:\n    def f(self):\n        return vars(self)['a']",
    "name in a string": "layers = {'MultiheadAttention': 1}",
    "locals": "print(locals())",
    "relative import": "from .mha import MultiHeadAttention",
    "private of another module": "from mha import _project",
    "getattr passed on": "import functools\na = functools.reduce(getattr, names, torch)",
    "pickle": "import pickle",
    "eval as a variable": "eval = 5\nprint(eval)",
}

FINE = {
    "docstring": '"""Do not use nn.MultiheadAttention."""',
    "docstring of a method": 'class A:\n    def f(self):\n        """Like F.scaled_dot_product_attention."""',
    "name in a docstring": 'class A:\n    """MultiheadAttention"""',
    "comment": "x = 1  # nn.TransformerEncoderLayer does the same",
    "message": "raise ValueError('nn.MultiheadAttention is not allowed here')",
    "usual imports": """
        from __future__ import annotations
        import copy, math, random, warnings, typing, time, itertools, functools, collections
        import numpy as np
        import matplotlib.pyplot as plt
        from dataclasses import dataclass
        from collections import OrderedDict, defaultdict
        from collections.abc import Sequence
        from functools import lru_cache, partial
        from typing import Any, Optional, Tuple
        """,
    "parts of torch": """
        from torch import Tensor
        from torch.nn import Dropout, Embedding, LayerNorm, Linear, Module, ModuleList, Parameter
        from torch.nn.parameter import Parameter
        from torch.nn.utils.rnn import pad_sequence
        from torch.nn import functional as F
        import torch.nn.init as init
        torch.manual_seed(0)
        torch.nn.utils.clip_grad_norm_([], 1.0)
        init.xavier_uniform_(w)
        version = torch.__version__
        compiled = torch.compile(f)
        """,
    "own modules": """
        import encoder
        import mha
        from decoder import TransformerDecoder, TransformerDecoderLayer
        from encoder import TransformerEncoder as Encoder
        layer = encoder.TransformerEncoderLayer(8, 16, 2, 0.1)
        attention = mha.MultiHeadAttention(8, 2)
        """,
    "own classes": """
        class TransformerEncoderLayer(nn.Module): pass
        class TransformerEncoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([TransformerEncoderLayer() for _ in range(2)])
                self.register_buffer("pe", torch.zeros(1))
                self.W_q = nn.Linear(8, 8)
            def extra_repr(self):
                return f"{self.__class__.__name__}({type(self).__name__})"
        """,
    "own function of that name": """
        def scaled_dot_product_attention(q, k, v, mask=None):
            return (q @ k.mT).softmax(-1) @ v
        x = scaled_dot_product_attention(q, k, v)
        """,
    "own method of that name": """
        class A(nn.Module):
            def scaled_dot_product_attention(self, q, k, v):
                return (q @ k.mT).softmax(-1) @ v
            def forward(self, q, k, v):
                return self.scaled_dot_product_attention(q, k, v)
        """,
    "the interface": "x = self.self_attn.compute_scaled_dot_product_attention(q, k, v, mask)",
    "attributes by number": "class A:\n    def f(self, i):\n        return getattr(self, f'layer{i}')",
    "optional attribute": "a = getattr(layer, 'encoder_attn', None)",
    "hasattr": "a = hasattr(layer, 'encoder_attn')",
    "evaluation mode": "model.eval()",
    "regular expression": "import re\np = re.compile('a')",
    "inspect.signature": "import inspect\ns = inspect.signature(f)",
    "gc.collect": "import gc\ngc.collect()",
    "gc.disable": "import gc\ngc.disable()\ngc.freeze()",
    "sys.maxsize": "import sys\nn = sys.maxsize",
    "modules": "for m in model.modules(): print(m)",
    "lower case": "class A:\n    def f(self):\n        return self.transformer, self.attention, model.transformer",
    "texts put together": "name = 'encoder' + '.layers.' + str(1) + f'{1}.weight'",
    "subscripts": "x = d['encoder'][0][:, ::-1]",
    "main": "if __name__ == '__main__':\n    print(TransformerEncoder)",
    "inherited setattr": "class A(nn.Module):\n    def __getattr__(self, name):\n        return 1",
}
