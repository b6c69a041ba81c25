"""The reference modules against the library `transformers` (optional): the same weights give the same numbers."""

from typing import Any

import pytest
import torch

from tests.assignments.variants.random_weights import randomise

transformers = pytest.importorskip("transformers")


def close(actual, expected) -> None:
    """The library takes some softmaxes and angles in float32."""
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-5)


def copy_layer(block: Any, pairs: dict[str, Any], transposed: bool = False) -> None:
    """Give parts of a layer of the library the weights of ours; `Conv1D` of GPT-2 keeps them transposed."""
    with torch.no_grad():
        for name, part in pairs.items():
            ours = block.get_submodule(name)
            turned = transposed and ours.weight.dim() == 2
            part.weight.copy_(ours.weight.T if turned else ours.weight)
            if getattr(ours, "bias", None) is not None:
                part.bias.copy_(ours.bias)


def test_gpt2(modules):
    sizes = {"vocab_size": 31, "d_model": 18, "num_heads": 3, "num_layers": 2, "d_ff": 40, "max_len": 11}
    model = randomise(modules.language_model.DecoderTransformer(**sizes, dropout=0.1, padding_idx=1))
    config = transformers.GPT2Config(
        vocab_size=31, n_positions=11, n_embd=18, n_layer=2, n_head=3, n_inner=40, activation_function="gelu"
    )
    theirs = transformers.GPT2LMHeadModel(config).double().eval()
    copy_layer(model, {"token_embedding": theirs.transformer.wte, "position_embedding": theirs.transformer.wpe})
    copy_layer(model, {"norm": theirs.transformer.ln_f})
    for block, layer in zip(model.blocks, theirs.transformer.h, strict=True):
        parts = {"norm1": layer.ln_1, "norm2": layer.ln_2, "attention.W_qkv": layer.attn.c_attn}
        parts |= {"attention.W_o": layer.attn.c_proj}
        parts |= {"feed_forward.fc1": layer.mlp.c_fc, "feed_forward.fc2": layer.mlp.c_proj}
        copy_layer(block, parts, transposed=True)
    tokens = torch.randint(31, (3, 9))
    with torch.no_grad():
        close(model(tokens), theirs(tokens).logits)


def test_vit(modules):
    model = randomise(modules.vit.ViT(8, 2, 3, 5, 18, 3, 2, 40, 0.1))
    config = transformers.ViTConfig(
        hidden_size=18,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=40,
        image_size=8,
        patch_size=2,
        num_channels=3,
        num_labels=5,
        layer_norm_eps=1e-5,
        attn_implementation="eager",
    )
    theirs = transformers.ViTForImageClassification(config).double().eval()
    state = theirs.state_dict()
    ours = dict(model.state_dict())
    kernel = ours["patch_embedding.projection.weight"].view(18, 3, 2, 2)
    given = {
        "vit.embeddings.cls_token": ours["cls_token"],
        "vit.embeddings.position_embeddings": ours["position_embedding"],
        "vit.embeddings.patch_embeddings.projection.weight": kernel,
        "vit.embeddings.patch_embeddings.projection.bias": ours["patch_embedding.projection.bias"],
    }
    for kind in ("weight", "bias"):
        given[f"vit.layernorm.{kind}"] = ours[f"norm.{kind}"]
        given[f"classifier.{kind}"] = ours[f"output_layer.{kind}"]
        for number in range(2):
            block, layer = (
                f"blocks.{number}",
                next(
                    prefix
                    for prefix in (f"vit.encoder.layer.{number}", f"vit.layers.{number}")
                    if any(name.startswith(prefix + ".") for name in state)
                ),
            )
            q, k, v = ours[f"{block}.attention.W_qkv.{kind}"].chunk(3)
            names = {
                "layernorm_before": ours[f"{block}.norm1.{kind}"],
                "layernorm_after": ours[f"{block}.norm2.{kind}"],
            }
            given |= {f"{layer}.{name}.{kind}": value for name, value in names.items()}
            parts = {"query": q, "key": k, "value": v, "q_proj": q, "k_proj": k, "v_proj": v}
            parts |= {"attention.output.dense": ours[f"{block}.attention.W_o.{kind}"]}
            parts |= {"attention.o_proj": ours[f"{block}.attention.W_o.{kind}"]}
            parts |= {"intermediate.dense": ours[f"{block}.feed_forward.fc1.{kind}"]}
            parts |= {"mlp.fc1": ours[f"{block}.feed_forward.fc1.{kind}"]}
            parts |= {"mlp.fc2": ours[f"{block}.feed_forward.fc2.{kind}"]}
            for name in (name for name in state if name.startswith(f"{layer}.") and name.endswith(f".{kind}")):
                short = name.removeprefix(f"{layer}.").removesuffix(f".{kind}")
                for part, value in parts.items():
                    if short == part or short.endswith("." + part):
                        given[name] = value
                if short == "output.dense":
                    given[name] = ours[f"{block}.feed_forward.fc2.{kind}"]
    assert given.keys() == state.keys()
    theirs.load_state_dict(given)
    images = torch.randn(3, 3, 8, 8)
    with torch.no_grad():
        close(model(images), theirs(images).logits)


def test_llama(modules):
    """Llama pairs a feature of the first half with one of the second; sorting the weights makes ours the same."""
    block = randomise(modules.modern.ModernBlock(24, 4, 2, 40))
    config = transformers.LlamaConfig(
        vocab_size=7,
        hidden_size=24,
        intermediate_size=40,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
        rms_norm_eps=1e-5,
        max_position_embeddings=32,
        attn_implementation="eager",
    )
    theirs = transformers.LlamaModel(config).double().eval()
    layer = theirs.layers[0]
    parts = {"norm1": layer.input_layernorm, "norm2": layer.post_attention_layernorm}
    parts |= {"attention.W_v": layer.self_attn.v_proj, "attention.W_o": layer.self_attn.o_proj}
    parts |= {"feed_forward.W_gate": layer.mlp.gate_proj, "feed_forward.W_up": layer.mlp.up_proj}
    copy_layer(block, parts | {"feed_forward.W_down": layer.mlp.down_proj})
    with torch.no_grad():
        for name, heads in (("q", 4), ("k", 2)):
            weight = block.attention.get_submodule(f"W_{name}").weight
            # (H * d_head, d_model) -> (H, d_head / 2, 2, d_model) -> (H, 2, d_head / 2, d_model): halves, not pairs
            halves = weight.view(heads, 3, 2, 24).transpose(1, 2).reshape(heads * 6, 24)
            layer.self_attn.get_submodule(f"{name}_proj").weight.copy_(halves)
        theirs.norm.weight.fill_(1.0)
        x = torch.randn(2, 5, 24)
        expected = theirs(inputs_embeds=x).last_hidden_state
        close(torch.nn.functional.rms_norm(block(x)[0], (24,), eps=1e-5), expected)
