"""Corpora: reading files, and fetching them from a server that the tests start."""

import gzip
import hashlib
import re
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from course.errors import UserError
from course.translation.corpora import CORPORA, Corpus, fetch, load_pairs, read_pairs

GERMAN = "Guten Morgen!\n  Wie geht es\tdir? \r\nZwei\u2028Zeilen,  ein Satz.\n"
ENGLISH = "Good morning!\nHow are you?\nTwo lines, one sentence.\n"
CLEAN = (
    "Guten Morgen!\tGood morning!\nWie geht es dir?\tHow are you?\nZwei Zeilen,  ein Satz.\tTwo lines, one sentence.\n"
)


class Quiet(SimpleHTTPRequestHandler):
    """A handler that writes no log."""

    def log_message(self, format, *args):
        pass


@pytest.fixture
def upstream(tmp_path):
    """A folder that is served, and its address."""
    folder = tmp_path / "upstream"
    folder.mkdir()
    (folder / "own.de.gz").write_bytes(gzip.compress(GERMAN.encode()))
    (folder / "own.en").write_text(ENGLISH, encoding="utf-8", newline="")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def own(upstream):
    sha256 = hashlib.sha256(CLEAN.encode()).hexdigest()
    return Corpus(3, sha256, "ours", upstream[1], "own.de.gz", "own.en")


def test_pairs_are_read(corpus_dir, sentences):
    assert read_pairs(corpus_dir, "own") == sentences
    assert load_pairs("own", corpus_dir) == sentences


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(b"Hallo\tHello\nnur eine Spalte\n"), "line 2 of .* has 1 columns instead of 2"),
        (gzip.compress(b"a\tb\tc\n"), "line 1 of .* has 3 columns instead of 2"),
        (gzip.compress(b"\xff\xfe\tx\n"), "is damaged: .*utf-8"),
        (gzip.compress(b"Hallo\tHello\n" * 100)[:-12], "is damaged"),
        (gzip.compress(bytes(range(256)) * 20)[:10] + b"\xff" * 200, "is damaged"),
        (b"Hallo\tHello\n", "is damaged: Not a gzipped file"),
    ],
    ids=["one column", "three columns", "not UTF-8", "cut off", "garbled", "not gzipped"],
)
def test_a_damaged_file_is_described(tmp_path, content, message):
    (tmp_path / "bad.tsv.gz").write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_pairs(tmp_path, "bad")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"there is no corpus file .*bad\.tsv\.gz"):
        read_pairs(tmp_path, "bad")


def test_both_sides_are_fetched_cleaned_and_checked(own, tmp_path):
    path = fetch("own", tmp_path / "new" / "cache", {"own": own})
    assert gzip.decompress(path.read_bytes()).decode() == CLEAN
    assert len(read_pairs(path.parent, "own")) == own.pairs
    assert list(path.parent.iterdir()) == [path]


def test_what_is_there_is_not_fetched_again(own, upstream, tmp_path):
    path = fetch("own", tmp_path / "cache", {"own": own})
    for file in upstream[0].iterdir():
        file.unlink()
    assert fetch("own", tmp_path / "cache", {"own": own}) == path
    path.write_bytes(path.read_bytes()[:-5])  # damaged: it has to be fetched, but cannot be
    with pytest.raises(UserError, match="cannot download"):
        fetch("own", tmp_path / "cache", {"own": own})


def test_another_address_can_be_given(own, upstream, tmp_path):
    moved = replace(own, base_url="http://127.0.0.1:1/")
    path = fetch("own", tmp_path / "cache", {"own": moved}, base_url=upstream[1])
    assert gzip.decompress(path.read_bytes()).decode() == CLEAN


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("own.en", ENGLISH.replace("Good", "Bad").encode(), "its checksum is wrong"),
        ("own.en", b"\xff" + ENGLISH.encode(), "its checksum is wrong"),
        ("own.en", b"Good morning!\n", "3 German, 1 English lines"),
        ("own.de.gz", b"no gzip", "cannot download .*own.de.gz"),
        ("own.de.gz", gzip.compress(GERMAN.encode())[:-9], "cannot download .*own.de.gz"),
    ],
    ids=["other text", "not UTF-8", "too few lines", "not gzipped", "cut off"],
)
def test_a_wrong_download_leaves_nothing(own, upstream, tmp_path, file, content, message):
    (upstream[0] / file).write_bytes(content)
    with pytest.raises(UserError, match=message):
        fetch("own", tmp_path / "cache", {"own": own})
    assert not list((tmp_path / "cache").iterdir())


def test_a_missing_file_or_server_is_reported_with_its_address(own, upstream, tmp_path):
    (upstream[0] / "own.en").unlink()
    with pytest.raises(UserError, match=re.escape(f"cannot download {upstream[1]}own.en") + ".*404.*--corpus-dir"):
        fetch("own", tmp_path / "cache", {"own": own})
    with pytest.raises(UserError, match=r"cannot download http://127\.0\.0\.1:1/"):
        fetch("own", tmp_path / "cache", {"own": own}, base_url="http://127.0.0.1:1/")


def test_what_upstream_does_not_offer_must_be_given(tmp_path):
    with pytest.raises(UserError, match=r"tatoeba\.train cannot be fetched.*tatoeba\.train\.tsv\.gz with --corpus-dir"):
        fetch("tatoeba.train", tmp_path)
    with pytest.raises(UserError, match=r"no corpus 'tatoeba\.trian'.*tatoeba\.train"):
        fetch("tatoeba.trian", tmp_path)


def test_the_known_corpora_are_complete():
    checksums = [corpus.sha256 for corpus in CORPORA.values()]
    assert all(re.fullmatch("[0-9a-f]{64}", checksum) for checksum in checksums)
    assert len(set(checksums)) == len(CORPORA)
    for corpus in CORPORA.values():
        assert corpus.licence
        assert bool(corpus.base_url) == bool(corpus.german) == bool(corpus.english)
        assert corpus.base_url.endswith("/") or not corpus.base_url
