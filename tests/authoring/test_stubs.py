"""Solution regions: what becomes of them in a stub, and which mistakes in them are refused."""

from pathlib import Path

import pytest

from autograder.authoring.stubs import make_stubs, strip_module
from autograder.manifest import Assignment, Stage
from course.errors import UserError

STAGE = Stage("small", 7, "one", "One", "1.ipynb", ("m.C.f", "m.g"), "test_one", {"test": 1.0}, {}, (), False)
SMALL = Assignment("small", 1, "Small", ("m",), (), "", (STAGE,))
MODULE = '''"""A module."""
import math


class C:
    """A class."""

    def f(self, x):
        """Computes."""
        if x:
            ### BEGIN SOLUTION
            x = math.sqrt(x)
            ### END SOLUTION
        # Then the rest.
        ### BEGIN SOLUTION
        x += 1
        ### END SOLUTION
        return x


def g():
    ### BEGIN SOLUTION
    def inner():
        return 2

    return inner()
    ### END SOLUTION
'''


def test_regions_become_lines_that_raise():
    assert (
        strip_module(MODULE, "m", SMALL)
        == '''"""A module."""
import math


class C:
    """A class."""

    def f(self, x):
        """Computes."""
        if x:
            raise NotImplementedError("Stage 7: C.f, part 1 of 2, is not written yet")
        # Then the rest.
        raise NotImplementedError("Stage 7: C.f, part 2 of 2, is not written yet")
        return x


def g():
    raise NotImplementedError("Stage 7: g is not written yet")
'''
    )


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("    return inner()\n    ### END SOLUTION\n", "    return inner()\n", "line 22: BEGIN SOLUTION without END"),
        ("        # Then the rest.", "        ### END SOLUTION", "line 14: END SOLUTION without BEGIN"),
        ("            x = math.sqrt(x)", "            ### BEGIN SOLUTION", "line 12: a region begins inside"),
        ("        # Then the rest.", "        # begin solution", "line 14: a marker is a line"),
        ("        # Then the rest.", "        return x  ### END SOLUTION", "line 14: a marker is a line"),
        ("        x += 1", "        # nothing", "line 15: the region contains no code"),
        ("        x += 1\n        ### END SOLUTION\n", "        x += 1\n", "line 21: a region begins inside"),
        (
            "    ### BEGIN SOLUTION\n    def inner",
            "### BEGIN SOLUTION\n    def inner",
            "line 22: the marker must be indented",
        ),
        ("def g():\n    ###", "def h():\n    ###", "the manifest has students write g"),
        (
            "        return x\n",
            "        return x\n\n    ### BEGIN SOLUTION\n    y = 1\n    ### END SOLUTION\n",
            "one function",
        ),
        ("def g", "def h():\n    ### BEGIN SOLUTION\n    pass\n    ### END SOLUTION\n\n\ndef g", "no stage .* write h"),
        ("        return x\n", "        return x)\n", "line 18: unmatched"),
        ("            x = math.sqrt(x)", "            y = [", "was never closed"),
    ],
)
def test_malformed_regions_are_refused(old, new, complaint):
    assert MODULE.count(old) == 1
    with pytest.raises(UserError, match=rf"^m\.py.*{complaint}"):
        strip_module(MODULE.replace(old, new), "m", SMALL)


def test_a_region_must_not_reach_into_the_next_function():
    source = MODULE.replace("        ### END SOLUTION\n        return x", "        return x")
    source = source.replace("def g():\n    ### BEGIN SOLUTION\n", "def g():\n")
    with pytest.raises(UserError, match=r"^m\.py, line 15: the region must be inside one function"):
        strip_module(source, "m", SMALL)


def test_the_manifest_writes_only_in_modules_of_the_assignment(tmp_path: Path):
    (tmp_path / "m.py").write_text(MODULE, encoding="utf-8")
    stage = Stage(
        "small", 7, "one", "One", "1.ipynb", ("m.C.f", "m.g", "other.f"), "test_one", {"test": 1.0}, {}, (), False
    )
    with pytest.raises(UserError, match="code that students write: other"):
        make_stubs(tmp_path, Assignment("small", 1, "Small", ("m",), (), "", (stage,)))


def test_a_missing_module_is_named(tmp_path: Path):
    with pytest.raises(UserError, match=r"lacks m\.py"):
        make_stubs(tmp_path, SMALL)
