"""Copies of what students get are noted for instructors, whatever they are called; correct programs are none."""

from pathlib import Path

from autograder.authoring.formulations import correct_submissions, programs_of
from autograder.forbidden.fingerprints import copies
from autograder.forbidden.search_budget import parsed
from autograder.grading.forbidden_parts import check_submission, known_functions
from autograder.manifest import assignment
from autograder.submissions.read_submission import Submission, read_submission

ROOT = Path(__file__).resolve().parents[2]
ASSIGNMENT = assignment("transformer")


def solution() -> dict[str, str]:
    return read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources


def test_a_copy_of_a_stand_in_is_noted(workers):
    standin = (ROOT / "autograder" / "assignments" / "transformer" / "standins" / "pe.py").read_text(encoding="utf-8")
    assert "frequency" in standin
    copied = standin.replace("frequency", "f").replace("points", "p").replace("#", "# my own words:")
    said = "pe.PositionalEncoding.__init__ is nearly the same as the stand-in pe.PositionalEncoding.__init__"
    changes = {
        "names": ("", ""),
        "a pass": ("        pairs =", "        pass\n        pairs ="),
        "dead statements": ("        pairs =", "        unused = 1\n        other = unused\n        pairs ="),
        "a branch that is never taken": ("        pairs =", "        if False:\n            return\n        pairs ="),
        "another order": (
            "        pairs = (d_model + 1) // 2\n",
            "        angle = None\n        pairs = (1 + d_model) // 2\n",
        ),
    }
    for old, new in changes.values():
        text = copied.replace(old, new) if old else copied
        assert text != copied or not old
        found = check_submission(Submission("test", {**solution(), "pe": text}), ASSIGNMENT, workers, copies=True)
        assert said in found.review
    assert check_submission(Submission("test", solution()), ASSIGNMENT, workers, copies=True).review == ()


def test_decoding_of_the_course_as_an_answer_is_noted(workers):
    """What `course` has to decode quickly is no answer as it stands; its attention, made one, calls a person."""
    course = (ROOT / "course" / "translation" / "kv_cache.py").read_text(encoding="utf-8")
    text = solution()["decoder"] + "\n\n" + course.replace("CachedLayer", "Layer").replace("from __future__", "#")
    found = check_submission(Submission("test", {**solution(), "decoder": text}), ASSIGNMENT, workers, copies=True)
    assert any("nearly the same as course.translation.kv_cache.CachedLayer" in note for note in found.review)


def test_correct_programs_are_no_copies():
    names = [folder.name for folder in programs_of(ASSIGNMENT).rglob("*") if folder.is_dir()]
    correct = correct_submissions(ASSIGNMENT)
    programs = {name: correct[name] for name in names if name in correct}
    assert len(programs) > 40
    known = known_functions(ASSIGNMENT.name)
    for name, (submission, written) in programs.items():
        for module in written:
            tree, _ = parsed(submission.sources[module])
            assert list(copies(tree, known)) == [], (name, module)
