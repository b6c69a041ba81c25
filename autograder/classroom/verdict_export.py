"""`python -m autograder export verdict`: the verdicts of a class in a format of your choice, one file per student."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from autograder.classroom.saved_results import read_result
from autograder.manifest import assignment
from autograder.reports.gradescope_results import results as gradescope
from autograder.reports.junit_xml import junit
from autograder.reports.markdown_summary import summary
from autograder.reports.review_file import read_review, with_review
from autograder.reports.sarif import sarif
from autograder.reports.verdict import Audience, Verdict, as_text, fault_report, verdict
from autograder.reports.write_files import write_whole
from course.errors import UserError

FORMATS: dict[str, tuple[str, Callable[[Verdict], str]]] = {  # the files' extension, and the function that writes them
    "json": (".json", as_text),
    "junit": (".xml", junit),
    "sarif": (".sarif", lambda found: as_text(sarif(found))),
    "markdown": (".md", summary),
    "gradescope": (".results.json", lambda found: as_text(gradescope(found))),
}


def export_verdict(results: Path, out: Path, form: str, audience: Audience) -> Iterator[str]:
    """Write the verdicts; yield lines that describe what was written.

    Args:
        results: the folder written by batch.
        form: one of FORMATS; for the staff, only JSON is available.

    Raises:
        UserError: if there are none, or they cannot be written.
    """
    if audience == "staff" and form != "json":
        raise UserError(f"--audience staff is for verdict/1 only: {form} is read by students")
    verdicts = dict(_for_staff(results) if audience == "staff" else _for_students(results))
    if not verdicts:
        raise UserError(f"{results} has no verdicts: run batch first")
    ending, convert = FORMATS[form]
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot write to the folder {out}: {error.strerror}") from error
    for name, found in verdicts.items():
        write_whole(out / f"{name}{ending}", convert(found).encode(errors="replace"))
    faults = sum(found["outcome"] == "fault" for found in verdicts.values())
    yield f"{len(verdicts)} verdicts for the {audience} are in {out}."
    if faults:
        yield f"The grader failed on {faults} of them: these verdicts say so, and their points mean nothing."


def _for_students(results: Path) -> Iterator[tuple[str, Verdict]]:
    for path in sorted((results / "verdicts").glob("*.json")):
        yield path.stem, _read(path)


def _for_staff(results: Path) -> Iterator[tuple[str, Verdict]]:
    review, people = read_review(results), {name: found.get("students") for name, found in _for_students(results)}
    for path in sorted((results / "results").glob("*.json")):
        entry, report = read_result(path)
        student, chosen = str(entry["student"]), assignment(str(_read(results / "batch.json")["assignment"]))
        if report is None:
            report = replace(fault_report(chosen), submission=student)
        elif student in review:
            report = with_review(report, review[student])
        yield path.stem, {**verdict(report, chosen, "staff"), "students": people.get(path.stem) or [student]}


def _read(path: Path):  # type: ignore[no-untyped-def]
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({error}): run batch again") from error
