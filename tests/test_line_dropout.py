"""Where dropout is missing, the line that uses what should be dropped is told."""

import pytest

from tests.slips import failed, wrong_lines

MISSING = [
    ("encoder", "x + self.dropout(attended)", "x + attended", "self_attn"),
    ("encoder", "self.dropout(self.fc2(hidden))", "self.fc2(hidden)", "fc2"),
    ("decoder", "x + self.dropout(self.fc2(hidden))", "x + self.fc2(hidden)", "fc2"),
]


@pytest.mark.parametrize(("stage", "old", "new", "module"), MISSING)
def test_a_missing_dropout_has_the_line_where_it_belongs(workers, stage, old, new, module):
    tests, line = failed(workers, "transformer", stage, stage, old, new)
    [test] = [test for test in tests if test.message.startswith("dropout is missing")]
    assert wrong_lines(test) == [line]
    assert test.pointed[0] == f"Line {line} of {stage}.py uses this output, of {module}:"
