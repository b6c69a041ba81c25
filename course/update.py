"""`python -m course.update HANDOUT.zip`: install a corrected handout mid-term, keeping everything you wrote.

Files of the course are replaced. A module or notebook in `notebooks` that you have changed is not replaced; the new
version is saved next to it (`mha.new.py`). Your changed versions of other course files are kept next to the new ones
(`grade.yours.py`). Files that are not in the handout are not touched.
"""

import sys

from course.startup import begin

if __name__ == "__main__":
    begin()  # before imports that need a package or a later Python

import argparse
import contextlib
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

from autograder.submissions.untrusted_files import MAX_ARCHIVE, Archive, Unreadable, read_regular
from course.errors import UserError, run_command
from course.location import course_folder
from course.startup import INSTALL

RECORD = "course/handout.json"  # the handout's assignment, and the SHA-256 of each file
OWN = "notebooks/"
PACKAGES = ("pyproject.toml", "constraints.txt", "environment.yml")


@dataclass
class Done:
    """The files that an update replaced or kept, and the versions that it saved next to them."""

    replaced: list[str] = field(default_factory=list)
    beside: dict[str, str] = field(default_factory=dict)  # kept file -> the new version next to it
    saved: dict[str, str] = field(default_factory=dict)  # replaced file -> the copy of the old version


def read_handout(path: Path) -> dict[str, bytes]:
    """Return a handout's files, keyed by their paths below its top folder.

    Raises:
        UserError: if it is not a handout.
    """
    try:
        archive = Archive.of_bytes(read_regular(path, MAX_ARCHIVE), nesting=0)
        listing = archive.listing()
        if wrong := [*listing.notes, *filter(None, listing.files.values())]:
            raise Unreadable(f"contains a file that a handout does not have ({wrong[0]})")
        files = {name.partition("/")[2]: archive.read(name, MAX_ARCHIVE) for name in listing.files}
    except Unreadable as error:
        raise UserError(f"{path} {error}") from error
    if RECORD not in files or "grade.py" not in files:
        raise UserError(f"{path} is not a handout of this course, or is older than this command")
    return files


def update(files: dict[str, bytes], root: Path | None = None) -> Done:
    """Install the files of a handout in the folder of the course.

    Raises:
        UserError: if the handout's assignment is not in this folder, or a file cannot be written.
    """
    root = root or course_folder()
    name = str(json.loads(files[RECORD])["assignment"])
    if not (root / OWN / name).is_dir():
        raise UserError(f"this is the handout of {name}, which is not here: unpack it into a folder of its own")
    if (root / "solutions").exists():
        raise UserError(f"{root} is not a handout but the whole project: update it with git")
    old = known(root)
    outcome = Done()
    # The files that this command itself needs come last.
    for path, new in sorted(files.items(), key=lambda item: item[0] == RECORD):
        target = root / path
        there = target.read_bytes() if target.is_file() else None
        if there == new or (there is not None and digest(new, path) == old.get(path) and path.startswith(OWN)):
            continue  # the student's file, which has no correction
        changed = there is not None and digest(there, path) != old.get(path)
        if changed and path.startswith(OWN):
            beside = target.with_name(f"{target.stem}.new{target.suffix}")
            write(beside, new)
            outcome.beside[path] = beside.name
            continue
        if changed and there is not None and path != RECORD and old:
            yours = target.with_name(f"{target.stem}.yours{target.suffix}")
            write(yours, there)
            outcome.saved[path] = yours.name
        write(target, new)
        outcome.replaced.append(path)
    return outcome


def known(root: Path) -> dict[str, str]:
    """Return the record of the installed handout: the SHA-256 of each file; empty if there is none."""
    try:
        return dict(json.loads((root / RECORD).read_text(encoding="utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def digest(data: bytes, name: str) -> str:
    """Return the SHA-256 of the content of a file called `name`.

    Line endings are ignored, since editors and git change them. For a notebook, only the cells' sources count, not
    their outputs, so running a notebook does not change its digest.
    """
    data = data.replace(b"\r\n", b"\n")
    if name.endswith(".ipynb"):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            cells = json.loads(data)["cells"]
            data = json.dumps([[cell["cell_type"], "".join(cell["source"])] for cell in cells]).encode()
    return hashlib.sha256(data).hexdigest()


def write(path: Path, data: bytes) -> None:
    """Write a file completely or not at all."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}; fix this and run the command again") from error


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m course.update", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("handout", type=Path, metavar="HANDOUT.zip", help="the new archive, as you received it")
    args = parser.parse_args(arguments)
    outcome = update(read_handout(args.handout))
    if not (outcome.replaced or outcome.beside):
        print("Everything is already up to date with this handout.")
        return 0
    print(f"{len(outcome.replaced)} files of the course were updated.")
    for path, beside in outcome.beside.items():
        print(f"Your {path} was kept; the new version is beside it as {beside}.")
    for path, yours in outcome.saved.items():
        print(f"You had changed {path}; it was replaced, and your version is beside it as {yours}.")
    if outcome.replaced:
        print("Open notebooks still use the old files: reload them, and restart their kernels.")
    if any(path in outcome.replaced for path in PACKAGES):
        print(f"The packages may have changed: {INSTALL}")
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
