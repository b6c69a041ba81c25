"""What stand-ins keep to themselves, and what is removed from a worker."""

from typing import Any

import pytest

from autograder.sandbox.remote_modules import Student
from autograder.sandbox.remote_values import Code
from autograder.sandbox.student_faults import Forbidden, Raised
from autograder.worker import ready_made_parts
from autograder.worker.modules_from_text import compiled
from tests.support.confining import needs_confinement

STANDIN = """
class Layer:
    def forward(self, x):
        return self._twice(x) + _one(x)

    def _twice(self, x):
        return 2 * x


def _one(x):
    return 1


def call(x):
    return Layer().forward(x)
"""
WAYS = {
    "the function": "standin['_one'](3)",
    "through the globals of a public function": "standin['call'].__globals__['_one'](3)",
    "the method": "standin['Layer']()._twice(3)",
    "the method under another name": "standin['Layer'].__dict__['_twice'](None, 3)",
}


@pytest.mark.parametrize("way", WAYS)
def test_private_functions_work_for_stand_ins_only(way):
    code = compiled("<stand-in heads>", STANDIN)
    ready_made_parts.trust(code)
    standin: dict[str, Any] = {"__name__": "heads"}
    exec(code, standin)
    ready_made_parts.keep_private(standin)
    student: dict[str, Any] = {"standin": standin}
    exec(
        compiled("mha.py", f"def public():\n    return standin['call'](3)\ndef private():\n    return {WAYS[way]}"),
        student,
    )
    assert student["public"]() == 7
    with pytest.raises(ready_made_parts.ReadyMade, match=r"heads\._"):
        student["private"]()


REMOVED = {
    "Python versions in hidden modules": (
        "hidden = __import__('builtins').__import__.__globals__['HIDDEN']\n"
        "hidden['torch._refs.nn.functional'].gelu(torch.ones(2))"
    ),
    "the operator's argument": (
        "call, _ = torch._C._jit_get_operation('aten::cross_entropy_loss')\n"
        "call(torch.zeros(2, 3), torch.tensor([1, 2]), None, 1, -100, 0.1)"
    ),
    "the operator": "torch._C._jit_get_operation('aten::gelu')[0](torch.ones(2))",
    "the replaced kernels": "torch._C._dispatch_library('IMPL', 'aten', '', 'own.py', 1).reset()",
}


@needs_confinement
@pytest.mark.parametrize("what", REMOVED)
def test_what_a_stage_forbids_is_removed_everywhere(bare_confined, what):
    """In bare workers, where code can find all of these."""
    lines = "".join(f"    {line}\n" for line in REMOVED[what].splitlines())
    code = Code(
        {"own": f"import torch\ndef call():\n{lines}    return 1\n"},
        replace={},
        modules=("own",),
        forbids=("F.gelu", "F.cross_entropy(label_smoothing)"),
    )
    student = Student(bare_confined, code)
    try:
        with pytest.raises((Forbidden, Raised), match=r"is a ready-made part|has no attribute"):
            student.own.call()
    finally:
        student.close()
