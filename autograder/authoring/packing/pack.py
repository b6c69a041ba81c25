"""Build an autograder for a platform: `python -m autograder pack --for prairielearn transformer`.

Every bundle contains the engine, the tests and the settings. All bundles except the one for Classroom 50 also
contain the solutions, the hidden tests and their seed, so keep them secret. Files that students could fetch (the image,
the bundle for Classroom 50) contain none of these. docs/platforms.md explains how to use each bundle.
"""

import argparse
import hashlib
import io
import json
import math
import secrets
import tarfile
import uuid
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from autograder.authoring.packing import gradescope_archive
from autograder.authoring.packing.gradescope_archive import engine_files, requirements
from autograder.authoring.packing.zip_files import FIRST_DATE, check_target, of_course, of_engine, of_project, write_zip
from autograder.manifest import Assignment
from autograder.platforms import prairielearn
from autograder.platforms.grading import SETTINGS, Settings
from autograder.reports.verdict import as_text, fault_report, verdict
from autograder.submissions.which_assignment import which_assignment
from course.errors import UserError, run_command
from course.location import ENGINE, MARK, course_folder, project_files

TEMPLATES = "autograder/authoring/packing/platforms"
CLASSROOM50_LIMIT = 10_000_000  # bytes of a bundle
CODE_SECONDS = 120.0  # for the code of one submission


@dataclass(frozen=True)
class Order:
    """The assignment and the settings for a bundle."""

    chosen: Assignment
    settings: Settings
    image: str
    wall: int  # seconds after which the grader is terminated


def prairielearn_files(order: Order) -> dict[str, bytes]:
    """Return two PrairieLearn questions that use the same engine: one for required stages and one for extra credit."""
    chosen, name = order.chosen, order.chosen.name
    files = {f"serverFilesCourse/autograder-{name}/{path}": data for path, data in engine_files(chosen).items()}
    for extra in (False, True):
        stages = tuple(stage for stage in chosen.stages if stage.extra_credit == extra)
        if not stages:
            continue
        question = f"questions/{name}{'-extra' if extra else ''}"
        settings = replace(order.settings, stages=tuple(stage.name for stage in stages))
        written = {module for stage in stages for module in stage.modules}
        modules = [f"{module}.py" for module in chosen.modules if module in written]
        digest = hashlib.sha256(f"{settings.seed} {question}".encode()).digest()
        info = {
            "uuid": str(uuid.UUID(bytes=digest[:16], version=4)),
            "title": chosen.title + (" (extra credit)" if extra else ""),
            "topic": "Autograder",
            "type": "v3",
            "singleVariant": True,
            "gradingMethod": "External",
            "externalGradingOptions": {
                "image": order.image,
                "entrypoint": "/grade/tests/run.sh",
                "serverFilesCourse": [f"autograder-{name}/"],
                "timeout": order.wall + 20,
            },
        }
        html = (
            f"<pl-question-panel>\n  <p>Hand in {', '.join(modules)}.</p>\n"
            f'  <pl-file-upload file-names="{",".join(modules)}"></pl-file-upload>\n</pl-question-panel>\n'
            "<pl-submission-panel>\n  <pl-external-grader-results></pl-external-grader-results>\n"
            "  <pl-file-preview></pl-file-preview>\n</pl-submission-panel>\n"
        )
        fault = prairielearn.results(verdict(fault_report(chosen), chosen))
        files |= {
            f"{question}/info.json": as_text(info).encode(),
            f"{question}/question.html": html.encode(),
            f"{question}/tests/run.sh": template("prairielearn/run.sh", order),
            f"{question}/tests/{SETTINGS}": as_text(asdict(settings)).encode(),
            f"{question}/tests/fault.json": as_text(fault).encode(),
        }
    return files | image_files(order)


def autolab_files(order: Order) -> dict[str, bytes]:
    """Return the two autograding files of an Autolab lab, and a list of the problems to define in it."""
    problems = [
        f"{stage.name},{stage.max_points:g},{'yes' if stage.extra_credit else 'no'}" for stage in order.chosen.stages
    ]
    return {
        "autograde-Makefile": template("autolab/autograde-Makefile", order),
        "autograde.tar": tar({**engine_files(order.chosen), SETTINGS: settings_of(order)}),
        "problems.csv": "\n".join(["problem,maximum,extra credit", *problems, ""]).encode(),
    } | image_files(order)


def vpl_files(order: Order) -> dict[str, bytes]:
    """Return the execution files of a VPL activity."""
    grader = zipped({**engine_files(order.chosen), SETTINGS: settings_of(order)})
    script = template("vpl/vpl_evaluate.sh", order, SHA256=hashlib.sha256(grader).hexdigest())
    return {"vpl_evaluate.sh": script, "grader.zip": grader} | image_files(order)


def submitty_files(order: Order) -> dict[str, bytes]:
    """Return a Submitty configuration: one test case runs the grader, and one test case per test reads the verdict.

    Raises:
        UserError: if a test has a fraction of a point, which Submitty does not support.
    """
    chosen, tests = order.chosen, []
    for stage in chosen.stages:
        for name, worth in stage.points.items():
            if worth != math.floor(worth):
                raise UserError(f"{stage.name}.{name} has {worth:g} points, but Submitty needs whole numbers")
            tests.append((stage, name, int(worth)))
    titles = {
        test["id"]: f"{test['number']} {test['title']}" for test in verdict(fault_report(chosen), chosen)["tests"]
    }
    copied = {"command": "cp", "testcase": "test01", "source": "verdict.json", "destination": "./"}
    cases = [
        {
            "title": titles[f"{stage.name}.{name}"],
            "command": "true",
            "points": worth,
            **({"extra_credit": True} if stage.extra_credit else {}),
            "pre_commands": [copied],
            "validation": [
                {
                    "method": "custom_validator",
                    "command": f"python3 validate.py {stage.name}.{name}",
                    "actual_file": "verdict.json",
                }
            ],
        }
        for stage, name, worth in tests
    ]
    points = [sum(worth for stage, _, worth in tests if stage.extra_credit == extra) for extra in (False, True)]
    config = {
        "autograding_method": "docker",
        "container_options": {"container_image": order.image},
        "autograding": {"submission_to_runner": ["*.py"]},
        "resource_limits": {
            "RLIMIT_CPU": order.wall,
            "RLIMIT_FSIZE": 20_000_000,
            "RLIMIT_NPROC": 64,
            "RLIMIT_NOFILE": 256,
            "RLIMIT_DATA": "RLIM_INFINITY",
            "RLIMIT_STACK": "RLIM_INFINITY",
            "RLIMIT_AS": "RLIM_INFINITY",
        },
        "max_submission_size": 1_000_000,
        "grading_parameters": {"AUTO_POINTS": points[0], "EXTRA_CREDIT_POINTS": points[1]},
        "testcases": [{"title": "Grade", "command": "bash run.sh", "points": 0, "validation": []}, *cases],
    }
    grader = zipped({**engine_files(chosen), SETTINGS: settings_of(order)})
    return {
        "config/config.json": as_text(config).encode(),
        "config/test_input/run.sh": template("submitty/run.sh", order),
        "config/test_input/grader.zip": grader,
        "config/custom_validation_code/validate.py": (ENGINE / "autograder/platforms/submitty.py").read_bytes(),
    } | image_files(order)


def classroom50_files(order: Order) -> dict[str, bytes]:
    """Return the bundle for Classroom 50: only engine files and visible tests that are also in the handout.

    Raises:
        UserError: if it is too large.
    """
    from autograder.authoring.packing.handout import contents, place_of

    public = contents([order.chosen])
    ours = ("autograder/", "course/", f"{place_of(order.chosen)}/", MARK)
    kept = {name: data for name, data in public.items() if name.startswith(ours)}
    kept |= of_engine(["autograder/platforms/*.py", "autograder/submissions/find_submissions.py"])
    weights = {name: data for name, data in public.items() if name.startswith("checkpoints/")}
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(weights.items())}
    files = {
        **{f"engine/{name}": data for name, data in kept.items()},
        f"engine/{SETTINGS}": settings_of(order),
        "autograder.py": template("classroom50/autograder.py", order),
        "checkpoints.json": as_text(digests).encode(),
        "requirements.txt": "".join(f"{line}\n" for line in requirements()).encode(),
        "constraints.txt": public["constraints.txt"],
    }
    if (size := sum(map(len, files.values()))) > CLASSROOM50_LIMIT:
        raise UserError(f"the bundle would be {size / 1e6:.1f} MB, but Classroom 50 accepts at most 10 MB")
    return {f"autograders/{order.chosen.name}/{name}": data for name, data in files.items()} | {
        "runtime.json": as_text({"runs-on": "ubuntu-latest", "python": "3.12"}).encode()
    }


@dataclass(frozen=True)
class Platform:
    """A platform: the function that builds its bundle, and its time limit per submission in seconds."""

    files: Callable[[Order], dict[str, bytes]]
    most: int
    secret: bool = True  # whether the bundle stays with the instructors, so that hidden tests may be in it


PLATFORMS = {
    "prairielearn": Platform(prairielearn_files, 580),
    "autolab": Platform(autolab_files, 880),
    "vpl": Platform(vpl_files, 900),
    "submitty": Platform(submitty_files, 900),
    "classroom50": Platform(classroom50_files, 600, secret=False),
}
GRADESCOPE = "gradescope"


def image_files(order: Order) -> dict[str, bytes]:
    """Return the files from which the image is built; all of them are public."""
    weights = of_course([f"checkpoints/{name}/*" for name in order.chosen.checkpoints])
    return {
        "image/Dockerfile": template("Dockerfile", order),
        "image/requirements.txt": "".join(f"{line}\n" for line in requirements()).encode(),
        "image/constraints.txt": of_project(["constraints.txt"])["constraints.txt"],
        **{f"image/{name}": data for name, data in weights.items()},
    }


def template(name: str, order: Order, **facts: str) -> bytes:
    """Return a template with its placeholders filled in; lines end with "\\n" on every system."""
    text = (ENGINE / TEMPLATES / name).read_text(encoding="utf-8")
    for fact, value in {"NAME": order.chosen.name, "WALL": str(order.wall), "IMAGE": order.image, **facts}.items():
        text = text.replace(f"@{fact}@", value)
    return text.encode()


def settings_of(order: Order) -> bytes:
    return as_text(asdict(order.settings)).encode()


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return a compressed zip file whose bytes depend only on its content and the version of zlib."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, FIRST_DATE), files[name], zipfile.ZIP_DEFLATED)
    return data.getvalue()


def tar(files: Mapping[str, bytes]) -> bytes:
    """Return a tar file whose bytes depend only on its content."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name in sorted(files):
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(files[name]), 0o600
            archive.addfile(info, io.BytesIO(files[name]))
    return data.getvalue()


def seed_of(archive: Path, chosen: Assignment, wanted: int | None) -> int:
    """Return the seed of the existing archive. If there is no archive, return the requested seed or a random one.

    Raises:
        UserError: if the file is not such an archive, or has a different seed from the requested one.
    """
    if not archive.exists():
        return secrets.randbits(63) if wanted is None else wanted
    try:
        with zipfile.ZipFile(archive) as there:
            recorded = json.loads(there.comment)
            name, seed = str(recorded["assignment"]), int(recorded["seed"])
    except (OSError, zipfile.BadZipFile, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{archive} was not made by this command: choose another name, or remove it") from error
    if name != chosen.name or wanted not in (None, seed):
        raise UserError(f"{archive} is for {name} with the seed {seed}: leave out --seed to keep it, or choose --out")
    return seed


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m autograder pack", description="Make the autograder of an assignment for a platform."
    )
    parser.add_argument("assignment", nargs="?", metavar="ASSIGNMENT", help="(default: the best fit, else the first)")
    parser.add_argument("--for", dest="platform", choices=(GRADESCOPE, *PLATFORMS), required=True, help="the platform")
    parser.add_argument("--out", type=Path, metavar="FILE", help="zip file to write (build/NAME-PLATFORM.zip)")
    parser.add_argument("--image", metavar="NAME", help="name of the Docker image on Docker Hub")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of the hidden tests (as in FILE, or new)")
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="time limit for the code of one submission")
    parser.add_argument("--visible-only", action="store_true", help="leave out the hidden tests")
    parser.add_argument("--unconfined", action="store_true", help="grade even if submissions cannot be confined")
    parser.add_argument("--hidden-results", metavar="WHEN", help="Gradescope: visible, after_due_date, after_published")
    parser.add_argument("--settings", type=Path, metavar="FILE", help="Gradescope: options as a TOML file")
    return parser.parse_args(arguments)


def run(args: argparse.Namespace) -> int:
    chosen = which_assignment(args.assignment)
    out = args.out or course_folder() / "build" / f"{chosen.name}-{args.platform}.zip"
    if args.platform == GRADESCOPE:
        return gradescope_archive.main(for_gradescope(args, chosen, out))
    if args.hidden_results or args.settings:
        raise UserError(f"--hidden-results and --settings are for Gradescope: {args.platform} cannot withhold results")
    check_target(out)
    platform = PLATFORMS[args.platform]
    limit = CODE_SECONDS if args.time_limit is None else args.time_limit
    wall = int(2 * limit + 60)  # importing torch, the tests and a second attempt also take time
    if not 0 < limit or wall > platform.most:
        raise UserError(f"--time-limit must be more than 0 and at most {(platform.most - 60) // 2} seconds")
    if args.seed is not None and args.seed < 0:
        raise UserError(f"the seed must not be negative: {args.seed}")
    seed = seed_of(out, chosen, args.seed) if platform.secret else 0
    visible = args.visible_only or not platform.secret
    # If nothing is secret, a student's code may run as it does on the student's own machine.
    settings = Settings(chosen.name, seed, limit, args.unconfined or not platform.secret, visible_only=visible)
    image = args.image or f"YOU/{chosen.name}-grader"
    files = platform.files(Order(chosen, settings, image, wall))
    modes = {name: 0o755 for name in files if name.endswith((".sh", "Makefile"))}
    comment = json.dumps({"assignment": chosen.name, "seed": seed}).encode()
    write_zip(out, files, modes, comment=comment)
    size = out.stat().st_size / 1e6
    secret = "solutions and hidden tests included: keep it secret" if platform.secret else "nothing in it is secret"
    print(f"Wrote {out} ({size:.1f} MB), {secret}. What to do with it: {project_files() / 'docs' / 'platforms.md'}")
    if platform.secret and not args.image:
        print(f"Its image is called {image}: use --image for the name of your image on Docker Hub.")
    return 0


def for_gradescope(args: argparse.Namespace, chosen: Assignment, out: Path) -> list[str]:
    """Return the arguments of the command that builds the Gradescope archive.

    Raises:
        UserError: if an option was given that this command does not have.
    """
    if args.visible_only or args.image:
        raise UserError("--visible-only and --image are not for Gradescope")
    given = {"--seed": args.seed, "--time-limit": args.time_limit, "--hidden-results": args.hidden_results}
    given |= {"--settings": args.settings}
    options = [word for name, value in given.items() if value is not None for word in (name, str(value))]
    return [str(out), "--assignment", chosen.name, *options, *(["--unconfined"] if args.unconfined else [])]


def main(arguments: list[str]) -> int:
    args = parse_arguments(arguments)
    return run_command(lambda: run(args))
