"""The picture of a start page: the architecture of an assignment, in which finished stages light up."""

from collections.abc import Collection, Mapping, Sequence

from course.figures.drawing import Drawing


def stage_picture(assignment: str, titles: Mapping[str, str], done: Collection[str]) -> Drawing:
    """Draw an assignment's architecture, or just its stages in order if it has no drawing of its own.

    Args:
        assignment: its name.
        titles: the titles of its stages, by name, in teaching order.
        done: the names of the finished stages.
    """
    finished = ", ".join(title for name, title in titles.items() if name in done) or "none yet"
    words = f"Finished stages, which are lit up: {finished}."
    return _transformer(words, done) if assignment == "transformer" else _chain(words, titles, done)


def _kind(stage: str, done: Collection[str]) -> str:
    return "new" if stage in done else "kept"


def _chain(words: str, titles: Mapping[str, str], done: Collection[str]) -> Drawing:
    rows = -(-len(titles) // 4)
    d = Drawing(1010, 40 + 100 * rows, "The stages of this assignment", f"The stages one after the other. {words}")
    for number, (name, title) in enumerate(titles.items()):
        row, column = divmod(number, 4)
        x, y = 20 + 250 * column, 25 + 100 * row
        d.box(x, y, 220, 66, "", _kind(name, done))
        d.text(x + 110, y + 33, "\n".join([f"stage {number + 1}", *_two_lines(title)]), "small")
        if number + 1 < len(titles):
            d.arrow((x + 220, y + 33), (x + 249, y + 33)) if column < 3 else d.arrow(
                (x + 110, y + 66), (x + 110, y + 83), (130, y + 83), (130, y + 99)
            )
    return d


def _two_lines(title: str) -> Sequence[str]:
    words = title.split()
    best = min(range(1, len(words) + 1), key=lambda cut: max(len(" ".join(words[:cut])), len(" ".join(words[cut:]))))
    return [line for line in (" ".join(words[:best]), " ".join(words[best:])) if line]


def _transformer(words: str, done: Collection[str]) -> Drawing:
    d = Drawing(
        1040,
        400,
        "Your Transformer",
        "Above, the encoder: German tokens, positions, then layers of attention and feed-forward network. Below, the "
        "decoder: English tokens, positions, then layers of masked self-attention, cross-attention to the encoder's "
        f"output, and feed-forward network; scores of the next token, which the loop appends to the input. {words}",
    )
    d.text(20, 24, "green: your stage passes its tests; dashed: still to be written; blue: tokens", "small", "start")

    def line(y: float, name: str, parts: Sequence[tuple[str, str]], layer: str, title: str) -> float:
        d.box(20, y - 22, 90, 44, name, "token")
        d.arrow((110, y), (140, y))
        d.box(140, y - 28, 100, 56, "positions\n(stage 2)", _kind("pe", done))
        d.box(270, y - 62, 62 + 158 * len(parts), 124, "", _kind(layer, done))
        d.text(282, y - 46, title, "small", "start")
        d.arrow((240, y), (300, y))
        for number, (text, stage) in enumerate(parts):
            x = 300 + 158 * number
            d.box(x, y - 28, 132, 56, text, _kind(stage or layer, done))
            if number + 1 < len(parts):
                d.arrow((x + 132, y), (x + 158, y))
        return 300 + 158 * len(parts) - 26

    attention = "attention\n(stage 1)"
    end = line(115, "German", [(f"self-{attention}", "mha"), ("feed-\nforward", "")], "encoder", "encoder (stage 3)")
    low = 280
    last = line(
        low,
        "English",
        [(f"self-{attention}", "mha"), (f"cross-{attention}", "mha"), ("feed-\nforward", "")],
        "decoder",
        "decoder (stage 4)",
    )
    d.arrow((end, 115), (690, 115), (690, 195), (524, 195), (524, low - 28))
    d.arrow((last, low), (840, low))
    d.box(840, low - 28, 150, 56, "next token", "token")
    d.arrow((915, low + 28), (915, 370), (65, 370), (65, low + 22))
    d.box(430, 352, 190, 38, "the loop (stage 5)", _kind("inference", done))
    return d
