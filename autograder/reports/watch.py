"""`python grade.py --watch [stage ...]`: grade again whenever a module is saved, until Ctrl-C.

A verdict fits on one screen. The old verdict stays until the new one is ready, and a line below it names the stages
being graded. Saving a module stops a run that has not finished, since its verdict would be outdated.
"""

import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.manifest import Assignment, Stage
from course.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from autograder.grading.results import Report
    from autograder.grading.warm_session import Session

QUIET_MS = 30  # editors save in several steps; a file is complete if it has not changed for this long
STEP_MS = 10
GRACE_SECONDS = 0.3  # to let a nearly finished grading complete: stopping it means starting another warm process
LOOK_MS = 1000  # without notifications, as on network drives, the files are checked at this interval


def watch(
    folder: Path,
    assignment: Assignment,
    stages: Sequence[Stage] | None,
    verbose: bool = False,
    problems: bool = False,
) -> int:
    """Show the verdict now and after each change to a module; return 0 when interrupted.

    Args:
        folder: the folder of the modules. The folder is watched, so an editor may replace a file with a new one.
        stages: only these; None means that every save grades the stages that the saved module belongs to.
        problems: print the lines of all stages for an editor's problem matcher instead of the verdict.

    Raises:
        UserError: if it is not a folder.
    """
    if not folder.is_dir():
        raise UserError(f"--watch needs the folder of the modules, and {folder} is not a folder")
    from rich.console import Console

    desk = Desk(Console(highlight=False, emoji=False, markup=False), folder, assignment, verbose, problems)
    try:
        known = texts(folder, assignment)
        desk.grade(stages or assignment.stages)
        for names in changes(folder, assignment, known):
            chosen = assignment.stages if stages is None else stages
            if concerned := [stage for stage in chosen if names & {f"{module}.py" for module in stage.modules}]:
                desk.grade(concerned if stages is None else stages, ", ".join(sorted(names)))
    except KeyboardInterrupt:
        desk.console.print("\nNo longer watching.")
    finally:
        desk.end()
    return 0


class Desk:
    """Grades in its own thread, one run at a time, and shows the verdicts."""

    def __init__(
        self, console: "Console", folder: Path, assignment: Assignment, verbose: bool = False, problems: bool = False
    ) -> None:
        from autograder.grading.warm_session import Session

        self.console, self.folder, self.assignment, self.verbose = console, folder, assignment, verbose
        self._session = Session(assignment)
        self._thread: threading.Thread | None = None
        self._stages: set[str] = set()  # the stages being graded
        # With problems: the lines of each stage, since an editor clears all lines when a grading begins.
        self._problems: dict[str, list[str]] | None = {} if problems else None

    def grade(self, stages: Iterable[Stage], saved: str = "") -> None:
        """Stop an unfinished run, and grade its stages together with the given ones."""
        wanted = {stage.name for stage in stages}
        if self._thread is not None:
            self._thread.join(GRACE_SECONDS)
            if self._thread.is_alive():
                from autograder.grading.warm_session import Session

                wanted |= self._stages
                self.end()
                self._session = Session(self.assignment)
        chosen = [stage for stage in self.assignment.stages if stage.name in wanted]
        everything = len(chosen) == len(self.assignment.stages)
        names = "all stages" if everything else " and ".join(f"stage {stage.number}" for stage in chosen)
        self.console.print(f"{f'Saved: {saved}. ' if saved else ''}Grading {names} ...", style="dim", soft_wrap=True)
        self.console.file.flush()
        self._stages = wanted
        arguments = (self._session, None if everything else chosen, saved)
        self._thread = threading.Thread(target=self._grade, args=arguments, daemon=True)
        self._thread.start()

    def _grade(self, session: "Session", stages: Sequence[Stage] | None, saved: str) -> None:
        from autograder.grading.warm_session import Ended

        report, problem = None, ""
        try:
            report = session.grade(self.folder, stages, jobs=min(2, os.cpu_count() or 1))
        except Ended:
            return
        except UserError as error:
            problem = f"error: {error}"
        except Exception as error:  # whatever the error, watching continues
            problem = f"The grader itself failed ({type(error).__name__}: {error}); this says nothing about your code."
        saved = f"Saved: {saved}. " if saved else ""
        if self._problems is None:
            show(self.console, report, problem, self.verbose, saved, self.folder)
        else:
            self._print_problems(report, problem, saved)

    def _print_problems(self, report: "Report | None", problem: str, saved: str) -> None:
        from autograder.reports.problems import diagnostics, problem_lines
        from autograder.reports.verdict import verdict

        assert self._problems is not None
        if report is not None:
            sources = {
                name.removesuffix(".py"): text.decode(errors="replace")
                for name, text in texts(self.folder, self.assignment).items()
            }
            outcome = verdict(report, self.assignment, sources=sources)
            for stage in outcome["stages"]:
                tests = [test for test in outcome["tests"] if test["stage"] == stage["name"]]
                placed = diagnostics({**outcome, "tests": tests}, self.folder, Path())
                self._problems[stage["name"]] = problem_lines(placed)
            problem = outcome["summary"]
        for line in dict.fromkeys(line for lines in self._problems.values() for line in lines):
            self.console.print(line, soft_wrap=True)
        self.console.print(f"{problem}\n{saved}Watching {self.folder}; press Ctrl-C to stop.", soft_wrap=True)
        self.console.file.flush()

    def end(self) -> None:
        """Stop the current run silently."""
        self._session.end()
        if self._thread is not None:
            self._thread.join()


def changes(folder: Path, assignment: Assignment, known: dict[str, bytes]) -> Iterator[set[str]]:
    """After each change, yield the names of the modules whose source has changed; `known` is the initial state."""
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
        # A module that is missing for a moment is being replaced.
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
    """The contents of all readable modules."""
    contents = {}
    for module in assignment.modules:
        with suppress(OSError):
            contents[f"{module}.py"] = (folder / f"{module}.py").read_bytes()
    return contents


def show(console: "Console", report: "Report | None", problem: str, verbose: bool, saved: str, folder: Path) -> None:
    """Clear the screen, and print the verdict or the problem, and the name of the watched folder."""
    from autograder.reports.one_screen import one_screen

    console.clear()
    if report is None:
        console.print(problem, soft_wrap=True)
    else:
        console.file.write(one_screen(console, report, verbose, lines_below=2))
    words = f"{saved}Watching {folder}; press Ctrl-C to stop."
    if console.is_terminal and len(words) > console.width:
        words = f"{saved}Watching; press Ctrl-C to stop."
    console.print(f"\n{words}", style="dim", soft_wrap=True)
    console.file.flush()
