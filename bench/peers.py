"""The same model in other people's code, for the benchmarks: torch's own Transformer layers, and CTranslate2."""

import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import nn

from course.config import BOS, EOS, PAD, UNK, ModelConfig


class TorchTransformer(nn.Module):
    """`torch.nn.Transformer` with the embeddings and the interface of our `Transformer`."""

    def __init__(self, config: ModelConfig, encoding: nn.Module) -> None:
        super().__init__()
        self.encoder_embedding = nn.Embedding(config.src_vocab_size, config.d_model)
        self.decoder_embedding = nn.Embedding(config.tgt_vocab_size, config.d_model)
        self.positional_encoding = encoding
        self.transformer = nn.Transformer(
            config.d_model,
            config.num_heads,
            config.num_layers,
            config.num_layers,
            config.d_ff,
            config.dropout_prob,
            batch_first=True,
        )
        # torch puts one more norm behind each stack, which the paper of 2017 does not have.
        self.transformer.encoder.norm = self.transformer.decoder.norm = None
        self.output_layer = nn.Linear(config.d_model, config.tgt_vocab_size)
        self.dropout = nn.Dropout(config.dropout_prob)

    def forward_encoder(self, src: torch.Tensor, src_lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mask = padding(src, src_lengths)
        x = self.dropout(self.positional_encoding(self.encoder_embedding(src)))
        return self.transformer.encoder(x, src_key_padding_mask=mask), mask

    def forward_decoder(
        self, memory: torch.Tensor, src_mask: torch.Tensor, tgt: torch.Tensor, tgt_lengths: torch.Tensor
    ) -> torch.Tensor:
        x = self.dropout(self.positional_encoding(self.decoder_embedding(tgt)))
        causal = torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool, device=tgt.device).triu(1)
        out = self.transformer.decoder(
            x,
            memory,
            tgt_mask=causal,
            tgt_key_padding_mask=padding(tgt, tgt_lengths),
            memory_key_padding_mask=src_mask,
            tgt_is_causal=True,
        )
        return self.output_layer(out)

    def forward(
        self, src: torch.Tensor, tgt: torch.Tensor, src_lengths: torch.Tensor, tgt_lengths: torch.Tensor
    ) -> torch.Tensor:
        return self.forward_decoder(*self.forward_encoder(src, src_lengths), tgt, tgt_lengths)


def padding(tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    return torch.arange(tokens.size(1), device=tokens.device) >= lengths[:, None]


def torch_peer(model: Any, config: ModelConfig) -> TorchTransformer:
    """torch's own layers with the weights of a `Transformer` of ours, on the same device."""
    peer = TorchTransformer(config, model.positional_encoding)
    peer.encoder_embedding.load_state_dict(model.encoder_embedding.state_dict())
    peer.decoder_embedding.load_state_dict(model.decoder_embedding.state_dict())
    peer.output_layer.load_state_dict(model.decoder.output_layer.state_dict())
    norms = ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm")
    for ours, theirs in (
        *zip(model.encoder.layers, peer.transformer.encoder.layers, strict=True),
        *zip(model.decoder.layers, peer.transformer.decoder.layers, strict=True),
    ):
        copy_attention(ours.self_attn, theirs.self_attn)
        if hasattr(ours, "encoder_attn"):
            copy_attention(ours.encoder_attn, theirs.multihead_attn)
        theirs.linear1.load_state_dict(ours.fc1.state_dict())
        theirs.linear2.load_state_dict(ours.fc2.state_dict())
        for number, name in enumerate((name for name in norms if hasattr(ours, name)), start=1):
            getattr(theirs, f"norm{number}").load_state_dict(getattr(ours, name).state_dict())
    return peer.to(next(model.parameters()).device).train(model.training)


def copy_attention(ours: Any, theirs: nn.MultiheadAttention) -> None:
    maps = (ours.W_q, ours.W_k, ours.W_v)
    theirs.load_state_dict(
        {
            "in_proj_weight": torch.cat([linear.weight.detach() for linear in maps]),
            "in_proj_bias": torch.cat([linear.bias.detach() for linear in maps]),
            "out_proj.weight": ours.W_o.weight.detach(),
            "out_proj.bias": ours.W_o.bias.detach(),
        }
    )


class CTranslate2:
    """A `Transformer` of ours in CTranslate2 (the extra "peers" of the project), on one thread of the CPU."""

    def __init__(self, model: Any, config: ModelConfig, compute_type: str = "float32") -> None:
        import ctranslate2

        special = {UNK: "<unk>", PAD: "<pad>", BOS: "<s>", EOS: "</s>"}
        self.names = {
            "source": [special.get(index, str(index)) for index in range(config.src_vocab_size)],
            "target": [special.get(index, str(index)) for index in range(config.tgt_vocab_size)],
        }
        with tempfile.TemporaryDirectory() as folder:
            self.specification(model, config).save(folder)
            files = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
        self.translator = ctranslate2.Translator(
            "in memory", files=files, device="cpu", compute_type=compute_type, inter_threads=1, intra_threads=1
        )

    def specification(self, model: Any, config: ModelConfig) -> Any:
        """The model in the form that CTranslate2 reads."""
        from ctranslate2.specs import TransformerSpec

        spec = TransformerSpec.from_config(config.num_layers, config.num_heads, pre_norm=False)
        for side, stack in (("encoder", spec.encoder), ("decoder", spec.decoder)):
            embeddings = stack.embeddings[0] if side == "encoder" else stack.embeddings
            embeddings.weight = array(getattr(model, f"{side}_embedding").weight)
            stack.scale_embeddings = False
            stack.position_encodings.encodings = array(model.positional_encoding.pe[0])
            for ours, theirs in zip(getattr(model, side).layers, stack.layer, strict=True):
                own = ours.self_attn
                set_linear(theirs.self_attention.linear[0], own.W_q, own.W_k, own.W_v)
                set_linear(theirs.self_attention.linear[1], own.W_o)
                set_norm(theirs.self_attention.layer_norm, ours.self_attn_layer_norm)
                if side == "decoder":
                    cross = ours.encoder_attn
                    set_linear(theirs.attention.linear[0], cross.W_q)
                    set_linear(theirs.attention.linear[1], cross.W_k, cross.W_v)
                    set_linear(theirs.attention.linear[2], cross.W_o)
                    set_norm(theirs.attention.layer_norm, ours.encoder_attn_layer_norm)
                set_linear(theirs.ffn.linear_0, ours.fc1)
                set_linear(theirs.ffn.linear_1, ours.fc2)
                set_norm(theirs.ffn.layer_norm, ours.final_layer_norm)
        set_linear(spec.decoder.projection, model.decoder.output_layer)
        spec.register_source_vocabulary(self.names["source"])
        spec.register_target_vocabulary(self.names["target"])
        spec.validate()
        spec.optimize()
        return spec

    def translate(self, sources: list[list[int]], beam: int = 1, max_tokens: int = 4096) -> list[list[int]]:
        """As `course.translation.decoding.greedy_decode`, with beams too; the score is divided by the length."""
        results = self.translator.translate_batch(
            [[self.names["source"][token] for token in source] for source in sources],
            beam_size=beam,
            max_batch_size=max_tokens,
            batch_type="tokens",
            max_decoding_length=max(map(len, sources)) * 3 // 2 + 10,
        )
        tokens = {name: index for index, name in enumerate(self.names["target"])}
        return [[tokens[name] for name in result.hypotheses[0]] for result in results]


def array(tensor: torch.Tensor) -> Any:
    return tensor.detach().float().cpu().contiguous().numpy()


def set_linear(spec: Any, *maps: nn.Linear) -> None:
    spec.weight = array(torch.cat([linear.weight for linear in maps]))
    spec.bias = array(torch.cat([linear.bias for linear in maps]))


def set_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = array(norm.weight), array(norm.bias)
