"""Build the course as a static site: `python -m autograder site` writes build/site.

The notebooks are run with the solution, or taken from the cache, and Sphinx builds pages from them and the guides. Then
the pages are checked: every link must work, and no page may load anything from the network or contain a line of the
solution.
"""

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from autograder.authoring.packing.handout import main as handout
from autograder.authoring.site.check_pages import broken_links, solution_lines
from autograder.authoring.site.run_notebooks import executed
from autograder.authoring.site.write_sources import write_sources
from autograder.manifest import every_assignment
from course.errors import UserError, run_command
from course.location import course_folder

NEEDED = ("sphinx", "myst_nb", "sphinx_book_theme", "sphinx-mathjax-offline")


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m autograder site", description="Build the course as a static site.")
    parser.add_argument(
        "--out",
        type=Path,
        default=course_folder() / "build" / "site",
        metavar="DIR",
        help="folder to write (default: build/site)",
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=course_folder() / "build" / "site-cache",
        metavar="DIR",
        help="folder of the cache (default: build/site-cache)",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="notebooks run in parallel (default: one per CPU)",
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="only notebooks whose path contains this")
    return parser.parse_args(arguments)


def run(args: argparse.Namespace) -> int:
    if missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        raise UserError(
            f'the site needs {", ".join(missing)}, which is not installed: pip install -c constraints.txt -e ".[site]"'
        )
    chosen = every_assignment()
    sources = args.out.with_name(args.out.name + "-sources")
    handouts = sources / "extra" / "handouts"
    handouts.mkdir(parents=True, exist_ok=True)
    for assignment in chosen:
        if code := handout([str(handouts / f"{assignment.name}-student.zip"), "--assignment", assignment.name]):
            return code
    write_sources(sources, chosen, executed(chosen, args.cache, max(1, args.jobs), args.only))
    if args.out.exists():
        shutil.rmtree(args.out)
    stubs = [str(assignment.released) for assignment in chosen]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(course_folder()), *stubs])}
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-E", "-d", f"{sources}-doctrees"]
    done = subprocess.run([*command, str(sources), str(args.out)], env=environment)
    if done.returncode:
        raise UserError("Sphinx could not build the site; its messages are above")
    if problems := [*solution_lines(args.out, chosen), *([] if args.only else broken_links(args.out))]:
        raise UserError("the site has problems\n  " + "\n  ".join(problems))
    print(f"Wrote {args.out}. It contains no line of a solution, and every link works. Open")
    print((args.out / "index.html").resolve().as_uri())
    return 0


def main(arguments: list[str]) -> int:
    args = parse_arguments(arguments)
    return run_command(lambda: run(args))
