"""Which assignment a class has handed in: what most of its students say, not what one puts into a folder."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from autograder.classroom.batch import main as batch
from autograder.manifest import assignments
from autograder.submissions.untrusted_files import MAX_MEMBERS
from autograder.submissions.which_assignment import assignment_of_class
from course.errors import UserError
from tests.support.archives import zipped
from tests.support.batches import CONFINED, rows
from tests.support.exporting import write_results

OURS, OTHERS = ("heads.py", "vit.py"), ("pooling.py",)  # of variants and attention: neither is the first
TRANSFORMER = ("mha.py", "pe.py")
DRAFT = "llm"  # in the test of drafts; its first module is bpe.py


def hand_in(place: Path, students: Mapping[str, tuple[str, ...]]) -> Path:
    """A folder for each student, with these files, or a zip file of all."""
    if place.suffix == ".zip":
        place.write_bytes(
            zipped({f"class/{one}/{file}": "x = 1\n" for one, files in students.items() for file in files})
        )
        return place
    for one, files in students.items():
        (place / one).mkdir(parents=True)
        for file in files:
            (place / one / file).write_text("x = 1\n", encoding="utf-8")
    return place


@pytest.mark.parametrize("name", ["class", "class.zip"])
@pytest.mark.parametrize(
    "mallory", [(*OURS, *OTHERS, "mha.py"), OTHERS, ("pooling.py", *(f"{n}.txt" for n in range(3)))]
)
def test_one_student_cannot_stop_a_class(tmp_path, name, mallory):
    place = hand_in(tmp_path / name, {"anna": OURS, "ben": OURS, "cleo": ("notes.txt",), "mallory": mallory})
    chosen, (note,) = assignment_of_class(None, place)
    assert chosen.name == "variants"
    assert all(word in note for word in ("mallory", "attention", "--assignment"))


@pytest.mark.parametrize("both", [("mallory",), ("ben", "mallory"), ("anna", "ben", "mallory")])
def test_who_hands_in_modules_of_two_assignments_speaks_for_both(tmp_path, both):
    """Theirs do not make unclear what the others say, however few these are."""
    students = {"anna": OURS, "ben": OURS, "mallory": OURS, **dict.fromkeys(both, (*OURS, *OTHERS))}
    students |= dict.fromkeys(("cleo", "dan", "eva")[: len(both)], OURS)
    chosen, (note,) = assignment_of_class(None, hand_in(tmp_path / "class", students))
    assert chosen.name == "variants"
    assert all(f"{student} (attention)" in note for student in both)


def test_nor_decide_for_it_with_more_files_than_are_looked_at(tmp_path):
    place = hand_in(tmp_path / "class", {"aaron": OTHERS, "ben": OURS, "cleo": OURS})
    for number in range(MAX_MEMBERS):
        (place / "aaron" / f"a{number}").touch()
    assert assignment_of_class(None, place)[0].name == "variants"


def test_nobody_guesses_where_it_is_not_clear(tmp_path):
    two = hand_in(tmp_path / "two", {"anna": OURS, "ben": OTHERS})
    all_have_both = hand_in(tmp_path / "both", dict.fromkeys(("anna", "ben", "cleo"), (*OURS, *OTHERS)))
    for place in (two, all_have_both):
        with pytest.raises(UserError, match=r"several assignments.*--assignment \(attention, variants\)"):
            assignment_of_class(None, place)
        assert assignment_of_class("variants", place)[0].name == "variants"


def test_what_tells(tmp_path):
    assert assignment_of_class(None, hand_in(tmp_path / "variants", {"anna": OTHERS}))[0].name == "variants"
    loose = hand_in(tmp_path / "loose", {"": ("smithalice_1001_5550_vit-1.py", "ng_2_3_vit.py", "mal_4_5_pooling.py")})
    chosen, notes = assignment_of_class(None, loose)
    assert (chosen.name, len(notes)) == ("variants", 1)
    alone = hand_in(tmp_path / "alone", {"": OURS})
    assert assignment_of_class(None, alone) == (assignment_of_class("variants", alone)[0], [])


def test_a_download_of_a_large_class(tmp_path):
    """More files than one student may hand in."""
    students = {f"s{number}": OURS for number in range(MAX_MEMBERS // 2 + 1)}
    assert assignment_of_class(None, hand_in(tmp_path / "all.zip", students))[0].name == "variants"


def test_batch_gives_each_a_row_and_says_whose_files_are_odd(tmp_path, capsys):
    place = hand_in(tmp_path / "in", {"anna": TRANSFORMER, "mallory": (*TRANSFORMER, *OTHERS)})
    out = tmp_path / "out"
    assert batch([str(place), "--out", str(out), "--visible-only", *CONFINED]) == 0
    assert "mallory" in capsys.readouterr().out.splitlines()[0]
    assert {name: row["status"] for name, row in rows(out).items()} == dict.fromkeys(("anna", "mallory"), "graded")


def refused(name: str) -> None:
    raise UserError(f"{name} is a draft")  # the manifest's own words are tested with a new assignment


@pytest.mark.parametrize("known", [None, ("attention",)], ids=["all", "one"])
@pytest.mark.parametrize("file", ["notes.txt", "bpe.py"])
def test_a_class_that_fits_no_assignment_is_not_graded(tmp_path, monkeypatch, known, file):
    """Nor is one that fits a draft, even if one student fits an assignment; the draft is named."""
    finished, room = assignments(), "autograder.submissions.which_assignment"
    draft = finished.pop(DRAFT)
    monkeypatch.setattr(f"{room}.assignments", lambda: {name: finished[name] for name in known or finished})
    monkeypatch.setattr(f"{room}.drafts", lambda: [draft])
    monkeypatch.setattr(f"{room}.assignment", lambda name: finished[name] if name in finished else refused(name))
    place = hand_in(tmp_path / "class", {"anna": (file,), "ben": (file,)})
    with pytest.raises(UserError, match=f"{DRAFT} is a draft" if file == "bpe.py" else "no module of.*attention"):
        assignment_of_class(None, place)
    assert assignment_of_class("attention", place)[0].name == "attention"
    hand_in(place, {"cleo": OTHERS})
    if file == "bpe.py":
        with pytest.raises(UserError, match=f"{DRAFT} is a draft"):
            assignment_of_class(None, place)
    else:
        assert assignment_of_class(None, place)[0].name == "attention"


def test_results_of_a_different_class_are_never_replaced(tmp_path, capsys):
    """Some who are missing are named; if nobody is there any more, it is a different class."""
    out = write_results(tmp_path / "out", {"anna": (40.0, 0.0), "ben": (30.0, 0.0)})
    kept = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    others = hand_in(tmp_path / "in", {"cleo": TRANSFORMER, "dan": TRANSFORMER})
    arguments = ["--out", str(out), "--visible-only", "--assignment", "transformer", *CONFINED]
    assert batch([str(others), *arguments]) == 2
    assert "has results of anna, ben, who are not in" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in kept} == kept
    hand_in(others, {"anna": TRANSFORMER})
    assert batch([str(others), *arguments]) == 0
    assert "in grades.csv: ben." in capsys.readouterr().out
