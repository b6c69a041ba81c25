"""Grade a student's repository with the engine in this file's folder, and write result.json.

Classroom 50 runs this script. The engine and the visible tests come from this bundle; the trained models come from the
repository, but must be identical to the course's. The bundle contains no solutions or hidden tests, since anybody can
download it. An exit status other than 0 means that the grader failed.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE, REPOSITORY = Path(__file__).resolve().parent, Path.cwd()
ENGINE = HERE / "engine"
SECONDS = int("@WALL@")


def install() -> None:
    """Install the packages that grading imports, from the package index that contains the CPU build of torch."""
    index = os.environ.get("TORCH_INDEX", "https://download.pytorch.org/whl/cpu")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pins = ["-c", str(HERE / "constraints.txt"), "-r", str(HERE / "requirements.txt")]
    subprocess.run([*pip, *(["--extra-index-url", index] if index else []), *pins], check=True, cwd=HERE)


def copy_checkpoints() -> None:
    """Copy the trained models from the repository. Stop the grading if a file differs from the course's file."""
    for name, digest in json.loads((HERE / "checkpoints.json").read_text(encoding="utf-8")).items():
        source, target = REPOSITORY / name, ENGINE / name
        if not source.is_file() or hashlib.sha256(source.read_bytes()).hexdigest() != digest:
            sys.exit(f"{name} is missing from the repository, or differs from the course's file")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def main() -> None:
    if "--no-install" not in sys.argv:
        install()
    copy_checkpoints()
    folder = REPOSITORY / "notebooks" / "@NAME@"
    command = [sys.executable, "-m", "autograder.platforms", "classroom50", "settings.json"]
    command += [str(folder if folder.is_dir() else REPOSITORY), str(REPOSITORY / "result.json")]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment = {**kept, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    sys.exit(subprocess.run(command, cwd=ENGINE, env=environment, timeout=SECONDS).returncode)


if __name__ == "__main__":
    main()
