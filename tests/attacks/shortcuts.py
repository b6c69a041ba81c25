"""Attacks that use a ready-made attention. All give the right values: only the source check stands against them.

52 and 53 must be found. 54 are ways that no list of names covers; there at least a note must call a person. So it must
where a name is computed while the program runs, as honest code does for a dtype; there a worker refuses the call.
"""

from dataclasses import dataclass

from tests.attacks.attack import Attack

ATTENTION = """
import math
import torch
from torch import nn
import torch.nn.functional as F
{top}

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.d_model, self.num_heads, self.d_k = d_model, num_heads, d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def compute_mh_qkv_transformation(self, Q, K, V):
        def split(x):
            return x.reshape(x.size(0), x.size(1), self.num_heads, self.d_k).transpose(1, 2)
        return split(self.W_q(Q)), split(self.W_k(K)), split(self.W_v(V))

    def compute_scaled_dot_product_attention(self, query, key, value, key_padding_mask=None, attention_mask=None):
        B, _, T_q, _ = query.shape
        allowed = torch.ones(B, 1, T_q, key.size(2), dtype=torch.bool)
        if key_padding_mask is not None:
            allowed = allowed & (key_padding_mask == 0)[:, None, None, :]
        if attention_mask is not None:
            allowed = allowed & (attention_mask == 0)[:, None]
        allowed = allowed | ~allowed.any(dim=-1, keepdim=True)
        x = {attend}
        return x.transpose(1, 2).reshape(B, T_q, self.d_model)

    def forward(self, query, key, value, key_padding_mask=None, attention_mask=None):
        q, k, v = self.compute_mh_qkv_transformation(query, key, value)
        return self.W_o(self.compute_scaled_dot_product_attention(q, k, v, key_padding_mask, attention_mask))
"""
ARGUMENTS = "query, key, value, attn_mask=allowed"
HONEST = ATTENTION.format(
    top="",
    attend="(query @ key.transpose(-1, -2) / math.sqrt(self.d_k)).masked_fill(~allowed, -1e9).softmax(-1) @ value",
)

# name: (lines at the top, the function that attends)
DIRECT = {
    "F": ("", "F.scaled_dot_product_attention"),
    "the whole path": ("", "torch.nn.functional.scaled_dot_product_attention"),
    "from the module": (
        "from torch.nn.functional import scaled_dot_product_attention as softmax",
        "softmax",
    ),
    "an alias of the module": ("import torch.nn.functional as math2", "math2.scaled_dot_product_attention"),
    "an alias in a variable": ("tools = F\nattend = tools.scaled_dot_product_attention", "attend"),
    "an alias in a default": (
        "def attend(*arguments, how=F.scaled_dot_product_attention, **options):\n    return how(*arguments, **options)",
        "attend",
    ),
    "an import of everything": ("from torch.nn.functional import *", "scaled_dot_product_attention"),
    "C": ("", "torch._C._nn.scaled_dot_product_attention"),
    "the operators": ("", "torch.ops.aten.scaled_dot_product_attention"),
    "letters of another alphabet": ("", "F.\u017fcaled_dot_product_attention"),
    "broad letters": ("", "F.\uff53\uff43\uff41\uff4c\uff45\uff44_dot_product_attention"),
    "a pattern": (
        "match F:\n    case object(scaled_dot_product_attention=attend):\n        pass",
        "attend",
    ),
    "a class of torch": (
        "ready = nn.MultiheadAttention(4, 2)\nattend = F.scaled_dot_product_attention",
        "attend",
    ),
    "a base class": (
        (
            "class Ready(nn.TransformerEncoderLayer):\n    pass\nfrom torch.nn import functional as g\n"
            "attend = g.scaled_dot_product_attention"
        ),
        "attend",
    ),
    "the module that defines it": (
        "from torch.nn.modules.activation import F as g\nattend = g.scaled_dot_product_attention",
        "attend",
    ),
}
BY_STRING = {
    "getattr": ("", "getattr(F, 'scaled_dot_product_attention')"),
    "getattr of pieces": ("", "getattr(F, 'scaled_' + 'dot_product' + '_attention')"),
    "getattr of letters": ("", "getattr(F, bytes([c ^ 1 for c in b'rb`mde^enu^qsnetbu^`uudouhno']).decode())"),
    "a dictionary": ("", "F.__dict__['scaled_dot_product_attention']"),
    "vars": ("", "vars(F)['scaled_dot' + '_product_attention']"),
    "eval": ("", "eval('F.scaled_dot' + '_product_attention')"),
    "exec": ("exec('attend = F.scaled_dot' + '_product_attention')", "attend"),
    "__import__": (
        "attend = getattr(__import__('torch').nn.functional, 'scaled_dot' + '_product_attention')",
        "attend",
    ),
    "importlib": (
        "import importlib\nattend = getattr(importlib.import_module('torch.nn.functional'), 'scaled' + REST)",
        "attend",
    ),
    "attrgetter": (
        "import operator\nattend = operator.attrgetter('scaled_dot' + '_product_attention')(F)",
        "attend",
    ),
    "sys.modules": (
        "import sys\nattend = sys.modules['torch.nn.functional'].__dict__['scaled_dot' + '_product_attention']",
        "attend",
    ),
    "globals": (
        "from torch.nn import functional\nattend = globals()['functional'].__dict__['scaled' + REST]",
        "attend",
    ),
    "__getattribute__": ("", "F.__getattribute__('scaled_dot' + '_product_attention')"),
    "an alias of getattr": ("look = getattr\nattend = look(F, 'scaled_dot' + '_product_attention')", "attend"),
    "builtins": (
        "import builtins\nattend = builtins.getattr(F, 'scaled_dot' + '_product_attention')",
        "attend",
    ),
    "__builtins__": ("attend = __builtins__['getattr'](F, 'scaled_dot' + '_product_attention')", "attend"),
    "a search": (
        "attend = [value for name, value in F.__dict__.items() if name.startswith('scaled_dot')][0]",
        "attend",
    ),
    "dir": ("attend = getattr(F, [name for name in dir(F) if name.startswith('scaled_d')][0])", "attend"),
    "compile": ("exec(compile('attend = F.scaled_dot' + '_product_attention', 'x', 'exec'))", "attend"),
}
REFUSED = {"getattr of letters", "dir"}  # noted in the text; the call costs its own function
HIDDEN = {
    "subclasses": (
        (
            "attend = [c for c in nn.Module.__subclasses__() if c.__name__.startswith('Multi')][0].forward.__globals__"
            "['F'].__dict__['scaled' + REST]"
        ),
        "attend",
    ),
    "gc": (
        (
            "import gc\nname = 'scaled' + REST\n"
            "attend = [d[name] for d in gc.get_objects() if isinstance(d, dict) and callable(d.get(name))][0]"
        ),
        "attend",
    ),
    "the overrides of torch": (
        (
            "import torch.overrides\n"
            "attend = [f for f in torch.overrides.get_testing_overrides() if str(f).count('scaled_dot_product_att')][0]"
        ),
        "attend",
    ),
    "pickle": (
        "import pickle\nattend = pickle.loads(b'ctorch.nn.functional\\nscaled_dot_product_attention\\n.')",
        "attend",
    ),
    "inspect": (
        "import inspect\nattend = dict(inspect.getmembers(F))['scaled_dot' + '_product_attention']",
        "attend",
    ),
    "typing": (
        ("import typing\nattend = typing.ForwardRef('F.scaled' + REST)._evaluate(globals(), None, frozenset())"),
        "attend",
    ),
    "the code of a function": (
        (
            "def attend(*a, **k):\n    return F.softmax(*a, **k)\n"
            "attend.__code__ = attend.__code__.replace(co_names=('F', 'scaled_dot' + '_product_attention'))"
        ),
        "attend",
    ),
    "a text of format": (
        (
            "class Keep(dict):\n    def __format__(self, spec):\n        return ''\n"
            "import string\nattend = string.Formatter().get_field('0.scaled' + REST, (F,), {})[0]"
        ),
        "attend",
    ),
    "pkgutil": ("import pkgutil\nattend = pkgutil.resolve_name('torch.nn.functional:scaled' + REST)", "attend"),
    "a thread that undoes a patch": (
        (
            "import threading\nattend = []\nthread = threading.Thread(target=lambda: attend.append(F.__dict__['scaled'+"
            "REST]))\nthread.run()\nattend = attend[0]"
        ),
        "attend",
    ),
    "the stack": ("import sys\nattend = sys._getframe(0).f_globals['F'].__dict__['scaled' + REST]", "attend"),
    "a sum that the check cannot climb": (
        "x = " + "+".join(["1"] * 1500) + "\nattend = F.__dict__['scaled' + REST]",
        "attend",
    ),
}


@dataclass(frozen=True)
class Shortcut(Attack):
    """An attack on the source check."""

    found: bool = True  # otherwise a note for the instructor is enough


def shortcut(number: int, name: str, top: str, attend: str) -> Shortcut:
    top = "REST = '_dot_product_attention'\n" + top if "REST" in top else top
    text = ATTENTION.format(top=top, attend=f"{attend}({ARGUMENTS})")
    return Shortcut(number, name, text, module="mha", tries=False, found=number < 54 and name not in REFUSED)


ATTACKS = [
    shortcut(number, name, top, attend)
    for number, ways in ((52, DIRECT), (53, BY_STRING), (54, HIDDEN))
    for name, (top, attend) in ways.items()
]
