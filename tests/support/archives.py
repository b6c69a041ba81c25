"""Submissions as folders and archives, written for tests of how they are read."""

import io
import zipfile
from pathlib import Path

from autograder.manifest import assignment
from autograder.submissions.find_submissions import find_submissions
from autograder.submissions.read_submission import Submission, read_submission

ASSIGNMENT = assignment("transformer")
MODULES = {f"{module}.py": f"# {module}\n" for module in ASSIGNMENT.modules}
FULL = list(ASSIGNMENT.modules)


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def zipped(files: dict[str, str | bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def below(folder: str, files: dict[str, str] = MODULES) -> dict[str, str | bytes]:
    return {f"{folder}/{name}": text for name, text in files.items()}


def read_all(path: Path) -> dict[str, Submission]:
    found = find_submissions(path, ASSIGNMENT)
    assert len({one.safe_name for one in found}) == len(found)
    return {one.student: one.read() for one in found}


def read_one(path: Path) -> Submission:
    (one,) = read_all(path).values()
    return one


def from_zip(tmp_path: Path, files: dict[str, str | bytes] | bytes) -> Submission:
    (tmp_path / "x.zip").write_bytes(files if isinstance(files, bytes) else zipped(files))
    submission = read_one(tmp_path / "x.zip")
    if not submission.sources:
        return submission
    assert submission.sources == read_submission(tmp_path / "x.zip", ASSIGNMENT).sources
    return submission
