"""What other libraries compute: torch's AdamW and attention and, where it is installed, Hugging Face's tokenizers."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from course.location import course_folder
from course.modules import load_modules

llm = load_modules(course_folder() / "solutions" / "llm", ("bpe", "flash", "optim"))


def test_adamw_takes_the_steps_of_torch():
    generator = torch.Generator().manual_seed(0)
    ours, theirs = (torch.zeros(3, 4, requires_grad=True) for _ in range(2))
    options: dict[str, Any] = {"lr": 0.01, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.3}
    optimizers = llm.optim.AdamW([ours], **options), torch.optim.AdamW([theirs], **options)
    for _ in range(30):
        ours.grad = torch.randn(3, 4, generator=generator)
        theirs.grad = ours.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("window", [None, 1, 5])
def test_tiles_attend_as_torch_does(window):
    q, k, v = torch.randn(3, 2, 4, 23, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    back = torch.arange(23)[:, None] - torch.arange(23)  # (T_q, T_k): how many positions before the query a key is
    seen = (back >= 0) & (back < (window or 23))
    right = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
    out, _ = llm.flash.tiled_attention(q, k, v, 5, 4, causal=True, window=window)
    torch.testing.assert_close(out, right)


def test_the_tokens_are_those_of_tokenizers():
    """The same merges, on words that both libraries cut alike."""
    tokenizers = pytest.importorskip("tokenizers")
    text = "She sells sea shells on the sea shore; the shells that she sells are sea shells, she said. " * 3
    merges = llm.bpe.train(text, 60)
    mine = llm.bpe.Tokenizer(merges)
    letters = tokenizers.pre_tokenizers.ByteLevel.alphabet()  # one printable character for each byte
    byte_level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    printable = {piece: byte_level.pre_tokenize_str(piece.decode())[0][0] for piece in mine.pieces if piece.isascii()}
    assert set("".join(printable.values())) <= set(letters)
    vocabulary = {name: mine.pieces.index(piece) for piece, name in printable.items()}
    pairs = [tuple(printable[mine.pieces[one]] for one in pair) for pair in merges]
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=pairs))
    theirs.pre_tokenizer = byte_level
    for sentence in (text, "she shore, the sea!  shells said sells", "a seashell"):
        assert theirs.encode(sentence).ids == mine.encode(sentence)
