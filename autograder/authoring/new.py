"""Begin an assignment: `python -m autograder new NAME` writes a small one that works, to be edited.

What it writes lies as files in `template/`, in which NEWNAME stands for the name and NEWORDER for the place among the
other assignments. Stored tensors and stubs are made by the commands that make them for every assignment.
"""

import argparse
import importlib.util
import keyword
import re
import shutil
import subprocess
import sys
from pathlib import Path

from autograder.manifest import ASSIGNMENTS, ROOT, assignments, broken
from course.errors import UserError

TEMPLATE = Path(__file__).with_name("template")
MAKERS = ("expected", "release")  # what is generated


def check_name(name: str) -> None:
    """See that a name can be that of an assignment, of a Python package and of a module.

    Raises:
        UserError: if not.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise UserError(f"{name!r} cannot name an assignment: take small letters, digits and _, a letter first")
    modules = {module: one.name for one in assignments().values() for module in one.modules}
    if name in modules:
        raise UserError(f"the assignment {modules[name]} has a module {name} already: take another name")
    if name in sys.stdlib_module_names or importlib.util.find_spec(name) is not None:
        raise UserError(f"Python has a module {name}, which the students' {name}.py would hide: take another name")
    for folder in targets(name).values():
        if folder.exists():
            raise UserError(f"there is {folder.relative_to(ROOT).as_posix()} already: take another name, or remove it")


def targets(name: str) -> dict[str, Path]:
    """Where each folder of the template goes."""
    return {"assignment": ASSIGNMENTS / name, "solutions": ROOT / "solutions" / name}


def write(name: str) -> list[Path]:
    """Write the files of a new assignment; their paths."""
    order = max((one.order for one in assignments().values()), default=0) + 1
    written = []
    for kind, folder in targets(name).items():
        for source in sorted((TEMPLATE / kind).rglob("*")):
            if not source.is_file() or "__pycache__" in source.parts:
                continue
            target = folder / source.relative_to(TEMPLATE / kind).as_posix().replace("NEWNAME", name)
            target.parent.mkdir(parents=True, exist_ok=True)
            text = source.read_text(encoding="utf-8").replace("NEWNAME", name).replace("NEWORDER", str(order))
            target.write_text(text, encoding="utf-8", newline="\n")
            written.append(target)
    return written


def run(name: str) -> int:
    check_name(name)
    if wrong := broken():
        raise UserError(f"put the assignment {min(wrong)} right first: {wrong[min(wrong)]}")
    written = write(name)
    for command in MAKERS:  # in processes of their own, which see the new manifest
        done = subprocess.run([sys.executable, "-m", "autograder", command, "--assignment", name], cwd=ROOT)
        if done.returncode:
            for folder in targets(name).values():
                shutil.rmtree(folder)
            raise UserError(f"python -m autograder {command} failed; its report stands above, and nothing was written")
    print(f"Wrote the assignment {name}, {len(written)} files. It works as it is:\n")
    print(f"  autograder/assignments/{name}/   manifest, tests, stand-in, mistakes, formulations")
    print(f"  solutions/{name}/                module and notebook, with the solution")
    print(f"  notebooks/{name}/                what students get (generated)\n")
    print(f"Look at it with  python grade.py --submission solutions/{name}")
    print(f"and after each change with  python -m autograder audit {name}")
    print("docs/authoring.md says how to go on.")
    return 0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m autograder new", description="Write a small assignment that works, to be edited."
    )
    parser.add_argument("name", metavar="NAME", help="small letters, digits and _; also the name of its first module")
    return run(parser.parse_args(arguments).name)
