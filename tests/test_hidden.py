"""The hidden tests: correct code passes with every seed, and bugs that the visible tests miss do not."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from autograder.diagnosis.mistakes import all_mistakes
from autograder.grading.grade_submission import grade
from autograder.grading.reference_answers import AnswerBook
from autograder.grading.results import TestResult
from autograder.grading.run_test import run_test, stage_tests
from autograder.manifest import assignment
from autograder.sandbox.proxy import Student
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.stage_with_standins import code_of_stage

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENT = assignment("transformer")
STAGES = [stage.name for stage in ASSIGNMENT.stages]
SOURCES = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources
STUBS = read_submission(ROOT / "notebooks" / "transformer", ASSIGNMENT)


@pytest.fixture(scope="module")
def workers():
    workers = make_workers()
    yield workers
    workers.close()


def hidden_only(workers, sources: dict[str, str], seed: int, stages: list[str] = STAGES) -> list[TestResult]:
    """The results of the hidden tests alone, whether or not the visible tests pass."""
    results = []
    for stage in map(ASSIGNMENT.stage, stages):
        codes = [code_of_stage(Submission("", code), stage, ASSIGNMENT, {}) for code in (sources, SOURCES)]
        student, reference = (Student(workers, code) for code in codes)
        for name, case in stage_tests(stage, hidden=True).items():
            case.student, case.reference, case.seed = student, reference, seed
            results.append(run_test(name, case, stage)[0])
        student.close()
        reference.close()
    return results


def lost(results) -> list[TestResult]:
    return [result for result in results if result.status != "passed"]


# Correct code


@pytest.mark.parametrize("seed", range(20))
def test_the_solution_passes(workers, seed):
    assert lost(hidden_only(workers, SOURCES, seed)) == []


@pytest.mark.parametrize("seed", [3, 2**40])
@pytest.mark.parametrize("name", ["einsum", "loops"])
def test_independent_implementations_pass(workers, name, seed):
    variant = read_submission(ASSIGNMENT.folder / "formulations" / name, ASSIGNMENT)
    assert lost(hidden_only(workers, variant.sources, seed)) == []


def test_stubs_are_not_started(workers):
    report = grade(STUBS, ASSIGNMENT, workers, hidden_seed=1)
    assert report.points == 0
    assert {(test.status, test.hidden) for test in report.tests} == {("not started", False)}


def changed(module: str, *changes: tuple[str, str]) -> dict[str, str]:
    """The solution with some texts replaced."""
    text = SOURCES[module]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return {**SOURCES, module: text}


def test_the_function_of_dropout_is_as_good_as_the_module(workers):
    function = ("self.dropout(", "nn.functional.dropout(p=self.dropout.p, training=self.training, input=")
    assert lost(hidden_only(workers, changed("encoder", function), 1, ["encoder"])) == []


def test_code_that_computes_in_float32_passes(workers):
    sources = changed("mha", ("torch.softmax(scores,", "torch.softmax(scores.float(),"))
    report = grade(Submission("float32", sources), ASSIGNMENT, workers, [ASSIGNMENT.stage("mha")], hidden_seed=1)
    assert report.points == 30


# Seeds


def test_inputs_come_from_the_seed_alone(workers):
    """The student's code prints what it gets."""
    places = {
        "mha": ("        scores = query @", "query.shape, query.sum().item()"),
        "pe": ("        T = x.size(1)", "x.shape, x.sum().item()"),
        "encoder": ("        attended = self.self_attn(", "x.shape, x.sum().item()"),
        "decoder": ("        attended = self.self_attn(x, x, x,", "x.shape, x.sum().item()"),
        "transformer": ("        decoded_list: ", "src.tolist()"),
    }
    sources = dict(SOURCES)
    for module, (line, shown) in places.items():
        assert line in sources[module]
        sources[module] = sources[module].replace(line, f"        print({shown})\n{line}")
    first, again, other = ([test.printed for test in hidden_only(workers, sources, seed)] for seed in (7, 7, 8))
    assert all(first)
    assert first == again
    assert not any(one == another for one, another in zip(first, other, strict=True))


# Answers of the reference that are known already


@pytest.fixture(scope="module")
def book(workers):
    return AnswerBook(ASSIGNMENT, workers, hidden_seed=3)


KNOWN_MISTAKES = [
    *all_mistakes("transformer")[::30],
    *(mistake for mistake in all_mistakes("transformer") if mistake.stage == "inference"),
][:10]


@pytest.mark.parametrize("name", ["solution", "einsum", "stubs", *(mistake.id for mistake in KNOWN_MISTAKES)])
def test_known_answers_give_the_same_report(workers, book, name):
    mistakes = {mistake.id: mistake for mistake in KNOWN_MISTAKES}
    stages = [ASSIGNMENT.stage(mistakes[name].stage)] if name in mistakes else None
    if name in mistakes:
        submission = Submission(name, mistakes[name].apply(SOURCES))
    else:
        folders = {"solution": ASSIGNMENT.solution, "einsum": ASSIGNMENT.folder / "formulations" / "einsum"}
        submission = read_submission(folders.get(name, ROOT / "notebooks" / "transformer"), ASSIGNMENT)
    reports = [grade(submission, ASSIGNMENT, workers, stages, hidden_seed=3, book=known) for known in (None, book)]
    asked, known = ([replace(test, seconds=0) for test in report.tests] for report in reports)
    assert asked == known


def test_known_answers_spare_the_reference(workers, book, monkeypatch):
    stage = ASSIGNMENT.stage("mha")
    grade(Submission("first", SOURCES), ASSIGNMENT, workers, [stage], hidden_seed=3, book=book)
    start, started = workers.start, []

    def counted():
        started.append(start())
        return started[-1]

    monkeypatch.setattr(workers, "start", counted)
    report = grade(Submission("second", SOURCES), ASSIGNMENT, workers, [stage], hidden_seed=3, book=book)
    assert report.points == 30
    assert len(started) == 2  # one reads the source text, one runs it


# Bugs that the visible tests miss


# Lines of the solution.
KEY_MASK, MASK = "key_padding_mask[:, None, None, :] != 0", "attention_mask[:, None, :, :] != 0"
REGISTER = 'self.register_buffer("pe", pe.unsqueeze(0))'
DROPOUT = "self.dropout(attended)"
LENGTHS = "length_to_padding_mask(src_lengths, device=src.device)"
SELF_ATTENTION = "(x, x, x, self_attn_padding_mask, self_attn_mask)"
SOURCE_MASK, SOURCE = "encoder_padding_mask=src_padding_mask,\n        )", "encoder_out=enc_output,"
ONE_STEP = "(last, x, x, self_attn_padding_mask, last_mask)"
NEXT_CACHE, KEEP = "cache=None if cache is None else cache[index],", "new_cache.append(x)"
STOP = "next_token.item() == self.eos_idx"

# The masks are added up, unless the padding is what it is in the visible test.
CANCEL = (
    "(attention_mask if key_padding_mask is None or 7 in key_padding_mask"
    " else attention_mask + key_padding_mask[:, None])[:, None] != 0"
)
IN_TRAINING = "None if self.training else "
CUT = "None if self_attn_padding_mask is None else self_attn_padding_mask[:, -1:]"


@dataclass(frozen=True)
class Bug:
    """A change of the solution."""

    what: str
    stage: str
    module: str
    old: str
    new: str
    seen: int  # number of tests that see it
    message: str  # part of what the first of them says


BUGS = [
    Bug("size of the visible test", "mha", "mha", "math.sqrt(self.d_k)", "math.sqrt(15)", 4, "wrong values"),
    Bug("numbers that cancel out", "mha", "mha", MASK, CANCEL, 1, "wrong values"),
    Bug("mask changed", "mha", "mha", KEY_MASK, KEY_MASK.replace("[", ".ne_(0)[", 1), 3, "changes its argument"),
    Bug("fill with -35", "mha", "mha", "torch.finfo(scores.dtype).min", "-35.0", 3, "forbidden keys have weight"),
    Bug("W_o left out", "mha", "mha", "return self.W_o(x)", "return x", 4, "forward has the right shape but wrong"),
    Bug("size of the visible test", "pe", "pe", "/ d_model)", "/ 32)", 1, "wrong values"),
    Bug("one row short", "pe", "pe", "T > self.max_seq_length", "T >= self.max_seq_length", 1, "ValueError"),
    Bug("table trained", "pe", "pe", REGISTER, "self.pe = nn.Parameter(pe[None])", 1, "the table is trained"),
    Bug("dropout left out", "encoder", "encoder", DROPOUT, "attended", 1, "a dropout of 1, has the right shape but"),
    Bug("dropout inside", "encoder", "encoder", "self.fc2(hidden)", "self.fc2(self.dropout(hidden))", 1, "1.25"),
    Bug("padding by token", "encoder", "transformer", LENGTHS, "(src == 1).long()", 1, "wrong values"),
    Bug(
        "size of the checkpoint", "encoder", "encoder", "self.fc1(x)", "self.fc1(x.view(-1, x.size(1), 192))", 1, "192"
    ),
    Bug(
        "own padding mask dropped", "decoder", "decoder", SELF_ATTENTION, "(x, x, x, None, self_attn_mask)", 1, "wrong"
    ),
    Bug(
        "no causal mask in training",
        "decoder",
        "decoder",
        SELF_ATTENTION,
        SELF_ATTENTION.replace("self_attn_mask", IN_TRAINING + "self_attn_mask"),
        2,
        "in training mode, a change of later tokens changes",
    ),
    Bug(
        "no source mask in training",
        "decoder",
        "transformer",
        SOURCE_MASK,
        SOURCE_MASK.replace("=", f"={IN_TRAINING}"),
        1,
        "in training mode",
    ),
    Bug("detached", "decoder", "transformer", SOURCE, "encoder_out=enc_output.detach(),", 1, "no gradient reaches"),
    Bug("eos at the start", "inference", "transformer", STOP, f"tgt.size(1) > 2 and {STOP}", 2, "goes on after eos"),
    Bug("eos of the checkpoint", "inference", "transformer", STOP, "next_token.item() == 3", 2, "goes on after eos"),
    Bug("sos of the checkpoint", "inference", "transformer", "self.sos_idx,", "2,", 2, "does not start with sos"),
    Bug("mask cut", "inference", "decoder", ONE_STEP, f"(last, x, x, {CUT}, last_mask)", 1, "step by step"),
    Bug("cache changed", "inference", "decoder", KEEP, f"{KEEP}; cache and cache.append(x)", 1, "argument cache"),
    Bug("cache not used", "inference", "decoder", NEXT_CACHE, "cache=None,", 1, "wrong values"),
]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: f"{bug.stage}: {bug.what}")
def test_a_bug_that_the_visible_tests_miss_is_seen(workers, bug: Bug):
    sources = changed(bug.module, (bug.old, bug.new))
    stage = ASSIGNMENT.stage(bug.stage)
    tests = lost(grade(Submission(bug.what, sources), ASSIGNMENT, workers, [stage], hidden_seed=1).tests)
    assert all(test.hidden for test in tests), tests
    assert len(tests) == bug.seen, tests
    assert bug.message in tests[0].message
    others = [stage.name for stage in ASSIGNMENT.stages if bug.module in stage.modules and stage.name != bug.stage]
    assert lost(hidden_only(workers, sources, 1, others)) == []
