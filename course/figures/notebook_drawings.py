"""The drawings of the assignment `transformer`: attention, encoder, decoder, teacher forcing, inference."""

from course.figures.drawing import Drawing

TARGET = ["<s>", "The", "fox", "sneezes", "</s>"]


def attention() -> Drawing:
    d = Drawing(
        1020,
        250,
        "Scaled dot-product attention",
        "From left to right: the queries Q are multiplied by the transposed keys K, which gives scores of shape T_q "
        "by T_k. The scores are divided by the square root of d_k, forbidden keys get a very low score, and a softmax "
        "over the keys turns each row into weights. The weights are multiplied by the values V: the output has the "
        "shape T_q by d_k.",
    )
    steps = [
        ("Q K^T", "", 150),
        ("divide\nby √d_k", "", 300),
        ("mask: very low\nwhere forbidden", "", 440),
        ("softmax\nover the keys", "norm", 620),
        ("weights · V", "attention", 790),
    ]
    widths = [100, 90, 130, 120, 110]
    d.text(40, 70, "Q", "strong")
    d.text(40, 92, "(T_q, d_k)", "small")
    d.text(40, 150, "K", "strong")
    d.text(40, 172, "(T_k, d_k)", "small")
    d.arrow((75, 80), (115, 80), (115, 103), (150, 103))
    d.arrow((75, 160), (115, 160), (115, 127), (150, 127))
    ends = []
    for (text, kind, x), width in zip(steps, widths, strict=True):
        d.box(x, 85, width, 60, text, kind)
        ends.append(x + width)
    for end, (_, _, x) in zip(ends, steps[1:], strict=False):
        d.arrow((end, 115), (x, 115))
    d.text(275, 62, "scores (T_q, T_k)", "small")
    d.text(505, 190, "masks", "strong")
    d.text(505, 212, "non-zero = forbidden", "small")
    d.arrow((505, 178), (505, 145))
    d.text(765, 62, "weights (T_q, T_k), rows sum to 1", "small")
    d.text(845, 190, "V", "strong")
    d.text(845, 212, "(T_k, d_k)", "small")
    d.arrow((845, 178), (845, 145))
    d.arrow((900, 115), (935, 115))
    d.text(975, 104, "output", "strong")
    d.text(975, 126, "(T_q, d_k)", "small")
    return d


def multihead() -> Drawing:
    d = Drawing(
        1035,
        330,
        "Multi-head attention",
        "Queries, keys and values, each of shape (B, T, d_model), go through the linear maps W_q, W_k and W_v and are "
        "split into H heads of d_k features. Every head computes scaled dot-product attention on its own. The outputs "
        "of the heads are concatenated and mixed by the linear map W_o.",
    )
    for row, (name, length) in enumerate((("Q", "T_q"), ("K", "T_k"), ("V", "T_k"))):
        y = 90 + 75 * row
        d.text(62, y - 10, name, "strong")
        d.text(62, y + 12, f"(B, {length}, d_{{model}})", "small")
        d.arrow((120, y), (160, y))
        d.box(160, y - 24, 76, 48, f"W_{name.lower()}", "linear")
        d.arrow((236, y), (280, y))
        for shift in (16, 8, 0):
            d.box(280 + shift, y - 20 - shift, 96, 44, "" if shift else name.lower())
        d.arrow((392, y - 6), (455, y - 6), (455, 160 + 10 * (row - 1)), (500, 160 + 10 * (row - 1)))
    d.text(198, 30, "project", "small")
    d.text(335, 30, "split into H heads", "small")
    d.text(335, 293, "(B, H, T, d_k)", "small")
    for shift in (24, 12, 0):
        d.box(500 + shift, 125 - shift, 130, 72, "" if shift else "scaled\ndot-product\nattention", "attention")
    d.text(577, 80, "H times, at once", "small")
    d.text(577, 225, "(B, H, T_q, d_k)", "small")
    d.arrow((654, 160), (700, 160))
    d.box(700, 125, 90, 70, "heads\nside by\nside")
    d.text(745, 225, "(B, T_q, d_{model})", "small")
    d.arrow((790, 160), (825, 160))
    d.box(825, 136, 60, 48, "W_o", "linear")
    d.arrow((885, 160), (915, 160))
    d.text(973, 149, "output", "strong")
    d.text(973, 171, "(B, T_q, d_{model})", "small")
    return d


SUBLAYER = 139  # the height of a sub-layer
BESIDE = 108  # from the line of the tokens to the middle of the boxes beside it
BOTTOM = 172  # the height of the embedding


def _embedding(d: Drawing, x: float, side: int, name: str, tokens: str) -> None:
    """Draw tokens, embedding, positional encoding and dropout, from bottom to top.

    Args:
        x: the x coordinate of the line along which the tokens move up.
        side: 1 if the boxes beside the line are on its right, -1 if they are on its left.
    """
    y = d.height - 50
    d.text(x, y + 12, name, "strong")
    d.text(x, y + 32, tokens, "small")
    d.arrow((x, y), (x, y - 14))
    d.box(x - 48, y - 46, 96, 32, "embedding", "token")
    d.arrow((x, y - 46), (x, y - 60))
    d.plus(x, y - 71)
    d.text(x + side * BESIDE, y - 71, "positional\nencoding", "small")
    d.arrow((x + side * (BESIDE - 42), y - 71), (x + side * 11, y - 71))
    d.arrow((x, y - 82), (x, y - 96))
    d.box(x - 38, y - 122, 76, 26, "dropout")


def _layer(d: Drawing, x: float, side: int, name: str, kinds: str) -> float:
    """Draw a layer's sub-layers, with dropout, residual connections and norms; return the y coordinate of the top.

    Args:
        x, side: as in `_embedding`.
        kinds: the boxes from bottom to top: "s" self-attention, "c" cross-attention, "f" feed-forward.
    """
    y = d.height - BOTTOM
    top = y - SUBLAYER * len(kinds)
    d.frame(x - 58 if side > 0 else x - 172, top - 8, 230, y - top + 3, "")
    d.text(x + side * BESIDE, top + 16, name, "small")
    for kind in kinds:
        text = {"s": "self-\nattention", "c": "cross-\nattention", "f": "feed-\nforward"}[kind]
        box = x + side * BESIDE
        d.arrow((x, y), (x, y - 77))
        d.arrow((x, y - 36), (box - side * 46, y - 36))
        d.box(box - 46, y - 58, 92, 44, text, "network" if kind == "f" else "attention")
        d.arrow((box, y - 58), (box, y - 75))
        d.box(box - 38, y - 101, 76, 26, "dropout")
        d.arrow((box - side * 38, y - 88), (x + side * 11, y - 88))
        d.plus(x, y - 88)
        d.arrow((x, y - 99), (x, y - 113))
        d.box(x - 46, y - 139, 92, 26, "layer norm", "norm")
        y -= SUBLAYER
    return y


def _mask(d: Drawing, x: float, side: int, number: int, text: str, below: float = 0) -> None:
    """Draw a mask beside a sub-layer; `number` counts the sub-layers from the bottom."""
    y = d.height - BOTTOM - SUBLAYER * number - 36 + below
    d.arrow((x + side * (BESIDE + 64), y), (x + side * (BESIDE + 46), y))
    d.text(x + side * (BESIDE + 68), y + 1.6 * below, text, "small", "start" if side > 0 else "end")


def encoder() -> Drawing:
    d = Drawing(
        430,
        515,
        "The encoder",
        "From bottom to top: source tokens are embedded, the positional encoding is added, and dropout follows. Then "
        "come N layers. Each has two sub-layers, self-attention and a feed-forward network. After each sub-layer comes "
        "dropout, then a residual connection adds the input of the sub-layer, then comes a layer norm. The padding "
        "mask goes into self-attention. The shape stays (B, T_e, d_model).",
    )
    _embedding(d, 80, 1, "source", "(B, T_e)")
    end = _layer(d, 80, 1, "one of N layers", "sf")
    _mask(d, 80, 1, 0, "padding mask\n(B, T_e)")
    d.arrow((80, end), (80, end - 24))
    d.text(80, end - 38, "encoder output", "strong")
    d.text(150, end - 38, "(B, T_e, d_{model}), from the embedding on", "small", "start")
    return d


def encoder_decoder() -> Drawing:
    d = Drawing(
        690,
        715,
        "The Transformer: encoder and decoder",
        "Both from bottom to top. On the left, the encoder: source tokens, embedding with positional encoding and "
        "dropout, N layers of self-attention and feed-forward network. On the right, the decoder: target tokens, "
        "embedding with positional encoding and dropout, N layers of self-attention with a causal mask, "
        "cross-attention and feed-forward network, then a linear map to scores over the target vocabulary. After each "
        "sub-layer come dropout, a residual connection, and a layer norm. The encoder output provides the keys and "
        "values of every cross-attention.",
    )
    left, right = 70, 610
    _embedding(d, left, 1, "source", "(B, T_e)")
    end = _layer(d, left, 1, "N encoder layers", "sf")
    _mask(d, left, 1, 0, "padding mask\n(B, T_e)")
    _embedding(d, right, -1, "target", "(B, T_d)")
    top = _layer(d, right, -1, "N decoder layers", "scf")
    _mask(d, right, -1, 0, "causal mask\n(1, T_d, T_d)\npadding mask\n(B, T_d)")
    _mask(d, right, -1, 1, "source\npadding mask\n(B, T_e)", 12)
    cross = d.height - BOTTOM - SUBLAYER - 46
    d.arrow((left, end), (left, end - 30), (340, end - 30), (340, cross), (right - BESIDE - 46, cross))
    d.text(left, end - 70, "encoder output (B, T_e, d_{model}):", "small", "start")
    d.text(left, end - 50, "keys and values of every layer", "small", "start")
    d.arrow((right, top), (right, top - 24))
    d.box(right - 46, top - 54, 92, 30, "linear", "linear")
    d.arrow((right, top - 54), (right, top - 70))
    d.text(right, top - 104, "scores", "strong")
    d.text(right, top - 84, "(B, T_d, vocabulary)", "small")
    return d


def teacher_forcing() -> Drawing:
    d = Drawing(
        860,
        400,
        "Teacher forcing: all positions at once",
        "The decoder reads the true target shifted by one place: <s> The fox sneezes. At every position it predicts "
        "the next token: The fox sneezes </s>. A position is connected to itself and the positions before it, never "
        "to later ones. All four predictions are made in one pass and compared with the true next tokens.",
    )
    d.text(105, 226, "encoder output", "strong")
    d.text(105, 248, "of: Der Fuchs niest.", "small")
    d.arrow((182, 226), (235, 226))
    d.frame(235, 105, 600, 185, "")
    d.text(117, 118, "decoder, one pass", "strong")
    d.text(117, 148, "lines: what the\ncausal mask allows", "small")
    places = [315 + 145 * position for position in range(4)]
    for position, x in enumerate(places):
        for earlier in places[: position + 1]:
            d.arrow((earlier, 262), (x, 160), kind="thin", head=False)
    for position, x in enumerate(places):
        d.box(x - 52, 320, 104, 38, TARGET[position], "token")
        d.arrow((x, 320), (x, 270), head=True)
        d.box(x - 8, 254, 16, 16)
        d.box(x - 8, 146, 16, 16, "", "attention")
        d.arrow((x, 146), (x, 72))
        d.box(x - 52, 34, 104, 38, TARGET[position + 1], "new")
    d.text(105, 339, "input: the true target", "strong")
    d.text(105, 361, "without its last token", "small")
    d.text(105, 43, "to be predicted:", "strong")
    d.text(105, 65, "the true next token", "small")
    return d


def inference() -> Drawing:
    d = Drawing(
        1000,
        430,
        "Inference over four time steps",
        "Step 1: from <s> the model predicts The. Step 2: from <s> The it predicts fox. Step 3: from <s> The fox it "
        "predicts sneezes. Step 4: from <s> The fox sneezes it predicts </s>, and the loop ends. At each step only the "
        "last position is computed; the outputs of the layers at earlier positions come from the cache. Each "
        "prediction is appended to the input of the next step.",
    )
    for step in range(4):
        y = 62 + 92 * step
        d.text(30, y, f"step {step + 1}", "strong", "start")
        for position in range(step + 1):
            x = 125 + 118 * position
            d.box(x, y - 20, 104, 40, TARGET[position], "token" if position == step else "kept")
        last = 125 + 118 * step + 104
        d.arrow((last, y), (640, y))
        d.box(640, y - 24, 130, 48, "decoder:\none step", "attention")
        d.arrow((770, y), (820, y))
        d.box(820, y - 20, 104, 40, TARGET[step + 1], "new")
        if step < 3:
            x = 125 + 118 * (step + 1) + 52
            d.arrow((872, y + 20), (872, y + 44), (x, y + 44), (x, y + 72))
    d.text(177, 24, "input so far", "small")
    d.text(705, 24, "reads the encoder output", "small")
    d.text(872, 24, "prediction", "small")
    d.text(872, 382, "the end: the loop stops", "small")
    d.box(125, 392, 26, 20, "", "kept")
    d.text(160, 402, "earlier position: from the cache", "small", "start")
    d.box(390, 392, 26, 20, "", "token")
    d.text(425, 402, "last position: computed", "small", "start")
    return d


ALL = {
    "attention": attention,
    "multihead": multihead,
    "encoder": encoder,
    "encoder_decoder": encoder_decoder,
    "teacher_forcing": teacher_forcing,
    "inference": inference,
}
