"""Write the drawings of the notebooks: `python -m course.figures [--out img]`."""

import argparse
import sys
from pathlib import Path

from course.errors import UserError, run_command
from course.figures.drawings import ALL
from course.modules import ROOT


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m course.figures", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "img", help="folder to write into (%(default)s)")
    folder = parser.parse_args(arguments).out
    for name, draw in ALL.items():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.svg").write_text(draw().svg(), encoding="utf-8", newline="\n")
        except OSError as error:
            raise UserError(f"cannot write into {folder}: {error.strerror}") from error
    print(f"wrote {len(ALL)} drawings to {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
