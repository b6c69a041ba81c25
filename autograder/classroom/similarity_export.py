"""Arrange the modules of a class in folders for JPlag and Dolos, with the stubs as base code."""

import csv
import io
import shlex
from pathlib import Path

from autograder.gradebooks.groups import Groups
from autograder.gradebooks.hand_in_times import timestamps
from autograder.gradebooks.match_students import normal
from autograder.manifest import Assignment
from autograder.reports.write_files import harmless
from autograder.submissions.find_submissions import names_of, take_in
from autograder.submissions.read_submission import Submission, read_submission
from course.errors import UserError


def export_similarity(submissions: Path, out: Path, chosen: Assignment, groups: Groups | None = None) -> list[str]:
    """Write the modules of a class.

    jplag/submissions/anna/*.py, jplag/stubs/*.py    a folder for each student
    dolos/submissions/anna.py, dolos/stubs.py        one file per student, since Dolos compares files; dolos/info.csv

    Args:
        submissions: folder or zip file, as for batch.
        out: a new folder.
        groups: each group is one folder, or one file, so its members are not compared with each other.

    Returns:
        Lines for the instructor: who was left out, and the commands to run.

    Raises:
        UserError: if there is nothing to write, or it cannot be written.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} already exists: choose a new folder for --out")
    stubs = read_submission(chosen.released, chosen)
    intake = take_in(submissions, [chosen])
    found = intake.found
    times, notes = timestamps(found, chosen.name)
    table = io.StringIO(newline="")
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["filename", "full_name", "created_at"])
    left_out = [f"left out {names_of(intake.unclaimed)} that belong to no student"] if intake.unclaimed else []
    left_students = 0
    seen: dict[str, str] = {}  # group -> the name of its folder and file
    try:
        write(out, "stubs", Path("jplag/stubs"), Path("dolos/stubs.py"), stubs)
        for submitted in found:
            submission = submitted.read()
            if not submission.sources:
                why = next(iter(submission.unreadable.values()), "no modules")
                left_out.append(f"left out {submitted.student}: {why}")
                left_students += 1
                continue
            group = groups.together(submitted.student) if groups else submitted.student
            name = seen.get(group, submitted.safe_name)
            folder = Path("jplag/submissions", name, submitted.safe_name if group in seen else "")
            write(out, name, folder, Path("dolos/submissions", f"{name}.py"), submission)
            if group in seen:
                continue
            seen[group] = name
            moment = times.get(normal(submitted.student))
            created = moment.strftime("%Y-%m-%d %H:%M:%S %z") if moment else ""
            writer.writerow([f"submissions/{name}.py", harmless(submitted.student), created])
        (out / "dolos" / "info.csv").write_bytes(table.getvalue().encode(errors="replace"))
    except OSError as error:
        raise UserError(f"cannot write to {out}: {error.strerror}") from error
    together = len(found) - left_students - len(seen)
    joined = [f"{together} submissions are merged with others of their group, not compared"] if together else []
    return [*left_out, *notes, *joined, *commands(out, len(seen))]


def write(out: Path, name: str, folder: Path, file: Path, submission: Submission) -> None:
    """Write the modules of one submission: as separate files in the folder, and all together in the file."""
    (out / folder).mkdir(parents=True)
    (out / file).parent.mkdir(parents=True, exist_ok=True)
    for module, text in submission.sources.items():
        (out / folder / f"{module}.py").write_bytes(text.encode(errors="replace"))
    together = "".join(f"# {module}.py\n{text.rstrip()}\n\n\n" for module, text in submission.sources.items())
    with (out / file).open("ab") as all_of_group:
        all_of_group.write(together.encode(errors="replace"))


def commands(out: Path, number: int) -> list[str]:
    """Return the commands to run."""
    jplag = out / "jplag"
    # JPlag's older module for Python; the newer one is called python.
    command = ["java", "-jar", "jplag.jar", "-l", "python3", "-bc", str(jplag / "stubs"), "-r", str(jplag / "result")]
    dolos = shlex.join(["cd", str(out / "dolos")])
    return [
        f"The modules of {number} students are in {out}. Run one of these:",
        f"  {shlex.join([*command, str(jplag / 'submissions')])}",
        f"  {dolos} && dolos run -l python -f web -i stubs.py info.csv",
        "Both run on your machine and upload nothing. A similarity is a reason to look, never a verdict.",
    ]
