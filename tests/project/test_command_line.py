"""`python -m autograder` says what there is, and knows what a misspelt word means."""

import subprocess
import sys

import pytest

from autograder.__main__ import AUTHORS, CLASS, COMMANDS, GRADEBOOKS, STUDENTS, all_commands, main


def test_all_commands_are_listed_in_groups_with_a_line_each():
    done = subprocess.run(
        [sys.executable, "-m", "autograder"], capture_output=True, encoding="utf-8", timeout=120, check=True
    )
    assert all_commands() in done.stdout
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("for ")] == [
        f"for {group}:" for group in (STUDENTS, CLASS, GRADEBOOKS, AUTHORS)
    ]
    for name, (_, _, words) in COMMANDS.items():
        (line,) = [line for line in lines if line.split()[:1] == [name]]
        assert line.endswith(words)
        assert len(line) <= 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bacth", "submitted"], "there is no command 'bacth': did you mean batch?"),
        (["mhaa"], "there is no stage or command 'mhaa': did you mean mha?"),
        (["zzzzz"], "there is no stage or command 'zzzzz'; python -m autograder --help lists the commands"),
        (["grade", "mhaa"], "did you mean mha?"),
    ],
)
def test_a_misspelt_word(capsys, arguments, message):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
