"""Archives and folders that are damaged, hostile or huge: nothing is raised, and every file has a reason."""

import io
import os
import random
import stat
import sys
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from autograder.submissions.find_submissions import find_submissions
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.untrusted_files import MAX_FILE
from tests.support.archives import ASSIGNMENT, FULL, MODULES, below, from_zip, read_all, write, zipped

ON_UNIX = pytest.mark.skipif(sys.platform == "win32", reason="needs links and pipes")


OUTSIDE = [
    "../pe.py",
    "/tmp/pe.py",
    "a/../../pe.py",
    "C:/pe.py",
    "..\\pe.py",
    "\\pe.py",
    "//host/pe.py",
    "C:\\x\\pe.py",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_names_that_lead_out_are_refused(tmp_path, name):
    submission = from_zip(tmp_path, {**MODULES, name: "stolen"})
    assert submission.sources["pe"] == "# pe\n"
    assert any("leads out" in note or "absolute" in note for note in submission.review)
    assert [path.name for path in tmp_path.iterdir()] == ["x.zip"]


def raw_zip(tmp_path: Path, entries: list[tuple[str, bytes, int]], flags: int = 0) -> Submission:
    """A zip file whose entries have these names, contents and modes, and for pe.py these flags."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content, mode in entries:
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr = 3, mode << 16
            archive.writestr(info, content)
            info.flag_bits |= flags if name == "pe.py" else 0
    # `zipfile` does not write a NUL character.
    return from_zip(tmp_path, data.getvalue().replace(b"pe.py@", b"pe.py\0"))


REST = [(name, text.encode(), stat.S_IFREG | 0o644) for name, text in MODULES.items() if name != "pe.py"]
ODD = {
    "link": ([("pe.py", b"/etc/passwd", stat.S_IFLNK | 0o777)], 0, "pe.py is a symbolic link, which is not followed"),
    "pipe": ([("pe.py", b"", stat.S_IFIFO | 0o644)], 0, "pe.py is not an ordinary file"),
    "device": ([("pe.py", b"", stat.S_IFCHR | 0o644)], 0, "pe.py is not an ordinary file"),
    "encrypted": ([("pe.py", b"x", 0)], 0x1, "pe.py is encrypted"),
    "strongly encrypted": ([("pe.py", b"x", 0)], 0x40, "pe.py is encrypted"),
    "twice": ([("pe.py", b"a", 0), ("./pe.py", b"b", 0)], 0, "pe.py is in the archive more than once"),
    "null": ([("pe.py@.txt", b"a", 0)], 0, "pe.py is missing from the submission"),
    "too large": (
        [("pe.py", bytes(50_000) + random.Random(1).randbytes(60_000), 0)],
        0,
        "pe.py is larger than 100,000",
    ),
    "bomb": ([("pe.py", bytes(50_000_000), 0)], 0, "pe.py is larger than 100,000 bytes"),
    "not text": ([("pe.py", b"\xff\xfe\x00", 0)], 0, "pe.py is not UTF-8 text"),
    "upper case": ([("PE.py", b"x", 0)], 0, "pe.py is missing from the submission (there is PE.py"),
}


@pytest.mark.parametrize("case", ODD)
def test_a_member_that_is_not_read_has_a_reason_and_the_others_are_read(tmp_path, case):
    entries, flags, reason = ODD[case]
    submission = raw_zip(tmp_path, [*entries, *REST], flags)
    assert list(submission.sources) == [module for module in FULL if module != "pe"]
    assert submission.unreadable["pe"].startswith(reason)


def test_names_that_differ_in_case_are_noted(tmp_path):
    submission = from_zip(tmp_path, {**MODULES, "PE.py": "other", "Pe.PY": "another"})
    assert submission.sources["pe"] == "# pe\n"
    assert any("upper and lower case" in note for note in submission.review)


def test_windows_and_unusual_encodings(tmp_path):
    text = "\ufeffx = 'ü'\r\ny = 1\rz = 2\n"
    files = {f"work\\{name}": content for name, content in MODULES.items()} | {"work\\pe.py": text.encode()}
    submission = from_zip(tmp_path, files)
    assert submission.sources["pe"] == "x = 'ü'\ny = 1\nz = 2\n"
    assert list(submission.sources) == FULL


@pytest.mark.parametrize("size", [1, 10_000_000])
def test_sizes_that_lie_do_no_harm(tmp_path, size):
    """The archive claims another size than what comes out."""
    data = bytearray(zipped({**MODULES, "pe.py": "#" * 90_000}))
    claimed = (90_000).to_bytes(4, "little")
    assert data.count(claimed) == 2  # before the content and in the list at the end
    submission = from_zip(tmp_path, bytes(data.replace(claimed, size.to_bytes(4, "little"))))
    assert len(submission.sources.get("pe", "")) <= MAX_FILE
    assert submission.sources["mha"] == "# mha\n"


def test_too_many_members(tmp_path):
    many: dict[str, str | bytes] = {f"f{i}.txt": "" for i in range(10_000)}
    submission = from_zip(write(tmp_path, {}), {**MODULES, **many})
    (tmp_path / "class").mkdir()
    (tmp_path / "x.zip").rename(tmp_path / "class" / "anna.zip")
    inner = read_all(tmp_path / "class")["anna"]
    assert inner.sources == {}
    assert inner.unreadable["pe"] == "anna.zip contains 10,005 files, more than 4,000"
    assert submission.sources.keys() <= set(FULL)
    folder = write(tmp_path / "ben", dict(MODULES))
    for name in list(many)[:5_000]:
        (folder / name).touch()
    assert any("more than 4,000" in note for note in read_submission(folder, ASSIGNMENT).review)


def test_nested_archives(tmp_path):
    work = zipped(dict(MODULES))
    write(
        tmp_path / "class",
        {"anna.zip": zipped({"work.zip": work}), "ben.zip": zipped({"a.zip": zipped({"b.zip": work})})},
    )
    found = read_all(tmp_path / "class")
    assert list(found["anna"].sources) == FULL
    assert "zip file in a zip file" in found["ben"].unreadable["mha"]
    bomb = zipped({"zeros": bytes(100_000_000)})
    for _ in range(3):
        bomb = zipped({"inner.zip": bomb})
    write(tmp_path / "class", {"cleo.zip": bomb, "dan.zip": zipped({"a.zip": bytes(90_000_000)})})
    tracemalloc.start()
    found = read_all(tmp_path / "class")
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()
    assert found["cleo"].sources == found["dan"].sources == {}
    assert "100-fold" in found["dan"].unreadable["mha"]


def test_a_damaged_archive_is_an_unreadable_submission(tmp_path):
    write(tmp_path, {"anna.zip": zipped(dict(MODULES))[:-30], "ben.zip": b"", "cleo.zip": b"PK\5\6", **below("dan")})
    found = read_all(tmp_path)
    for name in ("anna", "ben", "cleo"):
        assert f"{name}.zip is not a zip file or is damaged" in found[name].unreadable["mha"]
    assert list(found["dan"].sources) == FULL
    assert len({submission.digest for submission in found.values()}) == 4


def test_whatever_is_changed_in_an_archive_nothing_is_raised(tmp_path):
    dice, whole = random.Random(7), zipped({**MODULES, "a/torch.py": "x" * 300})
    for number in range(500):
        data = bytearray(whole)
        for _ in range(dice.randint(1, 4)):
            data[dice.randrange(len(data))] = dice.choice((0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)))
        (tmp_path / "class").mkdir(exist_ok=True)
        (tmp_path / "class" / "anna.zip").write_bytes(data)
        submission = read_all(tmp_path / "class")["anna"]
        assert submission.sources.keys() | submission.unreadable.keys() == set(FULL), number


def test_a_damaged_inner_archive_leaves_the_class_alone(tmp_path):
    (tmp_path / "c.zip").write_bytes(zipped({"anna.zip": zipped(dict(MODULES)), "ben.zip": b"PK damaged"}))
    found = read_all(tmp_path / "c.zip")
    assert list(found["anna"].sources) == FULL
    assert "ben.zip is not a zip file" in found["ben"].unreadable["mha"]


@ON_UNIX
def test_links_and_pipes_on_disk_are_not_followed(tmp_path):
    secret = write(tmp_path / "secret", dict(MODULES))
    folder = write(tmp_path / "class", {**below("anna"), **below("ben")})
    (folder / "anna" / "pe.py").unlink()
    (folder / "anna" / "pe.py").symlink_to(secret / "pe.py")
    (folder / "ben" / "pe.py").unlink()
    os.mkfifo(folder / "ben" / "pe.py")
    (folder / "cleo").symlink_to(secret)
    (folder / "dan").mkdir()
    (folder / "dan" / "transformer").symlink_to(secret)
    (folder / "eve").mkdir()
    (folder / "eve" / "loop").symlink_to(folder / "eve")
    (folder / "finn.zip").symlink_to(tmp_path / "nowhere.zip")
    os.mkfifo(folder / "gina.zip")
    found = read_all(folder)
    assert found["anna"].unreadable == {"pe": "pe.py is a symbolic link, which is not followed"}
    assert found["ben"].unreadable == {"pe": "pe.py is not an ordinary file"}
    for name in ("cleo", "dan", "eve", "finn", "gina"):
        assert found[name].sources == {}
    assert "cleo is a symbolic link" in found["cleo"].unreadable["mha"]
    assert any("transformer" in note for note in found["dan"].review)


def test_modules_in_several_folders_are_not_guessed(tmp_path):
    write(tmp_path, {**below("anna/one"), **below("anna/two"), **below("ben/old", {"mha.py": ""}), **below("ben/new")})
    found = read_all(tmp_path)
    assert "several folders (one, two)" in found["anna"].unreadable["mha"]
    assert list(found["ben"].sources) == FULL  # the folder with most of them


def test_all_modules_together_fit_into_one_message(tmp_path):
    large = "# \N{GREEK SMALL LETTER ALPHA}" + "x" * 70_000
    files = {**MODULES, "mha.py": large, "pe.py": large + "x", "encoder.py": large}
    submission = read_submission(write(tmp_path, dict(files)), ASSIGNMENT)
    assert list(submission.unreadable) == ["pe"]
    assert "too large" in submission.unreadable["pe"]


def test_the_digest_is_that_of_the_modules(tmp_path):
    first = read_submission(write(tmp_path / "a", dict(MODULES)), ASSIGNMENT)
    same = from_zip(tmp_path, {**below("transformer"), "notes.txt": "x", "transformer/torch.py": "x"})
    other = read_submission(write(tmp_path / "b", {**MODULES, "pe.py": "# pe \n"}), ASSIGNMENT)
    fewer = read_submission(write(tmp_path / "c", {"mha.py": "# mha\n"}), ASSIGNMENT)
    assert first.digest == same.digest
    assert len({one.digest for one in (first, other, fewer)}) == 3


def test_a_class_of_ten_thousand_is_found_without_reading_it(tmp_path):
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        for number in range(10_000):
            archive.writestr(f"submission_{number}/mha.py", f"# {number}\n" * 50)
    tracemalloc.start()
    found = find_submissions(tmp_path / "c.zip", ASSIGNMENT)
    assert [one.read().sources["mha"].split()[1] for one in (found[0], found[-1])] == ["0", "9999"]
    assert tracemalloc.get_traced_memory()[1] < 60_000_000
    tracemalloc.stop()
    assert len(found) == 10_000
