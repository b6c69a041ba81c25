"""Choose the pairs for `tatoeba-small`: `python -m course.data.select_pairs --corpus-dir DIR`.

Every run chooses the same pairs: they are sampled from tatoeba.train with a fixed seed and kept in their original
order.
"""

import argparse
import gzip
import random
import sys
from pathlib import Path

from course.data import DATA
from course.errors import UserError, run_command
from course.translation.corpora import read_pairs

NAME, ORIGIN = "tatoeba-small", "tatoeba.train"
PAIRS, SEED = 10_000, 2017


def select(corpus_dir: Path, out: Path = DATA) -> Path:
    """Write `<out>/tatoeba-small.tsv.gz`.

    Raises:
        UserError: if the corpus is missing, damaged or too small.
    """
    pairs = read_pairs(corpus_dir, ORIGIN)
    if len(pairs) < PAIRS:
        raise UserError(f"{ORIGIN} in {corpus_dir} has {len(pairs)} pairs, fewer than the {PAIRS} to choose")
    chosen = sorted(random.Random(SEED).sample(range(len(pairs)), PAIRS))
    text = "".join(f"{pairs[row][0]}\t{pairs[row][1]}\n" for row in chosen)
    path = out / f"{NAME}.tsv.gz"
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return path


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m course.data.select_pairs", description=__doc__)
    parser.add_argument("--corpus-dir", type=Path, required=True, help=f"folder with {ORIGIN}.tsv.gz")
    print(f"wrote {select(parser.parse_args(arguments).corpus_dir)}")
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
