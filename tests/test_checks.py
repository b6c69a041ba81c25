"""`check`, `load`, `exploring` and `trained` in the kernel of a notebook, and `check` outside of one."""

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.worth import ASSIGNMENT, FULL, WRONG_MASK, of

ROOT = Path(__file__).resolve().parent.parent
SOLUTION = ROOT / "solutions" / "transformer"
STUBS = ROOT / "notebooks" / "transformer"
RIGHT, WRONG = "key_padding_mask[:, None, None, :] != 0", "key_padding_mask[:, None, None, :] == 0"
IMPORTS = "import sys; from pathlib import Path; from course import *"


@dataclass
class Output:
    """What a cell gave."""

    html: str = ""
    text: str = ""  # of displayed objects
    printed: str = ""
    stderr: str = ""
    result: str = ""
    error: list[str] = field(default_factory=list)  # the lines that are shown


class Notebook:
    """A kernel whose folder holds a student's modules."""

    def __init__(self, folder: Path) -> None:
        from jupyter_client.manager import start_new_kernel

        self.folder = folder
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.manager, self.client = start_new_kernel(cwd=str(folder), env=environment)

    def run(self, code: str) -> Output:
        output = Output()

        def take(message):
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                name = "stderr" if content["name"] == "stderr" else "printed"
                setattr(output, name, getattr(output, name) + content["text"])
            elif kind == "display_data":
                output.html += content["data"].get("text/html", "")
                output.text += content["data"].get("text/plain", "")
            elif kind == "update_display_data":
                output.html = content["data"]["text/html"]
            elif kind == "execute_result":
                output.result = content["data"]["text/plain"]
                output.html += content["data"].get("text/html", "")
            elif kind == "error":
                output.error = content["traceback"]

        self.client.execute_interactive(code, output_hook=take, timeout=120)
        return output

    def fill(self, source: Path, old: str = "", new: str = "", module: str = "mha") -> None:
        """Put modules into the folder, one of them with a change."""
        for path in source.glob("*.py"):
            text = path.read_text(encoding="utf-8")
            if path.stem == module and old:
                assert old in text
                text = text.replace(old, new)
            (self.folder / path.name).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    notebook = Notebook(tmp_path_factory.mktemp("student"))
    notebook.fill(STUBS)
    try:
        assert notebook.run(IMPORTS).error == []
        yield notebook
    finally:
        notebook.client.stop_channels()
        notebook.manager.shutdown_kernel(now=True)


class Page(HTMLParser):
    """The tags of a piece of HTML; fails where they do not fit together."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


# check


def test_the_verdict_is_a_table_with_folded_hints(kernel):
    kernel.fill(SOLUTION, RIGHT, WRONG)
    output = kernel.run('check("mha")')
    assert (output.result, output.stderr, output.printed, output.error) == (str(float(WRONG_MASK)), "", "", [])
    page = Page(output.html)
    words = " ".join(page.words.split())
    assert f"Stage 1: {of(WRONG_MASK, FULL['mha'])} points" in words
    assert "Hint 1: what it looks like" in words
    assert "the key padding mask is read the other way round" in words
    assert words.count("Hint 1") == 1  # the other tests refer to it
    assert len(page.all("caption")) == 1
    assert [th["scope"] for th in page.all("th")] == ["col"] * 3 + ["row"] * 4
    assert not any("open" in details for details in page.all("details"))
    assert "heatmaps of |got - expected|" in (page.all("img")[0]["alt"] or "")
    assert not page.all("script")
    assert "http" not in output.html.replace("data:image", "")
    assert f"Stage 1: {of(WRONG_MASK, FULL['mha'])} points" in output.text  # where no HTML is shown


def test_a_saved_file_counts_at_once(kernel):
    kernel.fill(SOLUTION, RIGHT, WRONG)
    assert kernel.run('check("mha")').result == str(float(WRONG_MASK))
    kernel.fill(SOLUTION)
    assert kernel.run('check("mha")').result == str(float(FULL["mha"]))
    kernel.fill(STUBS)
    output = kernel.run('check("mha")')
    assert output.result == "0.0"
    assert "not started" in output.html
    assert kernel.run("print([n for n in ('mha', 'pe', 'encoder') if n in sys.modules])").printed == "[]\n"


def strip(output: Output) -> list[tuple[str, str]]:
    return re.findall(r"<li[^>]*>\d (.*?) <small>(.*?)</small>", output.html)


def test_the_strip_shows_how_all_stages_stand(kernel):
    kernel.fill(STUBS)
    for module in ("mha", "pe"):
        shutil.copy(SOLUTION / f"{module}.py", kernel.folder)
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
    kernel.fill(SOLUTION)
    shutil.copy(STUBS / "pe.py", kernel.folder)
    run = 'import os; os.environ["NBGRADER_EXECUTION"] = "autograde"; check("mha")'
    assert dict(strip(kernel.run(run)))["Decoder"] == "…"
    kernel.run('del os.environ["NBGRADER_EXECUTION"]')


def test_what_the_student_prints_and_names_is_text(kernel):
    kernel.fill(SOLUTION, "        q, k, v = self.compute", "        pass\n        q, k, v = self.compute")
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
    kernel.fill(SOLUTION)
    assert kernel.run('check("pe")').result == str(float(FULL["pe"]))
    if sys.platform.startswith("linux"):
        kernel.run("from course.notebook.check import _desk; _desk(None, Path()).session._workers._process.kill()")
    assert kernel.run('check("pe")').result == str(float(FULL["pe"]))


def test_a_check_can_be_interrupted(kernel):
    kernel.fill(SOLUTION)
    (kernel.folder / "pe.py").write_text("while True: pass\n", encoding="utf-8")
    request = kernel.client.execute('check("pe")')
    time.sleep(2)
    kernel.manager.interrupt_kernel()
    started = time.monotonic()
    reply = kernel.client.get_shell_msg(timeout=60)
    assert reply["parent_header"]["msg_id"] == request
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    assert time.monotonic() - started < 10  # and not when the limit of the test is reached
    kernel.fill(SOLUTION)
    assert kernel.run('check("pe")').result == str(float(FULL["pe"]))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the warm process exists on Linux only")
def test_the_warm_process_stays_and_ends_with_the_kernel(tmp_path):
    notebook = Notebook(tmp_path)
    notebook.fill(SOLUTION)
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


# load, exploring, trained


def test_load_gives_the_module_as_it_is_saved(kernel):
    kernel.fill(SOLUTION)
    (kernel.folder / "mha.py").write_text("ANSWER = 1\n", encoding="utf-8")
    assert kernel.run('load("mha").ANSWER').result == "1"
    (kernel.folder / "mha.py").write_text("ANSWER = 2\n", encoding="utf-8")
    assert kernel.run('load("mha").ANSWER').result == "2"
    # What it imports is fresh too.
    (kernel.folder / "encoder.py").write_text("from mha import ANSWER\n", encoding="utf-8")
    (kernel.folder / "mha.py").write_text("ANSWER = 3\n", encoding="utf-8")
    assert kernel.run('load("encoder").ANSWER').result == "3"
    assert kernel.run("'mha' in sys.modules").result == "False"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ndef f(:\n", "mha.py, line 2: invalid syntax: def f(:"),
        ("import torch\n\ny = torch.nothing\n", "mha.py, line 3, y = torch.nothing: AttributeError"),
        ("from decoder import Missing\n", "mha.py, line 1, from decoder import Missing: ImportError"),
    ],
)
def test_load_says_why_a_module_cannot_be_imported(kernel, text, message):
    kernel.fill(SOLUTION)
    (kernel.folder / "decoder.py").write_text("", encoding="utf-8")
    (kernel.folder / "mha.py").write_text(text, encoding="utf-8")
    (line,) = kernel.run('load("mha")').error
    assert message in line
    output = kernel.run('with exploring():\n    load("mha")\n    print("reached")')
    assert output.error == []
    assert output.printed.startswith("This needs your code, which cannot be used yet: ")
    assert message in output.printed
    assert "reached" not in output.printed
    assert kernel.run('load("nothing")').error[0].startswith("error: there is no module 'nothing'")


HEADS = """
import torch
with exploring():
    attention = load("mha").MultiHeadAttention(4, 2)
    q, k, v = attention.compute_mh_qkv_transformation(*[torch.ones(1, 3, 4)] * 3)
    print(tuple(q.shape))
"""


def test_exploring_turns_stubs_and_errors_into_sentences(kernel):
    kernel.fill(STUBS)
    output = kernel.run(HEADS)
    assert output.error == []
    expected = "Not started: Stage 1: MultiHeadAttention.compute_mh_qkv_transformation is not written yet."
    assert output.printed.startswith(expected)
    kernel.fill(SOLUTION)
    assert kernel.run(HEADS).printed == "(1, 2, 3, 2)\n"
    kernel.fill(SOLUTION, "B, T, _ = x.shape", "B, T = x.shape")
    output = kernel.run(HEADS)
    assert output.error == []
    assert output.printed.startswith("Your code raised an exception: mha.py, line ")
    assert "ValueError: too many values to unpack" in output.printed
    # What the cell finds wrong is no error of the cell, and stops no "run all".
    output = kernel.run('with exploring():\n    assert 1 == 2, "1 is not 2"\n    print("reached")')
    assert (output.error, output.printed) == ([], "Not right yet: 1 is not 2.\n")
    assert "AssertionError" in kernel.run("with exploring():\n    assert 1 == 2").error[-1]
    # A mistake of the cell is the cell's.
    assert "ZeroDivisionError" in kernel.run("with exploring():\n    1 / 0").error[-1]


def test_the_trained_model_needs_nothing_of_the_student(kernel):
    kernel.fill(STUBS)
    output = kernel.run(
        "from course.translation.decoding import greedy_decode\n"
        "model = trained()\n"
        "source = model.source.encode('Der Hund schläft unter dem Tisch.')\n"
        "print(model.target.decode(greedy_decode(model.model, [source])[0]))"
    )
    assert output.error == []
    assert output.printed == "The dog is asleep under the table.\n" or "dog" in output.printed
    assert kernel.run("with exploring():\n    trained(own=True)").printed.startswith("Not started: Stage 2: ")


def test_errors_can_be_shown_again(kernel):
    kernel.fill(SOLUTION, RIGHT, WRONG)
    kernel.run('check("mha")')
    output = kernel.run("show_errors()")
    assert "heatmaps of |got - expected|" in output.html
    kernel.fill(SOLUTION)
    kernel.run('check("mha")')
    assert "found no tensor" in kernel.run("show_errors('mha')").printed


# Stand-ins: nobody is stuck

HALF = """
import torch
with exploring():
    model = load("transformer").Transformer(20, 20, 2, 3, 16, 2, 2, 32, 30, 0.1).eval()
    tokens, lengths = torch.tensor([[2, 5, 6, 3]]), torch.tensor([4])
    output, mask = model.forward_encoder(tokens, lengths)
    print(tuple(output.shape), float(model.positional_encoding.pe[0, 0, 1]))
"""
SAID = "Not all of this is your code: stand-ins take the place of "


def put(notebook, *modules):
    """The stubs, but these modules as in the solution."""
    notebook.fill(STUBS)
    for module in modules:
        shutil.copy(SOLUTION / f"{module}.py", notebook.folder)


def test_what_a_stage_builds_on_comes_from_standins_until_it_is_right(kernel):
    put(kernel, "mha", "encoder", "transformer")
    assert kernel.run(HALF).printed.startswith("Not started: Stage 2: ")
    kernel.run('from course import working_on\nworking_on("encoder")')
    output = kernel.run(HALF)
    assert output.error == []
    assert output.printed == f"{SAID}stage 2 (Positional encoding: not written yet).\n(1, 4, 16) 1.0\n"
    # What is written and wrong is replaced too, and what is right is not.
    kernel.fill(SOLUTION, RIGHT, WRONG)
    output = kernel.run(HALF)
    assert output.printed == f"{SAID}stage 1 (Multi-head attention: not right yet).\n(1, 4, 16) 1.0\n"
    assert kernel.run('"standins" in load("mha").MultiHeadAttention.forward.__code__.co_filename').result == "True"
    kernel.fill(SOLUTION)
    assert kernel.run(HALF).printed == "(1, 4, 16) 1.0\n"
    assert kernel.run('"standins" in load("mha").MultiHeadAttention.forward.__code__.co_filename').result == "False"


def test_the_switch_asks_for_own_modules_only(kernel):
    put(kernel, "mha", "encoder", "transformer")
    kernel.run('working_on("encoder", own_only=True)')
    assert kernel.run(HALF).printed.startswith("Not started: Stage 2: ")
    kernel.run("working_on(None)")
    assert kernel.run(HALF).printed.startswith("Not started: Stage 2: ")
    assert kernel.run('working_on("nothing")').error[0].startswith("error: there is no stage 'nothing'; the stages are")


def test_the_stage_itself_is_never_replaced(kernel):
    put(kernel, "mha", "pe")
    kernel.run('working_on("encoder")')
    output = kernel.run(HALF)
    assert output.printed.startswith("Not started: Stage 3: ")
    assert "stand-in" not in output.printed


def test_a_module_of_two_stages_takes_the_methods_of_the_earlier_one(kernel):
    """decoder.py: stage 4 is not written, and the cells of stage 5 can be run all the same."""
    put(kernel, "mha", "pe", "encoder")
    stub = (STUBS / "decoder.py").read_text(encoding="utf-8")
    last = stub.index("    def forward_one_step_ec")
    solution = (SOLUTION / "decoder.py").read_text(encoding="utf-8")
    written = stub[:last] + solution[solution.index("    def forward_one_step_ec") :]
    (kernel.folder / "decoder.py").write_text(written, encoding="utf-8")
    kernel.run('working_on("inference")')
    output = kernel.run(
        "import torch\n"
        "with exploring():\n"
        '    layer = load("decoder").TransformerDecoderLayer(8, 16, 2).eval()\n'
        "    x, memory, causal = torch.randn(1, 3, 8), torch.randn(1, 4, 8), torch.ones(1, 3, 3).triu(1)\n"
        "    whole = layer(x, memory, self_attn_mask=causal)\n"
        "    step = layer.forward_one_step_ec(x, memory, self_attn_mask=causal, cache=whole[:, :2])\n"
        "    print(float((step - whole).abs().max()) < 1e-5)"
    )
    assert output.error == []
    assert "stage 4 (Decoder: not written yet)" in output.printed
    assert output.printed.endswith("\nTrue\n")


def test_the_trained_model_runs_in_a_half_written_folder(kernel):
    put(kernel, "mha", "encoder")
    kernel.run('working_on("inference")')
    output = kernel.run(
        "from course.translation.decoding import greedy_decode\n"
        "mine = trained(own=True)\n"
        "print(mine.target.decode(greedy_decode(mine.model, [mine.source.encode('Der Hund schläft.')])[0]))"
    )
    assert output.error == []
    for number in (2, 3, 4):
        assert f"stage {number} (" in output.printed
    assert "dog" in output.printed
    kernel.run("working_on(None)")


def test_an_error_in_a_standin_is_told_as_that_of_the_line_that_called_it(kernel):
    put(kernel, "pe", "encoder", "transformer")
    wrong = "key_padding_mask=self_attn_padding_mask[:, :1, None]"
    text = (SOLUTION / "encoder.py").read_text(encoding="utf-8")
    assert "key_padding_mask=self_attn_padding_mask)" in text
    (kernel.folder / "encoder.py").write_text(
        text.replace("key_padding_mask=self_attn_padding_mask)", f"{wrong})"), encoding="utf-8"
    )
    kernel.run('working_on("encoder")')
    output = kernel.run(HALF)
    assert output.error == []
    assert "Your code raised an exception: encoder.py, line " in output.printed
    assert "needs a key_padding_mask of shape (1, 4), but got (1, 1, 1)" in output.printed
    kernel.run("working_on(None)")
