"""`python -m course.doctor`: check that everything the course needs is installed; if not, say what to do."""

import sys

from course.startup import begin

if __name__ == "__main__":
    begin()  # before imports that need a package or a later Python

import argparse
import importlib.metadata
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from autograder.grading.check_machine import Finding, show, worker
from autograder.manifest import assignments
from course.config import CHECKSUMS
from course.dependencies import requirements
from course.errors import run_command
from course.location import ENGINE, checkpoints, course_folder, inside
from course.startup import INSTALL

FRESH = f"make a new environment with python -m venv, without conda packages, and install the course with {INSTALL}"
# With a duplicate OpenMP library, this computation with numpy and torch together fails.
TRIAL = (
    "import numpy, torch; a = numpy.ones((64, 64)); b = torch.softmax(torch.tensor(a @ a), -1); "
    "assert abs(float(b.sum()) - 64) < 1e-6; print(torch.__version__)"
)


def findings() -> Iterator[Finding]:
    """Run all checks, one by one."""
    yield python()
    yield from packages()
    yield torch_works()
    yield from openmp()
    yield from trained_models()
    yield from jupyter()
    yield from own_files()
    notebooks = course_folder() / "notebooks"
    yield writable(notebooks if notebooks.is_dir() else Path())
    yield worker(confined=False)


def python() -> Finding:
    # Versions before 3.10 cannot even read the course's files.
    system = f"{platform.system()} {platform.machine()}"
    return Finding("Python", f"{platform.python_version()} in {sys.prefix}, {system}")


def packages(pyproject: Path = ENGINE / "pyproject.toml") -> Iterator[Finding]:
    """Check the packages that the course requires, and their versions."""
    try:
        from packaging.requirements import Requirement
    except ImportError:
        yield Finding("packages", f"are not installed: {INSTALL} in {ENGINE}", fine=False)
        return
    wrong = []
    for line in requirements(pyproject):
        wanted = Requirement(line)
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
            continue
        try:
            version = importlib.metadata.version(wanted.name)
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"{wanted.name} is missing")
            continue
        if not wanted.specifier.contains(version.partition("+")[0], prereleases=True):
            wrong.append(f"{wanted.name} is {version}, but must be {wanted.specifier}")
    if wrong:
        yield Finding("packages", f"{'; '.join(wrong)}. In {ENGINE}: {INSTALL}", fine=False)
    else:
        yield Finding("packages", "all installed, in suitable versions")


def torch_works(program: str = TRIAL) -> Finding:
    """Compute with numpy and torch in one process, which fails if OpenMP is loaded twice."""
    environment = {name: value for name, value in os.environ.items() if name != "KMP_DUPLICATE_LIB_OK"}
    command = [sys.executable, "-c", program]
    try:
        process = subprocess.run(
            command, env=environment, capture_output=True, text=True, errors="replace", timeout=300
        )
    except subprocess.TimeoutExpired:
        return Finding("torch", f"does not finish a small computation in 5 minutes: {FRESH}", fine=False)
    if process.returncode == 0:
        return Finding("torch", f"{process.stdout.strip()} computes")
    if "OMP: Error #15" in process.stderr:
        words = f"the OpenMP library is installed twice, by conda and pip: {FRESH}. Do not set KMP_DUPLICATE_LIB_OK"
        return Finding("torch", words, fine=False)
    last = (process.stderr.strip().splitlines() or [f"exit status {process.returncode}"])[-1]
    return Finding("torch", f"cannot compute ({last}): {FRESH}", fine=False)


def openmp(prefix: Path = Path(sys.prefix)) -> Iterator[Finding]:
    """Check for a mix of conda's numpy and pip's torch, each of which comes with its own OpenMP library."""
    if "KMP_DUPLICATE_LIB_OK" in os.environ:
        words = "KMP_DUPLICATE_LIB_OK is set: it hides a conflict and can make results wrong. Unset it"
        yield Finding("OpenMP", words, fine=False, needed=False)
    theirs = [file.name for file in (prefix / "conda-meta").glob("*.json")]
    if any(name.startswith(("mkl-", "intel-openmp-")) for name in theirs):
        words = (
            f"this conda environment has MKL, which clashes with pip's torch on some systems. If torch fails, {FRESH}"
        )
        yield Finding("OpenMP", words, fine=False, needed=False)


def trained_models(folder: Path | None = None) -> Iterator[Finding]:
    """Check all trained models shipped with the course; if no assignment loads a model, none is needed."""
    folders = sorted(path for path in (folder or checkpoints()).glob("*") if path.is_dir())
    wanted = folder or any(assignment.checkpoints for assignment in assignments().values())
    yield from map(checkpoint, folders) if folders else [checkpoint()] if wanted else ()


def checkpoint(folder: Path | None = None) -> Finding:
    """Check that the files of a trained model are unchanged."""
    try:
        from course.checkpoint import DEFAULT, checksums
    except ImportError:
        return Finding("trained model", "cannot be checked without torch", fine=False)
    folder = folder or DEFAULT
    try:
        lines = (folder / CHECKSUMS).read_text(encoding="utf-8").splitlines()
        sums = checksums(folder)
    except OSError as error:
        return Finding("trained model", f"cannot be read ({error}): {again(folder)}", fine=False)
    wrong = [name for digest, name in map(str.split, lines) if sums.get(name) != digest]
    if wrong:
        words = f"{', '.join(wrong)} in {folder} missing or damaged: {again(folder)}"
        return Finding("trained model", words, fine=False)
    return Finding("trained model", f"{folder.name}, {len(lines)} files, checksums correct")


def own_files(folder: Path | None = None) -> Iterator[Finding]:
    """Check that the students' modules and the notebooks are where they should be."""
    folder = folder or course_folder() / "notebooks"
    for assignment in assignments().values():
        place = folder / assignment.name
        if not place.is_dir():
            continue  # an assignment that is not in the handout
        names = [*(f"{module}.py" for module in assignment.modules), *assignment.notebooks]
        if missing := [name for name in names if not (place / name).is_file()]:
            words = f"{', '.join(missing)} missing in {place}: {again(place)}"
            yield Finding(f"files of {assignment.name}", words, fine=False)
        else:
            yield Finding(f"files of {assignment.name}", f"{len(names)} modules and notebooks in {inside(place)}")


def again(path: Path) -> str:
    """Return instructions for restoring a file of the course."""
    if (course_folder() / ".git").exists():
        return f"git checkout -- {inside(path)}"
    return "unpack the handout once more, elsewhere, and copy them from there"


def jupyter() -> Iterator[Finding]:
    """Check JupyterLab, its widget extension, and the kernel for the notebooks."""
    try:
        from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
        from jupyter_core.paths import jupyter_path

        version = importlib.metadata.version("jupyterlab")
    except (ImportError, importlib.metadata.PackageNotFoundError):
        yield Finding("JupyterLab", f"is missing: {INSTALL} in {ENGINE}", fine=False)
        return
    yield Finding("JupyterLab", f"{version}: start it in {course_folder()} with python -m jupyterlab")
    extension = jupyter_path("labextensions", "@jupyter-widgets", "jupyterlab-manager", "package.json")
    if any(Path(file).is_file() for file in extension):
        yield Finding("widgets", "their JupyterLab extension is installed")
    else:
        words = "their JupyterLab extension is missing, so you will see only figures: pip install jupyterlab_widgets"
        yield Finding("widgets", words, fine=False, needed=False)
    try:
        program = KernelSpecManager().get_kernel_spec("python3").argv[0]
    except NoSuchKernel:
        words = "there is no python3 kernel: python -m ipykernel install --sys-prefix"
        yield Finding("kernel", words, fine=False)
        return
    if Path(program).is_absolute() and Path(program).parent != Path(sys.executable).parent:
        words = f"python3 starts {program}, not this Python: python -m ipykernel install --sys-prefix"
        yield Finding("kernel", words, fine=False, needed=False)
    else:
        yield Finding("kernel", "python3 is this Python")


def writable(folder: Path) -> Finding:
    """Check that files can be written in the notebooks' folder and in the folder for temporary files."""
    for place in (folder, Path(tempfile.gettempdir())):
        try:
            with tempfile.TemporaryFile(dir=place):
                pass
        except OSError as error:
            words = f"cannot write into {place.resolve()} ({error.strerror}): copy the course to a writable folder"
            return Finding("write access", words, fine=False)
    return Finding("write access", f"to {inside(folder.resolve())}")


def main(arguments: list[str] | None = None) -> int:
    argparse.ArgumentParser(
        prog="python -m course.doctor",
        description="Check that everything the course needs is installed.",
        epilog="exit status: 0 everything is there, 1 something is missing",
    ).parse_args(arguments)
    broken = show(findings())
    print("Something is missing; the lines marked MISSING say what to do." if broken else "Everything is here.")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(run_command(main))
