"""Stand-ins and correct modules written in other ways agree with the reference of `attention`, gradients included."""

from typing import Any

import pytest
import torch

from autograder.authoring.formulations import correct_submissions
from tests.assignments.attention.loading import ASSIGNMENT, reference, standins, texts

LIMIT = 1e-5
SUBMISSIONS = {name: submission.sources for name, (submission, _) in correct_submissions(ASSIGNMENT).items()}
SIZES: dict[str, Any] = {"src_vocab_size": 17, "tgt_vocab_size": 19, "sos_idx": 2, "eos_idx": 3, "pad_idx": 1}
SIZES |= {"embed_size": 6, "hidden_size": 5, "attention_size": 7, "dropout_prob": 0.3}


@pytest.fixture(scope="module")
def right():
    return reference()


@pytest.fixture(autouse=True)
def _float64():
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    yield
    torch.set_default_dtype(dtype)
    torch.set_num_threads(threads)


@pytest.fixture(params=["standins", *SUBMISSIONS])
def other(request, tmp_path):
    return standins() if request.param == "standins" else texts(SUBMISSIONS[request.param], tmp_path)


def close(actual: Any, expected: Any, limit: float = LIMIT) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=limit, check_dtype=False)


def twins(right: Any, other: Any, *sizes: Any, **named: Any) -> tuple[Any, Any]:
    torch.manual_seed(1)
    one, two = right(*sizes, **named), other(*sizes, **named)
    two.load_state_dict(one.state_dict(), strict=True)
    return one.eval(), two.eval()


def gradients(model: Any, results: list[torch.Tensor]) -> list[torch.Tensor]:
    """Those of all parameters, from outputs that weigh differently."""
    total = sum((result * result.detach().cos()).sum() for result in results)
    assert isinstance(total, torch.Tensor)
    return list(torch.autograd.grad(total, list(model.parameters()), allow_unused=True))


def test_pooling(right, other):
    torch.manual_seed(2)
    u = torch.tensor([[0.0, 0.3, 1.0], [1.2, 2.0, 50.0]])
    for name in ("boxcar", "triangular", "epanechnikov"):
        close(getattr(other.pooling, name)(u), getattr(right.pooling, name)(u))
    grid = torch.tensor([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0], [4.0, 3.0], [4.0, 3.0]])
    cases = [
        (torch.randn(4, 2), torch.randn(6, 2), 0.8),
        (torch.randn(1, 3), torch.randn(2, 3), 0.8),
        (grid, grid, 0.01),
    ]
    cases.append((grid / 2, grid, 0.01))
    for queries, keys, width in cases:
        values = torch.randn(len(keys), 3)
        for name in ("gaussian", "constant", "boxcar", "triangular"):
            kernel = getattr(right.pooling, name)
            models = [m.pooling.KernelRegression(kernel, width) for m in (right, other)]
            pooled = [m.pooling.attention_pooling(queries, keys, values, kernel, width) for m in (right, other)]
            close(pooled[1], pooled[0])
            close(*(model(queries, keys, values) for model in reversed(models)))
            close(*(model.leave_one_out(keys, values) for model in reversed(models)))
    for keys, width in ((torch.randn(6, 2), 0.8), (grid, 0.01)):
        values, models = torch.randn(len(keys), 2), [m.pooling.KernelRegression(width=width) for m in (right, other)]
        for call in ("forward", "leave_one_out"):
            arguments = (keys, keys, values) if call == "forward" else (keys, values)
            found = [gradients(model, list(getattr(model, call)(*arguments))) for model in models]
            close(found[1], found[0])


def test_scoring(right, other):
    torch.manual_seed(3)
    for sizes in ((3, 3, 4), (1, 1, 5), (2, 6, 2)):
        scores = 3 * torch.randn(*sizes) - 20
        for lengths in (None, torch.randint(1, sizes[2] + 1, sizes[:1]), torch.randint(1, sizes[2] + 1, sizes[:2])):
            before = scores.clone()
            close(other.scoring.masked_softmax(scores, lengths), right.scoring.masked_softmax(scores, lengths))
            assert torch.equal(scores, before)
        assert other.scoring.masked_softmax(scores, torch.zeros(sizes[0], dtype=torch.long)).isfinite().all()
    for name, parameters, query_size, key_size in (
        ("DotProductAttention", (), 6, 6),
        ("BilinearAttention", (6, 3), 6, 3),
        ("AdditiveAttention", (6, 3, 5), 6, 3),
    ):
        one, two = twins(getattr(right.scoring, name), getattr(other.scoring, name), *parameters, dropout=0.3)
        for B, T_q, T_k in ((3, 3, 5), (1, 1, 2)):
            inputs = torch.randn(B, T_q, query_size), torch.randn(B, T_k, key_size), torch.randn(B, T_k, 4)
            for lengths in (None, torch.randint(1, T_k + 1, (B,)), torch.randint(1, T_k + 1, (B, T_q))):
                results = one(*inputs, lengths), two(*inputs, lengths)
                close(results[1], results[0])
                close(two.attention_weights, one.attention_weights)
                if list(one.parameters()):
                    close(gradients(two, [results[1]]), gradients(one, [results[0]]))


def test_seq2seq(right, other):
    one, two = twins(right.seq2seq.Seq2Seq, other.seq2seq.Seq2Seq, **SIZES)
    torch.manual_seed(4)
    given = {
        "src": torch.randint(17, (3, 6)),
        "tgt": torch.randint(19, (3, 5)),
        "src_lengths": torch.tensor([6, 3, 1]),
        "tgt_lengths": torch.tensor([2, 5, 4]),
    }
    results = one(**given), two(**given)
    close(results[1], results[0])
    close(gradients(two, [results[1]]), gradients(one, [results[0]]))
    enc_outputs, state = one.encoder(given["src"], given["src_lengths"])
    arguments = given["tgt"], state, enc_outputs, given["src_lengths"]
    close(two.decoder(*arguments), one.decoder(*arguments))
    step = given["tgt"][:, 0], state, enc_outputs, given["src_lengths"]
    close(two.decoder.step(*step), one.decoder.step(*step))
    source = {name: given[name] for name in ("src", "src_lengths")}
    for shift in (0.0, 0.4, 10.0, -10.0):
        for model in (one, two):
            with torch.no_grad():
                model.decoder.output.bias[3] = shift
        for limit in (1, 7):
            with torch.no_grad():
                assert torch.equal(*(model.translate(**source, max_output_length=limit) for model in (one, two)))


def test_bleu(right, other):
    generator = torch.Generator().manual_seed(5)
    for number in range(60):
        texts = [
            torch.randint(3, (int(torch.randint(low, 6, (), generator=generator)),), generator=generator).tolist()
            for low in (0, 1)
        ]
        k = 1 + number % 4
        assert abs(other.seq2seq.sentence_bleu(*texts, k) - right.seq2seq.sentence_bleu(*texts, k)) < 1e-9
