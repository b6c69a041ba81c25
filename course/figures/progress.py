"""The picture on a start page: the architecture of an assignment, with the finished stages highlighted."""

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


WIDTH = 440  # narrow enough for the text to be 11 pixels high beside an open file browser


def _drawing(height: int, title: str, words: str) -> Drawing:
    """An empty drawing with the legend at the top."""
    d = Drawing(WIDTH, height, title, words)
    d.box(20, 14, 26, 20, "", "new")
    d.text(56, 24, "your code passes its tests", anchor="start")
    d.box(20, 42, 26, 20, "", "kept")
    d.text(56, 52, "not finished yet", anchor="start")
    return d


def _chain(words: str, titles: Mapping[str, str], done: Collection[str]) -> Drawing:
    rows = -(-len(titles) // 2)
    d = _drawing(90 + 104 * rows, "The stages of this assignment", f"The stages one after the other. {words}")
    for number, (name, title) in enumerate(titles.items()):
        row, column = divmod(number, 2)
        x, y = 15 + 215 * column, 80 + 104 * row
        d.box(x, y, 195, 76, "", _kind(name, done))
        d.text(x + 97, y + 38, "\n".join([f"stage {number + 1}", *_two_lines(title)]))
        if number + 1 < len(titles):
            d.arrow((x + 195, y + 38), (x + 214, y + 38)) if column == 0 else d.arrow(
                (x + 97, y + 76), (x + 97, y + 90), (112, y + 90), (112, y + 103)
            )
    return d


def _two_lines(title: str) -> Sequence[str]:
    words = title.split()
    best = min(range(1, len(words) + 1), key=lambda cut: max(len(" ".join(words[:cut])), len(" ".join(words[cut:]))))
    return [line for line in (" ".join(words[:best]), " ".join(words[best:])) if line]


def _transformer(words: str, done: Collection[str]) -> Drawing:
    d = _drawing(
        690,
        "Your Transformer",
        "From bottom to top. On the left, the encoder: German text, positions, then layers of attention and "
        "feed-forward network. On the right, the decoder: English text, positions, then layers of masked "
        "self-attention, cross-attention to the encoder's output, and feed-forward network; then the next token, "
        f"which the loop appends to the English text. {words}",
    )
    d.box(20, 70, 26, 20, "", "network")
    d.text(56, 80, "text in and out", anchor="start")

    def column(x: float, text: str, layer: str, title: str, parts: Sequence[tuple[str, str]]) -> None:
        """Draw the encoder or the decoder as a column, with the name of its input at the bottom."""
        d.box(x + 30, 590, 110, 36, text, "network")
        d.arrow((x + 85, 590), (x + 85, 568))
        d.box(x + 12, 516, 146, 52, "positions\n(stage 2)", _kind("pe", done))
        top = 458 - 82 * len(parts)
        d.box(x, top, 170, 492 - top, "", _kind(layer, done))
        d.text(x + 14, top + 26, title, anchor="start")
        for number, (part, stage) in enumerate(parts):
            y = 426 - 82 * number
            d.arrow((x + 85, 516 if number == 0 else y + 82), (x + 85, y + 52))
            d.box(x + 12, y, 146, 52, part, _kind(stage or layer, done))

    attention = "attention\n(stage 1)"
    network = ("feed-forward\nnetwork", "")
    column(20, "German", "encoder", "encoder\n(stage 3)", [(f"self-{attention}", "mha"), network])
    parts = [(f"self-{attention}", "mha"), (f"cross-{attention}", "mha"), network]
    column(235, "English", "decoder", "decoder\n(stage 4)", parts)
    d.arrow((178, 370), (247, 370))
    d.arrow((360, 262), (360, 172))
    d.box(250, 118, 140, 54, "next token", "network")
    d.arrow((390, 145), (422, 145), (422, 658), (395, 658))
    d.box(245, 640, 150, 38, "loop (stage 5)", _kind("inference", done))
    d.arrow((320, 640), (320, 626))
    return d
