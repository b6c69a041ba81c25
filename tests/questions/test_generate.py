"""Questions about a student's own code: the same seed, the same questions; every answer is what a run gives."""

import json
import re
import shutil
import zipfile
from xml.etree import ElementTree as ET

import pytest

from autograder.__main__ import main
from autograder.manifest import assignment
from autograder.questions import generate
from autograder.questions.answers import read_points
from autograder.questions.kinds import KINDS
from autograder.questions.outputs import write_all
from autograder.questions.question import Question
from autograder.submissions.read_submission import read_submission
from course.errors import UserError
from tests.support.programs import write_program

STAGE = "pe"
QTI = "{http://www.imsglobal.org/xsd/ims_qtiasiv1p2}"


@pytest.fixture(scope="module")
def submitted(tmp_path_factory):
    """Two students, who have handed in the module that is asked about and no other."""
    written, folder = (tmp_path_factory.mktemp(name) for name in ("written", "submitted"))
    for name in ("solution", "loops"):
        (folder / name).mkdir()
        write_program(written, name)
        shutil.copy(written / f"{STAGE}.py", folder / name)
    return folder


def ask(submitted, out, *options: str) -> dict:
    command = ["questions", str(submitted), "--stage", STAGE, "--unconfined", "--out", str(out), *options]
    assert main(command) == 0
    return json.loads((out / "key.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def asked(submitted, tmp_path_factory):
    """The folder with the questions of a class, and its key."""
    folder = tmp_path_factory.mktemp("asked")
    return folder, ask(submitted, folder, "--count", "2", "--seed", "5")


def test_the_same_seed_asks_the_same(submitted, asked, tmp_path):
    first = asked[1]
    again = ask(submitted, tmp_path / "again", "--count", "2", "--seed", "5")
    assert first == again
    assert set(first["students"]) == {"solution", "loops"}
    for paper in first["students"].values():
        assert paper["complete"]
        assert len(paper["questions"]) >= 2
        for question in paper["questions"]:
            assert question["kind"] in KINDS
            options = question["options"]
            assert len(set(options)) == len(options) >= 3
            assert 0 <= question["right"] < len(options)


def test_learning_platforms_get_the_same_questions(asked):
    folder, key = asked
    questions = [one for paper in key["students"].values() for one in paper["questions"]]
    found = ET.parse(folder / "moodle.xml").getroot().findall("question[@type='multichoice']")
    right = [[answer.get("fraction") for answer in one.findall("answer")].index("100") for one in found]
    assert right == [one["right"] for one in questions]
    assert all(len(one.findall("answer")) == len(other["options"]) for one, other in zip(found, questions, strict=True))
    html = found[0].findtext("questiontext/text") or ""
    assert html.count("<pre") == html.count("</pre>") == 1
    with zipfile.ZipFile(folder / "canvas.zip") as archive:
        names = re.findall(r'href="(quiz\d+\.xml)"/>', archive.read("imsmanifest.xml").decode())
        items = [item for name in names for item in ET.fromstring(archive.read(name)).iter(f"{QTI}item")]
    assert [item.findtext(f".//{QTI}varequal") for item in items] == [one["letter"] for one in questions]
    assert [len([*item.iter(f"{QTI}response_label")]) for item in items] == [len(one["options"]) for one in questions]


def test_a_sheet_shows_each_call_once(tmp_path):
    """A platform may ask one question alone, so there each question shows its call."""
    call = "`f` is called with `x=1`"
    texts = (f"{call}. Line 2 becomes `pass`. What happens?", f"{call}. How often does line 3 run?", "Which line?")
    asked = [Question("effect", 2, text, tuple("abc"), 0, "Run.", (), (), call) for text in texts[:2]]
    asked.append(Question("swap", 2, texts[2], tuple("abc"), 0, "Run.", ()))
    chosen = assignment("transformer")
    write_all(tmp_path, [generate.Paper("me", STAGE, True, tuple(asked))], chosen, chosen.stage(STAGE), 1, 10)
    for name in ("sheets.html", "key.html", "timed/me.html"):
        page = (tmp_path / name).read_text(encoding="utf-8")
        assert page.count("x=1") == 1
        assert "The call is the same as in question 1. How often does line 3 run?" in page
        assert "Which line?" in page
    assert (tmp_path / "moodle.xml").read_text(encoding="utf-8").count("x=1") == 2


def test_students_get_no_answer_and_no_line_of_the_reference(submitted, asked):
    folder, key = asked
    sheets = (folder / "sheets.html").read_text(encoding="utf-8")
    timed = "".join(page.read_text(encoding="utf-8") for page in (folder / "timed").glob("*.html"))
    for paper in key["students"].values():
        for question in paper["questions"]:
            assert question["because"] not in sheets
            assert question["because"] not in timed
    text = (assignment("transformer").solution / f"{STAGE}.py").read_text(encoding="utf-8")
    own = (submitted / "loops" / f"{STAGE}.py").read_text(encoding="utf-8")
    begin = text.index("### BEGIN SOLUTION")
    written = {line.strip() for line in text[begin:].splitlines() if len(line.strip()) > 25}
    shown = json.dumps(key["students"]["loops"])
    assert not [line for line in written if line not in own and json.dumps(line)[1:-1] in shown]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--count", "0"], "--count and --jobs must be 1 or more"),
    ],
)
def test_wrong_usage(submitted, capsys, options, said):
    assert main(["questions", str(submitted), "--stage", STAGE, "--unconfined", *options]) == 2
    assert said in capsys.readouterr().err


def test_marks_become_points(submitted, asked, tmp_path):
    folder, key = asked
    graded = tmp_path / "graded"
    command = ["batch", str(submitted), "--assignment", "transformer", "--out", str(graded), "--visible-only"]
    assert main([*command, "--unconfined", "--jobs", "1"]) == 0
    rows = ["student,question,answer"]
    for student, paper in key["students"].items():
        for number, question in enumerate(paper["questions"], start=1):
            rows.append(f"{student},{number},{question['letter'] if student == 'solution' else ''}")
    (tmp_path / "answers.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    mark = ["questions", "mark", str(tmp_path / "answers.csv"), "--key", str(folder / "key.json")]
    assert main([*mark, "--graded", str(graded), "--points", "4"]) == 0
    points = (graded / "questions.csv").read_text(encoding="utf-8-sig")
    assert "solution" in points
    from autograder.gradebooks.class_grades import read_class

    earned = read_class(graded).points
    assert earned["solution"].required - earned["loops"].required == 4


def test_odd_code_costs_nobody_else_the_questions(tmp_path, capsys):
    """One student nests too deep, one has no class that can be asked about; and a file belongs to nobody."""
    texts = read_submission(assignment("transformer").solution, assignment("transformer")).sources
    odd = {"deep": "x = " + "lambda: " * 2500 + "1\n", "signs": "x = " + "-" * 40_000 + "1\n", "good": ""}
    for student, text in odd.items():
        (tmp_path / "class" / student).mkdir(parents=True)
        (tmp_path / "class" / student / "pe.py").write_text(texts["pe"] + text, encoding="utf-8")
    (tmp_path / "class" / "mha.py").write_text("", encoding="utf-8")
    key = ask(tmp_path / "class", tmp_path / "out", "--count", "1", "--seed", "3", "--assignment", "transformer")
    assert len(key["students"]["good"]["questions"]) == 1
    shown = capsys.readouterr().out
    assert re.search("signs: the code (cannot be parsed|is nested too deeply)", shown)
    # Whether a parser can take it depends on the stack that is left.
    assert "deep: the code is nested too deeply" in shown or key["students"]["deep"]["questions"]
    assert "left out 1 file (mha.py) that belong to no student" in shown


@pytest.mark.parametrize(("cell", "points"), [("²", "5"), ("1", "inf"), ("1", "1e30"), ("1", "nan")])
def test_odd_numbers_are_named(tmp_path, capsys, cell, points):
    (tmp_path / "batch.json").write_text("{}", encoding="utf-8")
    question = {"letter": "A", "kind": "times"}
    (tmp_path / "key.json").write_text(json.dumps({"students": {"anna": {"questions": [question]}}}), encoding="utf-8")
    (tmp_path / "answers.csv").write_text(f"student,question,answer\nanna,{cell},A\n", encoding="utf-8")
    files = [str(tmp_path / "answers.csv"), "--key", str(tmp_path / "key.json"), "--graded", str(tmp_path)]
    assert main(["questions", "mark", *files, "--points", points]) == 2
    assert "the program itself failed" not in capsys.readouterr().err


@pytest.mark.parametrize("points", ["1e99999999", "0e-99999999", "many", ""])
def test_points_that_cannot_be_computed_with_are_named(tmp_path, points):
    (tmp_path / "questions.csv").write_text(f"student,points,full\nanna,{points},5\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"questions.csv cannot be read \('?.* (more than 50 digits|is not a number)"):
        read_points(tmp_path)


def test_in_a_handout_the_file_that_was_handed_out_is_the_students(submitted, workers, monkeypatch):
    chosen = assignment("transformer")
    stage, folder = chosen.stage(STAGE), submitted / "loops"
    monkeypatch.setattr(type(chosen), "released", property(lambda self: folder))
    made = generate.paper(read_submission(folder, chosen), stage, chosen, workers, 2, 1)
    assert len(made.questions) == 2
