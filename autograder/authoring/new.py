"""Start an assignment: `python -m autograder new NAME` writes a small working example to edit.

The files come from `template/`. NEWNAME, NEWSTAGE and NEWORDER in them stand for the names and the position among the
other assignments, LayerNorm for the class. So all names are chosen once, here. Stored tensors and stubs are generated
by the same command as for every assignment.
"""

import argparse
import importlib.util
import keyword
import re
import shutil
import subprocess
import sys
from pathlib import Path

from autograder.manifest import assignments, broken
from autograder.manifest.course_config import course_config
from course.errors import UserError
from course.location import course_folder, inside, project_files

TEMPLATE = Path(__file__).with_name("template")


def check_name(name: str) -> None:
    """Check that a name is valid for an assignment, a Python package and a module.

    Raises:
        UserError: if it is not.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise UserError(f"{name!r} is not a valid name: use lower-case letters, digits and _, and start with a letter")
    modules = {module: assignment.name for assignment in assignments().values() for module in assignment.modules}
    if name in modules:
        raise UserError(f"the assignment {modules[name]} already has a module {name}: choose another name")
    if name in sys.stdlib_module_names or importlib.util.find_spec(name) is not None:
        raise UserError(f"Python has a module {name}, which the students' {name}.py would hide: choose another name")
    for folder in targets(name).values():
        if folder.exists():
            raise UserError(f"{inside(folder)} already exists: choose another name, or remove it")


def targets(name: str) -> dict[str, Path]:
    """Return the target of each folder of the template."""
    return {"assignment": course_config().assignments / name, "solutions": course_folder() / "solutions" / name}


def write(name: str, stage: str, class_name: str) -> list[Path]:
    """Write the files of a new assignment and return their paths."""
    order = max((assignment.order for assignment in assignments().values()), default=0) + 1
    names = {"NEWNAME": name, "NEWSTAGE": stage, "NEWORDER": str(order), "LayerNorm": class_name}
    written = []
    for kind, folder in targets(name).items():
        for source in sorted((TEMPLATE / kind).rglob("*")):
            if not source.is_file() or "__pycache__" in source.parts:
                continue
            path, text = source.relative_to(TEMPLATE / kind).as_posix(), source.read_text(encoding="utf-8")
            for placeholder, value in names.items():
                path, text = path.replace(placeholder, value), text.replace(placeholder, value)
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="\n")
            written.append(target)
    return written


def run(args: argparse.Namespace) -> int:
    root, name = course_folder(), args.name
    check_name(name)
    if not args.stage.isidentifier() or not args.class_name.isidentifier():
        raise UserError("--stage and --class take Python names: letters, digits and _")
    if wrong := broken():
        raise UserError(f"fix the assignment {min(wrong)} first: {wrong[min(wrong)]}")
    written = write(name, args.stage, args.class_name)
    # In a process of its own, which sees the new manifest.
    command = [sys.executable, "-m", "autograder", "--course", str(root), "build", name]
    if subprocess.run(command, cwd=root).returncode:
        for folder in (*targets(name).values(), root / "notebooks" / name):
            shutil.rmtree(folder, ignore_errors=True)
        raise UserError(f"python -m autograder build {name} failed; its report is above, and {name} was removed")
    places = {
        inside(course_config().assignments / name): "manifest, tests, stand-in, mistakes, formulations",
        f"solutions/{name}": "module and notebook, with the solution",
        f"notebooks/{name}": "what students get (generated)",
    }
    print(f"Wrote the assignment {name} into {root}, {len(written)} files. It works as it is:\n")
    for place, words in places.items():
        print(f"  {place + '/':<34} {words}")
    print(f"\nGrade the solution:  python -m autograder grade --submission solutions/{name}")
    print(f"After each change:   python -m autograder build {name} && python -m autograder audit {name} --quick")
    print(f"{project_files() / 'docs' / 'authoring.md'} explains the next steps.")
    return 0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m autograder new", description="Write a small working assignment to edit."
    )
    parser.add_argument(
        "name", metavar="NAME", help="lower-case letters, digits and _; also the name of its first module"
    )
    parser.add_argument("--stage", metavar="NAME", default="norm", help="its first stage (%(default)s)")
    parser.add_argument(
        "--class", dest="class_name", metavar="NAME", default="LayerNorm", help="the class in its module (%(default)s)"
    )
    return run(parser.parse_args(arguments))
