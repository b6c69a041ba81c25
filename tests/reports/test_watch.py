"""`python grade.py --watch`: a verdict after each save, for as long as one likes."""

import json
import re
import subprocess
import sys
import time

import pytest

from tests.support.watching import ROOT, watching
from tests.support.worth import FULL, REQUIRED, TOTAL, WRONG_MASK, WRONG_MASK_HINT, of, total

TASKS = json.loads((ROOT / "autograder/authoring/packing/vscode/tasks.json").read_text(encoding="utf-8"))["tasks"]
BACKGROUND = TASKS[1]["problemMatcher"]["background"]
WRONG, RIGHT = "key_padding_mask[:, None, None, :] == 0", "key_padding_mask[:, None, None, :] != 0"


def test_a_verdict_after_each_save(tmp_path):
    with watching(tmp_path, "mha") as watcher:
        first = watcher.verdict()
        assert f"Total: {of(FULL['mha'], FULL['mha'])} points" in first
        assert "Saved:" not in first
        watcher.save("mha", RIGHT, WRONG)
        second = watcher.verdict()
        assert f"Total: {of(WRONG_MASK, FULL['mha'])} points" in second
        assert WRONG_MASK_HINT in " ".join(second.split())
        assert "Saved: mha.py." in second
        watcher.save("pe", "import math", "import math  # of no concern to the watched stage")
        watcher.save("mha", WRONG, "((unfinished")
        assert "SyntaxError" in watcher.verdict()
        watcher.save("mha", "((unfinished", RIGHT)
        assert f"Total: {of(FULL['mha'], FULL['mha'])} points" in watcher.verdict()
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
    with watching(tmp_path) as watcher:
        assert total(REQUIRED, TOTAL - REQUIRED) in watcher.verdict()
        watcher.save("decoder", "import torch", "import torch\n")
        text = watcher.verdict()
    assert "Total: 35 of 35 points, and 10 of 10 extra" in text
    assert "Stage 4" in text
    assert "Stage 5" in text
    assert "Stage 1" not in text


@pytest.mark.parametrize(
    "arguments",
    [["--hidden"], ["--json", "x.json"], ["--verdict", "x.json"], ["--submission", "README.md"], ["nothing"]],
)
def test_bad_usage(arguments):
    command = [sys.executable, "grade.py", "--watch", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_an_editor_keeps_the_lines_of_all_stages(tmp_path):
    begins, ends = (re.compile(BACKGROUND[name]) for name in ("beginsPattern", "endsPattern"))
    with watching(tmp_path, "mha", "pe", "--problems") as watcher:
        first = watcher.verdict()
        assert "35 of 35 points" in first
        watcher.save("mha", RIGHT, WRONG)
        second = watcher.verdict().splitlines()
        watcher.save("pe", "import math", "import math; raise ValueError")
        third = watcher.verdict()
    assert begins.search(second[0])
    assert ends.search(second[-1])
    assert any(re.search(r"mha\.py:\d+: error: .* \[mha\.\w+\]$", line) for line in second)
    assert re.search(r"mha\.py:\d+: error: ", third)
    assert re.search(r"pe\.py:\d+: error: ValueError", third)
