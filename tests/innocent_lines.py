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

from autograder.sandbox.worker_processes import OPTIONAL

MODULES = [
    "torch",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.nn.utils",
    "torch.nn.utils.rnn",
    "torch.nn.utils.parametrize",
    "torch.nn.utils.parametrizations",
    "torch.nn.parameter",
    "torch.nn.modules",
    "torch.utils",
    "torch.utils.data",
    "torch.utils.checkpoint",
    "torch.utils.hooks",
    "torch.utils.dlpack",
    "torch.utils.deterministic",
    "torch.autograd",
    "torch.autograd.functional",
    "torch.autograd.profiler",
    "torch.autograd.forward_ad",
    "torch.autograd.graph",
    "torch.optim",
    "torch.optim.lr_scheduler",
    "torch.optim.swa_utils",
    "torch.func",
    "torch.linalg",
    "torch.fft",
    "torch.special",
    "torch.distributions",
    "torch.random",
    "torch.amp",
    "torch.jit",
    "torch.cuda",
    "torch.backends",
    "torch.backends.cudnn",
    "torch.profiler",
    "torch.sparse",
    "torch.nested",
    "torch.testing",
    "torch.overrides",
    "torch.types",
    "torch.compiler",
    "torch.signal.windows",
    "torch.serialization",
    "torch.storage",
    "torch.futures",
    "torch.library",
    "torch.mps",
    "torch.cpu",
    "torch.xpu",
    "torch.accelerator",
    "torch.version",
    "torch.distributed",
    "numpy",
    "numpy.linalg",
    "numpy.random",
    "numpy.fft",
    "numpy.ma",
    "numpy.testing",
    "numpy.polynomial",
    "numpy.char",
    "numpy.lib",
    "numpy.typing",
    "numpy.exceptions",
    "math",
    "cmath",
    "random",
    "statistics",
    "itertools",
    "functools",
    "collections",
    "collections.abc",
    "operator",
    "string",
    "re",
    "json",
    "copy",
    "datetime",
    "textwrap",
    "bisect",
    "heapq",
    "dataclasses",
    "typing",
    "enum",
    "contextlib",
    "abc",
    "types",
    "numbers",
    "decimal",
    "fractions",
    "warnings",
    "logging",
    "inspect",
    "traceback",
    "pprint",
    "timeit",
    "uuid",
    "hashlib",
    "struct",
    "array",
    "calendar",
    "weakref",
    "keyword",
    "matplotlib.pyplot",
    "course",
]
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
    r"|torch\.Tensor\.(xpu|cuda|mtia|ipu|hpu|module_load|share_memory_)"
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
    for module in MODULES:
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
    return max((module for module in MODULES if path.startswith(module + ".")), key=len)


def text_of(chosen: list[str]) -> str:
    """A module that tries these lines."""
    tried = "\n".join(f"LINES.append(lambda x, m, o, i, p, f, n: {line})" for line in chosen)
    return USE + _roots(list({module_of(line) for line in chosen})) + "\n" + tried + "\n"


def wanted(line: str) -> frozenset[str]:
    """What a worker has to be provided with for a line."""
    text = f"import {module_of(line)}\n{line}"
    return frozenset(name for name, words in OPTIONAL.items() if re.search(words, text))


PROGRAMS = [
    # devices
    "torch.set_default_device('cpu'); return torch.ones(2).sum().item()",
    "torch.set_default_device('cuda' if torch.cuda.is_available() else 'cpu'); return torch.ones(2).sum().item()",
    "with torch.device('cpu'):\n    return torch.ones(2).sum().item()",
    "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\nwith device:\n    return str(nn.Linear(2, 2))",
    "return str(torch.get_default_device())",
    "return nn.Linear(2, 2).to(torch.get_default_device()).weight.device.type",
    "torch.set_default_device(None); return 1",
    "return str(torch.accelerator.current_accelerator())",
    "return torch.cuda.device_count() + torch.backends.mps.is_available()",
    "with torch.autocast('cpu', torch.bfloat16):\n    return str((torch.ones(2, 2) @ torch.ones(2, 2)).dtype)",
    # gradients
    "x = torch.ones(3, dtype=torch.float64, requires_grad=True)\nreturn torch.autograd.gradcheck(lambda t: t * t, (x,))",
    "from torch.autograd import gradcheck\nx = torch.ones(3, dtype=torch.float64).requires_grad_()\n"
    "return gradcheck(torch.sin, x)",
    "x = torch.ones(3, requires_grad=True)\n(x * x).backward(torch.ones(3))\nreturn x.grad.sum().item()",
    "x = torch.ones(3, requires_grad=True)\n(x * x).backward(gradient=torch.ones(3))\nreturn x.grad.sum().item()",
    "x = torch.ones(3, requires_grad=True)\ny = x * x\nreturn torch.autograd.grad(y, x, torch.ones(3))[0].sum().item()",
    "from torch.autograd.functional import jacobian, hessian, vjp\n"
    "return hessian(lambda x: (x ** 3).sum(), torch.ones(2)).sum().item()",
    "from torch.autograd.functional import vjp\nreturn vjp(lambda x: x * x, torch.ones(2), torch.ones(2))[1].sum().item()",
    "from torch.func import vmap, grad\nreturn vmap(grad(lambda x: x * x))(torch.ones(3)).sum().item()",
    "from torch import func\nreturn func.jacrev(lambda x: x * x)(torch.ones(3)).sum().item()",
    "return torch.func.jvp(torch.sin, (torch.ones(2),), (torch.ones(2),))[1].sum().item()",
    "import torch.autograd.forward_ad as fwAD\nwith fwAD.dual_level():\n"
    "    dual = fwAD.make_dual(torch.ones(2), torch.ones(2))\n    return fwAD.unpack_dual(dual * dual).tangent.sum().item()",
    "from torch.utils.checkpoint import checkpoint\nx = torch.ones(3, requires_grad=True)\n"
    "checkpoint(torch.sin, x, use_reentrant=False).sum().backward()\nreturn x.grad.sum().item()",
    "class Double(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return 2 * x\n"
    "    @staticmethod\n    def backward(ctx, g):\n        return 2 * g\n"
    "x = torch.ones(3, requires_grad=True)\nDouble.apply(x).sum().backward()\nreturn x.grad.sum().item()",
    "with torch.autograd.set_detect_anomaly(True):\n    x = torch.ones(3, requires_grad=True)\n"
    "    x.exp().sum().backward()\n    return x.grad.sum().item()",
    "@torch.no_grad()\ndef f(x):\n    return x.sum().item()\nreturn f(torch.ones(2))",
    "@torch.inference_mode()\ndef f(x):\n    return x.sum().item()\nreturn f(torch.ones(2))",
    # training
    "model = nn.Linear(2, 2)\nstep = torch.optim.AdamW(model.parameters())\n"
    "plan = torch.optim.lr_scheduler.LambdaLR(step, lambda k: 1 / (k + 1))\n"
    "model(torch.ones(2)).sum().backward()\nnn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
    "step.step(); plan.step(); step.zero_grad()\nreturn 1",
    "from torch.utils.data import DataLoader, TensorDataset\n"
    "return len([b for b in DataLoader(TensorDataset(torch.ones(4, 2)), batch_size=2, shuffle=True)])",
    "return F.cross_entropy(torch.rand(4, 3), torch.tensor([0, 1, 2, 0]), label_smoothing=0.1).item()",
    "return nn.BCELoss(weight=torch.ones(3))(torch.full((3,), 0.5), torch.ones(3)).item()",
    "scaler = torch.amp.GradScaler('cpu', enabled=False)\nreturn scaler.is_enabled() + 1",
    # how code is looked at
    "with torch.profiler.profile() as prof:\n    torch.ones(3).sum()\nreturn len(prof.key_averages())",
    "from torch.profiler import profile, record_function, ProfilerActivity\n"
    "with profile(activities=[ProfilerActivity.CPU]) as prof:\n    with record_function('x'):\n        torch.ones(3).sum()\n"
    "return len(prof.key_averages().table())",
    "with torch.autograd.profiler.profile() as prof:\n    torch.ones(3).sum()\nreturn len(str(prof))",
    "import cProfile\np = cProfile.Profile()\np.enable(); torch.ones(3).sum(); p.disable()\nreturn 1",
    "import timeit\nreturn timeit.timeit(lambda: torch.ones(2), number=2) > 0",
    "import time\nstart = time.perf_counter(); time.sleep(0.001)\nreturn time.perf_counter() > start",
    "torch.testing.assert_close(torch.ones(2), torch.ones(2)); return 1",
    "from torch.testing import assert_close\nassert_close(torch.ones(2), torch.ones(2)); return 1",
    "import numpy as np\nnp.testing.assert_allclose(np.ones(2), np.ones(2)); return 1",
    "torch.set_printoptions(precision=2, sci_mode=False); return len(repr(torch.rand(3, 3)))",
    "return len(repr(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.LayerNorm(2))))",
    "torch.use_deterministic_algorithms(True); return 1",
    "torch.backends.cudnn.deterministic = True; torch.manual_seed(0); return 1",
    "torch.autograd.set_detect_anomaly(False); torch.set_float32_matmul_precision('high'); return 1",
    # shapes
    "return torch.broadcast_shapes((2, 1), (1, 3))[1]",
    "return torch.unravel_index(torch.tensor(3), (2, 2))[0].item()",
    "return torch.einsum('bqd,bkd->bqk', torch.ones(1, 2, 3), torch.ones(1, 2, 3)).sum().item()",
    "a, b = torch.meshgrid(torch.arange(2), torch.arange(3), indexing='ij'); return a.sum().item() + 1",
    "return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]).numel()",
    "from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence\n"
    "packed = pack_padded_sequence(torch.ones(2, 3, 4), torch.tensor([3, 2]), batch_first=True)\n"
    "return pad_packed_sequence(nn.GRU(4, 4, batch_first=True)(packed)[0], batch_first=True)[0].size(1)",
    "from torch.nn.utils.parametrizations import weight_norm\nreturn weight_norm(nn.Linear(2, 2))(torch.ones(2)).numel()",
    "return torch.distributions.Categorical(logits=torch.zeros(3)).entropy().item()",
    "return torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)).sample().numel()",
    "@torch.compile\ndef f(x):\n    return x + 1\nreturn f(torch.ones(2)).sum().item()",
    "return torch.compile(nn.Linear(2, 2), mode='max-autotune')(torch.ones(2)).numel()",
    "@torch.compiler.disable\ndef f(x):\n    return x + 1\nreturn f(torch.ones(2)).sum().item()",
    "return 1 + torch.compiler.is_compiling()",
    # Python
    "import warnings\nwarnings.filterwarnings('ignore')\nwarnings.warn('x'); return 1",
    "import logging\nlogging.basicConfig(level=logging.INFO)\nlogging.getLogger(__name__).info('x'); return 1",
    "from dataclasses import dataclass, field\n@dataclass\nclass A:\n    x: int = 1\n    y: list = field(default_factory=list)"
    "\nreturn A().x",
    "from typing import NamedTuple, Optional, get_type_hints\nclass A(NamedTuple):\n    x: Optional[int] = 1\n"
    "return len(get_type_hints(A))",
    "import copy\nreturn len(list(copy.deepcopy(nn.Sequential(nn.Linear(2, 2))).parameters()))",
    "import functools\n@functools.lru_cache\ndef f(n):\n    return n + 1\nreturn functools.reduce(lambda a, b: a + b, [f(1)])",
    "import random, numpy as np\nrandom.seed(0); np.random.seed(0); torch.manual_seed(0)\nreturn random.random() + 1",
    "import os\nos.environ['KMP_DUPLICATE_LIB_OK'] = 'TRUE'\nreturn len(os.environ)",
    "import os\nreturn 1 + os.path.exists('no_such_file.pt')",
    "from pathlib import Path\nreturn 1 + Path('no_such_file.pt').exists()",
    "import sys\nsys.setrecursionlimit(3000); return sys.version_info[0]",
    "import traceback\ntry:\n    torch.ones(2) @ torch.ones(3)\nexcept RuntimeError:\n    return len(traceback.format_exc())",
    "import io, contextlib\nout = io.StringIO()\nwith contextlib.redirect_stdout(out):\n    print('x')\n"
    "return len(out.getvalue())",
    "import io\nfile = io.BytesIO()\ntorch.save(nn.Linear(2, 2).state_dict(), file)\nfile.seek(0)\n"
    "return len(torch.load(file))",
    "import pickle\nreturn pickle.loads(pickle.dumps(torch.ones(2))).sum().item()",
    "import inspect\nreturn len(inspect.signature(nn.Linear.forward).parameters)",
    "try:\n    from tqdm import tqdm\nexcept ImportError:\n    tqdm = list\nreturn len([k for k in tqdm(range(3))])",
    "try:\n    import einops\nexcept ImportError:\n    return 1\n"
    "return einops.rearrange(torch.ones(2, 4), 'a (b c) -> b a c', b=2).size(0)",
    "import platform, getpass, locale\nreturn len(platform.python_version())",
    "from concurrent.futures import ThreadPoolExecutor\nimport threading, multiprocessing, subprocess, socket\nreturn 1",
    # pictures
    "import matplotlib.pyplot as plt\nfig = plt.figure(figsize=(2, 2)); plt.plot([1, 2], label='a'); plt.legend()\n"
    "plt.title('$x_1$'); plt.xlabel('k'); plt.grid(True); plt.show(); plt.close(fig); return 1",
    "import matplotlib.pyplot as plt\nfig, axes = plt.subplots(1, 2)\nim = axes[0].imshow(torch.rand(3, 3).numpy())\n"
    "fig.colorbar(im); fig.suptitle('t'); plt.tight_layout(); plt.close('all'); return 1",
    "import io\nimport matplotlib\nmatplotlib.use('Agg')\nfrom matplotlib import pyplot as plt\nplt.hist([1, 2])\n"
    "plt.yscale('log'); plt.savefig(io.BytesIO(), format='png'); return 1",
    "import matplotlib.pyplot as plt, matplotlib.ticker as ticker, matplotlib.cm as cm\nplt.rcParams['font.size'] = 8\n"
    "plt.matshow(torch.eye(3)); plt.close(); return 1",
    "from course import show_heatmaps\n"
    "return len(str(show_heatmaps(torch.rand(1, 1, 3, 3), xlabel='key', ylabel='query')))",
    "from course import show_curves, show_attention, pad, check, edit_distance\nreturn edit_distance('ab', 'ac')",
    "import course\nreturn len(course.pad([[1, 2], [3]]))",
]
PREFIX = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\ntorch.set_grad_enabled(True)\n"

# What no worker does, confined or not, with the reason.
REFUSED = {
    "files": [
        "return len(open('/etc/hostname').read())",
        "open('here.txt', 'w').write('x')",
        "torch.save(torch.ones(2), 'here.pt')",
        "import numpy as np\nnp.save('here.npy', np.ones(2))",
        "import os\nos.makedirs('here/there', exist_ok=True)",
        "import matplotlib.pyplot as plt\nplt.plot([1]); plt.savefig('here.png')",
        "import tempfile\ntempfile.NamedTemporaryFile()",
        "import logging\nlogging.FileHandler('here.log')",
    ],
    "processes and threads": [
        "import subprocess\nsubprocess.run(['true'])",
        "import threading\nthreading.Thread(target=print).start()",
        "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor().submit(print)",
        "from torch.utils.data import DataLoader\nreturn len(list(DataLoader([1, 2], num_workers=1)))",
    ],
    "network": [
        "import socket\nsocket.socket()",
        "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:9')",
        "torch.hub.load_state_dict_from_url('http://127.0.0.1:9/x.pt')",
    ],
    "parts of torch that lead to ready-made ones": [
        "import torch.onnx",
        "import torch._dynamo",
        "import torch.ao.nn.quantizable",
        "from torch.nn.attention.flex_attention import flex_attention",
        "from torch.masked import masked_tensor",
        "return torch.nn.quantized",
        "return torch._higher_order_ops",
        "return torch._inductor",
        "torch.optim.SGD([nn.Parameter(torch.ones(2))], 0.1)\nreturn torch._dynamo",
    ],
}
