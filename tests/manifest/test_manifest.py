"""The manifest is checked when it is read: what is wrong is one sentence with file and key, and harms no other."""

from pathlib import Path

import pytest

from autograder import manifest
from autograder.manifest import Assignment, Broken, assignment, assignments, every_assignment, first_assignment
from autograder.manifest.reading import read
from autograder.submissions.which_assignment import which_assignment
from course.errors import UserError

MANIFEST = """
order = 7
title = "Small"
modules = ["one", "two"]
checkpoint = "de-en"
end_to_end = "test_b"
more_notebooks = ["3_more.ipynb"]

[[stage]]
name = "first"
title = "First"
notebook = "1_first.ipynb"
writes = ["one.f", "one.C.g"]
tests = "test_first"
[stage.points]
test_a = 2.5

[[stage]]
name = "second"
title = "Second"
notebook = "2_second.ipynb"
builds_on = ["first"]
extra_credit = true
writes = ["two.f", "one.h"]
tests = "test_second"
[stage.points]
test_b = { whole = 1, half = 0.5 }
"""
TESTS = {"test_first": "test_a", "test_second": "test_b"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of an assignment without a manifest."""
    for kind in ("visible", "hidden", "standins"):
        (tmp_path / "small" / kind).mkdir(parents=True)
    for module, test in TESTS.items():
        for kind in ("visible", "hidden"):
            (tmp_path / "small" / kind / f"{module}.py").write_text(f"class T:\n    def {test}(self):\n", "utf-8")
    for module in ("one", "two"):
        (tmp_path / "small" / "standins" / f"{module}.py").touch()
    return tmp_path / "small"


def written(folder: Path, text: str) -> Path:
    (folder / "assignment.toml").write_text(text, encoding="utf-8")
    return folder / "assignment.toml"


def test_what_it_says(folder):
    small = read(written(folder, MANIFEST))
    assert (small.name, small.order, small.title, small.modules) == ("small", 7, "Small", ("one", "two"))
    assert (small.checkpoints, small.end_to_end, small.max_points) == (("de-en",), "test_b", 4)
    assert small.notebooks == ("1_first.ipynb", "2_second.ipynb", "3_more.ipynb")
    first, second = small.stages
    assert (first.number, first.points, first.parts, first.builds_on) == (1, {"test_a": 2.5}, {}, ())
    assert (second.points, second.parts) == ({"test_b": 1.5}, {"test_b": {"whole": 1, "half": 0.5}})
    assert (first.extra_credit, second.extra_credit, second.modules) == (False, True, ("two", "one"))


@pytest.mark.parametrize(
    ("line", "checkpoints"),
    [("", ()), ('checkpoint = ["de-en"]', ("de-en",)), ("checkpoint = []", ()), ('checkpoint = "de-en"', ("de-en",))],
)
def test_the_checkpoint_may_be_left_out_or_be_a_list(folder, line, checkpoints):
    assert read(written(folder, MANIFEST.replace('checkpoint = "de-en"', line))).checkpoints == checkpoints


@pytest.mark.parametrize("line", ["", 'end_to_end = ""'])
def test_there_may_be_no_test_from_end_to_end(folder, line):
    assert read(written(folder, MANIFEST.replace('end_to_end = "test_b"', line))).end_to_end == ""


WRONG = {
    "title = ": ("titel = ", "the key title is missing; it should be a string"),
    "end_to_end = ": ("end_to_ent = ", "there is no key end_to_ent; did you mean end_to_end?"),
    "order = 7": ('order = "7"', "order must be a whole number, not a string"),
    'title = "Small"': ("title = 2", "title must be a string, not a whole number"),
    'title = "First"': ('title = " "', r"stage 1 \(first\): title is empty"),
    '["one", "two"]': ('["one", "two", "one"]', "modules names one twice"),
    'modules = ["one", "two"]': ("modules = [1]", "modules must be a list of strings, but contains 1"),
    'les = ["one", "two"]': (
        'les = ["one", "two", "three"]',
        r"modules names three, but there is no standins/three\.py",
    ),
    'odules = ["one", "two"]': (
        'odules = ["one", "t-o"]',
        "modules names 't-o', which is not a valid module name",
    ),
    '"de-en"': ('"de-fr"', "checkpoint names de-fr, but there is no folder checkpoints/de-fr"),
    'end_to_end = "test_b"': ('end_to_end = "test_c"', "end_to_end names test_c, which no stage gives points for"),
    "3_more.ipynb": ("2_second.ipynb", r"more_notebooks names 2_second\.ipynb, which belongs to a stage already"),
    'name = "second"': ('name = "first"', r"stage 2 \(first\): name is already the name of an earlier stage"),
    'e = "first"': ('e = "first stage"', r"stage 1: name must consist of letters, digits and _, not 'first stage'"),
    "2_second.ipynb": ("1_first.ipynb", r"notebook names 1_first\.ipynb, which belongs to a stage already"),
    "1_first.ipynb": ("../1_first.py", r"notebook must name a notebook like 1_first\.ipynb, not '\.\./1_first\.py'"),
    "one.f": ("three.f", r"writes names three\.f, but three is not a module of the assignment"),
    "one.C.g": ("one.C.g.h", r"writes names 'one\.C\.g\.h'; it should be module\.Class\.method or module\.function"),
    "one.h": ("one.f", r"stage 2 \(second\): writes names one\.f, which an earlier stage writes"),
    '"two.f", ': ("", "modules names two, in which no stage writes anything"),
    '["first"]': ('["second"]', "builds_on names second, which is not an earlier stage"),
    '"test_second"': ('"test_third"', r"tests names test_third, but there is no visible/test_third\.py"),
    "test_a = 2.5": ("test_c = 2.5", "points names test_c, but no file in visible/ defines it"),
    "a = 2.5": ("a = 0", r"stage 1 \(first\), points: test_a must be a number of points above 0, not 0"),
    "test_a = 2": (
        "test_b = 1\ntest_a = 2",
        r"stage 2 \(second\), points: test_b is already in an earlier stage",
    ),
    "half = 0.5": ('half = "0.5"', r"points: test_b\.half must be a number of points above 0, not '0\.5'"),
    "{ whole = 1, half = 0.5 }": ("{}", "points: test_b has no parts"),
    "extra_credit = true": ('extra_credit = "yes"', "extra_credit must be true or false, not a string"),
    '[[stage]]\nname = "first"': ('[stage]\nname = "first"', "cannot be read: "),
    'modules = ["one",': ('modules = ["one"', r"cannot be read: .*line 4"),
}


@pytest.mark.parametrize("old", WRONG)
def test_what_is_wrong_is_said_with_file_and_key(folder, old):
    new, message = WRONG[old]
    assert old in MANIFEST
    with pytest.raises(UserError, match=message) as raised:
        read(written(folder, MANIFEST.replace(old, new, 1)))
    assert str(raised.value).startswith(str(folder / "assignment.toml"))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("visible/test_first.py", r"tests names test_first, but there is no visible/test_first\.py"),
        ("hidden/test_second.py", r"tests names test_second, but there is no hidden/test_second\.py"),
        ("standins/two.py", r"modules names two, but there is no standins/two\.py"),
    ],
)
def test_files_that_are_missing_are_named(folder, missing, message):
    (folder / missing).unlink()
    with pytest.raises(UserError, match=message):
        read(written(folder, MANIFEST))


def test_a_test_without_points_is_named(folder):
    (folder / "hidden" / "test_first.py").write_text(
        "class T:\n    def test_a(self):\n    def test_z(self):\n", "utf-8"
    )
    with pytest.raises(UserError, match=r"points lacks test_z, which hidden/test_first\.py defines"):
        read(written(folder, MANIFEST))


def test_students_have_no_hidden_tests(folder):
    for path in (folder / "hidden").iterdir():
        path.unlink()
    (folder / "hidden").rmdir()
    assert read(written(folder, MANIFEST)).name == "small"


# An error in one assignment does not end the commands of another


@pytest.fixture
def beside(monkeypatch):
    """Put broken assignments beside the real ones."""

    def put(name: str, order: float) -> None:
        found = (*manifest._found(), Broken(name, order, UserError(f"{name}: title is missing")))
        monkeypatch.setattr(manifest, "_found", lambda: tuple(sorted(found, key=lambda one: one.order)))

    return put


def test_a_broken_assignment_is_left_out_and_named(beside, tmp_path):
    before = list(assignments())
    beside("broken", 99)
    assert list(assignments()) == before
    assert which_assignment(None) is first_assignment() is assignments()[before[0]]
    for place in (None, tmp_path / "broken"):
        with pytest.raises(UserError, match="broken: title is missing"):
            which_assignment(None if place else "broken", place)
    with pytest.raises(UserError, match="broken: title is missing"):
        every_assignment()


def test_a_broken_assignment_that_would_be_meant_is_not_passed_over(beside):
    beside("broken", float("-inf"))
    with pytest.raises(UserError, match="broken: title is missing"):
        which_assignment(None)


def test_a_file_that_is_no_toml_comes_last(tmp_path, monkeypatch):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "assignment.toml").write_text("order = ", encoding="utf-8")
    one = manifest._one(tmp_path / "bad" / "assignment.toml")
    assert isinstance(one, Broken)
    assert one.order == float("inf")


def test_every_manifest_of_the_project_is_right():
    assert manifest.broken() == {}
    assert all(isinstance(assignment(name), Assignment) for name in assignments())


GRADED = """[stage.grades]
"one.f" = ["test_a"]
[stage.uses]
"one.C.g" = ["one.f"]

[[stage]]
name = "second"
"""
OF_PARTS = '\n[stage.grades]\n"two.f" = ["test_b.whole"]\n"one.h" = ["test_b.half"]\n'


def test_it_says_which_function_a_test_or_a_part_grades_and_what_that_uses(folder):
    small = read(written(folder, MANIFEST.replace('[[stage]]\nname = "second"\n', GRADED) + OF_PARTS))
    first, second = small.stages
    assert (first.graded_by("test_a"), first.uses) == ("one.f", {"one.C.g": ("one.f",)})
    assert [second.graded_by("test_b", part) for part in ("whole", "half", "other")] == ["two.f", "one.h", ""]


def test_uses_go_on_through_what_is_used(folder):
    more = '[stage.uses]\n"one.C.g" = ["one.f"]\n"one.f" = ["one.e"]\n\n[[stage]]\nname = "second"\n'
    text = MANIFEST.replace('[[stage]]\nname = "second"\n', more).replace('"one.C.g"]', '"one.C.g", "one.e"]')
    assert read(written(folder, text)).stages[0].uses["one.C.g"] == ("one.f", "one.e")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"one.f" = ["test_a"]', '"one.e" = ["test_a"]', r"grades: one\.e is not a function that students write"),
        (
            '"one.f" = ["test_a"]',
            '"one.f" = ["test_b"]',
            r"grades: one\.f names test_b, which is neither a test of this stage",
        ),
        ('"one.f" = ["test_a"]', '"one.f" = ["test_a.x"]', r"grades: one\.f names test_a\.x, which is neither"),
        ('= ["test_a"]', '= ["test_a"]\n"one.C.g" = ["test_a"]', r"one\.C\.g names test_a, which one\.f names too"),
        (
            '"one.C.g" = ["one.f"]',
            '"one.C.g" = ["two.f"]',
            r"uses: one\.C\.g names two\.f, which students do not",
        ),
        ('"one.C.g" = ["one.f"]', '"one.C.g" = ["one.f"]\n"one.f" = ["one.C.g"]', r"one\.C\.g uses itself"),
    ],
)
def test_functions_that_are_wrong_are_named(folder, old, new, message):
    text = MANIFEST.replace('[[stage]]\nname = "second"\n', GRADED)
    assert old in text
    with pytest.raises(UserError, match=message):
        read(written(folder, text.replace(old, new)))
