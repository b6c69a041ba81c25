"""How the arguments of a call are shown in a message."""

from autograder.sandbox.remote_values import SHOWN, shown


def test_a_long_text_ends_with_dots_and_its_quote():
    assert shown("a" * 20) == repr("a" * 20)
    words = shown("a" * 500)
    assert len(words) == SHOWN
    assert words.endswith("a…'")
