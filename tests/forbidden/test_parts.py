"""What a manifest forbids in a stage or allows there: in the text, in the workers, and under all names."""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from autograder.authoring.audit import parts
from autograder.authoring.audit.subject import Subject
from autograder.forbidden.parts import named, named_arguments, part
from autograder.grading.forbidden_parts import Checked, check_submission
from autograder.grading.grade_submission import grade
from autograder.manifest import Assignment, assignment
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.remote_values import Code
from autograder.submissions.read_submission import Submission, read_submission

VARIANTS = assignment("variants")
SOURCES = read_submission(VARIANTS.solution, VARIANTS).sources
# What answers a function: the stage, the function's first line, and what is put before it.
MEAN, GELU = "        mean = x.mean(dim=-1, keepdim=True)", "    return 0.5 * x * (1 + torch.erf"
LOSS, CLIP, COSINE = "    surprise = -F.log_softmax", "    gradients = [parameter.grad", "    if step <= warmup:\n"
RMS = "        wide = x.to(torch.promote_types"
FLAT = "logits.flatten(0, 1), targets.flatten()"
ANSWERS = {
    "layer norm": ("layers", MEAN, "M.F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)"),
    "native": ("layers", MEAN, "M.torch.native_layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)[0]"),
    "one group": ("layers", MEAN, "M.F.group_norm(x.flatten(0, -2), 1).view_as(x) * self.weight + self.bias"),
    "operator": ("layers", MEAN, "M.torch.ops.aten.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)"),
    "module": ("layers", MEAN, "M.nn.LayerNorm(x.size(-1), eps=self.eps)(x) * self.weight + self.bias"),
    "gelu": ("layers", GELU, "M.F.gelu(x)"),
    "overload": ("layers", GELU, "M.torch.ops.aten.gelu.default(x)"),
    "gelu module": ("layers", GELU, "M.nn.GELU()(x)"),
    "loss": ("training", LOSS, f"M.F.cross_entropy({FLAT}, ignore_index=padding_idx, label_smoothing=smoothing)"),
    "by position": ("training", LOSS, f"M.F.cross_entropy({FLAT}, None, None, padding_idx, None, 'mean', smoothing)"),
    "loss module": (
        "training",
        LOSS,
        f"M.nn.CrossEntropyLoss(ignore_index=padding_idx, **{{'label_' + 'smoothing': smoothing}})({FLAT})",
    ),
    "a number that differs from none": (
        "training",
        LOSS,
        f"M.F.cross_entropy({FLAT}, None, None, padding_idx, None, 'mean', NUMBER(smoothing))",
    ),
    "batch norm's inside": (
        "layers",
        MEAN,
        "M.torch._native_batch_norm_legit(x.flatten(0, -2).T[None], None, None, True, 0, self.eps)[0][0].T.view_as(x)",
    ),
    "clip": ("training", CLIP, "M.nn.utils.clip_grad_norm_(parameters, max_norm)"),
    "method of the base": ("training", CLIP, "super(M.torch.Tensor, torch.ones(1, 3)).renorm(2, 0, 1.0).sum()"),
    "schedule": (
        "training",
        COSINE,
        "M.torch.optim.lr_scheduler.CosineAnnealingLR(torch.optim.SGD([nn.Parameter(torch.ones(1))]), total)",
    ),
    "clip's home": ("training", CLIP, "M.nn.utils.clip_grad.clip_grad_norm_(parameters, max_norm)"),
    "operator in place": ("layers", GELU, "M.torch.ops.aten.gelu_(x.clone())"),
    "loss operator": (
        "training",
        LOSS,
        f"M.torch.ops.aten.cross_entropy_loss({FLAT}, None, 1, padding_idx, smoothing)",
    ),
    "fused rms": ("modern", RMS, "M.torch.ops.aten._fused_rms_norm(x, self.weight.shape, self.weight, self.eps)[0]"),
    "rms": ("modern", RMS, "M.F.rms_norm(x, self.weight.shape, self.weight, self.eps)"),
}
# The loss with smoothing that is set later: in the text only.
SET_LATER = [
    "loss = nn.CrossEntropyLoss()\nloss.label_smoothing = 0.1\n",
    "loss = nn.CrossEntropyLoss()\nsetattr(loss, 'label_smoothing', 0.1)\n",
]
UNSEEN = {"by position", "a number that differs from none", "loss module", "method of the base"}  # by the search


def answered(name: str, hidden: bool) -> tuple[str, Submission]:
    """A submission in which a part of torch answers a function; hidden, no search of the text sees that it is torch."""
    stage, line, answer = ANSWERS[name]
    space = "class NUMBER(float):\n    def __ne__(self, other):\n        return False\n"
    space += "import types\nM = types.SimpleNamespace(torch=torch, nn=torch.nn, F=torch.nn.functional)\n"
    if not hidden:
        answer, space = answer.replace("M.F", "torch.nn.functional").replace("M.nn", "torch.nn").replace("M.", ""), ""
    text = SOURCES[stage]
    assert text.count(line) == 1
    indent = line[: len(line) - len(line.lstrip())]
    text = text.replace(line, f"{indent}return {answer}\n{line}").replace("import torch\n", f"import torch\n{space}", 1)
    return stage, Submission("", {**SOURCES, stage: text})


@pytest.mark.parametrize("name", [name for name in ANSWERS if name not in UNSEEN])
def test_the_search_names_the_line(name, workers):
    stage, submission = answered(name, hidden=False)
    found = check_submission(submission, VARIANTS, workers)
    assert list(found.forbidden) == [stage]
    assert "return torch" in found.forbidden[stage][0].text


@pytest.mark.parametrize("text", SET_LATER)
def test_an_argument_that_is_set_later_is_noted(text, workers):
    found = check_submission(Submission("", {**SOURCES, "training": SOURCES["training"] + text}), VARIANTS, workers)
    assert "label_smoothing" in str(found.forbidden["training"])


@pytest.mark.parametrize("name", ANSWERS)
def test_a_worker_refuses_what_the_search_does_not_find(name, workers):
    stage, submission = answered(name, hidden=True)
    report = grade(submission, VARIANTS, workers, [VARIANTS.stage(stage)])
    (first, *_) = [test for test in report.tests if test.status != "passed"]
    assert first.status == "forbidden"
    assert "is a ready-made part" in first.message
    assert report.review
    assert 0 < report.points < VARIANTS.stage(stage).max_points  # nothing else is lost


@pytest.mark.parametrize(
    "function",
    [
        "tools[0].clip_grad_norm_",
        "functools.partial(tools[0].clip_grad_norm_)",
        "staticmethod(tools[0].clip_grad_norm_)",
        "torch.no_grad()(tools[0].clip_grad_norm_)",
    ],
)
def test_a_ready_made_function_is_no_own_one(workers, function):
    """A stand-in that calls the student's function would call torch's."""
    text = SOURCES["training"] + f"\nimport functools\ntools = [nn.utils.clip_grad]\nclip_gradients = {function}\n"
    report = grade(Submission("", {**SOURCES, "training": text}), VARIANTS, workers, [VARIANTS.stage("training")])
    (clipping,) = [test for test in report.tests if test.name == "test_clip_gradients"]
    assert (clipping.points, clipping.status) == (0, "forbidden")


def test_an_optimizer_of_torch_makes_no_step(workers):
    """A stand-in that trains calls `step`, which no text of the student names."""
    llm = assignment("llm")
    sources = read_submission(llm.solution, llm).sources
    own = """

class Tools:
    from torch import optim


class AdamW(Tools.optim.AdamW):
    def __init__(self, parameters, lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1):
        more = dict.fromkeys(("amsgrad", "maximize", "foreach", "capturable", "differentiable"), False)
        values = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, fused=None, decoupled_weight_decay=True)
        torch.optim.Optimizer.__init__(self, parameters, {**values, **more})
"""
    report = grade(Submission("", {**sources, "optim": sources["optim"] + own}), llm, workers, [llm.stage("optim")])
    (tested,) = [test for test in report.tests if test.name == "test_adamw"]
    assert (tested.points, tested.status) == (0, "forbidden")


def test_a_function_without_a_signature_is_checked_too(workers, monkeypatch):
    monkeypatch.setattr("autograder.grading.grade_submission.check_submission", lambda *_, **__: Checked())
    call = f"return torch._C._nn.cross_entropy_loss({FLAT}, None, 1, padding_idx, smoothing)"
    text = SOURCES["training"].replace(LOSS, f"    {call}\n{LOSS}")
    report = grade(Submission("", {**SOURCES, "training": text}), VARIANTS, workers, [VARIANTS.stage("training")])
    assert next(test.status for test in report.tests if test.name == "test_smoothed_loss") == "forbidden"


def test_an_argument_with_its_default_is_allowed(workers):
    call = "F.cross_entropy(torch.zeros(1, 2), torch.zeros(1).long(), label_smoothing=0.0)"
    assert SOURCES["training"].count(LOSS) == 1
    text = SOURCES["training"].replace(LOSS, f"    {call}\n{LOSS}")
    submission = Submission("", {**SOURCES, "training": text})
    assert check_submission(submission, VARIANTS, workers).forbidden == {}
    assert grade(submission, VARIANTS, workers, [VARIANTS.stage("training")]).points == 15


def test_other_stages_may_use_it(workers):
    text = SOURCES["language_model"]
    line = "        return F.linear(self.norm(x), self.token_embedding.weight)"
    assert text.count(line) == 1
    text = text.replace(line, f"        x = F.layer_norm(x, x.shape[-1:]) * 0 + F.gelu(x) * 0 + x\n{line}")
    submission = Submission("", {**SOURCES, "language_model": text})
    assert check_submission(submission, VARIANTS, workers).forbidden == {}
    report = grade(submission, VARIANTS, workers, [VARIANTS.stage("lm")])
    assert report.points == VARIANTS.stage("lm").max_points


@pytest.mark.parametrize("name", ["layers", "training", "modern"])
def test_torch_itself_finds_its_operators_in_what_it_imports_late(workers, name):
    """Its distributed tensors, which it loads to compare tensors, ask for all operators by name."""
    late = "\n\ndef late():\n    torch.testing.assert_close(torch.ones(2), torch.ones(2))\n\n\nlate()\n"
    submission = Submission("", {**SOURCES, name: SOURCES[name] + late})
    report = grade(submission, VARIANTS, workers, [VARIANTS.stage(name)])
    assert report.points == report.max_points, [(test.name, test.message) for test in report.tests]


def test_a_module_with_it_lends_nothing_to_the_stage_that_forbids_it(workers):
    helper = "\n\ndef normal(x, weight, bias, eps):\n    return F.layer_norm(x, weight.shape, weight, bias, eps)\n"
    call = "from language_model import normal\n        return normal(x, self.weight, self.bias, self.eps)"
    changed = {"language_model": SOURCES["language_model"] + helper}
    changed["layers"] = SOURCES["layers"].replace(MEAN, f"        {call}\n{MEAN}")
    report = grade(Submission("", {**SOURCES, **changed}), VARIANTS, workers, [VARIANTS.stage("layers")])
    assert "contains something that is not allowed" in report.tests[0].message


def with_parts(name: str, stage: str, **changes: Any) -> Assignment:
    chosen = assignment(name)
    stages = tuple(replace(one, **changes) if one.name == stage else one for one in chosen.stages)
    return replace(chosen, stages=stages)


ALLOWED = """
import torch
from torch import nn
def attend():
    x = torch.ones(1, 3, 4)
    return [nn.MultiheadAttention(4, 2, batch_first=True).eval()(x, x, x)[0].shape[1]]
def layer():
    return [nn.TransformerEncoderLayer(4, 2, 8).eval()(torch.ones(3, 1, 4)).shape[0]]
"""


def test_what_is_allowed_works_in_the_text_and_in_a_worker(workers):
    chosen = with_parts("transformer", "mha", allows=("nn.MultiheadAttention",))
    submission = Submission("", {"mha": ALLOWED})
    assert "nn.TransformerEncoderLayer" in check_submission(submission, chosen, workers).forbidden["mha"][0].what
    only = Submission("", {"mha": ALLOWED.partition("def layer")[0]})
    assert check_submission(only, chosen, workers).forbidden == {}
    assert list(check_submission(only, assignment("transformer"), workers).forbidden) == ["mha"]
    student = Student(workers, Code({"mha": ALLOWED}, {}, ("mha",), allows=("nn.MultiheadAttention",)))
    try:
        assert student.mha.attend() == [3]
        with pytest.raises(Exception, match="TransformerEncoderLayer is a ready-made part"):
            student.mha.layer()
    finally:
        student.close()


@pytest.mark.parametrize("owner", ["_C._VariableFunctions", "_VF", "ops.aten", "nn.functional"])
def test_a_part_is_refused_in_every_table_of_torch(workers, owner):
    text = f"import torch\ndef norm():\n    return torch.{owner}.layer_norm(torch.ones(2, 3), (3,))\n"
    for forbids in ((), ("F.layer_norm",)):
        student = Student(workers, Code({"layers": text}, {}, ("layers",), forbids=forbids))
        try:
            if forbids:
                with pytest.raises(Exception, match="layer_norm is a ready-made part"):
                    student.layers.norm()
            else:
                assert student.layers.norm().shape == (2, 3)
        finally:
            student.close()


def test_the_audit_finds_names_that_torch_does_not_have_or_that_are_let_through(workers, monkeypatch):
    subject = Subject(with_parts("variants", "layers", forbids=("F.gelu", "F.layernrom")))
    subject.once("workers", lambda: workers)
    assert list(parts.items(subject))[:2] == ["layers forbids F.gelu", "layers forbids F.layernrom"]
    assert list(parts.problems(subject, "layers forbids F.gelu")) == []
    (problem, *_) = parts.problems(subject, "layers forbids F.layernrom")
    assert "did you mean layernorm?" in problem
    monkeypatch.setattr(parts, "is_forbidden", lambda *_: False)
    assert "the text search misses" in next(parts.problems(subject, "layers forbids F.gelu"))


def test_names_of_one_part():
    for path in ("torch.layer_norm", "torch.nn.LayerNorm", "torch.native_layer_norm", "torch.nn.functional.layer_norm"):
        assert named(path, ["F.layer_norm"])
        assert named(path, ["nn.LayerNorm"])
    for path in ("torch.nn.LocalResponseNorm", "torch.norm", "torch.nn.functional", "torch.nn.functional.group_norm"):
        assert named(path, ["F.layer_norm"]) == ()
    smoothing = ["F.cross_entropy(label_smoothing)"]
    assert named("torch.nn.functional.cross_entropy", smoothing) == ()
    for path in ("torch.nn.CrossEntropyLoss", "torch.nn.functional.linear_cross_entropy"):
        assert named_arguments(path, "label_smoothing", smoothing)
        assert not named_arguments(path, "weight", smoothing)
    assert part("nn.BatchNorm1d") == part("F.batch_norm")


# Parts that a stage forbids: the assignment, the stage, where torch has the function, and arguments for it.
ORIGINALS = {
    "an operator": ("variants", "layers", "torch.layer_norm", "torch.zeros(2, 4), (4,)"),
    "a Python function": ("variants", "training", "torch.nn.utils.clip_grad_norm_", "[], 1.0"),
    "the function of an optimizer": ("llm", "optim", "sys.modules['torch.optim.adam'].adam", "[], [], [], [], [], []"),
    "a function of a hidden module": ("attention", "scoring", "torch.masked.softmax", "torch.zeros(2, 4), -1"),
}


@pytest.mark.parametrize("name", ORIGINALS)
def test_the_original_behind_a_guard_is_of_no_use(name):
    """In a process of its own, since the parts are gone for good."""
    assignment_name, stage_name, path, arguments = ORIGINALS[name]
    forbids = list(assignment(assignment_name).stage(stage_name).forbids)
    code = f"""
import sys, torch, torch.masked, torch.optim
from autograder.worker.disable_builtins import disable, disable_parts
from autograder.worker.parts_of_stage import name_parts
from autograder.worker.ready_made_parts import ReadyMade, forbid
forbid()
disable([])
disable_parts({forbids!r}, [])
name_parts({forbids!r}, [], [])
waiting, seen = [{path}], []
for thing in waiting:
    seen.append(thing)
    inside = [cell.cell_contents for cell in getattr(thing, "__closure__", None) or ()]
    waiting += [each for each in inside if each not in seen]
functions = [thing for thing in seen if callable(thing)]
assert len(functions) > 1  # the guard, and what is behind it
for function in functions:
    try:
        function({arguments})
    except ReadyMade:
        continue
    raise AssertionError(function)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "def f(m): return isinstance(m, nn.LayerNorm)\n",
        "def f(m): return isinstance(m, (LayerNorm, torch.nn.LayerNorm))\n",
        "KINDS = LayerNorm, nn.LayerNorm\ndef f(m): return isinstance(m, KINDS)\n",
        "OTHERS = ()\ndef f(m): return isinstance(m, (nn.LayerNorm, *OTHERS)) or type(m) in {nn.LayerNorm}\n",
        "def f(m): return any(isinstance(m, kind) for kind in (nn.LayerNorm, nn.Linear))\n",
        "NAMES = {nn.LayerNorm: 'layer norm'}\ndef f(m): return NAMES.get(type(m))\n",
        "from typing import TypeVar\nNorm = TypeVar('Norm', bound=nn.LayerNorm)\ndef f(m: Norm) -> Norm: return m\n",
        "def f(m: nn.LayerNorm | None = None) -> torch.nn.LayerNorm: ...\n",
    ],
)
def test_a_question_about_a_forbidden_class_is_only_noted(text, workers):
    found = check_submission(Submission("", {**SOURCES, "layers": SOURCES["layers"] + text}), VARIANTS, workers)
    assert not found.forbidden
    assert any("LayerNorm" in note for note in found.review)


@pytest.mark.parametrize(
    "text",
    [
        "def f(x): return isinstance(x, F.layer_norm(x, (4,)))\n",
        "def f(x): return isinstance(x, (y := nn.LayerNorm))\n",
        "KINDS = LayerNorm, nn.LayerNorm\ndef f(m): return isinstance(m, KINDS) and KINDS[1](4)(m)\n",
        "kinds = (nn.LayerNorm(4), nn.LayerNorm)\ndef f(m): return isinstance(m, kinds)\n",
        "NAMES = {'layer norm': nn.LayerNorm}\n",
        "def isinstance(x, y): return y\ndef f(x): return isinstance(x, nn.LayerNorm)\n",
        "def f(x: F.layer_norm(X, (4,))): ...\n",
    ],
)
def test_a_use_that_looks_like_a_question_is_forbidden(text, workers):
    before = "import torch.nn.functional as F\n"
    sources = {**SOURCES, "layers": before + SOURCES["layers"] + text}
    assert check_submission(Submission("", sources), VARIANTS, workers).forbidden
