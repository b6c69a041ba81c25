"""Train a recurrent translator (`solutions/attention/seq2seq.py`) with a faster decoder; measure its bottleneck."""

from collections.abc import Sequence
from typing import Any

from course.text import Pair, pad


def initialise_recurrent(model: Any) -> None:
    """Initialise the weights of a recurrent translator.

    The linear maps and each gate's input weights get Xavier initialisation. Each gate's state weights are orthogonal,
    and the biases are 0. The embeddings are drawn from N(0, 0.1^2), since no positional encoding is added to them.
    """
    from torch import nn

    for name, parameter in model.named_parameters():
        if "embedding" in name:
            nn.init.normal_(parameter, std=0.1)
        elif "bias" in name:
            nn.init.zeros_(parameter)
        elif "weight_hh" in name:
            for gate in parameter.data.chunk(3):  # (3h, h) -> 3 times (h, h): reset, update, new
                nn.init.orthogonal_(gate)
        elif "weight_ih" in name:
            for gate in parameter.data.chunk(3):
                nn.init.xavier_uniform_(gate)
        else:
            nn.init.xavier_uniform_(parameter)


def precomputed_decoder(model: Any) -> None:
    """Move everything independent of the state out of the teacher-forcing loop; the result is the same.

    This moves the attention keys (W_k) and the scores over the vocabulary out of the loop. It also moves the parts of
    the gates that depend on the tokens and the encoder outputs. The context is a weighted mean of these outputs, and
    the gates are linear in it.

    Args:
        model: a `Seq2Seq` of the reference or of other modules with the same interface and parameters.
    """
    import torch
    import torch.nn.functional as F

    class PrecomputedDecoder(type(model.decoder)):  # type: ignore[misc]
        def forward(
            self, tgt: torch.Tensor, state: torch.Tensor, enc_outputs: torch.Tensor, src_lengths: torch.Tensor
        ) -> tuple[torch.Tensor, torch.Tensor]:
            attention, cell = self.attention, self.cell
            h = state.size(1)
            embedded = self.dropout(self.embedding(tgt))  # (B, T_d, e)
            of_token, of_context = cell.weight_ih.split([embedded.size(2), enc_outputs.size(2)], dim=1)
            token_gates = F.linear(embedded, of_token, cell.bias_ih)  # (B, T_d, 3h)
            source_gates = F.linear(enc_outputs, of_context)  # (B, T_e, 3h)
            keys = attention.W_k(enc_outputs)  # (B, T_e, a)
            of_state = torch.cat([cell.weight_hh, attention.W_q.weight])  # (3h + a, h)
            bias = F.pad(cell.bias_hh, (0, keys.size(2)))
            positions = torch.arange(enc_outputs.size(1), device=enc_outputs.device)
            padding = positions >= src_lengths[:, None]  # (B, T_e)
            forbidden = torch.zeros_like(padding, dtype=cell.weight_hh.dtype).masked_fill(padding, -torch.inf)
            states, weights = [], []
            # In full precision, since rounding errors would add up along the sentence; lower precision would save
            # little here anyway.
            with torch.autocast(state.device.type, enabled=False):
                token_gates, source_gates, keys, state = (
                    x.to(forbidden.dtype) for x in (token_gates, source_gates, keys, state)
                )
                for gates in token_gates.unbind(dim=1):  # T_d times (B, 3h)
                    of_reset, of_update, of_new, query = F.linear(state, of_state, bias).split(
                        [h, h, h, keys.size(2)], 1
                    )
                    scores = attention.w_v(torch.tanh(query[:, None] + keys)).squeeze(-1)  # (B, T_e)
                    weight = torch.softmax(scores + forbidden, dim=-1)
                    gates = gates + torch.bmm(weight[:, None], source_gates).squeeze(1)
                    reset, update, new = gates.chunk(3, dim=1)
                    new = torch.tanh(new + torch.sigmoid(reset + of_reset) * of_new)
                    state = torch.lerp(new, state, torch.sigmoid(update + of_update))
                    states.append(state)
                    weights.append(weight)
            all_weights = torch.stack(weights, dim=1)  # (B, T_d, T_e)
            context = torch.bmm(self.attention.dropout(all_weights), enc_outputs)  # (B, T_d, 2h)
            return self.predict(torch.stack(states, dim=1), context, embedded), all_weights

    model.decoder.__class__ = PrecomputedDecoder


def without_attention(model: Any) -> Any:
    """Hide the source from the decoder, except in its initial state: the decoder attends to zeros."""
    model.encoder.register_forward_hook(lambda module, args, result: (result[0] * 0, result[1]))
    return model


def accuracy_by_length(model: Any, pairs: Sequence[Pair], width: int = 4) -> dict[int, float]:
    """The fraction of target tokens predicted correctly with teacher forcing, grouped by target length.

    BOS and EOS are excluded, both from the lengths and from the fractions.

    Args:
        model: a `Seq2Seq`, or another translator with the same `forward`.
        pairs: source and target tokens.
        width: the number of lengths in a group.

    Returns:
        For each group, by its largest length, the fraction of all its tokens.
    """
    import torch

    (src, src_lengths), (tgt, tgt_lengths) = (pad(side) for side in zip(*pairs, strict=True))
    model.eval()
    with torch.no_grad():
        logits = model(src=src, tgt=tgt[:, :-1], src_lengths=src_lengths, tgt_lengths=tgt_lengths - 1)
    right = logits.argmax(dim=-1) == tgt[:, 1:]  # (B, T_d)
    groups: dict[int, list[bool]] = {}
    for row, length in enumerate((tgt_lengths - 2).tolist()):
        group = -(-length // width) * width  # rounded up to a multiple of width
        groups.setdefault(group, []).extend(right[row, :length].tolist())
    return {group: sum(groups[group]) / len(groups[group]) for group in sorted(groups)}
