"""The files generated for the visible tests match the current reference and mistakes."""

import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from autograder.authoring.audit.subject import Subject
from autograder.authoring.stored_tensors import differences, make
from autograder.diagnosis.mistake_signatures import known_signatures, only_through, same, stored_file

PROMISE = "stored tensors, hints and signatures are current"
QUICK = 2
AGAIN = "python -m autograder expected rewrites it"


def items(subject: Subject) -> Iterable[str]:
    return ("tensors", "hints", *(f"signatures of {stage.name}" for stage in subject.assignment.stages))


def problems(subject: Subject, item: str) -> Iterator[str]:
    if item == "tensors":
        with tempfile.TemporaryDirectory() as made:
            make(Path(made), subject.assignment)
            for difference in differences(Path(made), subject.assignment.expected):
                yield f"{difference}; {AGAIN}"
    elif item == "hints":
        stored = json.loads(stored_file(subject.assignment.name).read_text(encoding="utf-8"))["hints"]
        now = {name: [mistake.looks_like, mistake.read_again] for name, mistake in subject.mistakes.items()}
        for name in sorted(now.keys() | stored.keys()):
            if now.get(name) != stored.get(name):
                yield f"the stored hints of {name} are not those of the mistake; {AGAIN}"
    else:
        yield from _signatures(subject, item.removeprefix("signatures of "))


def _signatures(subject: Subject, stage: str) -> Iterator[str]:
    wanted = [known for known in subject.mistakes.values() if known.stage == stage and not known.random]
    for number, test in enumerate(subject.assignment.stage(stage).points):
        stored = dict(known_signatures(subject.assignment.name, test))
        for mistake in wanted:
            ran, before = subject.run_mistake(mistake.id)[number], stored.pop(mistake.id, None)
            now = ran.shown and only_through(mistake.module, ran.shown)
            if (now is None) != (before is None) or (now and before and not same(now, before, ran.dtype)):
                yield f"the result of {mistake.id} in {test} differs from the stored one; {AGAIN}"
        for name in stored:
            yield f"{name} is stored for {test}, but is not a known mistake of the stage; {AGAIN}"
