"""What stand-ins keep to themselves."""

from typing import Any

import pytest

from autograder.worker import ready_made_parts
from autograder.worker.modules_from_text import compiled

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
