"""Correct code stays well below the grader's tolerance, and known mistakes stay well above it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from autograder.authoring.audit.subject import SEED, Ran, Subject
from autograder.manifest import Stage

PROMISE = "correct code is 10 times below the limits, mistakes 10 times above"
QUICK = 0
FAR = 10.0
TWO_THREADS = "\n\nimport torch\n\ntorch.set_num_threads(2)\n"  # appended to a module; workers use one


@dataclass
class Measured:
    """The largest deviation of correct code and the smallest of mistakes in each precision, relative to the limit."""

    correct: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    largest: dict[str, str] = field(default_factory=dict)  # precision -> the code with the largest deviation
    mistaken: dict[str, float] = field(default_factory=lambda: defaultdict(lambda: float("inf")))
    smallest: dict[str, str] = field(default_factory=dict)  # precision -> the mistake with the smallest deviation


def items(subject: Subject) -> Iterable[str]:
    return (stage.name for stage in subject.assignment.stages)


def problems(subject: Subject, item: str) -> Iterator[str]:
    measured = measure(subject, subject.assignment.stage(item))
    for dtype, share in measured.correct.items():
        if share * FAR > 1:
            yield f"{measured.largest[dtype]} is only {1 / share:.2g} times below a limit, in {dtype}"
    for dtype, share in measured.mistaken.items():
        if share < FAR:
            yield f"{measured.smallest[dtype]} is only {share:.2g} times above a limit, in {dtype}"


def measure(subject: Subject, stage: Stage) -> Measured:
    """Measure the deviations of all correct code and of all mistakes in a stage, reusing cached runs."""
    measured = Measured()
    for name, (_, modules) in subject.correct.items():
        if modules & set(stage.modules):
            for seed in (None, SEED):
                twice = _with_two_threads(subject, name, stage, seed)
                for ran in (*subject.run_correct(name, stage, seed), *twice):
                    share = max(ran.shares, default=0.0)
                    # Code that fails here needs its own methods of other stages; `formulations` grades those together.
                    if ran.passed and share >= measured.correct[ran.dtype]:
                        measured.correct[ran.dtype], measured.largest[ran.dtype] = share, name
    for name, mistake in subject.mistakes.items():
        if mistake.stage == stage.name:
            for dtype, share in _best(ran for seed in (None, SEED) for ran in subject.run_mistake(name, seed)):
                if share < measured.mistaken[dtype]:
                    measured.mistaken[dtype], measured.smallest[dtype] = share, name
    return measured


def _with_two_threads(subject: Subject, name: str, stage: Stage, seed: int | None) -> tuple[Ran, ...]:
    """Run correct code with two threads, so that sums are computed in a different order."""
    sources = {module: text + TWO_THREADS for module, text in subject.correct[name][0].sources.items()}
    return subject.run(subject.code(sources, stage), stage, seed)


def _best(runs: Iterable[Ran]) -> Iterator[tuple[str, float]]:
    """Return a mistake's largest deviation for each precision in which it exceeds the limit."""
    best: dict[str, float] = defaultdict(float)
    for ran in runs:
        best[ran.dtype] = max(best[ran.dtype], *ran.shares, 0.0)
    return ((dtype, share) for dtype, share in best.items() if share > 1)
