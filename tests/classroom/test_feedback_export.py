"""Pages for Moodle, Canvas and mail: who is in the zip file, and whose names do not fit."""

import zipfile

import pytest

from tests.support.exporting import FAULT, export, write_results

GRADE = (50.0, 0.0)


@pytest.mark.parametrize(
    ("kind", "students", "status", "pages"),
    [
        ("moodle", {"Anna Oz_7": GRADE, "Bob Oz_8": GRADE, "Cleo Li_9": FAULT}, 0, 2),
        ("moodle", {"Anna Oz_7": GRADE, "bob": GRADE}, 1, 1),
        ("moodle", {"anna": GRADE, "bob": GRADE}, 2, 0),
        ("canvas", {"ozanna_1001": GRADE, "bob": GRADE}, 2, 0),
        ("mail", {"Anna Oz_7": GRADE, "bob": GRADE}, 0, 3),  # and list.csv
    ],
)
def test_whose_names_do_not_fit_is_said(tmp_path, capsys, kind, students, status, pages):
    folder, out = write_results(tmp_path / "graded", students), tmp_path / "pages.zip"
    assert export("feedback", folder, "--for", kind, "--out", out) == status
    assert out.exists() == bool(pages)
    if pages:
        with zipfile.ZipFile(out) as archive:
            assert len(archive.namelist()) == pages
    said = "".join(capsys.readouterr())
    if status:
        misfits = ["bob"] if status == 1 else sorted(students)
        assert f"{len(misfits)} " in said
        assert f"{kind.capitalize()} could not assign" in said
        assert ", ".join(misfits) in said
    assert ("--submissions" in said) == (kind == "canvas")
