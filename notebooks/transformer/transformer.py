"""Stages 3 to 5: the whole Transformer and its masks ("Attention Is All You Need", section 3.1 and figure 1)."""

from collections.abc import Sequence

import torch
from decoder import TransformerDecoder
from encoder import TransformerEncoder
from pe import PositionalEncoding
from torch import nn


def length_to_padding_mask(
    lengths: Sequence[int] | torch.Tensor,
    device: str | torch.device | None = None,
    dtype: torch.dtype = torch.long,
) -> torch.Tensor:
    """Compute the padding mask of B sequences from their lengths, (B, max(lengths)): 0 for tokens, 1 for padding.

    For example, lengths [3, 4, 5] give

        0 0 0 1 1
        0 0 0 0 1
        0 0 0 0 0

    Args:
        lengths: B integers: a list, a NumPy array or a tensor.
        device: the device of the mask; None means the device of `lengths` (the CPU, if it is not a tensor).
        dtype: the type of the result.
    """
    if device is None and isinstance(lengths, torch.Tensor):
        device = lengths.device
    lengths = torch.as_tensor(lengths, device=device)
    positions = torch.arange(int(lengths.max()), device=lengths.device)
    return (positions[None, :] >= lengths[:, None]).to(dtype)  # (1, T) and (B, 1) -> (B, T)


def subsequent_mask(
    size: int, device: str | torch.device | None = None, dtype: torch.dtype = torch.long
) -> torch.Tensor:
    """Create the causal mask (size, size): 1 above the diagonal, where a position would look at later positions.

    For example, size 3 gives

        0 1 1
        0 0 1
        0 0 0

    Args:
        size: number of positions.
        device: the device of the mask; pass the device of your data (None means the CPU).
        dtype: the type of the result.
    """
    return torch.ones(size, size, device=device, dtype=dtype).triu(diagonal=1)


class Transformer(nn.Module):
    """Encoder-decoder Transformer for translation, from token indices to scores over the target vocabulary.

    Unlike in section 3.4 of the paper, the embeddings are not multiplied by sqrt(d_model), and neither they nor the
    output layer share weights. The checkpoint was trained this way. Both languages share one positional encoding.
    """

    def __init__(
        self,
        src_vocab_size: int,
        tgt_vocab_size: int,
        sos_idx: int,
        eos_idx: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        max_seq_length: int,
        dropout_prob: float,
    ) -> None:
        super().__init__()
        self.encoder_embedding = nn.Embedding(src_vocab_size, d_model)
        self.decoder_embedding = nn.Embedding(tgt_vocab_size, d_model)
        self.positional_encoding = PositionalEncoding(d_model, max_seq_length)
        self.encoder = TransformerEncoder(num_layers, d_model, d_ff, num_heads, dropout_prob)
        self.decoder = TransformerDecoder(
            num_layers, d_model, d_ff, num_heads, dropout_prob, output_layer_size=tgt_vocab_size
        )
        self.dropout = nn.Dropout(dropout_prob)
        self.sos_idx = sos_idx  # every target starts with this token
        self.eos_idx = eos_idx  # and ends with this one

    def forward_encoder(self, src: torch.Tensor, src_lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Encode a padded batch of source sentences.

        Args:
            src: token indices, (B, T_e), padded to T_e = max(src_lengths).
            src_lengths: (B,), the number of tokens of each sentence.

        Returns:
            enc_output: (B, T_e, d_model).
            src_padding_mask: (B, T_e), non-zero where src is padding.
        """
        src_embedded = self.dropout(self.positional_encoding(self.encoder_embedding(src)))  # (B, T_e, d_model)
        # Compute src_padding_mask and enc_output.
        raise NotImplementedError("Stage 3: Transformer.forward_encoder is not written yet")
        return enc_output, src_padding_mask

    def forward_decoder(
        self,
        enc_output: torch.Tensor,
        src_padding_mask: torch.Tensor,
        tgt: torch.Tensor,
        tgt_lengths: torch.Tensor,
    ) -> torch.Tensor:
        """Decode a padded batch of known target sentences, all positions at once (teacher forcing).

        Position t sees the target tokens up to and including t and predicts the token at t + 1.

        Args:
            enc_output: (B, T_e, d_model), from `forward_encoder`.
            src_padding_mask: (B, T_e), from `forward_encoder`.
            tgt: token indices, (B, T_d), padded to T_d = max(tgt_lengths).
            tgt_lengths: (B,), the number of tokens of each target.

        Returns:
            (B, T_d, tgt_vocab_size), scores before the softmax.
        """
        tgt_embedded = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))  # (B, T_d, d_model)
        # Compute both target masks, then dec_output.
        raise NotImplementedError("Stage 4: Transformer.forward_decoder is not written yet")
        return dec_output

    def forward(
        self, src: torch.Tensor, tgt: torch.Tensor, src_lengths: torch.Tensor, tgt_lengths: torch.Tensor
    ) -> torch.Tensor:
        """Encode the source and decode the known target (teacher forcing).

        Args:
            src: token indices, (B, T_e).
            tgt: token indices, (B, T_d).
            src_lengths: (B,).
            tgt_lengths: (B,).

        Returns:
            (B, T_d, tgt_vocab_size), scores before the softmax.
        """
        enc_output, src_padding_mask = self.forward_encoder(src, src_lengths)
        return self.forward_decoder(enc_output, src_padding_mask, tgt, tgt_lengths)

    def inference(
        self, src: torch.Tensor, src_lengths: torch.Tensor, max_output_length: int
    ) -> tuple[list[torch.Tensor], list[list[torch.Tensor]]]:
        """Translate by greedy decoding, one sentence at a time, one token at a time.

            start with [sos]
            until the last token is eos, at most max_output_length times:
                predict the next token from the tokens so far, and append it

        Args:
            src: token indices, (B, T_e), padded.
            src_lengths: (B,).
            max_output_length: the largest number of tokens to predict per sentence.

        Returns:
            decoded: for each sentence, its tokens as a 1-D LongTensor: sos, the predicted tokens, and eos if the model
                produced it. At most max_output_length + 1 tokens.
            caches: for each sentence, the cache of the last step: a list with one tensor (1, T, d_model) per layer,
                with T = len(decoded) - 1, because the last token is never fed to the decoder.
        """
        enc_output, _ = self.forward_encoder(src, src_lengths)
        decoded_list: list[torch.Tensor] = []
        decoder_layer_cache_list: list[list[torch.Tensor]] = []
        for b in range(src.size(0)):
            # (B, T_e, d_model) -> (1, T_e of this sentence, d_model)
            sentence_enc_output = enc_output[b : b + 1, : int(src_lengths[b])]
            cache: list[torch.Tensor] | None = None
            # `tgt` holds the tokens so far, (1, T_d), LongTensor; it starts with one token.
            raise NotImplementedError("Stage 5: Transformer.inference, part 1 of 3, is not written yet")
            for _ in range(max_output_length):
                tgt_embedded = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))  # (1, T_d, d_model)
                causal_mask = subsequent_mask(tgt.size(1), device=tgt.device).unsqueeze(0)  # (1, T_d, T_d)
                scores, cache = self.decoder.forward_one_step_ec(
                    tgt_embedded,
                    decoder_attention_mask=causal_mask,
                    encoder_out=sentence_enc_output,
                    cache=cache,
                )  # (1, 1, tgt_vocab_size)
                next_token = scores.argmax(dim=-1)  # (1, 1)
                # Append the prediction to `tgt`.
                raise NotImplementedError("Stage 5: Transformer.inference, part 2 of 3, is not written yet")
                # Leave the loop if the sentence is complete.
                raise NotImplementedError("Stage 5: Transformer.inference, part 3 of 3, is not written yet")
            decoded_list.append(tgt.squeeze(0))  # (1, T_d) -> (T_d,)
            decoder_layer_cache_list.append(cache if cache is not None else [])
        return decoded_list, decoder_layer_cache_list
