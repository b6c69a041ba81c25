"""What must hold of every assignment: the code of stages and stand-ins, and the texts around it."""

from tests.support.auditing import each, problems


@each("manifest", "texts", "stubs", "solution", "alone", "standins")
def test_it_holds(name, check, item):
    assert problems(name, check, item) == []
