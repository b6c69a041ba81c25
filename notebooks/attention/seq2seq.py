"""Stages 3 and 4: translation with a recurrent encoder and a decoder that attends to it (Bahdanau et al. 2014).

Shapes are written with B = batch, T_e = source positions, T_d = target positions, V = size of the vocabulary,
e = embed_size, h = hidden_size.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence

import torch
from scoring import AdditiveAttention
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Encoder(nn.Module):
    """A GRU that reads the source in both directions; each direction has `hidden_size` units."""

    def __init__(self, vocab_size: int, embed_size: int, hidden_size: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_size)
        self.dropout = nn.Dropout(dropout)
        self.rnn = nn.GRU(embed_size, hidden_size, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * hidden_size, hidden_size)

    def forward(self, src: torch.Tensor, src_lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Encode a padded batch of source sentences. Because of packing, each sentence is read only up to its own end.

        Args:
            src: token indices, (B, T_e).
            src_lengths: (B,), the number of tokens of each sentence, at least 1.

        Returns:
            enc_outputs: (B, T_e, 2h), both directions side by side, 0 where src is padding.
            state: (B, h), the first state of the decoder.
        """
        embedded = self.dropout(self.embedding(src))  # (B, T_e, e)
        packed = pack_padded_sequence(embedded, src_lengths.cpu(), batch_first=True, enforce_sorted=False)
        outputs, last = self.rnn(packed)  # last: (2, B, h), the last state of each direction
        enc_outputs, _ = pad_packed_sequence(outputs, batch_first=True, total_length=src.size(1))
        state = torch.tanh(self.bridge(torch.cat([last[0], last[1]], dim=-1)))  # (B, 2h) -> (B, h)
        return enc_outputs, state


class AttentionDecoder(nn.Module):
    """A GRU that looks at the source before each of its steps, with additive attention."""

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
        """Score the next token from everything that is known in a step.

        Args:
            state: the new state, (..., h).
            context: (..., 2h).
            embedded: the embedded token of this step, (..., e).

        Returns:
            (..., V), scores before the softmax.
        """
        features = torch.tanh(self.readout(torch.cat([state, context, embedded], dim=-1)))  # (..., e)
        return self.output(self.dropout(features))

    def step(
        self, token: torch.Tensor, state: torch.Tensor, enc_outputs: torch.Tensor, src_lengths: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Take one step: read a token, attend to the source, compute the next state, and score the next token.

            context    the result of attention: the keys and values are the encoder's outputs, the query is the
                       previous state, as in Bahdanau et al. (in Luong et al. 2015, the query is the new state)
            new state  from the GRU cell; its input is the embedded token, followed by the context
            logits     from `self.predict`, with the new state

        Args:
            token: the token of this step, (B,), LongTensor.
            state: the previous state, (B, h).
            enc_outputs: (B, T_e, 2h), from the encoder.
            src_lengths: (B,). Source positions at or beyond the length are padding and get no attention.

        Returns:
            logits: (B, V), scores before the softmax.
            state: the new state, (B, h).
            weights: (B, T_e), the attention of this step.
        """
        embedded = self.dropout(self.embedding(token))  # (B, e)
        # Compute context, the new state, logits and weights.
        raise NotImplementedError("Stage 3: AttentionDecoder.step is not written yet")
        return logits, state, weights

    def forward(
        self, tgt: torch.Tensor, state: torch.Tensor, enc_outputs: torch.Tensor, src_lengths: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Decode known target sentences (teacher forcing): step t reads tgt[:, t], whatever step t - 1 predicted.

        Args:
            tgt: token indices, (B, T_d), T_d >= 1.
            state: the first state, (B, h), from the encoder.
            enc_outputs: (B, T_e, 2h), from the encoder.
            src_lengths: (B,).

        Returns:
            logits: (B, T_d, V). The logits at position t predict the token at t + 1.
            weights: (B, T_d, T_e), the attention of each step.
        """
        raise NotImplementedError("Stage 3: AttentionDecoder.forward is not written yet")


class Seq2Seq(nn.Module):
    """Encoder and decoder for translation, from token indices to scores over the target vocabulary."""

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
        self.sos_idx = sos_idx  # every target starts with this token
        self.eos_idx = eos_idx  # every target ends with this token
        self.pad_idx = pad_idx  # fills the positions after the end

    def forward(
        self, src: torch.Tensor, tgt: torch.Tensor, src_lengths: torch.Tensor, tgt_lengths: torch.Tensor
    ) -> torch.Tensor:
        """Encode the source and decode the known target (teacher forcing).

        Results depend neither on the other sentences in the batch nor on the amount of padding.

        Args:
            src: token indices, (B, T_e).
            tgt: token indices, (B, T_d).
            src_lengths: (B,).
            tgt_lengths: (B,), the number of tokens of each target.

        Returns:
            (B, T_d, V), scores before the softmax; 0 where tgt is padding (positions >= tgt_lengths).
        """
        raise NotImplementedError("Stage 3: Seq2Seq.forward is not written yet")

    def translate(self, src: torch.Tensor, src_lengths: torch.Tensor, max_output_length: int) -> torch.Tensor:
        """Translate all sentences of a batch at once by greedy decoding.

            start each sentence with sos_idx
            until every sentence has its eos_idx, at most max_output_length times:
                predict the next token of each sentence and append it; if a sentence is already finished, append
                pad_idx instead

        Args:
            src: token indices, (B, T_e).
            src_lengths: (B,).
            max_output_length: the largest number of tokens to predict for a sentence, at least 1.

        Returns:
            (B, T), LongTensor: each row is sos_idx, the predicted tokens up to and including eos_idx, then pad_idx.
            T = 1 + the length of the longest prediction, so at most max_output_length + 1.
        """
        raise NotImplementedError("Stage 4: Seq2Seq.translate is not written yet")


def sentence_bleu(candidate: Sequence[Hashable], reference: Sequence[Hashable], k: int) -> float:
    """The BLEU of one sentence, from the precisions p_n of its n-grams (sequences of n tokens) for n = 1 to k:

        exp(min(0, 1 - len(reference) / len(candidate))) * p_1^(1/2) * p_2^(1/4) * ... * p_k^(1/2^k)

    p_n is the number of the candidate's n-grams that are also in the reference, divided by the number of all its
    n-grams, len(candidate) - n + 1. An n-gram is counted at most as often as in the reference.

    A candidate with fewer than k tokens has no n-grams for the largest n: then only n = 1 to len(candidate) count. The
    BLEU of an empty candidate is 0.

    Args:
        candidate: the tokens of a translation, words or indices.
        reference: the tokens of the reference translation, at least one.
        k: the length of the longest n-grams that count, at least 1.

    Returns:
        a number from 0 to 1.
    """
    raise NotImplementedError("Stage 4: sentence_bleu is not written yet")
