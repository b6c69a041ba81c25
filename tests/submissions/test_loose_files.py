"""Canvas' loose files, second uploads, and archives that are no zip files: nobody vanishes, and students read why."""

import pytest

from autograder.gradebooks.canvas import number_in
from autograder.grading.grade_submission import grade
from autograder.reports.student_feedback import feedback_html
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.loose_files import without_number
from autograder.submissions.which_assignment import which_assignment
from tests.support.archives import ASSIGNMENT, FULL, MODULES, below, read_all, read_one, write, zipped

CANVAS: dict[str, str | bytes] = {
    **{f"smithalice_1001_{5550 + n}_{name}": text for n, (name, text) in enumerate(MODULES.items())},
    **{f"jonesbob_LATE_1002_{5560 + n}_{name}": text for n, (name, text) in enumerate(MODULES.items()) if n},
    "jonesbob_LATE_1002_5560_mha.py": "# the first one\n",
    "jonesbob_LATE_1002_5590_mha-1.py": "# the second one\n",
    "jonesbob_LATE_1002_5591_mha-10.py": "# the last one\n",
    "leecleo_1003_5570_work.zip": zipped(dict(MODULES)),
    "kingdan_1004_5580_essay.pdf": "x",
    "poeeve_1005_5581_work.rar": "x",
}


@pytest.mark.parametrize("form", ["folder", "zip", "zip with a folder"])
def test_loose_files_of_canvas_belong_to_their_students(tmp_path, form):
    if form == "folder":
        path = write(tmp_path / "submissions", dict(CANVAS))
    else:
        path = tmp_path / "submissions.zip"
        inside = {f"submissions/{name}": text for name, text in CANVAS.items()}
        path.write_bytes(zipped(dict(CANVAS) if form == "zip" else inside))
    found = read_all(path)
    names = ["jonesbob_1002", "kingdan_1004", "leecleo_1003", "poeeve_1005", "smithalice_1001"]
    assert sorted(found) == names
    assert [number_in(name) for name in names] == ["1002", "1004", "1003", "1005", "1001"]
    for name in ("smithalice_1001", "leecleo_1003"):
        assert list(found[name].sources) == FULL
        assert (found[name].unreadable, found[name].files) == ({}, ())
    bob = found["jonesbob_1002"]
    assert list(bob.sources) == FULL
    assert bob.sources["mha"] == "# the last one\n"
    assert bob.files == (
        "mha-1.py was handed in again: the later file counts",
        "mha.py was handed in again: the later file counts",
        "mha.py was read from mha-10.py",
    )
    assert set(found["kingdan_1004"].unreadable) == set(FULL)
    assert found["poeeve_1005"].files == ("not read: work.rar",)
    assert "work.rar cannot be read: hand in the files, or a zip file" in found["poeeve_1005"].unreadable["mha"]
    assert found["poeeve_1005"].review == ("none of the modules is among the files",)


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_a_student_of_canvas_keeps_the_name_when_a_zip_file_is_handed_in_again(tmp_path, form):
    """What the staff has decided is kept by name, and Canvas numbers every upload anew."""
    old, new = zipped({**MODULES, "mha.py": "# old\n"}), zipped(dict(MODULES))
    files: dict[str, str | bytes] = {"leecleo_1003_5570_work.zip": old, "kimdan_1004_5571_work.zip": new}
    again: dict[str, str | bytes] = {"leecleo_LATE_1003_5690_work-1.zip": new}
    for name, held in {"first": files, "second": {**files, **again}}.items():
        path = write(tmp_path / name, held)
        if form == "zip":
            path = tmp_path / f"{name}.zip"
            path.write_bytes(zipped(held))
        found = read_all(path)
        assert sorted(found) == ["kimdan_1004", "leecleo_1003"]
        assert found["leecleo_1003"].sources["mha"] == ("# old\n" if name == "first" else MODULES["mha.py"])


@pytest.mark.parametrize("name", ["mha-1.py", "mha(1).py", "mha (1).py", "mha (12).py"])
def test_the_numbers_of_second_uploads_are_no_part_of_a_name(tmp_path, name):
    files = {("anna/" + (name if module == "mha.py" else module)): text for module, text in MODULES.items()}
    one = read_one(write(tmp_path, {**files, "anna/mha-0.py": "# older\n"}))
    assert {f"{module}.py": text for module, text in one.sources.items()} == MODULES
    assert one.files == (f"mha.py was read from {name}", "not read: mha-0.py")


def test_a_file_with_the_right_name_counts_and_the_others_are_named(tmp_path):
    others = {"anna/mha (1).py": "# copy\n", "anna/mha.txt": "x", "anna/notes.txt": "x", "anna/old.7z": "x"}
    one = read_one(write(tmp_path, {**below("anna"), **others}))
    assert one.sources["mha"] == MODULES["mha.py"]
    assert one.files == ("not read: mha (1).py, mha.txt, old.7z",)


def test_the_staff_is_told_of_those_who_handed_in_nothing(tmp_path):
    path = write(tmp_path / "all", {**below("anna"), "ben/notes.txt": "x"})
    (path / "cleo").mkdir()
    found = read_all(path)
    assert found["anna"].review == ()
    assert found["ben"].review == ("none of the modules is among the files",)
    assert found["cleo"].review == ("nothing was handed in",)


UNREADABLE = {
    "UTF-16": ("x = 1\n".encode("utf-16"), "is not UTF-8 text, but probably UTF-16: save it as UTF-8"),
    "Latin-1": ("# für\n".encode("latin-1"), "is not UTF-8 text, but probably Latin-1"),
    "empty": (b" \n", "is empty"),
    "notebook": (b'{"nbformat": 4}', "is a notebook, and not Python code"),
    "large": (b"#" * 200_000, "is larger than 100,000 bytes"),
    "link": (None, "is a symbolic link, which is not followed"),
}


@pytest.mark.parametrize("kind", UNREADABLE)
@pytest.mark.parametrize("folder", ["", "notebooks/transformer/"])
def test_the_staff_is_told_why_nothing_could_be_read(tmp_path, kind, folder):
    data, why = UNREADABLE[kind]
    files = {f"anna/{folder}pe.py": data or b"", f"anna/{folder}mha.py": b"", **below("ben")}
    path = write(tmp_path / "all", {**files, "ben/pe.py": data or b"", "ben/old/pe.py": "x"})
    if data is None:
        for file in (path / "anna" / folder / "pe.py", path / "ben" / "pe.py"):
            file.unlink()
            file.symlink_to(tmp_path)
    found = read_all(path)
    (note,) = found["anna"].review
    assert note.startswith(f"none of the modules can be read: mha.py is empty; pe.py {why}")
    assert dict(found["anna"].left)[f"anna/{folder}pe.py"].startswith(why)
    assert found["ben"].sources.keys() == set(ASSIGNMENT.modules) - {"pe"}
    assert not any("none of" in said for said in found["ben"].review)
    left = dict(found["ben"].left)
    assert left["ben/pe.py"].startswith(why)
    assert left["ben/old/pe.py"] == "a module, but a different file or folder counts"


def test_the_reason_for_a_whole_folder_is_that_of_its_files(tmp_path):
    path = write(tmp_path / "all", {**below("anna/1"), **below("anna/2"), "ben/x.zip": b"PK", **below("cleo")})
    found = read_all(path)
    assert "modules in several folders (1, 2)" in dict(found["anna"].left)["anna/1/pe.py"]
    assert "is not a zip file or is damaged" in dict(found["ben"].left)["ben/x.zip"]


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_an_archive_that_is_no_zip_file_is_a_student_and_says_why(tmp_path, form):
    files: dict[str, str | bytes] = {"anna.rar": "x", "ben.zip": zipped(dict(MODULES)), "cleo.tar.gz": "x"}
    files |= {"dan/work.7z": "x"}
    path = write(tmp_path / "all", files)
    if form == "zip":
        path = tmp_path / "all.zip"
        path.write_bytes(zipped(files))
    found = read_all(path)
    assert sorted(found) == ["anna", "ben", "cleo", "dan"]
    assert found["anna"].unreadable["mha"] == "anna.rar is not read: hand in the files, or a zip file"
    assert "work.7z cannot be read: hand in the files, or a zip file" in found["dan"].unreadable["mha"]
    assert found["dan"].files == ("not read: work.7z",)


def test_the_feedback_says_which_files_count(tmp_path):
    one = read_one(write(tmp_path, {"anna/mha (1).py": MODULES["mha.py"], "anna/pe.txt": "x"}))
    workers = make_workers()
    try:
        page = feedback_html(grade(one, ASSIGNMENT, workers, [ASSIGNMENT.stage("pe")]))
    finally:
        workers.close()
    assert "About your files: mha.py was read from mha (1).py; not read: pe.txt." in page


def test_loose_files_tell_their_assignment(tmp_path):
    write(tmp_path / "all", {"smithalice_1001_5550_vit-1.py": "x"})
    assert which_assignment(None, tmp_path / "all").name == "variants"


def test_numbers():
    names = ["mha.py", "mha-1.py", "a-2-3.py", "mha(07).py", "x (2).zip", "-1.py", "mha-2026.10.py"]
    assert [without_number(name) for name in names] == [
        *(("mha.py", 0), ("mha.py", 1), ("a.py", 3), ("mha.py", 7), ("x.zip", 2), ("-1.py", 0)),
        ("mha-2026.10.py", 0),
    ]
