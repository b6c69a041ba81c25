"""Stage 7: the parts of a training run: loss, learning rates, clipping, the step, weight decay.

Steps are counted from 1: `rate(1, ...)` is the rate of the first update. A model is anything with a method `loss`, such
as the language model, the tagger and the Vision Transformer.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


def smoothed_loss(logits: torch.Tensor, targets: torch.Tensor, padding_idx: int, smoothing: float) -> torch.Tensor:
    """Cross-entropy with label smoothing (Szegedy et al., 2016; section 5.4 of the 2017 paper), in nats.

    The target distribution is 1 - smoothing on the right token, plus smoothing / V on each of the V tokens, including
    the right token and the padding token:

        loss = (1 - smoothing) * (-log p(target)) + smoothing * mean over all V tokens of (-log p(token))

    Targets equal to `padding_idx` count neither in the sum nor in the number of targets: the loss is the mean over all
    other targets of the batch.

    Args:
        logits: (B, T, V), scores before the softmax. They may be as large as 1,000, so exp(logit) may not be finite.
        targets: token indices, (B, T).
        padding_idx: the target that does not count.
        smoothing: from 0 (the usual cross-entropy) up to, but not including, 1.

    Returns:
        the loss, a tensor without axes; gradients must flow back to the logits.
    """
    ### BEGIN SOLUTION
    surprise = -F.log_softmax(logits, dim=-1)  # (B, T, V): -log p
    of_target = surprise.gather(-1, targets.unsqueeze(-1)).squeeze(-1)  # (B, T, V) -> (B, T)
    of_all = surprise.mean(dim=-1)  # (B, T)
    counted = targets != padding_idx
    return ((1 - smoothing) * of_target + smoothing * of_all)[counted].mean()
    ### END SOLUTION


def warmup_rate(step: int, peak: float, warmup: int) -> float:
    """The learning rate of the 2017 paper (section 5.3): up in a straight line, then down as 1 / sqrt(step).

    It reaches `peak` at step `warmup`. Before that, it is proportional to the step; after that, to 1 / sqrt(step). At
    step 4 * warmup it is half of `peak`.

    Args:
        step: the number of the update, counted from 1.
        peak: the largest rate.
        warmup: the number of steps to reach the peak, at least 1.

    Returns:
        the rate, a float.
    """
    ### BEGIN SOLUTION
    return peak * min(step / warmup, math.sqrt(warmup / step))
    ### END SOLUTION


def cosine_rate(step: int, peak: float, warmup: int, total: int, floor: float) -> float:
    """The learning rate of most later models: up in a straight line, then down along half a cosine.

    Up to step `warmup`, where it reaches `peak`, it is proportional to the step. Then it falls to `floor`, which it
    reaches at step `total`. Half-way between these steps, it is half-way between `peak` and `floor`. It falls slowly at
    first and at the end, like cos from 0 to pi (Loshchilov and Hutter, 2017). After `total` it stays at `floor`.

    Args:
        step: the number of the update, counted from 1.
        peak: the largest rate.
        warmup: the number of steps to reach the peak, at least 1.
        total: the number of steps of the whole run, more than `warmup`.
        floor: the final rate.

    Returns:
        the rate, a float.
    """
    ### BEGIN SOLUTION
    if step <= warmup:
        return peak * step / warmup
    done = min(1.0, (step - warmup) / (total - warmup))  # 0 at the peak, 1 at the end
    return floor + (peak - floor) * (1 + math.cos(math.pi * done)) / 2
    ### END SOLUTION


def clip_gradients(parameters: Iterable[nn.Parameter], max_norm: float) -> float:
    """Scale down the gradient of all parameters together, in place, if its norm is above `max_norm`.

    Treat all gradients as one long vector. Its norm is the square root of the sum of the squares of all elements. If
    the norm is larger than `max_norm`, multiply every gradient by max_norm / norm, which keeps the direction. Otherwise
    change nothing. Skip parameters whose `.grad` is None.

    Args:
        parameters: parameters after `backward()`. This may be an iterator such as `model.parameters()`, which you can
            loop over only once.
        max_norm: the largest allowed norm, above 0.

    Returns:
        the norm before clipping, a float (or a tensor without axes).
    """
    ### BEGIN SOLUTION
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norm = math.sqrt(sum(gradient.pow(2).sum().item() for gradient in gradients))
    if norm > max_norm:
        for gradient in gradients:
            gradient.mul_(max_norm / norm)
    return norm
    ### END SOLUTION


def train_step(
    model: Any, batch: Sequence[torch.Tensor], optimizer: torch.optim.Optimizer, rate: float, max_norm: float
) -> float:
    """One update of a model:

    1. switch the model to training mode, so that dropout is active;
    2. set the learning rate of all parameter groups of the optimizer to `rate`;
    3. reset the gradients of the previous step;
    4. compute the loss, model.loss(*batch), and its gradients;
    5. clip the gradients with `clip_gradients` from this module;
    6. let the optimizer update the weights.

    Args:
        model: a model with a method `loss`.
        batch: the arguments of `model.loss`: (tokens,) for a language model, (tokens, lengths, tags) for a tagger,
            (images, labels) for a Vision Transformer.
        optimizer: a torch optimizer for the parameters of the model.
        rate: the learning rate of this step.
        max_norm: see `clip_gradients`.

    Returns:
        the loss before the update, a float (or a tensor without axes).
    """
    ### BEGIN SOLUTION
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.zero_grad()
    loss = model.loss(*batch)
    loss.backward()
    clip_gradients(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()
    ### END SOLUTION


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Split the parameters into two groups for an optimizer: those that decay, and those that do not.

    Weight decay pulls weights towards 0. This helps only the matrices of linear maps. So every parameter with exactly
    two axes decays, unless it belongs to an `nn.Embedding`. Embeddings do not decay. Neither do biases and norm
    weights (one axis), nor <cls> and the position embeddings of the Vision Transformer (three axes).

    Args:
        model: any model; its modules may be nested.
        weight_decay: how strongly the first group decays.

    Returns:
        two dictionaries for `torch.optim.AdamW`, in this order:
            {"params": [the parameters that decay], "weight_decay": weight_decay}
            {"params": [all others], "weight_decay": 0.0}
        Every parameter is in exactly one of the lists, even if several modules share it. The order within a list does
        not matter.
    """
    ### BEGIN SOLUTION
    embeddings = [module.weight for module in model.modules() if isinstance(module, nn.Embedding)]
    spared = {id(weight) for weight in embeddings}
    decaying: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for parameter in model.parameters():  # a shared parameter comes up once
        decays = parameter.dim() == 2 and id(parameter) not in spared
        (decaying if decays else others).append(parameter)
    return [{"params": decaying, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]
    ### END SOLUTION
