"""Ready-made attention in Python: what a worker keeps of torch, and that no door in it leads to attention."""

import subprocess
import sys

from autograder.worker.allowed_modules import NAMES, PACKAGES, is_kept
from autograder.worker.allowed_torch_modules import KEPT
from tests.support.confining import ROOT

# Packages of torch that were looked at, and of which nothing is kept but what the list names.
SEEN = """
torch._awaits torch._custom_op torch._custom_ops torch._decomp torch._dispatch torch._dynamo torch._environment
torch._export torch._functorch torch._guards torch._higher_order_ops torch._inductor torch._library torch._logging
torch._meta_registrations torch._native torch._numpy torch._prims torch._prims_common torch._refs torch._strobelight
torch._subclasses torch._tensor_iterator torch._vendor torch.ao torch.distributed torch.export torch.fx torch.masked
torch.nested torch.nn.attention torch.nn.intrinsic torch.nn.qat torch.nn.quantizable torch.nn.quantized torch.nn.utils
torch.onnx torch.package torch.quantization torch.testing torch.utils torch._lazy
"""

LOADED = """
import sys, torch
from autograder.sandbox.worker_processes import OPTIONAL
import importlib, contextlib
for name in OPTIONAL:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
print(*(name for name in sys.modules if name.partition(".")[0] == "torch"))
"""


def test_a_person_has_looked_at_every_module_of_torch():
    """Fails with a new torch: whoever updates it decides for each new module whether students may reach it."""
    done = subprocess.run([sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    unknown = [
        n for n in loaded if not is_kept(n) and not any(n == one or n.startswith(one + ".") for one in SEEN.split())
    ]
    assert unknown == [], "neither in allowed_torch_modules.py nor in SEEN"
    assert len(loaded) > 500


def test_the_list():
    assert sorted(set(KEPT)) == KEPT
    assert all(not is_kept(name) for name in SEEN.split() if name not in NAMES | PACKAGES)
    assert is_kept("numpy.linalg")
    assert is_kept("torch.nn.modules.activation")
    assert not is_kept("torch.nnx")
