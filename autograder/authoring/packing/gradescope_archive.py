"""Build the autograder for Gradescope: `python -m autograder gradescope build/transformer.zip`.

Upload the archive in "Configure Autograder". It contains everything needed for grading, including solutions and hidden
tests, so keep it secret. It also contains the seed of the hidden tests, so all students get the same tests. Running the
command again for the same file keeps the seed, so that grades stay comparable after a correction.

In the container, the grader runs as root, and submitted code runs confined. If the kernel has no Landlock (as in
gVisor), the code runs as the user "nobody" with seccomp. It can read public files, but it cannot write files, use the
network, or affect other processes. Only root can read the solutions, the tests and the seed. If submitted code cannot
be confined, every submission results in a grader failure, unless the archive was built with `--unconfined`. With this
option, the code runs unconfined, so a hostile submission can read the solution and change its grade. Each result
contains a warning about this.
"""

import argparse
import json
import re
import secrets
import sys
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from autograder.authoring.packing.handout import place_of, public_config
from autograder.authoring.packing.needed_files import library
from autograder.authoring.packing.zip_files import check_target, of_course, of_engine, of_project, write_zip
from autograder.manifest import Assignment
from autograder.platforms.grading import SETTINGS, Settings
from autograder.reports.gradescope_results import results
from autograder.reports.verdict import RELEASES, as_text, fault_report, verdict
from autograder.submissions.which_assignment import which_assignment
from course.errors import UserError, run_command
from course.location import MARK, project_files

# The packages that the grader imports. Their versions are in constraints.txt.
PACKAGES = ("torch", "numpy", "safetensors", "sentencepiece", "editdistance", "rapidfuzz", "rich", "tomli")
TIME_LIMIT = 240.0  # seconds; Gradescope gives a container half a processor and 10 minutes
MAX_TIME_LIMIT = 480.0
# The options of a settings file, with their types.
OPTIONS: dict[str, tuple[type, ...]] = {
    "assignment": (str,),
    "seed": (int,),
    "time_limit": (int, float),
    "unconfined": (bool,),
    "hidden_results": (str,),
}
ROOMS = (
    *("diagnosis", "forbidden", "grading", "localization", "manifest", "platforms", "reports", "sandbox"),
    *("submissions", "worker"),
)
GRADER = ("autograder/*.py", *(f"autograder/{room}/**/*.py" for room in ROOMS), "autograder/assignments/__init__.py")
PACKING = "autograder/authoring/packing"


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m autograder gradescope", description="Build the autograder archive for Gradescope."
    )
    parser.add_argument("archive", type=Path, metavar="ARCHIVE", help="zip file to write")
    parser.add_argument("--assignment", metavar="NAME", help="default: the first assignment")
    parser.add_argument(
        "--seed", type=int, metavar="N", help="seed of the hidden tests (default: as in ARCHIVE, else random)"
    )
    parser.add_argument(
        "--time-limit",
        type=float,
        default=TIME_LIMIT,
        metavar="SECONDS",
        help="time limit for the code of one submission (default: %(default)g)",
    )
    parser.add_argument(
        "--unconfined", action="store_true", help="grade even if the container cannot confine submissions"
    )
    parser.add_argument(
        "--hidden-results",
        choices=RELEASES,
        default=RELEASES[0],
        help="when students see their points and the results of hidden tests (%(default)s)",
    )
    parser.add_argument("--settings", type=Path, metavar="FILE", help="TOML file with these options, such as seed = 7")
    given = parser.parse_args(arguments)
    if given.settings:
        parser.set_defaults(**from_file(given.settings))
    return parser.parse_args(arguments)


def from_file(path: Path) -> dict[str, Any]:
    """Read options from a settings file; they replace the defaults.

    Raises:
        UserError: if it cannot be read, or has an unknown option.
    """
    try:
        options = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    for name, value in options.items():
        if name not in OPTIONS:
            raise UserError(f"{path}: there is no option {name}; the options are {', '.join(OPTIONS)}")
        if type(value) not in OPTIONS[name] or (name == "hidden_results" and value not in RELEASES):
            raise UserError(f"{path}: {name} cannot be {value!r}")
    return options


def run(args: argparse.Namespace) -> int:
    chosen = which_assignment(args.assignment)
    check_target(args.archive)
    if not 0 < args.time_limit <= MAX_TIME_LIMIT:
        raise UserError(f"--time-limit must be more than 0 and at most {MAX_TIME_LIMIT:g} seconds")
    if args.seed is not None and args.seed < 0:
        raise UserError(f"the seed must not be negative: {args.seed}")
    seed = seed_of(args.archive, chosen, args.seed)
    files = contents(chosen, Settings(chosen.name, seed, args.time_limit, args.unconfined, args.hidden_results))
    write_zip(args.archive, files, {"setup.sh": 0o755, "run_autograder": 0o755, SETTINGS: 0o600})
    size = args.archive.stat().st_size / 1e6
    print(f"Wrote {args.archive} ({size:.1f} MB), solutions and hidden tests included: upload it only to Gradescope.")
    print(f"The seed of the hidden tests is {seed}; running the command again keeps it.")
    if args.unconfined:
        print("Where its container cannot confine submissions, they run anyway, and a hostile one could cheat.")
    return 0


def seed_of(archive: Path, chosen: Assignment, wanted: int | None) -> int:
    """Return the seed of the existing archive. If there is no archive, return the requested seed or a random one.

    Raises:
        UserError: if the file is not such an archive, or has a different seed from the requested one.
    """
    if not archive.exists():
        return secrets.randbits(63) if wanted is None else wanted
    try:
        with zipfile.ZipFile(archive) as there:
            recorded = Settings(**json.loads(there.read(SETTINGS)))
    except (OSError, zipfile.BadZipFile, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{archive} was not made by this command: choose another name, or remove it") from error
    if recorded.assignment != chosen.name:
        raise UserError(f"{archive} is for the assignment {recorded.assignment}: choose another name")
    if wanted not in (None, recorded.seed):
        raise UserError(
            f"{archive} has the seed {recorded.seed}: leave out --seed to keep it, so that grades stay comparable, "
            "or choose another name"
        )
    return recorded.seed


def contents(chosen: Assignment, settings: Settings) -> dict[str, bytes]:
    """Return all files of the archive, keyed by path.

    Raises:
        UserError: if a part of the project is missing.
    """
    files = engine_files(chosen)
    files |= of_course([f"checkpoints/{name}/*" for name in chosen.checkpoints])
    files |= of_engine(
        ["autograder/authoring/__init__.py", f"{PACKING}/__init__.py", f"{PACKING}/gradescope_container.py"]
    )
    # Under the names that Gradescope expects.
    files |= {
        name: of_engine([template])[template]
        for name, template in {
            "setup.sh": f"{PACKING}/setup.sh",
            "run_autograder": f"{PACKING}/run_autograder.sh",
        }.items()
    }
    return {
        **files,
        "requirements.txt": "".join(f"{line}\n" for line in requirements()).encode(),
        SETTINGS: as_text(asdict(settings)).encode(),
        "fault.json": as_text(results(verdict(fault_report(chosen), chosen))).encode(),
    }


def engine_files(chosen: Assignment) -> dict[str, bytes]:
    """Return the files of the engine, the assignment (with hidden tests) and the solutions, but no trained models.

    Raises:
        UserError: if a part of the project is missing.
    """
    solutions = [f"solutions/{chosen.name}/{module}.py" for module in chosen.modules]
    files = of_course([*solutions, f"{place_of(chosen)}/**/*.*"])
    files = {name: data for name, data in files.items() if "/formulations/" not in name}
    files |= of_engine(GRADER) | of_project(["constraints.txt"]) | {MARK: public_config()}
    return files | library(files)


def requirements() -> list[str]:
    """Return the project dependencies that grading imports, in pip's format."""
    from course.dependencies import requirements as all_requirements

    lines = all_requirements(project_files() / "pyproject.toml")
    return sorted(line for line in lines if re.split(r"[^\w-]", line, maxsplit=1)[0] in PACKAGES)


def main(arguments: list[str]) -> int:
    return run_command(lambda: run(parse_arguments(arguments)))
