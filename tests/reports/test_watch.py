"""`python grade.py --watch`: a verdict after each save, for as long as one likes."""

import json
import re
import sys
import time

import pytest

from autograder.__main__ import main
from autograder.diagnosis.mistakes import all_mistakes
from tests.support.watching import ROOT, watching
from tests.support.worth import ASSIGNMENT, FULL, REQUIRED, TOTAL, of, total

TASKS = json.loads((ROOT / "autograder/authoring/packing/vscode/tasks.json").read_text(encoding="utf-8"))["tasks"]
BACKGROUND = TASKS[1]["problemMatcher"]["background"]
RIGHT, WRONG = "return x + self.pe[:, :T]", "return x * self.pe[:, :T]"
HINT = {one.id: one.looks_like for one in all_mistakes("transformer")}["pe.multiplied"]
PARTS = ASSIGNMENT.stage("pe").parts["test_pe"]
TABLE = FULL["pe"] - PARTS["sum"] - PARTS["x and its gradient"]  # what the table is worth, which is right


def test_a_verdict_after_each_save(tmp_path):
    with watching(tmp_path, "pe") as watcher:
        first = watcher.verdict()
        assert f"Total: {of(FULL['pe'], FULL['pe'])} points" in first
        assert "Saved:" not in first
        watcher.save("pe", RIGHT, WRONG)
        second = watcher.verdict()
        assert f"Total: {of(TABLE, FULL['pe'])} points" in second
        assert HINT in " ".join(second.split())
        assert "Saved: pe.py." in second
        watcher.save("mha", "import math", "import math  # of no concern to the watched stage")
        watcher.save("pe", WRONG, "((unfinished")
        assert "SyntaxError" in watcher.verdict()
        watcher.save("pe", "((unfinished", RIGHT)
        assert f"Total: {of(FULL['pe'], FULL['pe'])} points" in watcher.verdict()
        if sys.platform == "win32":
            return  # a process cannot press Ctrl-C for another one there
        code, rest = watcher.interrupt()
    assert code == 0
    assert rest.endswith("No longer watching.\n")
    assert "Traceback" not in rest


def test_a_save_ends_a_loop_that_does_not_end(tmp_path):
    with watching(tmp_path, "mha") as watcher:
        assert "Grading stage 1 ..." in watcher.verdict()
        watcher.save("mha", "import math\n", "import math\nwhile True: pass\n")
        text = watcher.until("Saved: mha.py. Grading stage 1 ...")
        time.sleep(2)  # the loop is running
        watcher.save("mha", "while True: pass\n", "")
        text = watcher.verdict()
        assert f"Total: {of(FULL['mha'], FULL['mha'])} points" in text
        assert "timed out" not in text


def test_what_a_save_ends_is_graded_with_the_rest(tmp_path):
    with watching(tmp_path) as watcher:
        watcher.until("Grading all stages ...")
        watcher.save("pe", "import math", "import math  # saved")
        text = watcher.verdict()
        if "Saved: " not in text:  # the first grading was done before the second save was seen
            text = watcher.verdict()
            assert "Stage 2" in text
        else:
            assert total(REQUIRED, TOTAL - REQUIRED) in text


def test_a_save_grades_the_stages_of_the_saved_module(tmp_path):
    with watching(tmp_path, stubs=["mha", "encoder", "decoder", "transformer"]) as watcher:
        assert total(FULL["pe"], 0) in watcher.verdict()
        watcher.save("decoder", "import torch", "import torch\n")
        text = watcher.verdict()
    assert "Total: 0 of 35 points, and 0 of 10 extra" in text
    assert "Stage 4" in text
    assert "Stage 5" in text
    assert "Stage 1" not in text


@pytest.mark.parametrize(
    "arguments",
    [["--hidden"], ["--json", "x.json"], ["--verdict", "x.json"], ["--submission", "README.md"], ["nothing"]],
)
def test_bad_usage(arguments, monkeypatch):
    """It is found before anything is graded."""
    monkeypatch.setattr("autograder.reports.watch.Desk", lambda *_: pytest.fail("it is watching"))
    assert main(["--watch", *arguments]) == 2


def test_an_editor_keeps_the_lines_of_all_stages(tmp_path):
    begins, ends = (re.compile(BACKGROUND[name]) for name in ("beginsPattern", "endsPattern"))
    with watching(tmp_path, "mha", "pe", "--problems") as watcher:
        first = watcher.verdict()
        assert "35 of 35 points" in first
        watcher.save("pe", RIGHT, WRONG)
        second = watcher.verdict().splitlines()
        watcher.save("mha", "import math", "import math; raise ValueError")
        third = watcher.verdict()
    assert begins.search(second[0])
    assert ends.search(second[-1])
    assert any(re.search(r"pe\.py:\d+: error: .* \[pe\.\w+\]$", line) for line in second)
    assert re.search(r"pe\.py:\d+: error: ", third)
    assert re.search(r"mha\.py:\d+: error: ValueError", third)
