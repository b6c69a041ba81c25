"""German-English sentence pairs for training and evaluation."""

import gzip
from pathlib import Path

from course.errors import UserError


def read_pairs(corpus_dir: Path, name: str) -> list[tuple[str, str]]:
    """Read (German, English) pairs from `<name>.tsv.gz`: one pair a line, separated by a tab, UTF-8.

    Raises:
        UserError: if the file is missing or damaged, or a line does not have two columns.
    """
    path = corpus_dir / f"{name}.tsv.gz"
    if not path.is_file():
        raise UserError(f"there is no corpus file {path}")
    pairs = []
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, start=1):
                columns = line.rstrip("\n").split("\t")
                if len(columns) != 2:
                    raise UserError(f"line {number} of {path} has {len(columns)} columns instead of 2")
                pairs.append((columns[0], columns[1]))
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise UserError(f"the corpus file {path} is damaged: {error}") from error
    return pairs
