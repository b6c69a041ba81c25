"""Modules are parsed by several threads at once: CPython's own counter of the depth is shared by all of them."""

import re
from pathlib import Path

from tests.stress.parsing import errors_of

ROOT = Path(__file__).resolve().parents[2]
# In a worker, or in the process of the search, there is one thread.
ALONE = {
    *(
        "worker/stub_detection.py",
        "worker/modules_from_text.py",
        "worker/tracing/statements.py",
        "forbidden/search_budget.py",
    ),
    *("worker/shared_helpers.py", "authoring/audit/parts.py"),
}


def test_threads_that_parse_at_once_do_not_disturb_each_other():
    assert errors_of(40) == []


def test_the_grader_parses_in_one_place():
    files = [path for path in (ROOT / "autograder").rglob("*.py") if "assignments" not in path.parts]
    parsing = {
        path.relative_to(ROOT / "autograder").as_posix()
        for path in files
        if re.search(r"\bast\.parse\(", path.read_text(encoding="utf-8"))
    }
    assert parsing - ALONE == {"submissions/syntax_tree.py"}
