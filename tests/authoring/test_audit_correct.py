"""What must hold of every assignment: correct code passes, with every seed."""

from tests.support.auditing import each, problems


@each("seeds", "formulations")
def test_it_holds(name, check, item):
    assert problems(name, check, item) == []
