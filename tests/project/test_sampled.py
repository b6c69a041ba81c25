"""The table of sampled tests names tests that there are."""

from pathlib import Path

from tests.support.sampled import EVERY

TESTS = Path(__file__).parents[1]


def test_each_is_there():
    for test in EVERY:
        file, _, name = test.partition("::")
        assert f"\ndef {name}(" in (TESTS / file).read_text(encoding="utf-8"), test
