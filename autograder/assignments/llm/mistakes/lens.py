"""Known mistakes in stage 5, a look inside a model."""

from typing import Any

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
LENS = "return F.linear(model.norm(stream), model.embedding.weight)"
LAST = "last = stream[-1]"
SCALE = "scale = torch.rsqrt(last.pow(2).mean(dim=-1, keepdim=True) + model.norm.eps)"
DIRECTION = "direction = model.norm.weight * model.embedding.weight[target] * scale"
W_O = "W_o = block.attention.W_o.weight.unflatten(1, (-1, d_head))"
ADDED = 'added = torch.einsum("bthd,mhd->hbtm", heads[layer], W_o)'
HEADS = "of_heads.append((added * direction).sum(dim=-1))"
RESULT = "return (stream[0] * direction).sum(dim=-1), torch.stack(of_heads), (mlps * direction).sum(dim=-1)"
QUERIES = "queries = torch.arange(period, T, device=weights.device)"
SCORE = "return weights[..., queries, queries - period + 1].mean(dim=(1, 3))"
OUT = "out = [head for at, head in heads if at == layer]"
MERGED = "merged = args[0].unflatten(-1, (-1, d_head)).clone()"
SILENCE = "merged[:, :, out] = 0"
REMOVE = "hook.remove()"
HOOK = "hooks.append(block.attention.W_o.register_forward_pre_hook(silence))"

OUTPUT = "What does the model itself do with its last stream before it computes the logits?"
DIVISOR = "Use the docstring's divisor for every contribution. Only then do they add up to the logit."
WEIGHT = "The final norm does two things to a stream: it divides, and it multiplies."
COLUMNS = (
    "The input to this matrix is the heads, concatenated one after another. Which part of the matrix acts on one head?"
)
AFTER = "The position to look at comes after the last occurrence of the same token."
QUERY = "The docstring says which positions count: those where the text repeats itself."
BEFORE = "The docstring says where the output of a head is replaced: before the heads are mixed."
SAME = "Call the function twice on the same model, first with some heads and then with none."


def _lens(name: str, old: str, new: str, looks_like: str, read_again: str, **options: Any) -> Mistake:
    return Mistake(f"lens.{name}", "lens", old, new, looks_like, read_again, **options)


MISTAKES: tuple[Mistake, ...] = (
    _lens(
        "logits-without-norm",
        LENS,
        "return F.linear(stream, model.embedding.weight)",
        "You leave out the final norm.",
        OUTPUT,
    ),
    _lens(
        "logits-without-weight",
        LENS,
        "return F.linear(F.rms_norm(stream, stream.shape[-1:], eps=model.norm.eps), model.embedding.weight)",
        "You leave out the weight of the final norm.",
        WEIGHT,
    ),
    _lens(
        "logits-without-embedding",
        LENS,
        LENS.replace("(stream)", "(stream[1:])"),
        "You leave out the stream before the first layer.",
        "There is one more stream than there are layers.",
    ),
    _lens(
        "logits-of-the-last-only",
        LENS,
        LENS.replace("(stream)", "(stream[-1])"),
        "You return the logits of the last stream only.",
        "The docstring gives the shape of the result.",
    ),
    _lens(
        "logits-with-another-norm",
        LENS,
        LENS.replace("model.norm(", "model.blocks[-1].norm2("),
        "You use the norm of a layer.",
        OUTPUT,
    ),
    _lens(
        "logits-as-probabilities",
        LENS,
        LENS + ".softmax(dim=-1)",
        "You return probabilities.",
        "The docstring asks for logits.",
    ),
    _lens(
        "share-own-divisor",
        HEADS,
        "own = torch.rsqrt(added.pow(2).mean(dim=-1, keepdim=True) + model.norm.eps)\n        "
        "of_heads.append((added * direction / scale * own).sum(dim=-1))",
        "You normalise each head's contribution separately.",
        DIVISOR,
    ),
    _lens(
        "share-first-divisor",
        LAST,
        "last = stream[0]",
        "Your divisor is that of the first stream.",
        DIVISOR,
    ),
    _lens(
        "share-without-divisor",
        DIRECTION,
        DIRECTION.removesuffix(" * scale"),
        "You do not divide by the root mean square.",
        DIVISOR,
    ),
    _lens(
        "share-sum-of-squares",
        SCALE,
        SCALE.replace(".mean(", ".sum("),
        "Your divisor is the length of the stream instead of its root mean square.",
        DIVISOR,
    ),
    _lens(
        "share-without-root",
        SCALE,
        SCALE.replace("torch.rsqrt(", "1 / ("),
        "You divide by the mean square instead of its root.",
        DIVISOR,
    ),
    _lens(
        "share-without-weight",
        DIRECTION,
        DIRECTION.replace("model.norm.weight * ", ""),
        "You leave out the weight of the final norm.",
        WEIGHT,
    ),
    _lens(
        "share-rows-of-w-o",
        W_O,
        "W_o = block.attention.W_o.weight.unflatten(0, (-1, d_head)).permute(2, 0, 1)",
        "You split the output matrix along its rows.",
        COLUMNS,
    ),
    _lens(
        "share-interleaved-heads",
        W_O,
        "W_o = block.attention.W_o.weight.unflatten(1, (d_head, -1)).transpose(1, 2)",
        "For each head, you take every H-th column of the output matrix.",
        COLUMNS,
    ),
    _lens(
        "share-one-w-o",
        W_O,
        W_O.replace("block.", "model.blocks[0]."),
        "You use the output matrix of the first layer for all layers.",
        "Each layer has its own output matrix.",
    ),
    _lens(
        "share-heads-together",
        ADDED,
        ADDED + ".sum(dim=0, keepdim=True)",
        "You add up the heads of a layer.",
        "The docstring asks for the contribution of each head.",
    ),
    _lens(
        "share-head-axis-last",
        RESULT,
        RESULT.replace("torch.stack(of_heads)", "torch.stack(of_heads).permute(0, 2, 3, 1)"),
        "Your head axis is the last one.",
        "The docstring gives the shape of each result.",
    ),
    _lens(
        "share-stream-after-layer",
        RESULT,
        RESULT.replace("stream[0]", "stream[1]"),
        "Your contribution of the embedding contains the first layer.",
        "Which of the streams is the embedding alone?",
    ),
    _lens(
        "share-streams-for-networks",
        RESULT,
        RESULT.replace("mlps *", "stream[1:] *"),
        "You use the streams as the outputs of the networks.",
        "A network adds its output to the stream. It is not the stream.",
    ),
    _lens(
        "share-mean",
        RESULT,
        RESULT.replace("(stream[0] * direction).sum(", "(stream[0] * direction).mean("),
        "You compute the embedding's contribution as a mean over the features.",
        "A logit is a product of two vectors: a sum over the features.",
    ),
    _lens(
        "score-one-period-back",
        SCORE,
        SCORE.replace(" - period + 1", " - period"),
        "You look at the last occurrence of the token itself.",
        AFTER,
    ),
    _lens(
        "score-two-after",
        SCORE,
        SCORE.replace("+ 1]", "+ 2]"),
        "You look two positions after the last occurrence.",
        AFTER,
    ),
    _lens(
        "score-previous-token",
        SCORE,
        SCORE.replace("- period + 1", "- 1"),
        "You look at the previous token.",
        AFTER,
    ),
    _lens(
        "score-axes-exchanged",
        SCORE,
        SCORE.replace("queries, queries - period + 1", "queries - period + 1, queries"),
        "You swap queries and keys.",
        "The docstring says what a row is. A query looks back, not forward.",
    ),
    _lens(
        "score-early-queries",
        QUERIES,
        QUERIES.replace("(period,", "(period - 1,"),
        "You count a query that comes before the repeat.",
        QUERY,
    ),
    _lens(
        "score-one-query-less",
        QUERIES,
        QUERIES.replace("(period,", "(period + 1,"),
        "You leave out the first position of the repeat.",
        QUERY,
    ),
    _lens(
        "score-divided-by-all",
        SCORE,
        SCORE.replace("mean(dim=(1, 3))", "sum(dim=3).mean(dim=1) / T"),
        "You divide by the total number of positions.",
        QUERY,
    ),
    _lens(
        "score-sum",
        SCORE,
        SCORE.replace("mean(", "sum("),
        "Your score is a sum instead of a mean.",
        "The docstring says what the score is.",
    ),
    _lens(
        "score-maximum",
        SCORE,
        SCORE.replace("mean(", "amax("),
        "Your score is the largest weight instead of the mean.",
        "The docstring says what the score is.",
    ),
    _lens(
        "score-batch-kept",
        SCORE,
        SCORE.replace("(1, 3)", "3"),
        "Your result has an axis for the sequences.",
        "The mean is over all sequences, too.",
    ),
    _lens(
        "ablate-after-w-o",
        HOOK,
        "hooks.append(block.attention.W_o.register_forward_hook("
        "lambda module, args, y, out=out, d_head=d_head: silence(module, (y,), out, d_head)[0]))",
        "You silence a part of the attention output, after the heads are mixed.",
        BEFORE,
    ),
    _lens(
        "ablate-interleaved-heads",
        f"{MERGED}  # (B, T, H d_head) -> (B, T, H, d_head)\n            {SILENCE}",
        "merged = args[0].unflatten(-1, (d_head, -1)).clone()\n            merged[..., out] = 0",
        "You silence every H-th feature instead of the features of a head.",
        "The heads come one after another: the first features all belong to head 0.",
    ),
    _lens(
        "ablate-only-the-last",
        OUT,
        "out = [head for at, head in list(heads)[-1:] if at == layer]",
        "You leave out only the last of the heads.",
        "All pairs count.",
    ),
    _lens(
        "ablate-in-each-layer",
        OUT,
        "out = [head for _, head in heads]",
        "You leave out the head in every layer.",
        "The first number of a pair is the layer.",
    ),
    _lens(
        "ablate-pair-exchanged",
        OUT,
        "out = [head for head, at in heads if at == layer]",
        "You swap layer and head.",
        "The docstring says what comes first in a pair.",
    ),
    _lens(
        "ablate-the-others",
        OUT,
        "out = [head for head in range(block.attention.num_heads) if (layer, head) not in heads]",
        "You silence all other heads.",
        "The pairs name the heads that are left out.",
    ),
    _lens(
        "ablate-whole-layer",
        SILENCE,
        "merged[:] = 0 if out else merged",
        "You silence all heads of the layer.",
        "Only the heads in the pairs are left out.",
    ),
    _lens(
        "ablate-mean",
        SILENCE,
        "merged[:, :, out] = merged[:, :, out].mean(dim=1, keepdim=True)",
        "You replace the output of a head by its mean.",
        "The docstring says what replaces the output.",
    ),
    _lens(
        "ablate-hooks-left",
        REMOVE,
        "pass",
        "After the call, the model still contains your hook, or zeros in W_o.weight.",
        SAME,
    ),
    _lens(
        "ablate-weights-lost",
        HOOK,
        "for head in out:\n            block.attention.W_o.weight[:, head * d_head : (head + 1) * d_head] = 0",
        "You set weights of the model to 0 for good.",
        SAME,
        same_as=("lens.ablate-hooks-left",),
    ),
)
