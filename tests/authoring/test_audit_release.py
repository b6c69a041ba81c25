"""What must hold of every assignment: what students get, and the notebooks."""

from tests.support.auditing import each, problems


@each("release", "notebooks")
def test_it_holds(name, check, item):
    assert problems(name, check, item) == []
