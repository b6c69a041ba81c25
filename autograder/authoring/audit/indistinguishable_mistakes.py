"""Different mistakes look different in the visible tests, unless they are declared to look the same."""

from collections.abc import Iterable, Iterator

from autograder.authoring.audit.subject import Ran, Subject
from autograder.diagnosis.mistake_signatures import same

PROMISE = "mistakes look different unless declared otherwise"
QUICK = 0


def items(subject: Subject) -> Iterable[str]:
    return (stage.name for stage in subject.assignment.stages)


def problems(subject: Subject, item: str) -> Iterator[str]:
    """Check that the `same_as` of each mistake lists exactly the earlier mistakes that look the same."""
    visible = [other for other in subject.mistakes.values() if other.stage == item and other.seen_by == "visible"]
    for number, mistake in enumerate(visible):
        shown = subject.run_mistake(mistake.id)
        alike = tuple(other.id for other in visible[:number] if look_alike(subject.run_mistake(other.id), shown))
        if mistake.same_as != alike:
            yield f"{mistake.id} looks the same as {', '.join(alike) or 'no other'}, but declares {mistake.same_as}"
    for mistake in subject.mistakes.values():
        if mistake.stage == item and mistake.seen_by == "hidden" and mistake.same_as:
            yield f"{mistake.id} passes the visible tests, so it cannot look like another mistake there"


def look_alike(some: tuple[Ran, ...], others: tuple[Ran, ...]) -> bool:
    for a, b in zip(some, others, strict=True):
        # Exceptions are also compared by their messages.
        if a.result.status != b.result.status or (a.result.status == "error" and a.result.message != b.result.message):
            return False
        if a.shown != b.shown and not (a.shown and b.shown and same(a.shown, b.shown, "float64")):
            return False
    return True
