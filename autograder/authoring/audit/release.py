"""The release is generated from the current sources and contains no line of a solution."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from autograder.authoring.audit.subject import Subject
from autograder.authoring.packing.handout import contents
from autograder.authoring.release import RELEASE, differences, find_leaks, generate, read_release, secret_lines
from autograder.manifest import Stage
from course.errors import UserError
from course.location import course_folder

PROMISE = "the release is current and reveals no solution; graded cells have their points"
QUICK = None


def items(subject: Subject) -> Iterable[str]:
    return ("as generated", "no solution", "handout", *(stage.notebook for stage in subject.assignment.stages))


def problems(subject: Subject, item: str) -> Iterator[str]:
    chosen = subject.assignment
    root, folder = course_folder(), chosen.released
    try:
        if item == "as generated":
            for difference in differences(generate(root, [chosen]), root / RELEASE, f"{chosen.name}/"):
                yield f"{difference}: python -m autograder release rewrites it"
        elif item == "no solution":
            for leak in find_leaks(read_release(folder), secret_lines(chosen.solution, chosen)):
                yield f"a line of the solution is released in {leak}"
        elif item == "handout":
            contents([chosen])
        else:
            (stage,) = (stage for stage in chosen.stages if stage.notebook == item)
            cells = json.loads((folder / item).read_text(encoding="utf-8"))["cells"]
            yield from _graded([cell for cell in cells if "nbgrader" in cell["metadata"]], stage)
    except (OSError, UserError) as error:
        yield str(error)


def _graded(cells: list[dict[str, Any]], stage: Stage) -> Iterator[str]:
    """Check that there is exactly one graded cell, that it calls check(), and that its nbgrader metadata is correct."""
    if len(cells) != 1:
        yield f"{len(cells)} cells have nbgrader metadata; only the graded cell should"
        return
    (cell,) = cells
    source, right = "".join(cell["source"]), f'from course import check\n\ncheck("{stage.name}")'
    if source != right:
        yield f"the graded cell should be {right!r}, not {source!r}"
    if cell["metadata"].get("editable") is not False:
        yield "the graded cell can be edited"
    wanted = {"grade_id": f"stage-{stage.name}", "points": stage.max_points, "grade": True, "locked": True}
    for key, value in (wanted | {"solution": False, "schema_version": 3}).items():
        if cell["metadata"]["nbgrader"].get(key) != value:
            yield f"{key} of the graded cell is {cell['metadata']['nbgrader'].get(key)!r}, not {value!r}"
