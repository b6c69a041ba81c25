"""A mistake costs only the points of the function it changes, and at most a fixed fraction of its stage's points."""

from collections.abc import Iterable, Iterator

from autograder.authoring.audit.mistakes import code_of
from autograder.authoring.audit.subject import SEED, Subject

PROMISE = "a mistake costs only the function that it changes"
QUICK = 5
MOST = 0.6  # the fraction of a stage's points, if the stage has several functions


def items(subject: Subject) -> Iterable[str]:
    return subject.mistakes


def problems(subject: Subject, item: str) -> Iterator[str]:
    stage = subject.assignment.stage(subject.mistakes[item].stage)
    changed, lost = changed_by(subject, item), points_lost(subject, item)
    for name, points in lost.items():
        function = stage.graded_by(*name.partition(".")[::2])
        if function and function not in changed:
            yield f"it changes {', '.join(changed)}, but costs {points:g} points in {name}, which grades {function}"
    total, most = sum(lost.values()), MOST * stage.max_points
    if len(stage.writes) > 1 and total > most:
        yield f"it costs {total:g} of the {stage.max_points:g} points of its stage; more than {most:g} is too much"


def changed_by(subject: Subject, name: str) -> list[str]:
    """Return the functions that a mistake changes."""
    mistake = subject.mistakes[name]
    texts = subject.solution[mistake.module], mistake.apply(subject.solution)[mistake.module]
    before, after = (code_of(mistake.module, text) for text in texts)
    return sorted(function for function in before | after if before.get(function) != after.get(function))


def points_lost(subject: Subject, name: str) -> dict[str, float]:
    """Return the points that a mistake costs in its stage, by test and part; visible and hidden tests are combined."""
    hidden = {ran.result.name: ran.result for ran in subject.run_mistake(name, SEED)}
    lost = {}
    for ran in subject.run_mistake(name):
        both = ran.result.guarded_by(hidden[ran.result.name]) if ran.result.points else ran.result
        for part in both.parts or (both,):
            lost[f"{both.name}.{part.name}" if both.parts else both.name] = part.max_points - part.points
    return {name: points for name, points in lost.items() if points}
