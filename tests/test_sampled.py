"""The table of sampled tests names tests that there are."""

from pathlib import Path

from tests.sampled import EVERY

HERE = Path(__file__).parent


def test_each_is_there():
    for test in EVERY:
        file, _, name = test.partition("::")
        assert f"\ndef {name}(" in (HERE / file).read_text(encoding="utf-8"), test
