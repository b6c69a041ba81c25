"""The questions of notebooks 5 to 8 that check themselves: each answer is computed here in another way."""

import re

import pytest
import torch

from course.location import ENGINE as ROOT
from course.notebook.questions_models import MODEL_QUESTIONS
from course.notebook.quiz import ask


@pytest.fixture
def answers(modules):
    vit = modules.vit.PatchEmbedding(32, 4, 3, 64)
    small = modules.vit.PatchEmbedding(4, 2, 1, 1)
    with torch.no_grad():
        small.projection.weight.fill_(1.0)
        small.projection.bias.fill_(1.0)
        third = small(torch.arange(16.0).view(1, 1, 4, 4))[0, 2].item()
    gradients = [torch.nn.Parameter(torch.zeros(1)) for _ in range(2)]
    for parameter, gradient in zip(gradients, (6.0, 8.0), strict=True):
        parameter.grad = torch.tensor([gradient])
    modules.training.clip_gradients(gradients, 5.0)
    rates = [modules.training.warmup_rate(step, 0.001, 1000) for step in range(1000, 6000)]
    group = modules.modern.GroupedQueryAttention(1024, 16, 4)
    cache = group(torch.zeros(1, 1, 1024))[1]
    turned = modules.modern.rotate(torch.tensor([[0.0, 0, 0, 0, 1, 0, 0, 0]]), torch.tensor([100]))
    log = torch.tensor([0.8, 0.2]).log()
    return {
        "tagger-mask": sum(5 - length for length in (2, 5, 3)),
        "tagger-f1": 100 * 2 / (8 / 6 + 10 / 6),
        "tagger-pairs": torch.ones(6, 6).triu(1).sum().item(),
        "vit-positions": 1 + vit.num_patches,
        "vit-projection": sum(parameter.numel() for parameter in vit.parameters()),
        "vit-halved": (modules.vit.PatchEmbedding(32, 2, 3, 64).num_patches / vit.num_patches) ** 2,
        "vit-hand": third,
        "training-smoothed": torch.nn.functional.cross_entropy(log, torch.tensor(0), label_smoothing=0.5).item(),
        "training-rate": 1000 + next(place for place, rate in enumerate(rates) if rate <= 0.0005),
        "training-clip": float(
            torch.stack([parameter.grad for parameter in gradients if parameter.grad is not None])[1]
        ),
        "modern-rms": torch.nn.RMSNorm(4, eps=0.0)(torch.tensor([3.0, 4.0, 0.0, 0.0]))[1].item(),
        "modern-angle": torch.atan2(turned[0, 5], turned[0, 4]).item(),
        "modern-cache": 10 * sum(part.half().nbytes for part in cache) / 1024,
        "modern-operations": 2 * 1e9 * 1e3 / 1e12,
    }


def test_each_question_is_asked_once():
    folder = ROOT / "solutions" / "variants"
    notebooks = [path.read_text(encoding="utf-8") for path in folder.glob("*.ipynb")]
    asked = [name for text in notebooks for name in re.findall(r'ask\(\\"([\w-]+)\\", \.\.\.\)', text)]
    assert sorted(name for name in asked if name in MODEL_QUESTIONS) == sorted(MODEL_QUESTIONS)


def test_answers_are_right(answers):
    numbers = {name for name, question in MODEL_QUESTIONS.items() if not isinstance(question.answer, str)}
    assert set(answers) == numbers
    for name, answer in answers.items():
        assert ask(name, answer).right, name


def test_letters():
    assert ask("tagger-causal", "d").right
    assert ask("training-stuck", "b").right
