"""Every command that a page or a notebook shows exists, with the options that are shown."""

import contextlib
import re
from collections import defaultdict
from pathlib import Path

import pytest

from autograder.__main__ import COMMANDS, main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "grade.py", "Makefile")),
    *sorted((ROOT / "docs").glob("**/*.md")),
    *sorted((ROOT / "solutions").glob("*/*.ipynb")),
]
# Up to the end of the code: a back quote, a quotation mark of JSON, a pipe, a comment, or the end of the line.
COMMAND = re.compile(r"(?:python -m autograder|autograde) ([a-z][a-z0-9-]*)((?:\\\n|[^`\"|#\n;&\\])*)")
TARGET = re.compile(r"(?:^|`)make ([a-z]+)\b(?=[ `\n])", re.MULTILINE)


def shown():
    """The options that are shown with each command and the word after it, and the pages."""
    found: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for page in PAGES:
        for name, rest in COMMAND.findall(page.read_text(encoding="utf-8")):
            word = re.match(r"\s+([a-z]+)(?=\s|$)", rest)
            for option in ["", *re.findall(r"(?<=\s)--[a-z][a-z-]*", rest)]:
                found[name, word[1] if word else ""].setdefault(option, page.name)
    return found


SHOWN = shown()
NAMES = {name for name, _ in SHOWN}


def options(*words, capsys):
    with contextlib.suppress(SystemExit):
        main([*words, "--help"])
    return set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))


@pytest.mark.parametrize("name", sorted(NAMES & COMMANDS.keys()))
def test_a_command_has_the_options_that_are_shown_with_it(name, capsys):
    known = options(name, capsys=capsys)
    assert known
    for word in {word for command, word in SHOWN if command == name}:
        of_word = known | (options(name, word, capsys=capsys) if word else set())
        wrong = [f"{page}: {option}" for option, page in SHOWN[name, word].items() if option and option not in of_word]
        assert wrong == []


def test_other_words_are_stages_or_assignments():
    from autograder.manifest import every_assignment

    words = {word for chosen in every_assignment() for word in (chosen.name, *(stage.name for stage in chosen.stages))}
    assert NAMES - COMMANDS.keys() - words == set()


def test_every_make_target_that_is_shown_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    found = {name: page.name for page in PAGES for name in TARGET.findall(page.read_text(encoding="utf-8"))}
    assert len(found) > 10
    assert {name: page for name, page in found.items() if name not in targets} == {}
