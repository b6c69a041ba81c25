"""What becomes of every file of a class's download: a student's, ignored by its name, or nobody's; never nothing."""

import csv
import random
import time
import unicodedata
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.classroom.batch import main as batch
from autograder.classroom.left_out import LeftOut
from autograder.submissions.find_submissions import find_submissions, take_in
from autograder.submissions.loose_files import is_module, uploads
from autograder.submissions.read_submission import HANDED_OUT, read_submission
from autograder.submissions.untrusted_files import name_of
from autograder.submissions.which_assignment import assignment_of_class
from course.errors import UserError
from tests.support.archives import ASSIGNMENT, MODULES, below, read_all, write, zipped
from tests.support.batches import CONFINED, rows

NAMES = (
    "van_dam",
    "o'brien",
    "müller",
    "Zoë",
    "李小龙",
    "ana-maria",
    "x",
    "group_1",
    "de la cruz",
    "anon",
    "late",
)
JUNK = ("__MACOSX/._pe.py", ".DS_Store", "._x", "Thumbs.db", "desktop.ini", "__pycache__/pe.pyc", ".git/config")
NOBODYS = ("notes.txt", "ben_pe.py", "pe.py", "grades.csv", ".fay/pe.py", ".hidden", "a_b_c.py", "LATE_5_pe.py", "gus")
BESIDE = (
    "essay.pdf",
    "old/notes.txt",
    "data.npy",
    ".vscode/settings.json",
    ".DS_Store",
    "helper.py",
    "1/2/3/4/5/6/7.txt",
)
Files = dict[str, str | bytes]


class Generated:
    """A download, made at random."""

    def __init__(self, dice: random.Random) -> None:
        self.dice, self.number = dice, 0
        self.files: Files = {}
        self.students: dict[str, Files] = {}  # whose files must count
        kinds: list[Callable[[str, int], None]] = [
            self.canvas,
            self.moodle,
            self.moodle_loose,
            self.folder,
            self.archive,
        ]
        kinds = dice.sample(kinds, dice.choice((1, 1, 2, 5)))
        for number, name in enumerate(dice.sample(NAMES, dice.randint(2, 6))):
            dice.choice(kinds)(name, number)
        for path in (*dice.sample(JUNK, 3), *dice.sample(NOBODYS, dice.randint(0, 4))):
            self.put(path)

    def put(self, path: str, student: str = "", counts: bool = False) -> None:
        self.number += 1
        self.files[path] = f"# {self.number}\n".encode()
        if counts:
            self.students.setdefault(student, {})[path.rpartition("/")[2]] = self.files[path]

    def some(self) -> list[str]:
        return self.dice.sample(sorted(MODULES), self.dice.randint(1, 3))

    def canvas(self, name: str, number: int) -> None:
        word = "".join(char for char in name.lower() if char.isalnum() or char == "_")
        user, student = 100 + number, f"{word}_{100 + number}"
        late = self.dice.choice(("", "LATE_"))
        if self.dice.random() < 0.2:
            student, stem = f"anon_aB{number}dE", f"{late}anon_aB{number}dE"
        else:
            stem = f"{word}_{late}{user}"
        held = {}
        for place, module in enumerate(self.some()):
            self.put(f"{stem}_{9000 + 10 * number + place}_{module}", student, counts=True)
            held[module] = self.files[f"{stem}_{9000 + 10 * number + place}_{module}"]
        again = self.dice.choice(sorted(held))
        if self.dice.random() < 0.5:
            path = f"{stem}_{9500 + number}_{again.removesuffix('.py')}-1.py"
            self.put(path, student)
            held[again] = self.files[path]
        self.put(f"{stem}_{9600 + number}_{self.dice.choice(('2_essay.pdf', '3_4_pe.txt', 'my notes.txt'))}", student)
        self.put(f"{stem}_text.html", student)
        self.students[student] = held

    def moodle(self, name: str, number: int) -> None:
        student = f"{self.dice.choice(('', 'Gruppe A-'))}{name.replace('_', ' ')}_{number}"
        end = self.dice.choice(("", "_"))
        for module in self.some():
            inner = self.dice.choice(("", "work/"))
            self.put(f"{student}_assignsubmission_file{end}/{inner}{module}", student, counts=not inner)
            if inner:
                self.put(f"{student}_assignsubmission_file{end}/{module}", student, counts=True)
        self.put(f"{student}_assignsubmission_onlinetext{end}/onlinetext.html", student)

    def moodle_loose(self, name: str, number: int) -> None:
        student = f"{name.replace('_', ' ')}_{number}"
        for module in self.some():
            self.put(f"{student}_assignsubmission_file_{module}", student)
            self.students.setdefault(student, {})[module] = self.files[f"{student}_assignsubmission_file_{module}"]
        self.put(f"{student}_assignsubmission_onlinetext_onlinetext.html", student)

    def folder(self, name: str, number: int) -> None:
        root = f"{name}/{self.dice.choice(('', f'{ASSIGNMENT.name}/', 'my work/', f'notebooks/{ASSIGNMENT.name}/'))}"
        for module in self.some():
            self.put(root + module, name, counts=True)
        for path in self.dice.sample(BESIDE, 3):
            self.put(f"{name}/{path}")

    def archive(self, name: str, number: int) -> None:
        kind = self.dice.choice(("zip", "zip", "in a folder", "rar"))
        if kind == "rar":
            self.put(f"{name}.rar")
            self.students.setdefault(name, {})
            return
        inside: Files = {}
        for module in self.some():
            self.number += 1
            inside[module] = f"# {self.number}\n".encode()
        others = {path: path.encode() for path in self.dice.sample(BESIDE, 2)}
        path = f"{name}.zip" if kind == "zip" else f"{name}/work.zip"
        self.files[path] = zipped({**inside, **others})
        self.students[name] = inside

    def paths(self) -> Files:
        """All files that are no readable zip file, and those inside of zip files, by path."""
        found: Files = {}
        for path, data in self.files.items():
            if path.endswith(".zip"):
                with zipfile.ZipFile(write(Path(self.place), {"one.zip": data}) / "one.zip") as archive:
                    found |= {f"{path}/{inner}": archive.read(inner) for inner in archive.namelist()}
            else:
                found[path] = data
        return found

    place = ""


def without_flag(path: Path, files: Files) -> None:
    """A zip file as macOS writes it: names in UTF-8, decomposed, and no flag that says so."""

    class Info(zipfile.ZipInfo):
        def _encodeFilenameFlags(self) -> tuple[bytes, int]:
            return self.filename.encode(), self.flag_bits & ~0x800

    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(Info(unicodedata.normalize("NFD", name)), data)


def lay_out(tmp_path: Path, form: str, files: Files) -> tuple[Path, str]:
    """Where the download lies, and what stands before every path in it."""
    before = "export/" if "wrapped" in form else ""
    inside = {before + name: data for name, data in files.items()}
    if form.startswith("folder"):
        return write(tmp_path / "class", inside), before
    path = tmp_path / "class.zip"
    if "mac" in form:
        without_flag(path, inside)
    else:
        path.write_bytes(zipped(inside))
    return path, before


def check_all(tmp_path: Path, form: str, seed: int) -> None:
    made = Generated(random.Random(seed))
    made.place = str(tmp_path)
    path, before = lay_out(tmp_path, form, made.files)
    intake = take_in(path, [ASSIGNMENT])
    said = {**intake.ignored, **intake.unclaimed}
    counted: dict[bytes, str] = {}
    for one in intake.found:
        submission = one.read()
        said |= dict(submission.left)
        for text in submission.sources.values():
            assert text.encode() not in counted
            counted[text.encode()] = one.student
    told = {unicodedata.normalize("NFC", name): why for name, why in said.items()}
    assert all(told.values())
    for name, data in made.paths().items():
        name = unicodedata.normalize("NFC", before + name)
        data = data if isinstance(data, bytes) else data.encode()
        around = [name[: at + 1] for at, char in enumerate(name) if char == "/"]
        listed = [one for one in (name, *around) if one in told]
        assert (data in counted) + bool(listed) == 1, (name, listed)
        assert len(listed) < 2, name
    for student, files in made.students.items():
        for data in files.values():
            assert counted[data if isinstance(data, bytes) else data.encode()] == unicodedata.normalize("NFC", student)
    assert {one.student for one in intake.found} == {unicodedata.normalize("NFC", one) for one in made.students}


FORMS = ("folder", "folder wrapped", "zip", "zip wrapped", "zip mac")


@pytest.mark.parametrize("form", FORMS)
def test_every_file_of_a_download_is_graded_ignored_by_name_or_listed(tmp_path, form):
    for seed in range(40):
        (tmp_path / str(seed)).mkdir()
        check_all(tmp_path / str(seed), form, seed)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_every_file_of_many_downloads(tmp_path, form):
    for seed in range(1000, 1500):
        (tmp_path / str(seed)).mkdir()
        check_all(tmp_path / str(seed), form, seed)


# Names


CANVAS = {  # as Canvas makes them: the file -> the student, and what the student called the file
    "doejane_101_9001_pe.py": ("doejane_101", "pe.py"),
    "van_dammekim_102_9002_pe.py": ("van_dammekim_102", "pe.py"),
    "van_dammekim_LATE_102_9003_mha-1.py": ("van_dammekim_102", "mha-1.py"),
    "smith2_103_9004_2_pe.py": ("smith2_103", "2_pe.py"),
    "smith2_103_9005_1_2_3.pdf": ("smith2_103", "1_2_3.pdf"),
    "group_1_104_9006_pe.py": ("group_1_104", "pe.py"),
    "group_2_105_9007_work.zip": ("group_2_105", "work.zip"),
    "group_2_105_9008_20260101_pe.py": ("group_2_105", "20260101_pe.py"),
    "lee_106_link.html": ("lee_106", "link.html"),
    "李小龙_107_9009_pe.py": ("李小龙_107", "pe.py"),
    "mu\u0308ller_108_9010_pe.py": ("müller_108", "pe.py"),
    "anon_109_9011_pe.py": ("anon_109", "pe.py"),
}
ANONYMOUS = {
    "anon_aB1dE_9001_pe.py": ("anon_aB1dE", "pe.py"),
    "LATE_anon_zZ9_9031_mha-2.py": ("anon_zZ9", "mha-2.py"),
    "anon_12345_9002_3_pe.py": ("anon_12345", "3_pe.py"),
    "anon_aB1dE_text.html": ("anon_aB1dE", "text.html"),
}
MOODLE = {
    "Li Xu_13_assignsubmission_file_": ("Li Xu_13", ""),
    "Li Xu_13_assignsubmission_file": ("Li Xu_13", ""),
    "Gruppe A-Ana-Maria O'Neil_14_assignsubmission_onlinetext_": ("Gruppe A-Ana-Maria O'Neil_14", "onlinetext"),
    "Participant_15_assignsubmission_file_1_2_pe.py": ("Participant_15", "1_2_pe.py"),
}


@pytest.mark.parametrize("names", [CANVAS, ANONYMOUS, MOODLE, {**MOODLE, **CANVAS}])
def test_names_are_read_as_the_platforms_make_them(names: dict[str, tuple[str, str]]) -> None:
    assert {name: (one.student, one.name) for name, one in uploads(names).items()} == names


@pytest.mark.parametrize(
    "name", ["ben_pe.py", "pe.py", "a_b_c.py", "_1_2_pe.py", "anon_pe.py", "x_5_pe.py", "LATE_5_pe.py"]
)
def test_other_names_are_nobodys(name):
    assert uploads([name]) == {}


def test_a_module_beside_the_students_does_not_make_them_one(tmp_path):
    classes: dict[str, Files] = {"anna": below("anna"), "carl": {"carl.zip": zipped(dict(MODULES))}}
    classes["doe_101"] = {"doe_101_9001_pe.py": ""}
    for student, files in classes.items():
        for form in ("folder", "zip"):
            place = tmp_path / f"{student} {form}"
            place.mkdir()
            path, _ = lay_out(place, form, {**files, "pe.py": b"# stray"})
            intake = take_in(path, [ASSIGNMENT])
            assert [one.student for one in intake.found] == [student]
            assert list(intake.unclaimed) == ["pe.py"]


@pytest.mark.parametrize("path", ["class", "class.zip", "wrapped", "in a folder"])
def test_files_without_a_student_are_no_submissions_and_are_named(tmp_path, path):
    loose = {"anna_pe.py": "# 1", "ben_pe.py": "# 2"}
    write(tmp_path / "class", dict(loose))
    (tmp_path / "class.zip").write_bytes(zipped(dict(loose)))
    write(tmp_path / "wrapped", {"notes.txt": "", **loose})
    write(tmp_path / "in a folder", {"ben_mha.py": "", "anna_pe.py": "", "pe.py": ""})
    with pytest.raises(UserError, match=r"contains no submissions.*files \(.*(anna|ben)_.*belong to nobody"):
        take_in(tmp_path / path, [ASSIGNMENT])


def test_a_zip_file_of_the_class_alone_in_a_folder_is_the_class(tmp_path):
    for name, files in {"moodle": "Li_1_assignsubmission_file_", "plain": "anna"}.items():
        inside = {**below(files), **below("ben")}
        write(tmp_path / name, {"download.zip": zipped(inside)})
        assert len(find_submissions(tmp_path / name, ASSIGNMENT)) == 2


def test_collected_repositories_are_students_without_notes(tmp_path):
    """The name of a clone is the assignment's, the folder's or that of Classroom 50, a hyphen, and the student's."""
    rest = {
        ".git/config": "x",
        ".github/workflows/autograde.yaml": "x",
        ".vscode/tasks.json": "x",
        ".devcontainer/devcontainer.json": "x",
        ".gitignore": "x",
        ".classroom50.yaml": "x",
        "grade.py": "x",
        "course/check.py": "x",
        "autograder/assignments/a/standins/mha.py": "x",
    }
    files: dict[str, str | bytes] = {**below("hw1-alice/notebooks/transformer"), **below("hw1-bob-c")}
    files |= {f"hw1-alice/{name}": data for name, data in rest.items()} | {"hw1-bob-c/README.md": "x"}
    named = {name.replace("hw1-", "transformer-"): data for name, data in files.items()}
    classroom = {name.replace("hw1-", "nlp-2026-transformer-"): data for name, data in files.items()}
    places = {"hw1-submissions": files, "class": named, "downloaded": classroom}
    for place in (write(tmp_path / place, texts) for place, texts in places.items()):
        found = read_all(place)
        assert list(found) == ["alice", "bob-c"]
        for one in found.values():
            assert {f"{module}.py": text for module, text in one.sources.items()} == MODULES
            assert one.review == one.files == ()
    write(tmp_path / "class", {"dora/pe.py": ""})
    assert list(read_all(tmp_path / "class")) == ["dora", "transformer-alice", "transformer-bob-c"]
    one = read_all(write(tmp_path / "class", {"transformer-alice/pe.py": "# elsewhere"}))["transformer-alice"]
    assert one.files == ("not read: pe.py",)


def test_what_was_handed_out_is_counted_and_what_a_student_added_is_named(tmp_path):
    given = dict.fromkeys(("grade.py", "course/text.py", "autograder/assignments/transformer/standins/mha.py"), "x")
    files = {**below("alice/notebooks/transformer"), **{f"alice/{path}": text for path, text in given.items()}}
    place = write(
        tmp_path / "class", {**files, "alice/draft.txt": "x", "alice/course/mha.py": "x", "bob/pe.py": "x = 1"}
    )
    intake = take_in(place, [ASSIGNMENT])
    left_out = LeftOut(intake)
    for one in intake.found:
        left_out.add(one.student, one.read())
    why = dict(left_out.of_students["alice"])
    assert {path for path, reason in why.items() if reason == HANDED_OUT} == {
        *("alice/grade.py", "alice/autograder/", "alice/course/")
    }
    assert "2 files (alice/draft.txt, alice/course/mha.py) handed in but not counted" in str(left_out)
    assert "3 files and folders of the handout" in str(left_out)


def test_the_course_s_own_modules_are_no_submission(tmp_path):
    """In a copy of the course, stand-ins are other texts than the stubs, and correct."""
    homes = {"notebooks/transformer": ASSIGNMENT.released, "autograder/standins": ASSIGNMENT.standins}
    for folder, home in homes.items():
        for module in ASSIGNMENT.modules:
            write(tmp_path, {f"copy/{folder}/{module}.py": (home / f"{module}.py").read_text()})
    found = read_submission(tmp_path / "copy", ASSIGNMENT)
    assert found.sources == read_submission(ASSIGNMENT.released, ASSIGNMENT).sources


def test_the_assignment_is_seen_in_zip_files_and_names_of_canvas(tmp_path):
    inside = {"vit.py": "", "heads.py": ""}
    zips = write(tmp_path / "zips", {f"{name}.zip": zipped({**inside}) for name in ("anna", "ben")})
    loose = write(tmp_path / "loose", {"van_dam_1_20_vit.py": "", "o_neil_2_30_vit-1.py": "", "mha.txt": ""})
    for place in (zips, loose):
        assert assignment_of_class(None, place)[0].name == "variants"


def test_what_is_not_graded_is_said_everywhere(tmp_path, capsys):
    """On the console, in the report, and in a table beside grades.csv."""
    files = {"van_dammekim_102_9002_pe.py": "x = 1\n", "ben_pe.py": "x", ".DS_Store": "x"}
    place, out = write(tmp_path / "in", {**files, "van_dammekim_102_9003_essay.pdf": "x"}), tmp_path / "out"
    assert batch([str(place), "--out", str(out), "--visible-only", *CONFINED]) == 0
    assert list(rows(out)) == ["van_dammekim_102"]
    line = (
        "Not graded: 1 file (ben_pe.py) without a student, 1 file (van_dammekim_102_9003_essay.pdf) handed in but "
        "not counted, 1 ignored by name; not-graded.csv lists them all, with reasons."
    )
    assert line in capsys.readouterr().out.splitlines()
    assert line in (out / "report.html").read_text(encoding="utf-8")
    with (out / "not-graded.csv").open(encoding="utf-8-sig", newline="") as file:
        table = list(csv.DictReader(file))
    assert [(row["file"], row["student"]) for row in table] == [
        *(("ben_pe.py", ""), (".DS_Store", ""), ("van_dammekim_102_9003_essay.pdf", "van_dammekim_102"))
    ]
    assert all(row["why"] for row in table)


SPACED = ["山田\u3000太郎", "می\u200cخوش", "Anne\N{NO-BREAK SPACE}Lee", "क्\u200dष"]


@pytest.mark.parametrize("name", SPACED)
@pytest.mark.parametrize("form", ["folder", "zip"])
def test_spaces_and_joiners_of_all_scripts_are_part_of_names(tmp_path, form, name):
    files: Files = {**below(name), **below("ben")}
    if form == "zip":
        (tmp_path / "class.zip").write_bytes(zipped(files))
    path = write(tmp_path / "class", files) if form == "folder" else tmp_path / "class.zip"
    found = read_all(path)
    assert sorted(found) == sorted([name, "ben"])
    assert not found[name].unreadable


@pytest.mark.parametrize("char", ["\n", "\x1b", "\N{RIGHT-TO-LEFT OVERRIDE}", "\N{ZERO WIDTH NO-BREAK SPACE}"])
def test_characters_that_change_what_is_shown_are_no_part_of_names(tmp_path, char):
    (tmp_path / "class.zip").write_bytes(zipped({**below(f"anna{char}"), **below("ben"), **below("carl")}))
    assert sorted(read_all(tmp_path / "class.zip")) == ["ben", "carl"]


@pytest.mark.parametrize("number", ["-1", "(1)", " (1)", "_1", "_LATE_1_1"])
def test_names_with_many_numbers_take_little_time(number):
    names = [f"{n:04}{number * (240 // len(number))}.py" for n in range(4000)]
    before = time.process_time()
    assert len(uploads(names)) <= len(names)
    assert not any(is_module(name, ["mha"]) for name in names)
    assert time.process_time() - before < 3


@pytest.mark.parametrize("name", ["müller", "李小龙", "Ångström", "ascii"])
def test_names_in_zip_files_without_the_flag_are_tried_as_utf_8(name):
    for form, wanted in (("utf-8", name), ("cp437", name)):
        try:
            shown = name.encode(form).decode("cp437")  # as zipfile shows bytes whose flag is not set
        except UnicodeEncodeError:
            continue
        info = zipfile.ZipInfo(shown)
        assert name_of(info) == wanted
    info = zipfile.ZipInfo(name)
    info.flag_bits = 0x800
    assert name_of(info) == name
