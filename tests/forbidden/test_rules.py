"""The check for ready-made parts: what it forbids, what it leaves to a person, and that honest code passes."""

from contextlib import closing
from pathlib import Path
from textwrap import dedent

import pytest

from autograder.authoring.formulations import correct_submissions
from autograder.diagnosis.mistakes import all_mistakes
from autograder.forbidden.rules import check_modules
from autograder.grading.forbidden_parts import check_submission
from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import Submission, read_submission
from tests.support.forbidden_cases import FINE, FORBIDDEN, HEAD, REVIEW
from tests.support.worth import FULL

ROOT = Path(__file__).resolve().parents[2]
SOLUTION = ROOT / "solutions" / "transformer"
ASSIGNMENT = assignment("transformer")


def check(text: str) -> tuple[list[str], list[str]]:
    """What is forbidden and what is for review in a module with this text."""
    found, _ = check_modules({"decoder": HEAD + dedent(text), "mha": "", "encoder": ""})
    forbidden = [finding.what for _, finding in found if finding.forbidden]
    return forbidden, [finding.what for _, finding in found if not finding.forbidden]


@pytest.mark.parametrize("case", FORBIDDEN)
def test_forbidden(case):
    forbidden, _ = check(FORBIDDEN[case])
    assert forbidden


@pytest.mark.parametrize("case", REVIEW)
def test_for_review(case):
    forbidden, review = check(REVIEW[case])
    assert not forbidden
    assert review


@pytest.mark.parametrize("case", FINE)
def test_fine(case):
    assert check(FINE[case]) == ([], [])


def honest() -> dict[str, dict[str, str]]:
    """Everything in the project that students might have written; of the known mistakes, every fifth."""
    folders = [SOLUTION, ROOT / "notebooks" / "transformer"]
    found = {folder.parent.name: read_submission(folder, ASSIGNMENT).sources for folder in folders}
    found |= {name: submission.sources for name, (submission, _) in correct_submissions(ASSIGNMENT).items()}
    solution = found["solutions"]
    return found | {mistake.id: mistake.apply(solution) for mistake in all_mistakes("transformer")[::5]}


def test_honest_submissions_are_not_flagged():
    submissions = honest()
    assert len(submissions) > 80
    right, found = submissions["solutions"], {}
    empty = dict.fromkeys(right, "")
    for name, sources in submissions.items():  # a change of one module is searched without the others, which takes less
        changed = {module: text for module, text in sources.items() if text != right[module]}
        found[name] = check_modules({**empty, **changed} if len(changed) == 1 else sources)[0]
    assert [name for name, findings in found.items() if any(finding.forbidden for _, finding in findings)] == []
    # Notes cost nothing; here they are about paths from `__file__`, and about torch.distributions in "lazy_table".
    noted = {"chatty", "lazy", "self_tests", "lazy_table"}
    assert {name for name, findings in found.items() if findings} == noted


def solution() -> dict[str, str]:
    return dict(read_submission(SOLUTION, ASSIGNMENT).sources)


def replaced(module: str, old: str, new: str) -> Submission:
    sources = solution()
    assert old in sources[module]
    return Submission("test", {**sources, module: sources[module].replace(old, new, 1)})


ATTENDED = "        attended = self.self_attn(x, x, x, key_padding_mask=self_attn_padding_mask)\n"


def test_a_forbidden_line_costs_its_own_stage_only(workers):
    shortcut = "        nn.MultiheadAttention(4, 2)\n"
    stages = [ASSIGNMENT.stage(name) for name in ("encoder", "decoder")]
    report = grade(replaced("encoder", ATTENDED, shortcut + ATTENDED), ASSIGNMENT, workers, stages)
    assert {stage.name: stage.points for stage in report.stages} == {"encoder": 0, "decoder": FULL["decoder"]}
    (test,) = (test for test in report.tests if test.stage == "encoder")
    assert (test.status, test.max_points) == ("forbidden", FULL["encoder"])
    line = solution()["encoder"].split(ATTENDED)[0].count("\n") + 1
    assert f"encoder.py:{line}: nn.MultiheadAttention is a ready-made part" in test.message
    assert "this course has you write it yourself" in test.message
    assert shortcut.strip() in test.details[0]
    assert not report.faulty


LAST, LAYERS = "        last = x if cache", "        for layer in self.layers:\n"
STAGES = {
    "method": ("decoder", LAST, f"        nn.Transformer\n{LAST}", "inference"),
    "other method": ("decoder", LAYERS, f"        nn.Transformer\n{LAYERS}", "decoder inference"),
    "module": ("transformer", "from torch import nn\n", "from torch import nn, ops\n", "encoder decoder inference"),
    "default": ("mha", "attention_mask: torch.Tensor | None = None", "attention_mask=nn.Transformer", "mha"),
    "constructor": ("pe", "        super().__init__()\n", "        super().__init__()\n        torch.ops\n", "pe"),
}


@pytest.mark.parametrize("case", STAGES)
def test_a_line_counts_for_the_stages_that_it_belongs_to(workers, case):
    module, old, new, stages = STAGES[case]
    found = check_submission(replaced(module, old, new), ASSIGNMENT, workers)
    assert " ".join(stage.name for stage in ASSIGNMENT.stages if stage.name in found.forbidden) == stages


def test_notes_go_to_the_report_and_cost_nothing(workers):
    submission = replaced("pe", "import math\n", "import math\nimport os\n")
    report = grade(submission, ASSIGNMENT, workers, [ASSIGNMENT.stage("pe")])
    assert report.points == FULL["pe"]
    assert report.review == ("pe.py:4: os is imported, which this assignment does not need",)


def test_a_module_that_is_missing_is_not_said_to_be_needless(workers):
    sources = solution()
    del sources["decoder"]
    assert "from decoder import" in sources["transformer"]
    assert check_submission(Submission("s", sources), ASSIGNMENT, workers).review == ()


HOSTILE = {
    "minus signs": "x = " + "-" * 80_000 + "1\n",
    "brackets": "x = " + "[" * 20_000 + "]" * 20_000 + "\n",
    "additions": "x = " + "+".join(["'a'"] * 20_000) + "\n",
    "attributes": "x = a" + ".b" * 40_000 + "\n",
    "calls": "x = a" + "()" * 40_000 + "\n",
    "aliases": "import torch as x\n" + "".join(f"x = x.a{i}\n" for i in range(5_000)),
    "null": "x = 1\0\n",
    "syntax": "def f(:\n",
    "surrogate escape": "x = '\\ud800'\n",
    "empty": "",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_text_that_breaks_the_parser_is_a_note_at_most(workers, case, monkeypatch):
    monkeypatch.setattr("autograder.sandbox.remote_modules.CALL_SECONDS", 5.0)
    found = check_submission(Submission("test", {"pe": HOSTILE[case]}), ASSIGNMENT, workers)
    assert found.forbidden == {}
    # Here torch.a0.a1 is no usual module, and there are many more of the kind.
    words = ("did not finish", "cannot be searched", "too many aliases", "torch.a", "more places")
    assert all(any(word in note for word in words) for note in found.review)
    assert check_submission(Submission("test", solution()), ASSIGNMENT, workers).review == ()


@pytest.mark.parametrize("case", ["minus signs", "null"])
def test_a_process_of_its_own_does_the_same(case):
    with closing(make_workers(plain=True)) as workers:
        found = check_submission(replaced("pe", "import math\n", "import math, ctypes\n"), ASSIGNMENT, workers)
        assert list(found.forbidden) == ["pe"]
        found = check_submission(Submission("test", {"pe": HOSTILE[case]}), ASSIGNMENT, workers)
        assert found.forbidden == {}
