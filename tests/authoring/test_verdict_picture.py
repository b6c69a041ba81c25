"""The picture of a verdict in the README is what the grader says today."""

from autograder.authoring.verdict_picture import pictures
from course.location import ENGINE as ROOT


def test_the_committed_pictures_are_current():
    for name, text in pictures().items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == text
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
