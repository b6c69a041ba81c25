"""Run the attacks as both kinds of user: `python -m tests.attacks`, the same as `make attacks`.

Root's workers become another user, those of an ordinary user do not; an attack must fail either way. Root runs the
suite as itself and once more as an ordinary user. An ordinary user can run it only as itself.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from autograder.confine import NOBODY

ROOT = Path(__file__).resolve().parent.parent.parent
NEEDED = "import pytest, rich, torch; import autograder.grading"


def suite(folder: str, *options: str) -> list[str]:
    """The command that runs the attacks; what it writes goes into a folder."""
    command = [sys.executable, "-m", "pytest", "tests/attacks", "-q", "-p", "no:cacheprovider"]
    return [*command, "--basetemp", str(Path(folder, "pytest")), *options]


def run(options: list[str], user: int | None) -> int:
    """Run the suite as this user, or as another one. Its exit status is given back."""
    with tempfile.TemporaryDirectory() as folder:
        if user is None:
            return subprocess.run(suite(folder, *options), cwd=ROOT).returncode
        os.chown(folder, user, user)
        environment = {**os.environ, "HOME": folder, "TMPDIR": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        become = {"user": user, "group": user, "extra_groups": [], "cwd": ROOT, "env": environment}
        try:
            found = subprocess.run([sys.executable, "-c", NEEDED], capture_output=True, text=True, **become)
            why = found.stderr.strip().splitlines()[-1:] if found.returncode else []
        except OSError as error:
            found, why = None, [str(error)]
        if found is None or found.returncode:
            print(
                f"error: user {user} cannot run {sys.executable}: {' '.join(why)}\n"
                f"The project ({ROOT}) and its Python have to be readable by all users, with every folder above them.\n"
                "Put both where they are, for instance with a Python of the system and the environment in /opt:\n"
                "    make attacks PYTHON=/usr/bin/python3 VENV=/opt/course",
                file=sys.stderr,
            )
            return 2
        return subprocess.run(suite(folder, *options), **become).returncode


def main() -> int:
    options = sys.argv[1:]
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        print("The attacks as this user. As root: sudo make attacks", flush=True)
        return run(options, None)
    print("The attacks as root:", flush=True)
    first = run(options, None)
    print(f"The attacks as user {NOBODY}:", flush=True)
    return run(options, NOBODY) or first


if __name__ == "__main__":
    sys.exit(main())
