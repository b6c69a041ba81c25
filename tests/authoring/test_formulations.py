"""Correct programs that are kept as differences from the solution."""

import ast

import pytest

from autograder.authoring.formulations import Formulation, correct_submissions, with_differences
from autograder.manifest import Assignment, every_assignment
from course.errors import UserError

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
    "imports from the future": (
        *("from __future__ import division", "\nimport torch\n"),
        "\nfrom __future__ import division\nimport torch\n",
    ),
    "other bases": (OTHER, SOURCE[SOURCE.index("class") : SOURCE.index("def helper")], OTHER),
    "a new statement": ("LAST = 1", "x + 1\n", "x + 1\n\nLAST = 1\n"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_differs_replaces_what_is_there(name):
    differences, old, new = CASES[name]
    assert SOURCE.count(old) == 1
    merged = with_differences(SOURCE, differences)
    assert ast.unparse(ast.parse(merged)) == ast.unparse(ast.parse(SOURCE.replace(old, new)))


@pytest.mark.parametrize("assignment", every_assignment(), ids=lambda assignment: assignment.name)
def test_every_correct_program_is_whole(assignment: Assignment):
    """The test command grades a sample of these programs; all of them compile, and none has an unwritten function."""
    for name, (submission, _) in correct_submissions(assignment).items():
        for module, text in submission.sources.items():
            compile(text, f"{name}/{module}.py", "exec")
            assert "is not written yet" not in text, (name, module)


@pytest.mark.parametrize(("module", "function"), [("mha", "Gone.forward"), ("gone", "Gone.forward")])
def test_a_formulation_that_the_solution_has_outgrown_is_named(module, function):
    with pytest.raises(UserError, match=f"formulation other-way has 1 .* 0 region.* of {function} in {module}.py"):
        Formulation("other-way", module, {function: ("return x",)}).apply({"mha": SOURCE})
