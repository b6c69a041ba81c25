"""Stand-in for seq2seq.py: the recurrent translator, structured differently but with the same results."""

import math
from collections.abc import Hashable, Sequence

import torch
from scoring import AdditiveAttention
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Encoder(nn.Module):
    """A GRU that reads the source in both directions."""

    def __init__(self, vocab_size: int, embed_size: int, hidden_size: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_size)
        self.dropout = nn.Dropout(dropout)
        self.rnn = nn.GRU(embed_size, hidden_size, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * hidden_size, hidden_size)

    def forward(self, src: torch.Tensor, src_lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """src (B, T_e), src_lengths (B,) -> the outputs (B, T_e, 2h) and the initial state of the decoder (B, h)."""
        embedded = self.dropout(self.embedding(src))
        packed = pack_padded_sequence(embedded, src_lengths.cpu(), batch_first=True, enforce_sorted=False)
        outputs, last = self.rnn(packed)
        enc_outputs, _ = pad_packed_sequence(outputs, batch_first=True, total_length=src.size(1))
        return enc_outputs, torch.tanh(self.bridge(last.transpose(0, 1).flatten(1)))  # (2, B, h) -> (B, 2h)


class AttentionDecoder(nn.Module):
    """A GRU with additive attention, which attends to the source before each step."""

    def __init__(
        self, vocab_size: int, embed_size: int, hidden_size: int, attention_size: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_size)
        self.attention = AdditiveAttention(hidden_size, 2 * hidden_size, attention_size)
        self.cell = nn.GRUCell(embed_size + 2 * hidden_size, hidden_size)
        self.readout = nn.Linear(hidden_size + 2 * hidden_size + embed_size, embed_size)
        self.output = nn.Linear(embed_size, vocab_size)
        self.dropout = nn.Dropout(dropout)

    def predict(self, state: torch.Tensor, context: torch.Tensor, embedded: torch.Tensor) -> torch.Tensor:
        """state (..., h), context (..., 2h), embedded (..., e) -> the scores of the next token, (..., V)."""
        features = torch.tanh(self.readout(torch.cat([state, context, embedded], dim=-1)))
        return self.output(self.dropout(features))

    def step(
        self, token: torch.Tensor, state: torch.Tensor, enc_outputs: torch.Tensor, src_lengths: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """token (B,), state (B, h) -> logits (B, V), the new state (B, h), weights (B, T_e)."""
        embedded = self.dropout(self.embedding(token))
        looked = self.attention(state[:, None], enc_outputs, enc_outputs, src_lengths)
        context, weights = looked[:, 0], self.attention.attention_weights[:, 0]
        # The gates of the cell, computed without the cell: first the input's part, then the state's part.
        cell = self.cell
        of_input = F.linear(torch.cat([embedded, context], dim=1), cell.weight_ih, cell.bias_ih).chunk(3, dim=1)
        of_state = F.linear(state, cell.weight_hh, cell.bias_hh).chunk(3, dim=1)
        reset, update = (torch.sigmoid(of_input[gate] + of_state[gate]) for gate in (0, 1))
        new = torch.lerp(torch.tanh(of_input[2] + reset * of_state[2]), state, update)
        return self.predict(new, context, embedded), new, weights

    def forward(
        self, tgt: torch.Tensor, state: torch.Tensor, enc_outputs: torch.Tensor, src_lengths: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """tgt (B, T_d) -> logits (B, T_d, V) and weights (B, T_d, T_e), with teacher forcing."""
        logits, weights = [], []
        for t in range(tgt.size(1)):
            scores, state, looks = self.step(tgt[:, t], state, enc_outputs, src_lengths)
            logits.append(scores.unsqueeze(1))
            weights.append(looks.unsqueeze(1))
        return torch.cat(logits, dim=1), torch.cat(weights, dim=1)


class Seq2Seq(nn.Module):
    """An encoder and a decoder for translation."""

    def __init__(
        self,
        src_vocab_size: int,
        tgt_vocab_size: int,
        sos_idx: int,
        eos_idx: int,
        pad_idx: int,
        embed_size: int,
        hidden_size: int,
        attention_size: int,
        dropout_prob: float = 0.0,
    ) -> None:
        super().__init__()
        self.encoder = Encoder(src_vocab_size, embed_size, hidden_size, dropout_prob)
        self.decoder = AttentionDecoder(tgt_vocab_size, embed_size, hidden_size, attention_size, dropout_prob)
        self.sos_idx, self.eos_idx, self.pad_idx = sos_idx, eos_idx, pad_idx

    def forward(
        self, src: torch.Tensor, tgt: torch.Tensor, src_lengths: torch.Tensor, tgt_lengths: torch.Tensor
    ) -> torch.Tensor:
        """src (B, T_e), tgt (B, T_d) and their lengths -> the scores (B, T_d, V), which are 0 where tgt is padding."""
        outputs, first = self.encoder(src, src_lengths)
        logits = self.decoder(tgt, first, outputs, src_lengths)[0]
        rows = [
            F.pad(row[:length], (0, 0, 0, len(row) - length))
            for row, length in zip(logits, tgt_lengths.tolist(), strict=True)
        ]
        return torch.stack(rows)

    def translate(self, src: torch.Tensor, src_lengths: torch.Tensor, max_output_length: int) -> torch.Tensor:
        """Greedy translations (B, T): sos, the predicted tokens including eos, and padding."""
        sentences = []
        for number in range(src.size(0)):  # one sentence at a time
            length = src_lengths[number : number + 1]
            enc_outputs, state = self.encoder(src[number : number + 1, : int(length)], length)
            tokens = [self.sos_idx]
            while len(tokens) <= max_output_length and (len(tokens) == 1 or tokens[-1] != self.eos_idx):
                logits, state, _ = self.decoder.step(src.new_tensor(tokens[-1:]), state, enc_outputs, length)
                tokens.append(int(logits.argmax()))
            sentences.append(src.new_tensor(tokens))
        return nn.utils.rnn.pad_sequence(sentences, batch_first=True, padding_value=self.pad_idx)


def sentence_bleu(candidate: Sequence[Hashable], reference: Sequence[Hashable], k: int) -> float:
    """The BLEU score of one sentence, with weight 1/2^n for n-grams, n = 1 to min(k, length of the candidate)."""
    if len(candidate) == 0:
        return 0.0
    result = min(1.0, math.exp(1 - len(reference) / len(candidate)))
    for n in range(len(candidate) + 1)[1 : k + 1]:
        left = [tuple(reference[start : start + n]) for start in range(len(reference) - n + 1)]
        total = len(candidate) - n + 1
        shared = 0
        for start in range(total):
            found = tuple(candidate[start : start + n])
            if found in left:
                left.remove(found)
                shared += 1
        result *= math.pow(shared / total, 1 / 2**n)
    return result
