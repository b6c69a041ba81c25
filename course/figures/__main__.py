"""Write the drawings for notebooks and documents: `python -m course.figures [--out img] [--docs docs]`."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from course.errors import UserError, run_command
from course.figures.architecture import architecture
from course.figures.attention_drawings import ATTENTION
from course.figures.drawing import Drawing
from course.figures.notebook_drawings import ALL
from course.figures.variants_drawings import VARIANTS
from course.location import course_folder


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m course.figures", description=__doc__)
    parser.add_argument("--out", type=Path, default=course_folder() / "img", help="folder to write into (%(default)s)")
    parser.add_argument(
        "--docs", type=Path, default=course_folder() / "docs", help="folder for the drawing of the architecture"
    )
    args = parser.parse_args(arguments)
    write(args.out, ALL | ATTENTION | VARIANTS)
    write(args.docs, {"architecture": architecture})
    return 0


def write(folder: Path, drawings: Mapping[str, Callable[[], Drawing]]) -> None:
    """Write drawings as SVG files.

    Raises:
        UserError: if they cannot be written.
    """
    for name, draw in drawings.items():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.svg").write_text(draw().svg(), encoding="utf-8", newline="\n")
        except OSError as error:
            raise UserError(f"cannot write into {folder}: {error.strerror}") from error
    print(f"wrote {len(drawings)} drawings to {folder}")


if __name__ == "__main__":
    sys.exit(run_command(main))
