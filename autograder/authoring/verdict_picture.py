"""Draw the verdict on a typical mistake as it appears in a terminal, in a light and a dark theme.

This is the last step of `make figures`.
"""

import io
import re
from dataclasses import replace

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI, TerminalTheme

from autograder.diagnosis.mistakes import all_mistakes
from autograder.grading.grade_submission import grade
from autograder.manifest import every_assignment
from autograder.reports.console import print_stage, print_total
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import Submission, read_submission
from course.location import course_folder

WIDTH = 84
LIGHT = TerminalTheme(
    (252, 252, 252),
    (36, 41, 47),
    [
        *((36, 41, 47), (163, 33, 27), (23, 101, 47), (117, 80, 10)),
        *((11, 87, 164), (106, 47, 158), (0, 104, 116), (90, 98, 107)),
    ],
)
FROM_NETWORK = re.compile(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", re.DOTALL)  # fonts, and a link


def pictures() -> dict[str, str]:
    """Return pictures of the verdict on the first visible mistake of the first assignment, by file name."""
    chosen = next(iter(every_assignment()))
    mistake = next(one for one in all_mistakes(chosen.name) if one.seen_by == "visible")
    submission = Submission("", mistake.apply(read_submission(chosen.solution, chosen).sources))
    workers = make_workers()
    try:
        report = grade(submission, chosen, workers, [chosen.stage(mistake.stage)])
    finally:
        workers.close()
    console = Console(record=True, width=WIDTH, file=io.StringIO(), highlight=False, markup=False, force_terminal=True)
    for stage in report.stages:
        print_stage(console, stage)
    print_total(console, replace(report, seconds=0.8))
    title = f"python grade.py {mistake.stage}"
    drawn = {
        name: console.export_svg(title=title, theme=theme, clear=False, unique_id="verdict")
        for name, theme in (("verdict.svg", LIGHT), ("verdict-dark.svg", DIMMED_MONOKAI))
    }
    return {name: FROM_NETWORK.sub("", text) for name, text in drawn.items()}


def main() -> None:
    for name, text in pictures().items():
        (course_folder() / "docs" / name).write_text(text, encoding="utf-8")
        print(f"wrote docs/{name}")


if __name__ == "__main__":
    main()
