"""A submission: the source texts of a student's modules, read by name from a folder."""

from dataclasses import dataclass, field
from pathlib import Path

from autograder.manifest import Assignment, Stage
from autograder.student import Code
from autograder.worker import STANDIN
from course.errors import UserError

STANDINS = Path(__file__).with_name("standins")
MAX_BYTES = 1_000_000


@dataclass(frozen=True)
class Submission:
    """What a student handed in."""

    name: str
    sources: dict[str, str]
    unreadable: dict[str, str] = field(default_factory=dict)  # module -> why there is no source text


def read_submission(folder: Path, assignment: Assignment) -> Submission:
    """Read the modules of an assignment from a folder; other files are not looked at.

    Raises:
        UserError: if the folder does not exist or holds none of the modules.
    """
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}")
    sources: dict[str, str] = {}
    unreadable: dict[str, str] = {}
    for module in assignment.modules:
        path = folder / f"{module}.py"
        try:
            if path.stat().st_size > MAX_BYTES:
                unreadable[module] = f"{module}.py is larger than {MAX_BYTES:,} bytes"
            else:
                sources[module] = path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            unreadable[module] = f"{module}.py is missing from the submission"
        except UnicodeDecodeError:
            unreadable[module] = f"{module}.py is not UTF-8 text"
        except OSError as error:
            unreadable[module] = f"{module}.py cannot be read: {error.strerror}"
    if not any((folder / f"{module}.py").exists() for module in assignment.modules):
        names = ", ".join(f"{module}.py" for module in assignment.modules)
        raise UserError(f"{folder} holds none of the modules {names}")
    return Submission(str(folder), sources, unreadable)


def code_of_stage(submission: Submission, stage: Stage, assignment: Assignment, reported: dict[str, str]) -> Code:
    """The modules of a stage as the student wrote them, and stand-ins for everything that other stages grade.

    Args:
        reported: modules whose failed import an earlier stage reports, with the name of that stage.
    """
    standins = {module: (STANDINS / f"{module}.py").read_text(encoding="utf-8") for module in assignment.modules}
    student = {module: submission.sources.get(module, "") for module in stage.modules}
    others = [written.split(".", 1) for other in assignment.stages if other is not stage for written in other.writes]
    return Code(
        sources={**standins, **student, **{STANDIN + module: standins[module] for module in stage.modules}},
        replace={module: [path for owner, path in others if owner == module] for module in stage.modules},
        modules=stage.modules,
        unreadable=submission.unreadable,
        reported=reported,
    )


def code_of_all(submission: Submission, assignment: Assignment) -> Code:
    """All modules as the student wrote them, without stand-ins."""
    sources = {module: submission.sources.get(module, "") for module in assignment.modules}
    return Code(sources, replace={}, modules=assignment.modules, unreadable=submission.unreadable)
