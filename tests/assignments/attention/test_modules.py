"""The reference modules of `attention`: what their docstrings promise, and errors of others that must not return."""

import math

import numpy as np
import pytest
import torch

from tests.assignments.attention.loading import reference

MODULES = reference()
pooling, scoring, seq2seq = MODULES.pooling, MODULES.scoring, MODULES.seq2seq
SIZES = {"src_vocab_size": 17, "tgt_vocab_size": 19, "sos_idx": 2, "eos_idx": 3, "pad_idx": 1}
SIZES |= {"embed_size": 6, "hidden_size": 5, "attention_size": 7}


@pytest.fixture(autouse=True)
def _float64():
    dtype = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(dtype)


def close(actual, expected):
    torch.testing.assert_close(actual, torch.as_tensor(expected), rtol=0, atol=1e-12, check_dtype=False)


# Kernels and pooling


def test_the_kernels_have_the_values_of_their_names():
    u = torch.tensor([0.0, 0.5, 0.9, 1.0, 1.5])
    close(pooling.gaussian(u), np.exp(-(u.numpy() ** 2) / 2))
    close(pooling.constant(u), np.ones(5))
    close(pooling.boxcar(u), [1.0, 1, 1, 1, 0])
    close(pooling.triangular(u), [1.0, 0.5, 0.1, 0, 0])
    close(pooling.epanechnikov(u), [0.75, 0.5625, 0.1425, 0, 0])  # not the triangle that some texts call so
    assert pooling.boxcar(u).dtype == u.dtype


def points(n_q, n_k, d=2, d_v=3):
    return torch.randn(n_q, d), torch.randn(n_k, d), torch.randn(n_k, d_v)


@pytest.mark.parametrize("kernel", ["gaussian", "constant", "boxcar", "triangular", "epanechnikov"])
def test_pooling_is_a_mean_with_the_weights_of_the_kernel(kernel):
    queries, keys, values = points(7, 9)
    estimates, weights = pooling.attention_pooling(queries, keys, values, getattr(pooling, kernel), 2.5)
    for q, query in enumerate(queries):
        distances = np.sqrt(((query.numpy() - keys.numpy()) ** 2).sum(axis=1))
        row = getattr(pooling, kernel)(torch.tensor(distances / 2.5)).numpy()
        close(weights[q], row / row.sum())
        close(estimates[q], row / row.sum() @ values.numpy())


@pytest.mark.parametrize("kernel", ["boxcar", "triangular", "epanechnikov", "gaussian"])
def test_a_query_out_of_reach_takes_its_nearest_keys_in_equal_parts(kernel):
    keys = torch.tensor([[0.0], [4.0], [4.0], [9.0]])
    width = 0.01 if kernel == "gaussian" else 1.0
    queries = torch.tensor([[2.0], [7.0], [9.0], [100.0]])
    _, weights = pooling.attention_pooling(queries, keys, torch.eye(4), getattr(pooling, kernel), width)
    close(weights, [[1 / 3, 1 / 3, 1 / 3, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 1]])


def test_the_width_gets_a_finite_gradient_even_where_nothing_is_reached():
    queries, keys, values = points(3, 4)
    for width in (torch.tensor(0.7, requires_grad=True), torch.tensor(1e-4, requires_grad=True)):
        estimates, _ = pooling.attention_pooling(queries, keys, values, pooling.gaussian, width)
        estimates.sum().backward()
        assert width.grad is not None
        assert width.grad.isfinite()
    for kernel in (pooling.gaussian, pooling.triangular):
        model = pooling.KernelRegression(kernel, 1e-4)
        model.leave_one_out(keys, values)[0].sum().backward()
        assert model.log_width.grad.isfinite()


def test_pooling_knows_no_place_and_no_direction():
    queries, keys, values = points(5, 6, d=2)
    angle = torch.tensor(0.7)
    turn = torch.tensor([[angle.cos(), -angle.sin()], [angle.sin(), angle.cos()]])
    expected = pooling.attention_pooling(queries, keys, values, pooling.gaussian, 0.8)[0]
    moved = pooling.attention_pooling(queries @ turn + 3, keys @ turn + 3, values, pooling.gaussian, 0.8)[0]
    close(moved, expected)


@pytest.mark.parametrize("kernel", ["gaussian", "constant", "boxcar"])
def test_leaving_one_out_is_pooling_among_the_others(kernel):
    _, keys, values = points(1, 6)
    model = pooling.KernelRegression(getattr(pooling, kernel), 0.9)
    predictions, weights = model.leave_one_out(keys, values)
    close(weights.diagonal(), np.zeros(6))
    for own in range(6):
        others = [other for other in range(6) if other != own]
        expected, row = model(keys[own : own + 1], keys[others], values[others])
        close(predictions[own], expected[0])
        close(weights[own, others], row[0])


def test_the_learned_width_makes_leaving_one_out_better():
    keys = torch.linspace(0, 5, 40)[:, None]
    values = 2 * keys.sin() + keys + 0.5 * torch.randn(40, 1)
    model = pooling.KernelRegression(pooling.gaussian, 2.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(120):
        loss = (model.leave_one_out(keys, values)[0] - values).square().mean()
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses[-1] < 0.6 * losses[0]
    assert 0.1 < model.log_width.exp() < 0.6


# Scores


def test_lengths_cut_the_softmax_off():
    scores = torch.randn(3, 4, 5)
    before = scores.clone()
    for lengths in (torch.tensor([2, 5, 1]), torch.randint(1, 6, (3, 4))):
        weights = scoring.masked_softmax(scores, lengths)
        for b in range(3):
            for q in range(4):
                n = int(lengths[b] if lengths.dim() == 1 else lengths[b, q])
                close(weights[b, q, :n], torch.softmax(scores[b, q, :n], dim=0))
                assert not weights[b, q, n:].any()  # exactly 0
    close(scoring.masked_softmax(scores), torch.softmax(scores, dim=-1))
    assert torch.equal(scores, before)  # others change their argument
    assert scoring.masked_softmax(scores, torch.tensor([0, 2, 0])).isfinite().all()


def test_the_gradient_of_a_saturated_softmax_vanishes():
    """Against the claim that it never does."""
    scores = torch.tensor([[[30.0, 0.0, 0.0]]], requires_grad=True)
    scoring.masked_softmax(scores)[0, 0, 0].backward()
    assert scores.grad is not None
    assert 0 < scores.grad.abs().max() < 1e-12


def test_scaled_products_keep_their_variance():
    for d in (4, 64, 1024):
        scores = (torch.randn(4000, d) * torch.randn(4000, d)).sum(dim=1) / math.sqrt(d)
        assert 0.85 < scores.var() < 1.15


def attentions():
    return [
        (scoring.DotProductAttention(), 4, 4, lambda q, k, a: q @ k / math.sqrt(4)),
        (scoring.BilinearAttention(4, 3), 4, 3, lambda q, k, a: q @ a.M @ k / math.sqrt(3)),
        (scoring.AdditiveAttention(4, 3, 6), 4, 3, lambda q, k, a: a.w_v(torch.tanh(a.W_q(q) + a.W_k(k)))[0]),
    ]


@pytest.mark.parametrize("number", range(3))
def test_an_attention_is_a_mean_of_the_values_pair_by_pair(number):
    attention, query_size, key_size, score = attentions()[number]
    queries, keys, values = torch.randn(2, 3, query_size), torch.randn(2, 5, key_size), torch.randn(2, 5, 6)
    lengths = torch.tensor([5, 2])
    result = attention(queries, keys, values, lengths)
    assert attention.attention_weights.shape == (2, 3, 5)
    for b in range(2):
        for q in range(3):
            scores = torch.stack([score(queries[b, q], keys[b, k], attention) for k in range(lengths[b])])
            weights = torch.softmax(scores, dim=0)
            close(attention.attention_weights[b, q, : lengths[b]], weights)
            close(result[b, q], weights @ values[b, : lengths[b]])


def test_every_attention_has_weights_of_its_own_and_parameters_before_its_first_call():
    first, second = (scoring.AdditiveAttention(4, 3, 6) for _ in range(2))
    assert list(first.state_dict()) == ["W_q.weight", "W_k.weight", "w_v.weight"]
    first(torch.randn(1, 2, 4), torch.randn(1, 5, 3), torch.randn(1, 5, 2))
    assert first.attention_weights.shape == (1, 2, 5)
    assert second.attention_weights.numel() == 0


def test_dropout_acts_on_the_weights_alone_and_the_kept_ones_are_whole():
    for attention in (
        scoring.DotProductAttention(0.5),
        scoring.BilinearAttention(4, 4, 0.5),
        scoring.AdditiveAttention(4, 4, 6, 0.5),
    ):
        inputs = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.ones(2, 5, 8)
        result = attention(*inputs)
        close(attention.attention_weights.sum(dim=-1), torch.ones(2, 3))
        close(result, result[..., :1].expand(2, 3, 8))  # features of equal values stay equal
        assert (result - 1).abs().max() > 1e-3
        close(attention.eval()(*inputs), torch.ones(2, 3, 8))


# The translator


def batch(B=3, T_e=6, T_d=5):
    return {
        "src": torch.randint(17, (B, T_e)),
        "tgt": torch.randint(19, (B, T_d)),
        "src_lengths": torch.tensor([T_e, 4, 1]),
        "tgt_lengths": torch.tensor([2, T_d, 3]),
    }


def test_sentences_of_a_batch_do_not_touch_each_other():
    model, given = seq2seq.Seq2Seq(**SIZES).eval(), batch()
    logits = model(**given)
    assert logits.shape == (3, 5, 19)
    for b in range(3):
        T_e, T_d = int(given["src_lengths"][b]), int(given["tgt_lengths"][b])
        alone = model(
            given["src"][b : b + 1, :T_e], given["tgt"][b : b + 1, :T_d], torch.tensor([T_e]), torch.tensor([T_d])
        )
        close(logits[b, :T_d], alone[0])
        assert not logits[b, T_d:].any()


def test_a_position_knows_nothing_of_later_tokens_in_training_and_in_evaluation():
    model, given = seq2seq.Seq2Seq(**SIZES), batch()
    given["tgt_lengths"] = torch.tensor([5, 5, 5])
    other = {**given, "tgt": torch.cat([given["tgt"][:, :3], (given["tgt"][:, 3:] + 1) % 19], dim=1)}
    for training in (True, False):
        model.train(training)
        before, after = model(**given), model(**other)
        close(before[:, :3], after[:, :3])
        assert not torch.allclose(before[:, 3], after[:, 3])


def test_the_context_is_looked_up_with_the_previous_state():
    decoder = seq2seq.AttentionDecoder(19, 6, 5, 7).eval()
    state, outputs, lengths = torch.randn(2, 5), torch.randn(2, 4, 10), torch.tensor([4, 2])
    _, new, weights = decoder.step(torch.tensor([3, 4]), state, outputs, lengths)
    decoder.attention(state[:, None], outputs, outputs, lengths)
    close(weights, decoder.attention.attention_weights[:, 0])
    decoder.attention(new[:, None], outputs, outputs, lengths)
    assert not torch.allclose(weights, decoder.attention.attention_weights[:, 0])


def test_the_weights_of_all_steps_are_returned():
    decoder = seq2seq.AttentionDecoder(19, 6, 5, 7).eval()
    state, outputs, lengths = torch.randn(3, 5), torch.randn(3, 4, 10), torch.tensor([4, 2, 1])
    tgt = torch.randint(19, (3, 6))
    logits, weights = decoder(tgt, state, outputs, lengths)
    assert (logits.shape, weights.shape) == ((3, 6, 19), (3, 6, 4))
    close(weights.sum(dim=-1), torch.ones(3, 6))
    assert not weights[1, :, 2:].any()
    for t in range(6):
        scores, state, looks = decoder.step(tgt[:, t], state, outputs, lengths)
        close(logits[:, t], scores)
        close(weights[:, t], looks)


def test_translating_is_teacher_forcing_with_its_own_best_tokens():
    model = seq2seq.Seq2Seq(**SIZES).eval()
    given = {"src": torch.randint(17, (4, 6)), "src_lengths": torch.tensor([6, 2, 5, 1])}
    with torch.no_grad():
        model.decoder.output.bias[3] += 0.5  # some sentences end
    tokens = model.translate(**given, max_output_length=8)
    lengths = torch.full((4,), tokens.size(1) - 1)
    best = model(tgt=tokens[:, :-1], tgt_lengths=lengths, **given).argmax(dim=-1)
    assert 2 <= tokens.size(1) <= 9
    assert (tokens[:, 0] == 2).all()
    for row, predicted in zip(tokens.tolist(), best.tolist(), strict=True):
        end = row.index(3) if 3 in row else len(row) - 1
        assert row[1 : end + 1] == predicted[:end]
        assert row[end + 1 :] == [1] * (len(row) - end - 1)


@pytest.mark.parametrize(("shift", "columns"), [(1e3, 2), (-1e3, 5)])
def test_translating_ends_at_once_or_at_the_limit(shift, columns):
    model = seq2seq.Seq2Seq(**SIZES).eval()
    with torch.no_grad():
        model.decoder.output.bias[3] += shift
    tokens = model.translate(torch.randint(17, (2, 6)), torch.tensor([6, 3]), 4)
    assert tokens.shape == (2, columns)
    assert (tokens == 3).any() == (shift > 0)


@pytest.mark.parametrize(
    ("candidate", "reference", "k", "expected"),
    [
        ("a b c d", "a b c d", 2, 1.0),
        ("a b x d", "a b c d", 2, 0.75**0.5 * (1 / 3) ** 0.25),  # 0.658: one wrong word of four
        ("x y", "a b", 2, 0.0),
        ("a b", "a b c d", 2, math.exp(-1)),
        ("a a a a", "a b a", 1, 0.5**0.5),
        ("a", "a", 3, 1.0),
        ("", "a", 2, 0.0),
    ],
)
def test_bleu_of_a_sentence(candidate, reference, k, expected):
    assert seq2seq.sentence_bleu(candidate.split(), reference.split(), k) == pytest.approx(expected, abs=1e-12)
    numbers = [[ord(word) for word in text.split()] for text in (candidate, reference)]
    assert seq2seq.sentence_bleu(*numbers, k) == pytest.approx(expected, abs=1e-12)
