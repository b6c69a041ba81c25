"""The project's sentences, by group: `python -m tests.support.prose` prints how long they are.

`--sample 100 --group hints` prints random sentences, numbered, for a person who marks each as fine, odd or unclear.
"""

import argparse
import ast
import json
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from autograder.diagnosis.mistakes import all_mistakes
from autograder.manifest import every_assignment
from course.location import ENGINE as ROOT

MOST_WORDS = 30
SHORT = 3  # words of a heading or a cell of a table, rather than of a sentence
GROUPS = ("guides", "notebooks", "hints", "docstrings")
# Code, columns of names, pictures, comments.
LEFT_OUT = [r"```.*?```", r"(?m)^ {4,}[^\n]*$", r"(?m)^\S+ {2,}[^\n]*$", r"!\[[^\]]*\]\([^)]*\)", r"<!--.*?-->"]
SYMBOLS = [r"\$\$.*?\$\$", r"\$[^$]+\$", r"`[^`]*`"]  # a formula or a piece of code counts as a word
BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*|#>] ?|\d+\.|[a-z]\) ))|<[^>]+>")
MARKER = re.compile(r"^\s*(?:[-*#>]+|\d+\.|[a-z]\))\s+")
END = re.compile(r"(?<=[.!?:;])[*\"”)]*\s+(?=[A-Z0-9*\"“(])|\s+(?=[a-e]\) )")


class Sentence(NamedTuple):
    """A sentence and the file that it is in."""

    file: str
    text: str

    @property
    def words(self) -> int:
        return len(self.text.split())


def sentences(text: str) -> Iterator[str]:
    """The sentences of a Markdown text, without its code; a cell of a table counts as a paragraph."""
    for pattern in LEFT_OUT:
        text = re.sub(pattern, "\n\n", text, flags=re.DOTALL)
    for pattern in SYMBOLS:
        text = re.sub(pattern, "X", text, flags=re.DOTALL)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for block in BLOCK.split(text):
        for part in block.split("|") if block.lstrip().startswith("|") else [block]:
            yield from filter(None, END.split(" ".join(MARKER.sub("", part).split())))


@cache
def group(name: str) -> tuple[Sentence, ...]:
    """All sentences of a group."""
    return tuple(Sentence(file, sentence) for file, text in _texts(name) for sentence in sentences(text))


def _texts(name: str) -> Iterator[tuple[str, str]]:
    if name == "guides":
        for file in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]:
            yield _shown(file), file.read_text()
        for file in sorted(ROOT.glob("tests/**/*.md")):
            yield _shown(file), file.read_text()
    elif name == "notebooks":
        for file in sorted(ROOT.glob("solutions/*/*.ipynb")):
            cells = json.loads(file.read_text())["cells"]
            yield (
                _shown(file),
                "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"),
            )
    elif name == "hints":
        for assignment in every_assignment():
            for mistake in all_mistakes(assignment.name):
                yield mistake.id, f"{mistake.looks_like}\n\n{mistake.read_again}"
    else:
        for folder in ("autograder", "course"):
            for file in sorted((ROOT / folder).rglob("*.py")):
                nodes = ast.walk(ast.parse(file.read_text()))
                documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
                texts = [ast.get_docstring(node) or "" for node in nodes if isinstance(node, documented)]
                yield _shown(file), "\n\n".join(texts)


def _shown(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def main() -> None:
    """Print a table of the groups, or a sample of one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--group", choices=GROUPS, default="guides", help="for --sample")
    parser.add_argument("--sample", type=int, help="print so many random sentences")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.sample:
        found = [sentence for sentence in group(arguments.group) if sentence.words > SHORT]
        chosen = random.Random(arguments.seed).sample(found, arguments.sample)
        print("\n".join(f"{number}. {sentence.text}" for number, sentence in enumerate(chosen, 1)))
        return
    print("| group | words | sentences | words a sentence | over 25 words | over 30 |\n|---|---|---|---|---|---|")
    for name in GROUPS:
        lengths = [sentence.words for sentence in group(name) if sentence.words > SHORT]
        over = [f"{100 * sum(length > most for length in lengths) / len(lengths):.1f} %" for most in (25, MOST_WORDS)]
        print(f"| {name} | {sum(lengths):,} | {len(lengths):,} | {mean(lengths):.1f} | {' | '.join(over)} |")


if __name__ == "__main__":
    main()
