"""The commands that the start pages print, the list of all commands, and what is said of a word that is none."""

import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.__main__ import COMMANDS, main, parse_arguments
from autograder.manifest import assignments
from autograder.submissions.untrusted_files import MAX_FOLDERS, MORE, Folder
from autograder.submissions.which_assignment import which_assignment
from tests.support.archives import write

ROOT = Path(__file__).resolve().parents[2]


def printed(name: str) -> list[list[str]]:
    """The commands on the start page of an assignment."""
    cells = json.loads((ROOT / "notebooks" / name / "0_start.ipynb").read_text(encoding="utf-8"))["cells"]
    text = "".join("".join(cell["source"]) for cell in cells)
    found = [shlex.split(command) for command in re.findall(r"`(python [^`]*)`", text)]
    assert len(found) == 2
    return found


@pytest.mark.parametrize("name", assignments())
def test_the_commands_of_a_start_page_mean_its_assignment(name):
    """In the folder of the course, in which they are entered."""
    for _, script, *arguments in printed(name):
        assert (ROOT / script).is_file()
        args = parse_arguments(arguments)
        chosen = which_assignment(args.assignment, None)
        assert chosen.name == name
        assert all(chosen.stage(stage) for stage in args.stage)


@pytest.mark.slow
@pytest.mark.parametrize("name", assignments())
def test_the_commands_of_a_start_page_run(name, tmp_path):
    archive = ROOT / f"{name}.zip"
    assert not archive.exists()
    try:
        for command in printed(name):
            done = subprocess.run([sys.executable, *command[1:]], cwd=ROOT, capture_output=True, text=True)
            assert done.returncode in (0, 4), done.stderr  # 4: not all points, as of stubs
            assert assignments()[name].title in done.stdout
        assert f"into {name}.zip: hand in this file" in " ".join(done.stdout.split())
        assert archive.is_file()
    finally:
        archive.unlink(missing_ok=True)


def test_help_lists_every_command(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    for name, (_, group, words) in COMMANDS.items():
        assert re.search(rf"^for {group}:$(\n  .*)*\n  {name} +{words}$", said, re.MULTILINE)


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("bacth", "did you mean batch?"),
        ("docter", "did you mean doctor?"),
        ("encodr", "did you mean encoder?"),
        ("pooling", "add --assignment attention"),
        ("zzz", "there is no stage or command 'zzz'; python -m autograder --help lists the commands (the stages are"),
    ],
)
def test_a_word_that_is_none(capsys, word, says):
    assert main([word]) == 2
    assert says in capsys.readouterr().err


def test_a_search_that_starts_anywhere_ends_soon(tmp_path):
    """`check()` in a folder that is not the course's looks into so many folders, those near the top first."""
    for number in range(MAX_FOLDERS + 200):
        os.makedirs(tmp_path / str(number) / "a")
    write(tmp_path, {"zzz.py": ""})
    started = time.monotonic()
    listing = Folder(tmp_path).listing()
    assert time.monotonic() - started < 5
    assert list(listing.files) == ["zzz.py"]
    assert MORE in listing.notes
    assert MORE in listing.left.values()
