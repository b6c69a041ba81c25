"""What must hold of every assignment: known mistakes, tolerance, and what is stored of them."""

from tests.support.auditing import each, problems


@each("mistakes", "alike", "elsewhere", "once", "tolerance", "stored")
def test_it_holds(name, check, item):
    assert problems(name, check, item) == []
