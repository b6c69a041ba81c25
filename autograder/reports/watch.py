"""`python grade.py --watch [stage ...]`: grade again whenever a module is saved, until Ctrl-C."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.manifest import Assignment, Stage
from course.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from autograder.grading.warm_session import Session

QUIET_MS = 30  # editors save in several steps; after so long without another change the file is complete
STEP_MS = 10
LOOK_MS = 1000  # without a notice, as on network drives, the files are looked at after so long


def watch(folder: Path, assignment: Assignment, stages: Sequence[Stage] | None, verbose: bool = False) -> int:
    """Show the verdict now and after each change of a module; 0 when it is interrupted.

    Args:
        folder: where the modules are. It is watched itself, so an editor may replace a file by a new one.
        stages: only these; None means that every save grades the stages that the saved module belongs to.

    Raises:
        UserError: if it is not a folder.
    """
    if not folder.is_dir():
        raise UserError(f"--watch needs the folder of the modules, and {folder} is none")
    from rich.console import Console

    from autograder.grading.warm_session import Session

    console, session = Console(highlight=False, emoji=False, markup=False), Session(assignment)
    try:
        known = texts(folder, assignment)
        show(console, session, folder, stages, verbose, "")
        for names in changes(folder, assignment, known):
            chosen = stages
            if stages is None:
                chosen = [stage for stage in assignment.stages if names & {f"{module}.py" for module in stage.modules}]
            elif not names & {f"{module}.py" for stage in stages for module in stage.modules}:
                continue
            show(console, session, folder, chosen, verbose, ", ".join(sorted(names)))
    except KeyboardInterrupt:
        console.print("\nNo longer watching.")
    finally:
        session.close()
    return 0


def changes(folder: Path, assignment: Assignment, known: dict[str, bytes]) -> Iterator[set[str]]:
    """The names of the modules whose text is another than `known` or than last time, each time that there are some."""
    from watchfiles import watch

    files = {f"{module}.py" for module in assignment.modules}
    for _ in watch(
        folder,
        watch_filter=lambda change, path: Path(path).name in files,
        step=STEP_MS,
        rust_timeout=LOOK_MS,
        yield_on_timeout=True,
        recursive=False,
        raise_interrupt=True,
    ):
        # A module that is gone for a moment is being replaced.
        for _ in range(10):
            time.sleep(QUIET_MS / 1000)
            now = texts(folder, assignment)
            if known.keys() <= now.keys():
                break
        names = {name for name in known.keys() | now.keys() if known.get(name) != now.get(name)}
        known = now
        if names:  # an editor may touch a file without changing it
            yield names


def texts(folder: Path, assignment: Assignment) -> dict[str, bytes]:
    """What the modules hold, those that can be read."""
    found = {}
    for module in assignment.modules:
        with suppress(OSError):
            found[f"{module}.py"] = (folder / f"{module}.py").read_bytes()
    return found


def show(
    console: "Console",
    session: "Session",
    folder: Path,
    stages: Sequence[Stage] | None,
    verbose: bool,
    saved: str,
) -> None:
    """Grade, then clear the screen and print the verdict, so that the old one can be read until then."""
    from autograder.reports.console import print_stage, print_total

    try:
        report = session.grade(folder, stages, jobs=min(2, os.cpu_count() or 1))
    except UserError as error:
        console.clear()
        console.print(f"error: {error}", soft_wrap=True)
    else:
        console.clear()
        for stage in report.stages:
            print_stage(console, stage, verbose)
        print_total(console, report)
    what = f"Saved: {saved}. " if saved else ""
    console.print(f"\n{what}Watching {folder}; Ctrl-C ends.", style="dim", soft_wrap=True)
    console.file.flush()
