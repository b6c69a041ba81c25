"""Describe the progress in assignments that are not being graded, based on the source code of their modules."""

from autograder.manifest import Assignment, Stage, assignments, broken


def others(chosen: Assignment) -> str:
    """Describe the other assignments in one line."""
    lines = [f"{other.name} ({standing(other)})" for other in assignments().values() if other.name != chosen.name]
    lines += [f"{name} (its manifest is wrong: {error})" for name, error in broken().items()]
    return f"Not graded now: {', '.join(lines)}; python grade.py --assignment NAME grades them."


def standing(assignment: Assignment) -> str:
    """Describe how many stages in the students' folder no longer contain a stub."""
    written = sum(not _unwritten(assignment, stage) for stage in assignment.stages)
    return f"{written} of {len(assignment.stages)} stages written" if written else "not started"


def _unwritten(assignment: Assignment, stage: Stage) -> bool:
    folder = assignment.released
    files = [folder / f"{module}.py" for module in stage.modules]
    mark = f'raise NotImplementedError("Stage {stage.number}'
    return any(not file.is_file() or mark in file.read_text(encoding="utf-8", errors="replace") for file in files)
