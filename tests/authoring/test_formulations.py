"""Correct programs that are kept as differences from the solution."""

import ast

import pytest

from autograder.authoring.formulations import with_differences

SOURCE = '''
"""A module."""

import torch
from torch import nn

SIZE = 2


class Layer(nn.Module):
    """A layer."""

    size: int

    def __init__(self):
        self.size = SIZE

    @torch.no_grad()
    def forward(self, x):
        return x


def helper(x):
    return x + 1
'''
FORWARD = """    @torch.no_grad()
    def forward(self, x):
        return x
"""
TWICE = """    @property
    def twice(self):
        return 2
"""
DOUBLED = """    def forward(self, x):
        return 2 * x
"""
PART = "class Layer(nn.Module):\n"
OTHER = """
def other():
    pass

class Layer(Base):
    pass

"""
# What differs, and which text of the module becomes which.
CASES = {
    "a function": ("def helper(x):\n    return 1 + x", "x + 1", "1 + x"),
    "a constant": ("SIZE = 3", "SIZE = 2", "SIZE = 3"),
    "a method": (PART + DOUBLED, FORWARD, DOUBLED),
    "a new method before one": (PART + TWICE + DOUBLED, FORWARD, TWICE + DOUBLED),
    "a new method": (PART + TWICE, FORWARD, FORWARD + TWICE),
    "imports": ("import math\nimport abc", "import nn\n", "import nn\nimport math\nimport abc\n"),
    "other bases": (OTHER, SOURCE[SOURCE.index("class") : SOURCE.index("def helper")], OTHER),
    "a new statement": ("LAST = 1", "x + 1\n", "x + 1\n\nLAST = 1\n"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_differs_replaces_what_is_there(name):
    differences, old, new = CASES[name]
    assert SOURCE.count(old) == 1
    merged = with_differences(SOURCE, differences)
    assert ast.unparse(ast.parse(merged)) == ast.unparse(ast.parse(SOURCE.replace(old, new)))
