"""`python grade.py --zip`: pack the modules for submission, and check that the archive contains them unchanged."""

import zipfile
from datetime import datetime
from pathlib import Path

from autograder.manifest import Assignment
from autograder.submissions.read_submission import Submission, read_submission
from course.errors import UserError


def pack(submission: Submission, assignment: Assignment, path: Path) -> str:
    """Write the modules of a submission into a zip file; return a sentence that describes its contents.

    The file is written completely or not at all. It is then read back in the same way as during grading.

    Raises:
        UserError: if nothing can be packed, or the file cannot be written.
    """
    if not submission.sources:
        raise UserError("there is no module to pack: " + "; ".join(submission.unreadable.values()))
    partial, now = path.with_name(f"{path.name}.partial.zip"), datetime.now().timetuple()[:6]  # noqa: DTZ005 (local)
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            for module, text in submission.sources.items():
                info = zipfile.ZipInfo(f"{assignment.name}/{module}.py", now)
                info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o100644 << 16
                archive.writestr(info, text.encode())
        if read_submission(partial, assignment).sources != submission.sources:
            raise UserError(f"{path} does not read back as it was written: hand in the files themselves")
        partial.replace(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)
    packed = ", ".join(f"{module}.py" for module in submission.sources)
    lacking = "".join(f" NOT packed: {why}." for why in submission.unreadable.values())
    return f"Packed {packed} into {path}: hand in this file.{lacking}"
