"""The drawings of the Transformer's relatives: a GPT block, a ViT, rotary positions, grouped queries, the KV cache."""

import math

from course.figures.drawing import Drawing


def _stream(d: Drawing, y: float, parts: list[tuple[str, str, int]], x: float) -> float:
    """Draw a pre-norm sub-layer at `y`: its boxes, residual connection and sum; return the x coordinate of its end."""
    d.arrow((x, y), (x + 30, y))
    start = x + 12
    x += 30
    for text, kind, width in parts:
        d.box(x, y - 30, width, 60, text, kind)
        d.arrow((x + width, y), (x + width + 20, y))
        x += width + 20
    d.plus(x + 11, y)
    d.arrow((start, y), (start, y - 55), (x + 11, y - 55), (x + 11, y - 11))
    return x + 22


def gpt_block() -> Drawing:
    d = Drawing(
        1120,
        240,
        "A GPT block",
        "Tokens and positions are embedded and added. Then come N blocks. In each block the norm comes first: layer "
        "norm, self-attention with a causal mask, dropout, and the addition of the sub-layer's input; then layer norm, "
        "feed-forward network, dropout and addition again. After the last block come a layer norm and a linear map to "
        "scores of the next token. There is no encoder and no cross-attention.",
    )
    y = 125
    d.text(55, y - 11, "tokens", "strong")
    d.text(55, y + 11, "(B, T)", "small")
    d.arrow((90, y), (112, y))
    d.box(112, y - 35, 100, 70, "embedding\n+ position", "token")
    d.frame(222, 30, 660, 150, "one of N blocks")
    x = _stream(
        d, y, [("layer\nnorm", "norm", 56), ("causal self-\nattention", "attention", 105), ("drop-\nout", "", 56)], 212
    )
    x = _stream(d, y, [("layer\nnorm", "norm", 56), ("feed-\nforward", "network", 80), ("drop-\nout", "", 56)], x)
    d.arrow((x, y), (905, y))
    d.box(905, y - 30, 56, 60, "layer\nnorm", "norm")
    d.arrow((961, y), (980, y))
    d.box(980, y - 30, 60, 60, "linear", "linear")
    d.arrow((1040, y), (1062, y))
    d.text(1085, y - 11, "next", "strong")
    d.text(1085, y + 11, "token", "small")
    d.text(390, 210, "the stream itself is never normalised inside a block (pre-norm)", "small")
    return d


def vit() -> Drawing:
    d = Drawing(
        1060,
        300,
        "A vision Transformer",
        "A picture of 4 by 4 pixels is cut into four patches of 2 by 2. Each patch is one vector, which a linear map "
        "embeds. A class token is put in front of the four patches, and a learned position is added to each of the "
        "five vectors. An encoder without a mask lets all of them attend to each other. Its output at the class token "
        "goes through a linear map, which gives the class scores.",
    )
    for row in range(4):
        for column in range(4):
            gaps = 8 * (column // 2), 8 * (row // 2)  # between the patches
            d.cell(
                26 + 30 * column + gaps[0],
                86 + 30 * row + gaps[1],
                30,
                30,
                (0.1, 0.7, 0.4, 0.9)[(row * 3 + column) % 4],
            )
    d.text(90, 60, "picture (H, W)", "small")
    d.text(90, 250, "patches of\nP by P pixels", "small")
    d.arrow((160, 150), (195, 150))
    d.box(195, 120, 90, 60, "flatten,\nlinear", "linear")
    d.arrow((285, 150), (325, 150))
    names = ["class", "patch 0", "patch 1", "patch 2", "patch 3"]
    for place, name in enumerate(names):
        y = 60 + 38 * place
        d.box(325, y, 90, 32, name, "token" if place else "new")
        d.plus(445, y + 16)
        d.arrow((415, y + 16), (434, y + 16), head=False)
        d.arrow((456, y + 16), (560, y + 16))
    d.text(370, 35, "(B, 1 + N, d)", "small")
    d.text(445, 275, "+ learned\nposition", "small")
    d.box(560, 50, 150, 200, "encoder,\nno mask: all\nattend to all", "attention")
    d.arrow((710, 76), (770, 76))
    d.text(740, 55, "class", "small")
    d.box(770, 46, 80, 60, "linear", "linear")
    d.arrow((850, 76), (890, 76))
    d.text(960, 65, "scores", "strong")
    d.text(960, 87, "(B, classes)", "small")
    d.text(830, 190, "the other outputs are not used", "small")
    return d


def rope() -> Drawing:
    d = Drawing(
        1000,
        330,
        "Rotary positions (RoPE)",
        "Each pair of numbers in a query or key is an arrow in a plane. On the left the arrow of position 0, in the "
        "middle position 1, turned by the angle theta, then position 2, turned by two theta. On the right a query at "
        "position 3 and a key at position 1: the angle between them has grown by three theta minus one theta. So their "
        "product depends only on the distance, 2.",
    )

    def clock(x: float, y: float, turns: list[tuple[float, str]], radius: float = 70) -> None:
        d.arrow((x - radius - 10, y), (x + radius + 10, y), kind="thin", head=False)
        d.arrow((x, y - radius - 10), (x, y + radius + 10), kind="thin", head=False)
        for angle, name in turns:
            dx, dy = math.cos(angle), -math.sin(angle)
            d.arrow((x, y), (round(x + radius * dx, 1), round(y + radius * dy, 1)))
            d.text(round(x + (radius + 24) * dx, 1), round(y + (radius + 24) * dy, 1), name, "strong")

    start, step = math.radians(20), math.radians(28)
    for place in range(3):
        x = 120 + 210 * place
        clock(x, 160, [(start + place * step, "q")])
        d.text(x, 285, f"position {place}", "strong")
        turned = ("not turned", "turned by θ", "turned by 2θ")[place]
        d.text(x, 307, turned, "small")
    clock(840, 160, [(start + 3 * step, "q"), (math.radians(-35) + step, "k")], 80)
    d.text(840, 285, "query at 3, key at 1", "strong")
    d.text(840, 307, "the angle has grown by 3θ - θ = 2θ", "small")
    d.text(500, 25, "every pair of features has its own angle θ; nothing is added to the embeddings", "small")
    return d


def grouped_queries() -> Drawing:
    d = Drawing(
        1000,
        300,
        "Queries that share keys and values",
        "Three ways for four query heads. Multi-head: each of the four query heads has its own key and value head. "
        "Grouped: two query heads share one key and value head, so there are two of them. Multi-query: all four query "
        "heads share one. The fewer key and value heads, the smaller the KV cache.",
    )
    for number, (name, shared) in enumerate((("multi-head", 4), ("grouped", 2), ("multi-query", 1))):
        left = 60 + 320 * number
        d.text(left + 120, 30, name, "strong")
        for head in range(4):
            d.box(left + 62 * head, 70, 54, 44, f"q_{head}", "token")
        group = 4 // shared
        for head in range(shared):
            x = left + 62 * (group * head + (group - 1) / 2)
            d.box(x, 190, 54, 50, "k v", "attention")
            for query in range(group * head, group * (head + 1)):
                d.arrow((left + 62 * query + 27, 114), (x + 27, 190))
        d.text(left + 120, 270, f"cache: {2 * shared} vectors per token", "small")
    d.text(22, 92, "H", "small")
    d.text(22, 215, "H_{kv}", "small")
    return d


def kv_cache() -> Drawing:
    d = Drawing(
        1000,
        320,
        "One step with a KV cache",
        "The newest token, sneezes, goes through W_q, W_k and W_v. Its key and its value are appended to the cache, "
        "which already holds the keys and values of <s>, The and fox. Its query attends to all four keys, and the "
        "weighted mean of the four values is the output. Nothing is computed again for the earlier tokens.",
    )
    d.box(30, 130, 100, 44, "sneezes", "token")
    d.text(80, 195, "newest token", "small")
    for name, y in (("q", 70), ("k", 152), ("v", 234)):
        d.arrow((130, 152), (160, 152), (160, y), (190, y))
        d.box(190, y - 22, 64, 44, f"W_{name}", "linear")
    for name, y in (("k", 152), ("v", 234)):
        for place, word in enumerate(("<s>", "The", "fox")):
            d.box(320 + 85 * place, y - 22, 76, 44, f"{name}  {word}", "kept")
        d.box(320 + 85 * 3, y - 22, 96, 44, f"{name}  sneezes", "new")
        d.arrow((254, y), (286, y), (286, y + 37), (623, y + 37), (623, y + 22))
        d.arrow((671, y), (720, y))
    d.text(405, 110, "cache", "strong")
    d.arrow((254, 70), (790, 70), (790, 122))
    d.text(500, 52, "one query", "small")
    d.box(720, 122, 140, 142, "attention of\none query to\nfour keys", "attention")
    d.arrow((860, 193), (900, 193))
    d.text(945, 182, "answer", "strong")
    d.text(945, 204, "(B, 1, d)", "small")
    d.text(405, 300, "dashed: kept from earlier steps, not computed again", "small")
    return d


VARIANTS = {"gpt_block": gpt_block, "vit": vit, "rope": rope, "grouped_queries": grouped_queries, "kv_cache": kv_cache}
