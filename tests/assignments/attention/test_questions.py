"""The questions of `attention`: each answer is computed here in another way, and each is asked in one notebook."""

import json
import math
import re

import torch

from course.notebook.attention_questions import ATTENTION_QUESTIONS
from course.notebook.quiz import ask
from tests.assignments.attention.loading import ASSIGNMENT, reference


def answers() -> dict[str, float]:
    """The right answer to each question that asks for a number."""
    modules = reference()
    pooling, scoring = modules.pooling, modules.scoring
    far = torch.tensor([[0.0], [1.0], [2.0]])
    _, weights = pooling.attention_pooling(torch.zeros(1, 1), far, torch.zeros(3, 1), pooling.gaussian)
    keys, values = torch.tensor([[0.2], [0.6], [1.5]]), torch.tensor([[10.0], [20.0], [99.0]])
    estimates, _ = pooling.attention_pooling(torch.zeros(1, 1), keys, values, pooling.triangular)
    torch.manual_seed(0)
    products = torch.randn(4000, 256) @ torch.randn(256, 50)
    allowed = scoring.masked_softmax(torch.tensor([[[0.0, 0.0, 5.0, 9.0]]]), torch.tensor([3]))
    decoder = modules.seq2seq.AttentionDecoder(9, 256, 320, 256)
    looks = scoring.masked_softmax(torch.tensor([[[1.0, 1.0, 2.0, 4.0]]]).log(), torch.tensor([3]))
    weight = torch.nn.Parameter(torch.zeros(3))
    weight.grad = torch.tensor([6.0, 8.0, 0.0])
    torch.nn.utils.clip_grad_norm_([weight], 2.0)
    return {
        "pooling-weight": weights[0, 0].item(),
        "pooling-triangle": estimates.item(),
        "scoring-deviation": round(products.std().item()),
        "scoring-length": allowed[0, 0, 2].item(),
        "scoring-memory": torch.empty(32, 100, 100, 256, device="meta").nbytes / 2**20,
        "bahdanau-weight": looks[0, 0, 2].item(),
        "bahdanau-input": decoder.cell.input_size,
        "bahdanau-steps": len(torch.zeros(3, max(5, 9, 12)).unbind(dim=1)),
        "bahdanau-clip": weight.grad[1].item(),
        "translate-columns": 1 + min(7, max(4, 9, 6)),
        "translate-penalty": modules.seq2seq.sentence_bleu("abc", "abcde", 1),
        # The exponent of p_1 is 1/2, and the penalty exp(1 - 5/4) is taken away again.
        "translate-clipped": (
            modules.seq2seq.sentence_bleu(["the", "the", "the", "cat"], ["the", "cat", "and", "the", "dog"], 1)
            / math.exp(1 - 5 / 4)
        )
        ** 2,
    }


def test_the_answers_are_right():
    computed = answers()
    numbers = {name for name, question in ATTENTION_QUESTIONS.items() if not isinstance(question.answer, str)}
    assert set(computed) == numbers
    for name, value in computed.items():
        assert ask(name, value).right is True, f"{name}: {value} against {ATTENTION_QUESTIONS[name].answer}"


def test_each_question_is_asked_once():
    texts = [(ASSIGNMENT.solution / name).read_text(encoding="utf-8") for name in ASSIGNMENT.notebooks]
    cells = [cell for text in texts for cell in json.loads(text)["cells"]]
    asked = [name for cell in cells for name in re.findall(r'ask\("([\w-]+)", \.\.\.\)', "".join(cell["source"]))]
    assert sorted(asked) == sorted(ATTENTION_QUESTIONS)
