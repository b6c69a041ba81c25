"""`load`, `exploring`, `trained` and stand-ins in the kernel of a notebook."""

from types import SimpleNamespace

import pytest

from course.notebook import load
from tests.support.kernels import RIGHT, SOLUTION, STUBS, WRONG

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


@pytest.mark.parametrize(
    ("instead", "said"),
    [
        ("tuple(heads)", "Your code returns nothing (None) where this line needs its result: is there a `return`?\n"),
        ("return tuple(heads)[:2]", "Your code returns a different number of values from what this line expects:\n"),
    ],
)
def test_what_a_cell_cannot_use_stops_no_run_all(kernel, instead, said):
    text = (SOLUTION / "mha.py").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if "return" in line and "W_q(Q)" in line]
    start, _, rest = line.partition("return ")
    kernel.fill(SOLUTION, line, f"{start}heads = {rest}\n{start}{instead}")
    output = kernel.run(HEADS)
    assert output.error == []
    assert output.printed.startswith(said + "  q, k, v = attention.compute_mh_qkv_transformation(")
    kernel.fill(SOLUTION)
    output = kernel.run("import torch\nwith exploring():\n    torch.ones(2) @ torch.ones(3)")
    assert output.error == []
    said = "This line cannot continue with the value that your code returned:\n  torch.ones(2) @ "
    assert output.printed.startswith(said)
    assert "TypeError" in kernel.run("with exploring():\n    len(3)").error[-1]


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
SAID = "Not all of this is your code: stand-ins replace "


def test_what_a_stage_builds_on_comes_from_standins_until_it_is_right(kernel):
    kernel.put("mha", "encoder", "transformer")
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
    kernel.put("mha", "encoder", "transformer")
    kernel.run('working_on("encoder", own_only=True)')
    assert kernel.run(HALF).printed.startswith("Not started: Stage 2: ")
    kernel.run("working_on(None)")
    assert kernel.run(HALF).printed.startswith("Not started: Stage 2: ")
    assert kernel.run('working_on("nothing")').error[0].startswith("error: there is no stage 'nothing'; the stages are")


def test_a_notebook_of_no_stage_says_how_to_take_standins(kernel):
    kernel.put("mha")
    kernel.run('working_on("encoder", own_only=True)')
    assert "working_on" not in kernel.run("with exploring():\n    own_modules().pe.PositionalEncoding(4, 4)").printed
    kernel.run("working_on(None)")
    output = kernel.run("with exploring():\n    own_modules().pe.PositionalEncoding(4, 4)")
    assert output.printed.startswith("Not started: Stage 2: ")
    assert output.printed.endswith(
        'Or change working_on(None) in the first cell to working_on("inference"): '
        "stand-ins then replace what is missing.\n"
    )


def test_a_cell_names_the_standins_once(kernel):
    kernel.put("mha", "encoder", "transformer")
    kernel.run('working_on("encoder")')
    for _ in range(2):
        assert kernel.run('load("encoder"), load("mha"), load("pe")').printed.count(SAID) == 1


def test_the_stage_itself_is_never_replaced(kernel):
    kernel.put("mha", "pe")
    kernel.run('working_on("encoder")')
    output = kernel.run(HALF)
    assert output.printed.startswith("Not started: Stage 3: ")
    assert "stand-in" not in output.printed


def test_a_module_of_two_stages_takes_the_methods_of_the_earlier_one(kernel):
    """decoder.py: stage 4 is not written, and the cells of stage 5 can be run all the same."""
    kernel.put("mha", "pe", "encoder")
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
    kernel.put("mha", "encoder")
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
    kernel.put("pe", "encoder", "transformer")
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
    assert "needs a key_padding_mask of shape (1, 4) (any dimension may be 1), but got (1, 1, 1)" in output.printed
    kernel.run("working_on(None)")


def test_the_folder_says_which_of_two_stages_of_one_name_is_meant(monkeypatch, tmp_path):
    both = {name: SimpleNamespace(name=name, stages=[SimpleNamespace(name="lm")]) for name in ("first", "second")}
    monkeypatch.setattr(load, "assignments", lambda: both)
    monkeypatch.setattr(load, "which_assignment", lambda name, place: both[place.name])
    assert [load._assignment("lm", tmp_path / name).name for name in both] == ["first", "second"]
