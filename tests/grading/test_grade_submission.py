"""The grader against real submissions: solution, stubs, broken, hostile-by-accident and independent modules."""

from pathlib import Path

import pytest

from autograder.grading.grade_submission import grade
from autograder.grading.results import Report
from autograder.manifest import assignment
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import Submission, read_submission
from tests.support.quick import some
from tests.support.worth import FULL, PROJECTIONS, TESTS

ROOT = Path(__file__).resolve().parents[2]
SOLUTION, STUBS = ROOT / "solutions" / "transformer", ROOT / "notebooks" / "transformer"
ASSIGNMENT = assignment("transformer")
MODULES = ASSIGNMENT.modules


def sources(folder: Path) -> dict[str, str]:
    return read_submission(folder, ASSIGNMENT).sources


def graded(workers, changes: dict[str, str], stages: str = "", jobs: int = 1) -> Report:
    """The report of the solution with some modules replaced."""
    chosen = [ASSIGNMENT.stage(name) for name in stages.split()] or None
    return grade(Submission("test", {**sources(SOLUTION), **changes}), ASSIGNMENT, workers, chosen, jobs=jobs)


def points(report: Report) -> dict[str, float]:
    return {stage.name: stage.points for stage in report.stages}


def test_stubs_get_nothing_and_are_not_started(workers):
    report = grade(read_submission(STUBS, ASSIGNMENT), ASSIGNMENT, workers)
    assert report.points == 0
    assert [test.status for test in report.tests] == ["not started"] * len(TESTS)
    assert all("Stage" in test.message for test in report.tests)


# Stages that are graded on a part of each module.
NEED = {
    "mha": {"mha"},
    "pe": {"pe"},
    "encoder": {"encoder"},
    "decoder": {"decoder", "inference"},
    "transformer": {"encoder", "decoder", "inference"},
}


def concerned(module: str) -> str:
    """The stages that a module could cost: these, and one that uses all of mha.py and pe.py."""
    return " ".join(stage.name for stage in ASSIGNMENT.stages if stage.name in {*NEED[module], "pe", "encoder"})


def full(stages: str) -> dict[str, float]:
    return {name: FULL[name] for name in stages.split()}


@pytest.mark.parametrize("module", MODULES)
def test_a_stub_costs_only_the_stages_that_are_written_in_it(workers, module):
    """Of these, it costs the tests of the functions in that module."""
    report = graded(workers, {module: sources(STUBS)[module]}, concerned(module))
    for test in report.tests:
        stage = ASSIGNMENT.stage(test.stage)
        graded_in = {stage.graded_by(test.name, part.name).partition(".")[0] for part in test.parts}
        graded_in |= set() if test.parts else {stage.graded_by(test.name).partition(".")[0]}
        assert test.status == ("not started" if module in graded_in else "passed"), test
        assert test.stage in NEED[module] or test.status == "passed"


@pytest.mark.parametrize(("module", "jobs"), [*((module, 1) for module in MODULES), ("decoder", 2), ("transformer", 5)])
def test_a_syntax_error_is_told_once_with_its_line(workers, module, jobs):
    broken = sources(SOLUTION)[module] + "\ndef broken(:\n"
    line = broken.count("\n")
    report = graded(workers, {module: broken}, concerned(module), jobs)
    first = next(test for test in report.tests if test.stage in NEED[module])
    assert first.status == "error"
    assert "SyntaxError" in first.message
    assert any(f"{module}.py:{line}" in detail for detail in first.details)
    for stage in report.stages:
        if stage.name not in NEED[module]:
            assert stage.points == stage.max_points
        elif stage.name != first.stage:
            assert {test.status for test in stage.tests} == {"blocked"}
            assert first.stage in stage.tests[0].message


ATTENTION = "        x = torch.softmax(scores, dim=-1) @ value  # (B, H, T_q, d_k)\n"
LAST = "        return x.transpose(1, 2).contiguous().view(B, T_q, self.d_model)\n"
FAULTS = {
    "exit": ("import sys\nsys.exit(0)\n", "", "", "error", "sys.exit(0) was called"),
    "abort": ("", ATTENTION, "        import os\n        os.abort()\n", "error", "SIGABRT"),
    "quiet exit": ("", ATTENTION, "        import os\n        os._exit(0)\n", "error", "exit code 0"),
    "none": ("", LAST, "", "failed", "x is None instead of a tensor"),
    "shape": ("", LAST, "        return x\n", "failed", "x: wrong shape"),
    "float16": ("", LAST, LAST.rstrip() + ".half()\n", "failed", "x: wrong dtype"),
    "string": ("", LAST, "        return 'x'\n", "failed", "x: wrong type"),
    "nan": ("", LAST, LAST.rstrip() + " * float('nan')\n", "failed", "x: contains NaN"),
    "raises": ("", LAST, "        raise ValueError('no idea')\n", "error", "ValueError: no idea"),
    "memory": ("", LAST, "        return torch.zeros(10**15)\n", "error", "memory"),
    "torch does not implement it": ("", LAST, "        return (x > 0).abs()\n", "error", "NotImplementedError"),
    "values": ("", LAST, LAST.rstrip() + " + 1e-3\n", "failed", "x: right shape, wrong values"),
}


@pytest.mark.parametrize("fault", some(FAULTS, every=2))
def test_each_fault_has_its_message_and_costs_its_own_stage(workers, fault):
    first_lines, old, new, status, message = FAULTS[fault]
    text = sources(SOLUTION)["mha"]
    assert old in text
    report = graded(workers, {"mha": first_lines + text.replace(old, new)}, concerned("mha"))
    tests = [test for test in report.tests if test.stage == "mha"]
    assert tests[0].status == status
    assert message in tests[0].message
    masks = 12 * (fault == "values")  # in a result with one wrong offset, the masks can still be judged
    assert points(report) == {**full(concerned("mha")), "mha": (PROJECTIONS + masks) * bool(old)}


NO_MODULE = {
    "mha": "def MultiHeadAttention(d_model, num_heads):\n    return 'attention'\n",
    "pe": "class PositionalEncoding:\n    def __init__(self, d_model, max_seq_length):\n        pass\n",
    "transformer": "def Transformer(**sizes):\n    return [sizes]\n",
}


@pytest.mark.parametrize("module", NO_MODULE)
def test_a_class_that_is_no_module_is_an_error_of_the_student(workers, module):
    class_name = NO_MODULE[module].split()[1].split("(")[0].rstrip(":")
    report = graded(workers, {module: NO_MODULE[module]}, concerned(module))
    assert not report.faulty
    for test in report.tests:
        assert test.status == ("error" if test.stage in NEED[module] else "passed"), test
        if test.stage in NEED[module]:
            assert test.message == f"{class_name}(...) did not create an nn.Module"


@pytest.mark.parametrize("place", ["import", "call"])
def test_an_endless_loop_is_stopped(workers, place, monkeypatch):
    monkeypatch.setattr("autograder.sandbox.remote_modules.CALL_SECONDS", 1.0)
    text = sources(SOLUTION)["pe"]
    loop = "while True: pass\n"
    text = loop + text if place == "import" else text.replace("        return x + self.pe[:, :T]", f"        {loop}")
    report = graded(workers, {"pe": text}, "pe mha")
    assert report.stages[0].tests[0].status == "timed out"
    assert "after 1 s" in report.stages[0].tests[0].message
    assert report.stages[1].points == FULL["mha"]


def test_what_the_code_prints_is_kept_and_does_not_disturb(workers):
    text = sources(SOLUTION)["pe"].replace(
        "        T = x.size(1)", "        print('T is', x.size(1))\n        T = x.size(1)"
    )
    (test,) = graded(workers, {"pe": text}, "pe").tests
    assert test.status == "passed"
    assert "T is 9" in test.printed


def test_a_missing_module_is_named(workers):
    submission = Submission("test", {**sources(SOLUTION)}, {"pe": "pe.py is missing from the submission"})
    del submission.sources["pe"]
    report = grade(submission, ASSIGNMENT, workers, map(ASSIGNMENT.stage, ("pe", "encoder")))
    assert points(report) == {**full("encoder"), "pe": 0}
    assert report.stages[0].tests[0].message == "pe.py is missing from the submission"


def test_a_worker_that_died_is_replaced_for_the_next_test(workers):
    text = sources(SOLUTION)["mha"].replace(
        "        scores = query @",
        "        if key_padding_mask is None:\n            import os; os.abort()\n        scores = query @",
    )
    report = graded(workers, {"mha": text}, "mha")
    assert [test.status for test in report.tests] == ["error", "passed", "error", "passed"]


def test_plain_workers_give_the_same_verdict():
    workers = make_workers(plain=True)
    try:
        report = graded(workers, {"mha": sources(SOLUTION)["mha"].replace(LAST, "")})
        assert points(report) == {**FULL, "mha": PROJECTIONS}
        assert graded(workers, {"pe": "import os; os.abort()"}, "pe").tests[0].message.endswith("SIGABRT")
    finally:
        workers.close()
