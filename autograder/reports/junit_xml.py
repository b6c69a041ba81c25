"""The verdict as JUnit XML, for Artemis, GitLab, Jenkins and CodeGrade: a test case for each part of a test.

JUnit has no points, so each platform assigns its own weights. Unlike a failure, an error means that the grader failed.
"""

from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from autograder.reports.verdict import Part, Test, Verdict


def junit(verdict: Verdict) -> str:
    """The XML text of a student's verdict."""
    root = Element("testsuites", name=verdict["title"])
    totals = [0, 0, 0, 0]
    for stage in verdict["stages"]:
        suite = SubElement(root, "testsuite", name=stage["name"])
        tests = [test for test in verdict["tests"] if test["stage"] == stage["name"]]
        cases = [case for test in tests for case in _cases(test)]
        suite.extend(cases)
        counts = [len(cases), *(sum(case.find(kind) is not None for case in cases) for kind in KINDS)]
        _count(suite, counts, sum(test["seconds"] for test in tests))
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
    _count(root, totals, verdict["engine"]["seconds"])
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


KINDS = ("failure", "error", "skipped")


def _count(element: Element, counts: list[int], seconds: float) -> None:
    for name, count in zip(("tests", "failures", "errors", "skipped"), counts, strict=True):
        element.set(name, str(count))
    element.set("time", f"{seconds:.3f}")


def _cases(test: Test) -> Iterator[Element]:
    """A case for each part of a test, or a single case for a test without parts."""
    named: Sequence[tuple[str, Part | Test]] = [(f"[{part['name']}]", part) for part in test["parts"]] or [("", test)]
    for suffix, part in named:
        name = test["id"].partition(".")[2] + suffix
        case = Element("testcase", classname=test["stage"], name=_xml(name), time=f"{test['seconds'] / len(named):.3f}")
        for place in test["diagnostics"][:1]:
            case.set("file", place["file"])
            case.set("line", str(place["line"]))
        status, message = part["status"], part["message"] or test["message"]
        if status == "fault":
            SubElement(case, "error", message=_xml(message) or "the grader itself failed")
        elif part["points"] < part["max_points"]:
            failure = SubElement(case, "failure", message=_xml(message) or status, type=status)
            failure.text = _xml("\n".join([test["title"], test["message"], test["details"], *test["hints"]]))
        yield case


def _xml(text: str) -> str:
    """Text without the characters that XML 1.0 forbids; `clean` has already removed control characters."""
    return "".join(char for char in text if char not in "\ufffe\uffff")
