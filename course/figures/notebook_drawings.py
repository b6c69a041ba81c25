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
    d.text(505, 212, "non-zero = disallowed", "small")
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


def _dropout(d: Drawing, x: float, y: float) -> float:
    """Draw a dropout box from `x` on the line `y`; return its right end."""
    d.box(x, y - 22, 44, 44)
    d.text(x + 22, y, "drop-\nout", "small")
    return x + 44


def _sublayer(d: Drawing, x: float, y: float, text: str, kind: str) -> float:
    """Draw a sub-layer on the line `y`: box, dropout, residual connection, sum and norm; return its right end."""
    d.arrow((x, y), (x + 28, y))
    d.box(x + 28, y - 30, 88, 60, text, kind)
    d.arrow((x + 116, y), (x + 132, y))
    right = _dropout(d, x + 132, y)
    d.arrow((right, y), (right + 16, y))
    d.plus(right + 27, y)
    d.arrow((x + 12, y), (x + 12, y - 52), (right + 27, y - 52), (right + 27, y - 11))
    d.arrow((right + 38, y), (right + 54, y))
    d.box(right + 54, y - 30, 52, 60, "layer\nnorm", "norm")
    return right + 106


SUBLAYER = 282  # the width of a sub-layer
MIDDLE = 72  # from the left end of a sub-layer to the middle of its first box


def _embedding(d: Drawing, y: float, name: str, tokens: str) -> float:
    """Draw tokens, embedding, positional encoding and dropout on the line `y`; return their right end."""
    d.text(48, y - 11, name, "strong")
    d.text(48, y + 11, tokens, "small")
    d.arrow((90, y), (110, y))
    d.box(110, y - 30, 96, 60, "embedding", "token")
    d.arrow((206, y), (222, y))
    d.plus(233, y)
    d.text(233, y + 55, "positional\nencoding", "small")
    d.arrow((233, y + 36), (233, y + 11))
    d.arrow((244, y), (260, y))
    right = _dropout(d, 260, y)
    d.arrow((right, y), (right + 22, y), head=False)
    return right + 22


def encoder() -> Drawing:
    d = Drawing(
        1080,
        250,
        "The encoder",
        "Source tokens are embedded, the positional encoding is added, and dropout follows. Then come N layers. Each "
        "has two sub-layers, self-attention and a feed-forward network. After each sub-layer comes dropout, then "
        "a residual connection adds the input of the sub-layer, then comes a layer norm. The padding mask goes "
        "into self-attention. The shape stays (B, T_e, d_model).",
    )
    start = _embedding(d, 120, "source", "(B, T_e)")
    d.frame(start - 4, 30, 2 * SUBLAYER + 16, 150, "one of N layers")
    middle = _sublayer(d, start, 120, "self-\nattention", "attention")
    d.text(start + MIDDLE, 215, "padding mask (B, T_e)", "small")
    d.arrow((start + MIDDLE, 203), (start + MIDDLE, 150))
    end = _sublayer(d, middle, 120, "feed-\nforward", "network")
    d.arrow((end, 120), (end + 32, 120))
    d.text(end + 38, 109, "encoder output", "strong", "start")
    d.text(end + 38, 131, "(B, T_e, d_{model})", "small", "start")
    d.text(middle + 130, 215, "(B, T_e, d_{model}) from the embedding on", "small")
    return d


def encoder_decoder() -> Drawing:
    d = Drawing(
        1330,
        520,
        "The Transformer: encoder and decoder",
        "Above, the encoder: source tokens, embedding with positional encoding and dropout, N layers of self-attention "
        "and feed-forward network. Below, the decoder: target tokens, embedding with positional encoding and dropout, "
        "N layers of self-attention with a causal mask, cross-attention and feed-forward network, then a linear map to "
        "scores over the target vocabulary. After each sub-layer come dropout, a residual connection, and a layer "
        "norm. The encoder output provides the keys and values of every cross-attention.",
    )
    top, low = 110, 370
    start = _embedding(d, top, "source", "(B, T_e)")
    d.frame(start - 4, 20, 2 * SUBLAYER + 16, 150, "encoder: one of N layers")
    middle = _sublayer(d, start, top, "self-\nattention", "attention")
    d.text(start + MIDDLE, 200, "padding mask (B, T_e)", "small")
    d.arrow((start + MIDDLE, 188), (start + MIDDLE, top + 30))
    end = _sublayer(d, middle, top, "feed-\nforward", "network")
    start = _embedding(d, low, "target", "(B, T_d)")
    d.frame(start - 4, 278, 3 * SUBLAYER + 16, 150, "decoder: one of N layers")
    first = _sublayer(d, start, low, "self-\nattention", "attention")
    d.text(start + MIDDLE, 460, "causal mask (1, T_d, T_d)\nand padding mask (B, T_d)", "small")
    d.arrow((start + MIDDLE, 438), (start + MIDDLE, low + 30))
    second = _sublayer(d, first, low, "cross-\nattention", "attention")
    cross = first + MIDDLE
    d.arrow((end, top), (end + 40, top), (end + 40, 226), (cross, 226), (cross, low - 30))
    d.text(end + 50, 158, "encoder output (B, T_e, d_{model}):", "small", "start")
    d.text(end + 50, 180, "keys and values of every layer", "small", "start")
    d.text(cross + 20, 460, "source padding mask (B, T_e)", "small")
    d.arrow((cross, 448), (cross, low + 30))
    third = _sublayer(d, second, low, "feed-\nforward", "network")
    d.arrow((third, low), (third + 32, low))
    d.box(third + 32, low - 30, 62, 60, "linear", "linear")
    d.text(third + 63, 440, "scores", "strong")
    d.text(third + 56, 462, "(B, T_d, vocabulary)", "small")
    d.arrow((third + 63, low + 30), (third + 63, 428))
    return d


def teacher_forcing() -> Drawing:
    d = Drawing(
        860,
        400,
        "Teacher forcing: all positions at once",
        "The decoder reads the true target shifted by one place: <s> The fox sneezes. At every position it predicts "
        "the next token: The fox sneezes </s>. A position is connected to itself and the positions before it, never "
        "with later ones. All four predictions are made in one pass and compared with the true next tokens.",
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
