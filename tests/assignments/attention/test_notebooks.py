"""The notebooks of `attention`, run as students get them, solved and half solved: their texts say what cells print."""

import json
import math
import re
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from autograder.authoring.stubs import strip_module
from autograder.grading.grade_submission import grade
from autograder.submissions.read_submission import Submission
from course.kinds import KINDS
from course.recurrent import RecurrentConfig
from tests.assignments.attention.loading import ASSIGNMENT, standins
from tests.support import running_notebooks
from tests.support.running_notebooks import (
    EXCUSES,
    STANDINS,
    Claim,
    check_claims,
    check_outputs,
    check_pictures,
    outputs,
    said,
    text_of,
    unpacked_handout,
)

LOWEST = "torch.finfo(scores.dtype).min"
SECONDS = 1200  # for a cell that trains, on a busy machine
# What a cell prints without a line written, and what a text says of it: cell, printed, cell of the text, said.
CLAIMS = {
    "1_pooling.ipynb": [
        ("lookup-example", r"answer \[40\. 84\.\]", "lookup-reading", r"answer is 40 per kilo"),
        ("lookup-example", r"answer \[ 5\.  10\.5\]", "lookup-reading", r"the price is 5,"),
        (
            "hard-soft",
            r"4\.\d \(standard deviation\), 1\.[45] times",
            "hard-soft-reading",
            r"1\.5 times the derivative",
        ),
        ("hard-soft", r"gives one of -2\.6, 5\.5, 23\.4", "hard-soft-reading", r"wrong sign"),
        ("by-hand-check", r"estimate 6\.8", "pooling", r"\*\*6\.8\*\*"),
        ("underflow", r"2\.74\d+e-43, 0\.0, 0\.0\]", "unreached", r"u = 14\.4"),
        ("underflow", r"gradient \[nan, nan, nan\]", "unreached-gradient", r"is NaN"),
        ("width-check", r"prediction 7\.25", "width-reading", r"= 7\.25"),
    ],
    "2_scoring.ipynb": [
        (
            "dot-shown",
            r"most weight in (2[789]|3[01])% and the least in (2[789]|3[01])%",
            "scale",
            r"(?s)three out of ten.*just as often",
        ),
        ("scale-measured", r"\[30\.0, 0\.0, 0\.0\]: .* 2e-13", "scale-reading", r"2 \\cdot 10\^\{-13\}"),
        # The second and third columns: the variance without and with the division.
        ("scale-measured", r"\b16 (14|15|16|17)\.\d+ (0\.9|1|1\.0)\d* ", "scale-reading", r"about \$d\$ without"),
        ("lengths-by-hand", r"'0\.269', '0\.731', '0\.000'", "lengths", r"\$0\.269\$, \$0\.731\$"),
        ("lengths-by-hand", r"fill -inf: .* length 0 \[nan", "lengths-traps", r"the softmax is NaN"),
        ("masks", r"(?s)padded end +as lengths.*in front +cannot.*only +cannot", "masks-reading", r"Two cannot"),
        ("scores-check", r"1\.414, bilinear 2\.828, additive 0\.031", "scores", r"(?s)1\.414.*2\.828.*0\.031"),
    ],
    "3_bahdanau.ipynb": [
        (
            "bottleneck-run",
            r"\nattention +up to 3: (99|100)%.* up to 12: (9[5-9]|100)%",
            "bottleneck-read",
            r"all letters are right",
        ),
        ("bottleneck-run", r"no attention up to 3: 9\d%, up to 6: 8\d%", "bottleneck-read", r"98 % of the letters"),
        ("bottleneck-run", r"no attention .* up to 9: [67]\d%", "bottleneck-read", r"70 % for up to 9"),
        ("bottleneck-run", r"no attention .* up to 12: [56]\d%", "bottleneck-read", r"60 % for up to 12"),
        ("intra-shown", r"differ by [0-9]e-0[6-9]", "intra-read", r"one call computes all steps"),
        ("by-hand-check", r"context \[0\.4\d*, 0\.8\d*\]", "decoder", r"\(0\.4,\\ 0\.8\)"),
        ("clipping", r"factor 1\.2: derivative 237", "see-read-2", r"becomes 237"),
        ("errors", r"The key found my mother under the table", "errors-read", r"subject and object are swapped"),
        ("errors", r"buy bread and milk to milk", "errors-read", r"Said twice: \"milk\""),
    ],
    "4_translate.ipynb": [
        ("greedy-toy", r"limit 3: \[\[2, 7, 3, 1\], \[2, 5, 6, 8\], \[2, 4, 4, 4\]\]", "greedy", r"2 7 3 1, 2 5 6 8"),
        ("own-words-shown", r"The teacher _ The teacher cated the long letter", "own-words-read", r"becomes a verb"),
        (
            "own-words-shown",
            r"The teacher has the letter letter to the long",
            "own-words-read",
            r"\*not\* bring it back",
        ),
        ("bleu-check", r"of four: 0\.658, too short: 0\.368", "bleu", r"(?s)= 0\.658.*= 0\.368"),
    ],
}
SOLVED = {
    "1_pooling.ipynb": [
        ("see-kernels", r"(?s)boxcar +.* 0\.12\d.*epanechnikov .* 0\.10\d", "see-kernels-reading", r"similar curves"),
        ("see-kernels", r"gaussian .* 0\.40\d", "see-kernels-reading", r"flattens the wave more"),
        ("see-learned", r"(?s)from 0\.1: width 0\.51.*from 2\.0: width 0\.51", "see-learned-reading", r"same width"),
        ("see-widths", r"width 0\.5: error 0\.09", "see-learned-reading", r"the best of the four widths"),
        (
            "coordinates",
            r"(?s) 7\.0 0\.08.* 20\.\d 0\.11.* 22\.\d 0\.11",
            "coordinates-reading",
            r"0\.08, 0\.11 and 0\.11",
        ),
        ("shifts-shown", r"(?s)shifted .*e-0[67].*turned .*e-0[67].*large .*e-01", "shifts", r"the weights change"),
    ],
    "2_scoring.ipynb": [
        ("prefer", r"dot product of [^%]* 1\d%", "prefer-read", r"about one in six and one in three"),
        ("prefer", r"bilinear of \(x, 1\) [^%]* (2[89]|3\d)%", "prefer-read", r"about one in six and one in three"),
        ("prefer", r"bilinear of \(x, x², 1\) [^%]* (8\d|9\d)%", "prefer-read", r"80 % of the cases or more"),
        ("see-scale-shown", r"1e-01 divided, \de-(0[4-9]|\d\d) not divided", "see-cost", r"is about 0\.1\."),
        ("see-cost-measured", r"keeps 3\d times", "summary", r"up to \$h\$ times as much memory"),
        ("prefer", r"additive of [^%]* (8[7-9]|9\d)%", "prefer-read", r"80 % of the cases or more"),
        (
            "see-cost-measured",
            r"keeps (2[89]|3\d) times",
            "see-cost-reading",
            r"about 30 times\s+as much memory\.",
        ),
    ],
    "3_bahdanau.ipynb": [
        (
            "training-run",
            r"(9[5-9]|100)\.\d% of 300 new sentences exact",
            "training-read",
            r"all 300 new sentences were right",
        ),
        ("training-run", r"exact, BLEU (9[89]|100)\.\d", "training-read", r"BLEU was at least 98"),
        ("training-run", r"\d German and 95 English words", "training-read", r"random guessing among 95 English words"),
        (
            "training-limits",
            r"Den Hund sieht die Katze\. The dog sees the cat\.",
            "training-limits-read",
            r"the \*cat\* sees",
        ),
        (
            "training-limits",
            r"Der alte müde Hund sieht die Katze\. The (old|tired) dog sees the cat\.",
            "training-limits-read",
            r"two adjectives, it translates only one",
        ),
        (
            "training-limits",
            r"(?s)The small mouse wants to fetch the big apple\..*Do you see the old lamp\?",
            "training-limits-read",
            r"The first two are right",
        ),
    ],
    "4_translate.ipynb": [
        (
            "see-differ-shown",
            r"(?s)different words, right 0\.59 0\.00 .*same words 0\.87 0\.00",
            "see-differ-read",
            r"get 0",
        ),
        ("see-differ-shown", r"different words, right 0\.59 0\.00 0\.19 ", "see-differ-read", r"scores lower than"),
        ("see-differ-shown", r"wrong, same words 0\.87 0\.00 0\.31 ", "see-differ-read", r"which is nonsense"),
        ("lengths-shown", r"GRU .* 5[567]\.\d, .* 16 and more: (2[89]|30)\.\d", "question-1", r"from 56 .* to 29,"),
        ("lengths-shown", r"Transformer +up to 8: 6[678]\.\d, .* more: 4[012]\.\d", "question-1", r"67 to 41 for the"),
        ("see-batch", r"\b44 sentences: one by one", "see-differ-read", r"44 sentences costs more than a step for one"),
        ("see-batch", r"44 of 44 have the same tokens", "see-batch-read", r"The tokens are the same"),
    ],
}
# What is written, where only half of a stage is; all else is as released.
HALF = {
    "1_pooling.ipynb": ("pooling.boxcar", "pooling.triangular", "pooling.attention_pooling"),
    "2_scoring.ipynb": ("scoring.masked_softmax", "scoring.DotProductAttention.forward"),
    "3_bahdanau.ipynb": ("seq2seq.AttentionDecoder.step",),
    "4_translate.ipynb": ("seq2seq.sentence_bleu",),
}
EVERY = [path for stage in ASSIGNMENT.stages for path in stage.writes]
NOTEBOOKS = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name.startswith("1") else pytest.mark.slow) for name in ASSIGNMENT.notebooks],
)


@pytest.fixture(scope="module")
def handout(tmp_path_factory) -> Path:
    return unpacked_handout(tmp_path_factory.mktemp("handout"), "--assignment", ASSIGNMENT.name)


@pytest.fixture
def run(handout, tmp_path, monkeypatch) -> Callable[[str, tuple[str, ...], list[Claim]], dict[str, Any]]:
    """Run a notebook beside modules in which only some functions are written; its code cells by id."""

    def run(name: str, written: tuple[str, ...], claims: list[Claim]) -> dict[str, Any]:
        own = tmp_path / "own"
        own.mkdir()
        for module in ASSIGNMENT.modules:
            source = (ASSIGNMENT.solution / f"{module}.py").read_text(encoding="utf-8")
            (own / f"{module}.py").write_text(strip_module(source, module, ASSIGNMENT, keep=written), encoding="utf-8")
        cells = running_notebooks.run(ASSIGNMENT.solution, name, handout, tmp_path, monkeypatch, own, SECONDS)
        check_outputs(cells)
        check_claims(ASSIGNMENT.solution / name, cells, claims)
        return {cell.id: cell for cell in cells}

    return run


def second_column(table: Path) -> dict[int, float]:
    """What the table of a run says of each step."""
    rows = (row.split(",") for row in table.read_text(encoding="utf-8").splitlines()[1:])
    return {int(row[0]): float(row[1]) for row in rows}


def points(cells: dict[str, Any]) -> float:
    return float(outputs(cells["grade"], "text/plain")[-1])


@NOTEBOOKS
def test_as_released_nothing_fails_and_nothing_is_earned(name: str, run):
    cells = run(name, (), CLAIMS[name])
    assert points(cells) == 0
    assert "not started" in said(cells["grade"])
    assert "Your code raised" not in "".join(map(said, cells.values()))


@pytest.mark.slow
@pytest.mark.parametrize("name", ASSIGNMENT.notebooks)
def test_solved_nothing_is_excused(name: str, run, tmp_path):
    cells = run(name, tuple(EVERY), CLAIMS[name] + SOLVED[name])
    printed = "".join(map(said, cells.values()))
    for excuse in (*EXCUSES, STANDINS):
        assert excuse not in printed
    stage = next(stage for stage in ASSIGNMENT.stages if stage.notebook == name)
    assert points(cells) == stage.max_points
    if name == "3_bahdanau.ipynb":
        text, run_folder = text_of(ASSIGNMENT.solution / name, "training-read"), tmp_path / "runs" / "grammar"
        ((words, loss),) = re.findall(r"among (95) English words, \$\\ln 95 = ([\d.]+)\$", text)
        assert math.log(int(words)) == pytest.approx(float(loss), abs=0.05)
        assert second_column(run_folder / "log.csv")[10] == pytest.approx(float(loss), abs=0.5)
        shares = second_column(run_folder / "measured.csv")
        assert re.search(r"For the first 100 steps or so.*100\s+steps later, nine out of ten", text, re.DOTALL)
        assert shares[100] < 0.15
        assert shares[200] > 0.75


@pytest.mark.slow
@pytest.mark.parametrize("name", ASSIGNMENT.notebooks)
def test_half_solved_what_is_missing_says_so(name: str, run):
    """Stand-ins take the place of earlier stages; what this stage lacks ends its own cells only."""
    cells = run(name, HALF[name], CLAIMS[name])
    stage = next(stage for stage in ASSIGNMENT.stages if stage.notebook == name)
    assert 0 < points(cells) < stage.max_points
    printed = "".join(map(said, cells.values()))
    assert (STANDINS in printed) == bool(stage.builds_on)
    assert "Not started: Stage" in printed
    assert "Your code raised" not in printed


def ngrams(sentence: str, n: int) -> set[tuple[str, ...]]:
    words = sentence.split()
    return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}


def test_the_candidates_with_a_bleu_of_0_share_three_words_in_a_row():
    path = ASSIGNMENT.solution / "4_translate.ipynb"
    quoted = r'share three words in a row with the reference, "(.*)", but not four'
    (shared,) = re.findall(quoted, " ".join(text_of(path, "see-differ-read").split()))
    source = text_of(path, "see-differ-shown")
    (reference,) = re.findall(r'reference = "(.*)"', source)
    for name in ("different words, right", "wrong, same words"):
        (candidate,) = re.findall(rf'"{name}": "(.*)"', source)
        assert ngrams(reference, 3) & ngrams(candidate, 3) == {tuple(shared.split())}
        assert not ngrams(reference, 4) & ngrams(candidate, 4)


def test_a_step_for_a_batch_costs_more_than_a_step_for_one():
    """And less than a step for each of its sentences. Processor time counts: other programs change it little."""
    text = text_of(ASSIGNMENT.solution / "4_translate.ipynb", "see-differ-read")
    (count,) = re.findall(r"A step for\s+(\d+) sentences costs more than a step for one sentence, but less than", text)
    model = KINDS["recurrent"].build(RecurrentConfig(4000, 4000), standins()).eval()
    threads, costs = torch.get_num_threads(), []
    torch.set_num_threads(1)  # as in the notebook
    for size in (1, int(count)):
        tokens, lengths = torch.full((size, 12), 7), torch.full((size,), 12)
        with torch.no_grad():
            outputs, state = model.encoder(tokens, lengths)
            model.decoder.step(tokens[:, 0], state, outputs, lengths)  # the first call is slower
            start = time.process_time()
            for _ in range(30):
                model.decoder.step(tokens[:, 0], state, outputs, lengths)
            costs.append(time.process_time() - start)
    torch.set_num_threads(threads)
    assert costs[0] < costs[1] < int(count) * costs[0]


@pytest.mark.parametrize("name", ASSIGNMENT.notebooks)
def test_pictures_are_there_and_have_words(name: str):
    check_pictures(ASSIGNMENT.solution / name)


@pytest.mark.parametrize(("fill", "said_of_half"), [("-1e9", "(not graded) it raises"), (LOWEST, "In float16 too.")])
def test_a_low_constant_is_right_and_half_precision_a_remark(fill: str, said_of_half: str, workers, capsys):
    """What the cell says of a fill value agrees with `check`, which grades in float64."""
    path = ASSIGNMENT.solution / "2_scoring.ipynb"
    texts = {cell["id"]: "".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]}
    source = (ASSIGNMENT.solution / "scoring.py").read_text(encoding="utf-8")
    assert LOWEST in source
    own: dict[str, Any] = {}
    exec(source.replace(LOWEST, fill), own)
    names = {"math": math, "torch": torch, "exploring": nullcontext, "load": lambda _: SimpleNamespace(**own)}
    exec(texts["lengths-by-hand"], names)
    exec(texts["try-1"], names)
    printed = capsys.readouterr().out
    assert "All three kinds of lengths look right." in printed
    assert said_of_half in printed
    sources = {"scoring": source.replace(LOWEST, fill)}
    stage = ASSIGNMENT.stage("scoring")
    report = grade(Submission("own", sources), ASSIGNMENT, workers, [stage], hidden_seed=7)
    assert report.stages[0].points == stage.max_points
