"""The bugs as data: correct programs, and changes of their text that make them wrong. README.md has the format."""

import ast
import difflib
import json
import random
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from autograder.authoring.formulations import correct_submissions
from autograder.manifest import assignment, every_assignment
from autograder.submissions.read_submission import read_submission

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs.json"  # assignment -> program -> module -> text


@dataclass(frozen=True)
class Patch:
    """One piece of text that takes the place of another; `before` occurs once in the file."""

    file: str
    before: str
    after: str


@dataclass(frozen=True)
class Bug:
    """A correct program with one or two mistakes."""

    id: str
    assignment: str
    program: str
    stage: str
    patches: tuple[Patch, ...]
    what: str  # what is wrong, in a sentence
    author: str
    held: bool  # looked at only when a version is reported

    def sources(self) -> dict[str, str]:
        """The text of each module with the mistakes in it.

        Raises:
            ValueError: if a patch does not fit.
        """
        texts = dict(program(self.assignment, self.program))
        for patch in self.patches:
            module = patch.file.removesuffix(".py")
            if (found := texts[module].count(patch.before)) != 1:
                raise ValueError(f"{self.id}: {patch.before!r} is {found} times in {patch.file} of {self.program}")
            texts[module] = texts[module].replace(patch.before, patch.after)
        return texts

    def faulty_lines(self) -> dict[str, "Faulty"]:
        """Where the mistakes are, by file."""
        correct, wrong = program(self.assignment, self.program), self.sources()
        files = {patch.file for patch in self.patches}
        return {file: Faulty.between(correct[file[:-3]], wrong[file[:-3]]) for file in files}


@dataclass(frozen=True)
class Faulty:
    """The places of a file that differ from the correct program."""

    lines: frozenset[int]  # of statements that were changed or added
    gaps: tuple[tuple[int, int], ...]  # the lines before and after a statement that is missing

    @classmethod
    def between(cls, correct: str, wrong: str) -> "Faulty":
        """The places where a wrong text differs from the correct one."""
        old, new = ([line.rstrip() for line in text.splitlines()] for text in (correct, wrong))
        lines: set[int] = set()
        gaps: list[tuple[int, int]] = []
        for kind, _, _, first, last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if kind == "delete":
                gaps.append((first, first + 1))
            elif kind != "equal":
                lines |= set(range(first + 1, last + 1))
        spans = list(_statements(wrong))
        for first, last in spans:
            if lines & set(range(first, last + 1)):
                lines |= set(range(first, last + 1))
        # A line that is gone from within a statement makes that statement wrong.
        inside = [span for span in spans for gap in gaps if span[0] <= gap[0] and gap[1] <= span[1]]
        lines |= {line for first, last in inside for line in range(first, last + 1)}
        gaps = [gap for gap in gaps if not any(first <= gap[0] and gap[1] <= last for first, last in inside)]
        return cls(frozenset(lines), tuple(gaps))


def _statements(text: str) -> Iterator[tuple[int, int]]:
    """First and last line of each statement; of a compound one, its head."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno
            yield node.lineno, max(node.lineno, last)


@cache
def program(name: str, title: str) -> Mapping[str, str]:
    """The modules of a correct program: one of this corpus, or one of the assignment's other formulations."""
    chosen = assignment(name)
    solution = read_submission(chosen.solution, chosen).sources
    if title == "solution":
        return solution
    if texts := json.loads(PROGRAMS.read_text(encoding="utf-8")).get(name, {}).get(title):
        return {**solution, **texts}
    return _formulations(name)[title]


@cache
def _formulations(name: str) -> dict[str, Mapping[str, str]]:
    return {title: one.sources for title, (one, _) in correct_submissions(assignment(name)).items()}


def chosen_bugs(held: bool, sample: int = 0, seed: int = 1, names: Collection[str] = ()) -> list[Bug]:
    """The held-out bugs or the others, of some assignments (all); of all of them so many at random."""
    wanted = [bug for bug in bugs() if bug.held is held and (not names or bug.assignment in names)]
    return random.Random(seed).sample(wanted, min(sample, len(wanted))) if sample else wanted


def bugs() -> Iterator[Bug]:
    """All bugs, assignment by assignment."""
    for name in (one.name for one in every_assignment()):
        path = HERE / f"{name}.jsonl"
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
            fields = json.loads(line)
            patches = tuple(Patch(**patch) for patch in fields.pop("patches"))
            yield Bug(assignment=name, patches=patches, **fields)
