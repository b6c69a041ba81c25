"""The questions of notebooks 1 to 4 that check themselves: each answer is computed here in another way."""

import re

import pytest
import torch

from course.location import ENGINE as ROOT
from course.notebook.quiz import ask
from course.notebook.variants_questions import VARIANTS_QUESTIONS


@pytest.fixture
def answers(modules):
    attention = modules.heads.MultiHeadAttentionEfficient(10, 5, 0.0)
    model = modules.language_model.DecoderTransformer(100, 8, 2, 1, 32, 10, 0.1, 1)
    kept = modules.generate.filter_logits(torch.tensor([0.4, 0.3, 0.2, 0.1]).log(), top_p=0.75)
    costs = [abs(2 * T * T * 192 - 4 * T * 192**2) for T in range(1, 1000)]
    return {
        "layers-norm": torch.nn.LayerNorm(3)(torch.tensor([0.0, 0.0, 3.0]))[2].item(),
        "layers-gelu": torch.nn.functional.gelu(torch.tensor(-1.0)).item(),
        "layers-network": sum(parameter.numel() for parameter in modules.layers.FeedForward(4, 16, 0.1).parameters()),
        "heads-parameters": sum(parameter.numel() for parameter in attention.parameters()),
        "heads-stride": torch.zeros(2, 5, 3, 4).transpose(1, 2).stride()[1],
        "lm-parameters": sum(parameter.numel() for parameter in model.parameters()),
        "lm-targets": sum(len(row) for row in ("read", "all", "x")),
        "lm-bits": -torch.tensor(-3.0).exp().log2().item() / 4,
        "generate-cache": torch.zeros(2, 4, 8, 256, 192, dtype=torch.float32).nbytes / 2**20,
        "generate-mask": torch.ones(5, 5).triu(1).sum().item(),
        "generate-top-p": kept.softmax(-1).count_nonzero().item(),
        "generate-temperature": (torch.tensor([2.0, 0.0]) / 0.5).softmax(-1)[0].item(),
        "heads-multiplications": 1 + costs.index(min(costs)),
    }


def test_each_question_is_asked_once():
    folder = ROOT / "solutions" / "variants"
    notebooks = [path.read_text(encoding="utf-8") for path in folder.glob("*.ipynb")]
    asked = [name for text in notebooks for name in re.findall(r'ask\(\\"([\w-]+)\\", \.\.\.\)', text)]
    assert sorted(name for name in asked if name in VARIANTS_QUESTIONS) == sorted(VARIANTS_QUESTIONS)


def test_answers_are_right(answers):
    numbers = {name for name, question in VARIANTS_QUESTIONS.items() if not isinstance(question.answer, str)}
    assert set(answers) == numbers
    for name, answer in answers.items():
        assert ask(name, answer).right, name


def test_letters(modules):
    assert ask("layers-broadcast", "c").right
    x = torch.randn(3, 3)
    torch.testing.assert_close((x - x.mean(dim=-1))[:, 1], x[:, 1] - x[1].mean())
    assert ask("lm-order", "b").right
    block = modules.language_model.Block(6, 2, 12, 0.0)
    for layer in (block.attention.W_o, block.feed_forward.fc2):
        torch.nn.init.zeros_(layer.weight)
        torch.nn.init.zeros_(layer.bias)
    assert torch.equal(block(x.repeat(1, 2)[None]), x.repeat(1, 2)[None])
    assert ask("heads-mask", "b").right
    padding = torch.tensor([[[False, True]], [[True, False]], [[False, False]]])
    assert padding.unsqueeze(1).expand(3, 4, 2, 2)[1, 3, 1].tolist() == [True, False]
