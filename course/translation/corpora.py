"""German-English sentence pairs for training and evaluation: their sources, and how to fetch and read them.

A corpus is a UTF-8 file `<name>.tsv.gz` with lines of the form "German<TAB>English". The checksums are computed from
the text, not from the compressed file, because different gzip programs write different bytes.
"""

import gzip
import hashlib
import re
import sys
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from course.errors import UserError

MULTI30K = "https://raw.githubusercontent.com/multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw/"
CHALLENGE = (
    "https://raw.githubusercontent.com/Helsinki-NLP/OPUS-MT-testsets/ac0f19c0be3cb4e0d9450fcb2d7a9847c4bdd180/"
    "testsets/deu-eng/"
)
TATOEBA_LICENCE = "CC BY 2.0 FR, sentences from Tatoeba (tatoeba.org), selected by www.manythings.org/anki"
MULTI30K_LICENCE = "no open licence; for non-commercial research and education, see github.com/multi30k/dataset"
CHALLENGE_LICENCE = "CC BY-NC-SA 4.0, see github.com/Helsinki-NLP/Tatoeba-Challenge"


@dataclass(frozen=True)
class Corpus:
    """A known corpus.

    The two sides are files with one sentence per line, plain or gzipped. A corpus without these files was selected,
    cleaned and split for this course. Such a corpus is not available upstream, so it cannot be fetched.
    """

    pairs: int
    sha256: str  # of the lines "German<TAB>English"
    licence: str
    base_url: str = ""
    german: str = ""
    english: str = ""


def _multi30k(name: str, pairs: int, sha256: str) -> Corpus:
    return Corpus(pairs, sha256, MULTI30K_LICENCE, MULTI30K, f"{name}.de.gz", f"{name}.en.gz")


CORPORA = {
    "tatoeba.train": Corpus(
        153_164, "0f2a82aa0213a25c7fb34706c06f21b4da8ec164f29cf220bd48eb55c5c87aeb", TATOEBA_LICENCE
    ),
    "tatoeba.val": Corpus(2_000, "d4c218c1e24325eb2ee0761307d14cee72b5df1f8e82a9646e22231d259eda66", TATOEBA_LICENCE),
    "tatoeba.test": Corpus(2_000, "09006c1e2b7b8d3e5d80d04ff5b999cd135e63f8613900138f51bfa7c902721f", TATOEBA_LICENCE),
    "tatoeba.train_overlap_external_tests": Corpus(
        10_246, "3808f8436c77f3d8dbed942bbdc543d8502573be97db859f886c938d0149b022", TATOEBA_LICENCE
    ),
    # Upstream's training file without 15 rows: duplicates, misaligned rows, rows that are also in a test set.
    "multi30k.train": Corpus(
        28_985, "b2a2219b745d08b2ddfbb95796b98649c1040d0c381473725d28a607038ba4b1", MULTI30K_LICENCE
    ),
    "multi30k.val": _multi30k("val", 1_014, "c363965c88c872f2561f9fd5aa7fa0e6259602fdeae7db9d4066b2b6cf57ed50"),
    "multi30k.test_2016_flickr": _multi30k(
        "test_2016_flickr", 1_000, "d4c4dccd46c976a7375ba8683d91b387019b2e8ff1d3dbb11778ed631fa164e0"
    ),
    "multi30k.test_2017_flickr": _multi30k(
        "test_2017_flickr", 1_000, "ab51004a343d4f3fe6820f835bb2089fa82311b22bbb2c4c91fb12485f490fec"
    ),
    "multi30k.test_2017_mscoco": _multi30k(
        "test_2017_mscoco", 461, "24a5ac2412cf64788e67664cfa0e91de5b97b747c171d05b7651d47093c0280c"
    ),
    "multi30k.test_2018_flickr": _multi30k(
        "test_2018_flickr", 1_071, "46ba897d5f30e983171b62ae86d7021b436780b3aa8df9725c418700ab25e5a6"
    ),
    "tatoeba-challenge.test_v2020-07-28": Corpus(
        10_000,
        "4ccbf19b4c74e7b621436e400979c475d2b0766f713255676a94e195d7e01172",
        CHALLENGE_LICENCE,
        CHALLENGE,
        "tatoeba-test-v2020-07-28.deu",
        "tatoeba-test-v2020-07-28.eng",
    ),
}

# A tab separates the columns; str.splitlines() treats the others as line breaks.
SEPARATORS = re.compile("[\t\v\f\r\x1c-\x1e\x85\u2028\u2029]")


def read_pairs(corpus_dir: Path, name: str) -> list[tuple[str, str]]:
    """Read (German, English) pairs from `<name>.tsv.gz`: one pair per line, separated by a tab, UTF-8.

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
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise UserError(f"the corpus file {path} is damaged: {error}") from error
    return pairs


def load_pairs(name: str, corpus_dir: Path | None) -> list[tuple[str, str]]:
    """Read a corpus from a folder or, if no folder is given, from upstream (downloaded once, then cached)."""
    if corpus_dir is None:
        import pooch

        corpus_dir = fetch(name, Path(pooch.os_cache("transformer-course"))).parent
    return read_pairs(corpus_dir, name)


def fetch(name: str, folder: Path, corpora: Mapping[str, Corpus] = CORPORA, base_url: str | None = None) -> Path:
    """Download a corpus from upstream and write it to `<folder>/<name>.tsv.gz`, unless it exists already.

    The file is written only if its text has the correct checksum.

    Args:
        name: the name of the corpus.
        folder: the folder of the corpora; created if needed.
        corpora: the known corpora.
        base_url: a different address for the two files, ending in "/".

    Raises:
        UserError: if the corpus is unknown or cannot be fetched, the download fails, or the checksum is wrong.
    """
    if name not in corpora:
        raise UserError(f"there is no corpus {name!r} to fetch; choose from {', '.join(corpora)}")
    corpus, path = corpora[name], folder / f"{name}.tsv.gz"
    if path.is_file() and _text_sha256(path) == corpus.sha256:
        return path
    if not corpus.german:
        raise UserError(
            f"{name} cannot be fetched, because upstream does not offer this selection. "
            f"Give the folder that contains {path.name} with --corpus-dir"
        )
    print(f"fetching {name} ({corpus.licence})", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    german, english = (
        _sentences(_download((base_url or corpus.base_url) + file)) for file in (corpus.german, corpus.english)
    )
    if len(german) != len(english):
        raise UserError(f"{name} has changed upstream: {len(german)} German, {len(english)} English lines")
    text = "".join(f"{source}\t{target}\n" for source, target in zip(german, english, strict=True)).encode()
    if hashlib.sha256(text).hexdigest() != corpus.sha256:
        raise UserError(f"{name} has changed upstream: its checksum is wrong. Give a copy with --corpus-dir")
    partial = path.with_suffix(".partial")
    partial.write_bytes(gzip.compress(text, mtime=0))
    partial.replace(path)
    return path


def _text_sha256(path: Path) -> str | None:
    """The checksum of the text in a gzipped file, or None if the file is damaged."""
    try:
        return hashlib.sha256(gzip.decompress(path.read_bytes())).hexdigest()
    except (OSError, EOFError, zlib.error):
        return None


def _download(url: str) -> bytes:
    """Download the content at an address, and unpack it if it is gzipped."""
    import pooch

    pooch.get_logger().setLevel("WARNING")
    try:
        with tempfile.TemporaryDirectory() as temporary:
            # Upstream has no checksums; `fetch` checks the result of both sides.
            path = pooch.retrieve(url, known_hash=None, fname="download", path=temporary)
            content = Path(path).read_bytes()
        return gzip.decompress(content) if url.endswith(".gz") else content
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"cannot download {url}: {error}. Give a copy of the corpus with --corpus-dir") from error


def _sentences(content: bytes) -> list[str]:
    """Return the lines of one side, stripped, with characters that would break the table replaced by spaces."""
    lines = content.decode("utf-8", errors="replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    return [SEPARATORS.sub(" ", line).strip() for line in lines]
