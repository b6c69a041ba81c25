"""The small models of the notebook on training: what they read, how they are trained, what they show."""

import pytest
import torch

from course.errors import UserError
from course.training.variants.old_and_new import PARTS, T, build_with
from course.training.variants.practice import Digits, SmallTales, look_back_only, progress, small_task, smooth, update
from course.variants.trained import build, load_standins
from tests.assignments.variants.random_weights import randomise

# The tagger's tokenizer comes with its checkpoint.
NAMES = ["language model", "vision transformer", "tagger"]


@pytest.mark.parametrize("name", NAMES)
def test_a_small_model_learns_a_batch_and_shows_something(name):
    torch.set_default_dtype(torch.float32)
    task = small_task(name)
    torch.manual_seed(1)
    model = build(task.model_class, task.sizes, load_standins())
    optimizer = torch.optim.AdamW(model.parameters())
    batch = tuple(part[:4] for part in task.batch(0, 1)[0])
    losses = [update(model, batch, optimizer, 3e-3, 1.0) for _ in range(12)]
    assert losses[-1] < 0.8 * losses[0]
    assert task.sample(model) == task.sample(model)
    inputs, names = task.example()
    assert model(*inputs).shape[0] == 1
    positions = 1 + model.patch_embedding.num_patches if name == "vision transformer" else inputs[0].size(1)
    assert len(names) == positions


def test_samples_begin_with_what_was_given(modules):
    task = SmallTales("The fox said")
    model = build(task.model_class, task.sizes, modules)
    assert task.sample(model, 5).startswith("The fox said")


def test_an_unknown_model_is_named():
    with pytest.raises(UserError, match="choose one of language model, tagger"):
        small_task("parrot")


def test_an_update_is_that_of_the_solution(modules):
    torch.set_default_dtype(torch.float32)
    task, models = Digits(), []
    batch, _ = task.batch(0, 1)
    for step in (update, modules.training.train_step):
        torch.manual_seed(1)
        model = build(task.model_class, {**task.sizes, "dropout": 0.0}, modules)
        optimizer = torch.optim.SGD(model.parameters(), lr=9.0)
        losses = [float(step(model, batch, optimizer, rate, 0.5)) for rate in (0.1, 0.05)]
        models.append((losses, model))
    assert models[0][0] == pytest.approx(models[1][0])
    for one, other in zip(*(model.parameters() for _, model in models), strict=True):
        torch.testing.assert_close(one, other)


def test_smoothing_changes_the_loss_of_an_update(modules):
    torch.set_default_dtype(torch.float32)
    task = Digits()
    batch, _ = task.batch(0, 1)
    model = build(task.model_class, {**task.sizes, "dropout": 0.0}, modules)
    still = torch.optim.SGD(model.parameters())
    with torch.no_grad():
        expected = modules.training.smoothed_loss(model(batch[0])[:, None], batch[1][:, None], -1, 0.3)
    assert update(model, batch, still, 0.0, 1.0, smoothing=0.3) == pytest.approx(float(expected), rel=1e-5)


def test_who_looks_back_only_does_not_see_what_follows(modules):
    sizes = {"vocab_size": 11, "max_len": 8, "padding_idx": 1, "num_tags": 2}
    sizes |= {"d_model": 12, "num_heads": 3, "num_layers": 2, "d_ff": 20}
    model = randomise(modules.tagger.EncoderTransformer(**sizes, dropout=0.0))
    tokens, lengths = torch.tensor([[4, 5, 6, 7, 8]]), torch.tensor([5])
    other = torch.tensor([[4, 5, 6, 9, 8]])
    with torch.no_grad():
        assert not torch.allclose(model(tokens, lengths)[0, :3], model(other, lengths)[0, :3])
        look_back_only(model)
        torch.testing.assert_close(model(tokens, lengths)[0, :3], model(other, lengths)[0, :3])
        assert not torch.allclose(model(tokens, lengths)[0, 3:], model(other, lengths)[0, 3:])


def test_the_bar_counts_and_means(capsys):
    with progress(7) as bar:
        for step in bar.steps(7):
            bar.losses.append(float(step))
    assert bar.losses == [1, 2, 3, 4, 5, 6, 7]
    assert bar.mean(2) == 6.5
    assert "7/7" in capsys.readouterr().out
    assert smooth(bar.losses, 3) == ([3, 6], [2.0, 5.0])


@pytest.mark.parametrize("new", [(), ("RMSNorm",), ("SwiGLU",), ("RoPE",), ("RoPE", "grouped queries"), PARTS])
def test_old_and_new_parts_make_a_model_that_cannot_look_ahead(modules, new):
    torch.manual_seed(1)
    model = build_with(new, modules.modern, load_standins(), vocab_size=20)
    tokens = torch.randint(20, (2, T + 1))
    model.loss(tokens).backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    hidden = []
    model.norm.register_forward_hook(lambda module, given, found: hidden.append(found))
    other = tokens.clone()
    other[:, 10:] = (other[:, 10:] + 1) % 20
    model.loss(tokens), model.loss(other)
    assert torch.allclose(hidden[0][:, :10], hidden[1][:, :10])
    assert not torch.allclose(hidden[0][:, 10:], hidden[1][:, 10:])


def test_grouped_queries_need_rotary_positions(modules):
    with pytest.raises(ValueError, match="RoPE"):
        build_with(("grouped queries",), modules.modern, load_standins(), vocab_size=20)
