"""`check` in the kernel of a notebook and outside of one: the verdict, the strip of stages, the warm process."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.kernels import IMPORTS, RIGHT, ROOT, SOLUTION, STUBS, WRONG, Notebook, Output, Page
from tests.support.worth import ASSIGNMENT, FULL, WRONG_MASK, WRONG_MASK_HINT, of


def test_the_verdict_is_a_table_with_folded_details(kernel):
    kernel.put("mha", old=RIGHT, new=WRONG)
    output = kernel.run('check("mha")')
    assert (output.result, output.stderr, output.printed, output.error) == (str(float(WRONG_MASK)), "", "", [])
    page = Page(output.html)
    words = " ".join(page.words.split())
    assert f"Stage 1: {of(WRONG_MASK, FULL['mha'])} points" in words
    assert WRONG_MASK_HINT in words
    assert words.count("Why, and where to read") == 1  # the other tests refer to it
    assert "Same cause as in" in words
    assert [th["scope"] for th in page.all("th")][:4] == ["col"] * 3 + ["row"]
    assert not any("open" in details for details in page.all("details"))
    assert "heatmaps of |got - expected|" in (page.all("img")[0]["alt"] or "")
    assert not page.all("script")
    assert "http" not in output.html.replace("data:image", "")
    assert f"Stage 1: {of(WRONG_MASK, FULL['mha'])} points" in output.text  # where no HTML is shown


def test_a_saved_file_counts_at_once(kernel):
    kernel.put("pe", old="return x + self.pe", new="return x.sum() + self.pe")  # of a shape that is not drawn
    (parts,) = ASSIGNMENT.stage("pe").parts.values()
    left = FULL["pe"] - parts["sum"] - parts["x and its gradient"]
    assert kernel.run('check("pe")').result == str(float(left))
    kernel.put("pe")
    assert kernel.run('check("pe")').result == str(float(FULL["pe"]))
    kernel.fill(STUBS)
    output = kernel.run('check("pe")')
    assert output.result == "0.0"
    assert "not started" in output.html
    assert kernel.run("print([n for n in ('mha', 'pe', 'encoder') if n in sys.modules])").printed == "[]\n"


def strip(output: Output) -> list[tuple[str, str]]:
    return re.findall(r"<li[^>]*>\d (.*?) <small>(.*?)</small>", output.html)


def test_the_strip_shows_how_all_stages_stand(kernel):
    kernel.put("mha", "pe")
    output = kernel.run('check("mha")')
    assert dict(strip(output)) == {
        stage.title: of(stage.max_points if stage.name in ("mha", "pe") else 0, stage.max_points)
        for stage in ASSIGNMENT.stages
    }
    items = Page(output.html).all("li")[: len(strip(output))]  # the parts of tests are list items too
    assert [li.get("aria-current") for li in items] == ["step", None, None, None, None]
    # Stages whose modules have changed are graded again, the others are not.
    shutil.copy(STUBS / "pe.py", kernel.folder)
    output = kernel.run('check("mha")')
    assert dict(strip(output))["Positional encoding"] == of(0, FULL["pe"])
    output = kernel.run(
        "from course.notebook.check import _desk; from pathlib import Path\nprint(_desk(None, Path()).catch_up(Path()))"
    )
    assert output.printed == "False\n"


def test_nbgrader_waits_for_one_stage_only(kernel):
    kernel.put("pe")
    run = 'import os; os.environ["NBGRADER_EXECUTION"] = "autograde"; check("pe")'
    output = kernel.run(run)
    assert strip(output) == []  # no strip of stages that nobody grades
    assert f"{of(FULL['pe'], FULL['pe'])} points" in output.html
    kernel.run('del os.environ["NBGRADER_EXECUTION"]')


def test_what_the_student_prints_and_names_is_text(kernel):
    kernel.fill(STUBS)
    path = kernel.folder / "pe.py"
    bad = "raise ValueError('<script>alert(1)</script>')\n"
    path.write_text("print('<b>bold</b>')\n" + bad, encoding="utf-8")
    output = kernel.run('check("pe")')
    assert output.result == "0.0"
    page = Page(output.html)
    assert "<script>alert(1)</script>" in page.words
    assert "<b>bold</b>" in page.words
    assert not page.all("script")
    assert not page.all("b")


def test_a_stage_that_is_not_there_is_one_line(kernel):
    output = kernel.run('check("mah")')
    (line,) = output.error
    assert line.startswith("error: there is no stage 'mah'; the stages are mha, pe")
    assert output.result == ""


def test_the_warm_process_is_started_anew_when_it_has_ended(kernel):
    kernel.put("pe")
    assert kernel.run('check("pe")').result == str(float(FULL["pe"]))
    if sys.platform.startswith("linux"):
        kernel.run("from course.notebook.check import _desk; _desk(None, Path()).session._workers._process.kill()")
    assert kernel.run('check("pe")').result == str(float(FULL["pe"]))


def test_a_check_can_be_interrupted(kernel):
    kernel.fill(STUBS)
    (kernel.folder / "pe.py").write_text("while True: pass\n", encoding="utf-8")
    request = kernel.client.execute('check("pe")')
    time.sleep(2)
    kernel.manager.interrupt_kernel()
    started = time.monotonic()
    reply = kernel.client.get_shell_msg(timeout=60)
    assert reply["parent_header"]["msg_id"] == request
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    assert time.monotonic() - started < 10  # and not when the limit of the test is reached
    kernel.put("pe")
    assert kernel.run('check("pe")').result == str(float(FULL["pe"]))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the warm process exists on Linux only")
def test_the_warm_process_stays_and_ends_with_the_kernel(tmp_path):
    notebook = Notebook(tmp_path)
    notebook.put("pe")
    try:
        notebook.run(IMPORTS + "\nfrom course.notebook.check import _desk")
        pids = []
        for _ in range(2):
            notebook.run('check("pe")')
            pids.append(int(notebook.run("_desk(None, Path()).session._workers._process.pid").result))
        assert pids[0] == pids[1]
    finally:
        notebook.client.stop_channels()
        notebook.manager.shutdown_kernel(now=True)
    for _ in range(100):
        if not Path(f"/proc/{pids[0]}/cmdline").exists() or not Path(f"/proc/{pids[0]}/cmdline").read_bytes():
            return
        time.sleep(0.1)
    pytest.fail("the warm process has outlived the kernel")


def test_outside_a_notebook_it_is_plain_text(tmp_path):
    for path in SOLUTION.glob("*.py"):
        shutil.copy(path, tmp_path)
    code = "from course import check; print(repr(check('pe')))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "Stage 2: Positional encoding" in done.stdout
    assert done.stdout.endswith(f"{float(FULL['pe'])}\n")
    assert "<" not in done.stdout
