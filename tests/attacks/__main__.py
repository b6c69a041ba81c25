"""Run the attacks as both kinds of user: `python -m tests.attacks`, the same as `make attacks`.

Root's workers become another user, those of an ordinary user do not; an attack must fail either way. Root runs the
suite as itself and once more as an ordinary user. An ordinary user can run it only as itself.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from autograder.sandbox.confine import NOBODY

ROOT = Path(__file__).resolve().parent.parent.parent
NEEDED = """
import pathlib, pytest, rich, torch, autograder.grading.grade_submission
for folder in ("autograder", "checkpoints", "solutions", "tests"):
    for path in pathlib.Path(folder).rglob("*"):
        path.is_file() and path.open("rb").close()
"""
UNREADABLE = """\
error: user {user} cannot run {python}: {why}
The project ({root}) and its Python have to be readable by all users, and every folder above them.
Take a Python of the system, and a folder that all may enter for the environment:
    make attacks PYTHON=/usr/bin/python3 VENV=/opt/course"""


def suite(folder: str, options: list[str]) -> list[str]:
    """The command that runs all attacks, the slow ones too; what it writes goes into a folder."""
    command = [sys.executable, "-m", "pytest", "tests/attacks", "-m", "", "-q", "-p", "no:cacheprovider"]
    return [*command, "--basetemp", str(Path(folder, "pytest")), *options]


def run_as(user: int, folder: str, options: list[str]) -> int:
    """Run the suite as another user; its exit status, or 2 if that user cannot run it."""
    environment = {**os.environ, "HOME": folder, "TMPDIR": folder, "PYTHONDONTWRITEBYTECODE": "1"}

    def run(command: list[str], quiet: bool) -> tuple[int, str]:
        output = subprocess.PIPE if quiet else None
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            user=user,
            group=user,
            extra_groups=[],
            stdout=output,
            stderr=output,
            text=True,
        )
        return done.returncode, (done.stderr or "").strip()

    os.chown(folder, user, user)
    try:
        status, complaint = run([sys.executable, "-c", NEEDED], quiet=True)
    except OSError as error:
        status, complaint = 1, str(error)
    if status:
        why = complaint.splitlines()[-1] if complaint else f"exit status {status}"
        print(UNREADABLE.format(user=user, python=sys.executable, why=why, root=ROOT), file=sys.stderr)
        return 2
    return run(suite(folder, options), quiet=False)[0]


def main() -> int:
    options, root = sys.argv[1:], hasattr(os, "geteuid") and os.geteuid() == 0
    print(f"The attacks as {'root' if root else 'this user'}:", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        status = subprocess.run(suite(folder, options), cwd=ROOT).returncode
    if not root:
        print("Root can run them as root too: sudo make attacks")
        return status
    print(f"The attacks as user {NOBODY}:", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        return run_as(NOBODY, folder, options) or status


if __name__ == "__main__":
    sys.exit(main())
