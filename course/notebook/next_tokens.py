"""Draw a language model's next-token predictions, for a text or after filtering; sample text with sliders."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from course.config import EOS
from course.figure_with_alt_text import AltFigure

if TYPE_CHECKING:
    import torch

    from course.text import Tokenizer


def expected_next(model: Any, tokenizer: "Tokenizer", text: str, most: int = 3) -> list[tuple[str, float]]:
    """Return the most likely tokens after a text, with their probabilities.

    Args:
        model: a language model, tokens (B, T) -> logits (B, T, V).
    """
    best = _probabilities(model, tokenizer.encode(text)[:-1])[-1].topk(most)
    return list(zip(tokenizer.pieces(best.indices.tolist()), best.values.tolist(), strict=True))


def next_token_map(model: Any, tokenizer: "Tokenizer", text: str, most: int = 6) -> AltFigure:
    """Draw the most likely next tokens after each token of a text; the true next token is framed.

    The column on the right shows the probability of the true next token.

    Args:
        model: a language model, tokens (B, T) -> logits (B, T, V).
        most: number of tokens in each row, the most likely first.
    """
    from matplotlib.patches import Rectangle

    tokens = tokenizer.encode(text)[:-1]
    probabilities = _probabilities(model, tokens)  # (T, V)
    best = probabilities.topk(most, dim=-1)
    true = [probabilities[place, token].item() for place, token in enumerate(tokens[1:])]
    rows = [[*values, shown] for values, shown in zip(best.values.tolist(), [*true, float("nan")], strict=True)]
    T = len(tokens)
    figure = AltFigure(figsize=(1.6 + 1.05 * (most + 1), 0.9 + 0.3 * T), facecolor="white", layout="constrained")
    axes: Any = figure.subplots()
    image = axes.imshow(rows, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for place in range(T):
        for rank, token in enumerate(best.indices[place].tolist()):
            _write(axes, rank, place, tokenizer.pieces([token])[0], rows[place][rank])
            if place + 1 < T and token == tokens[place + 1]:
                frame = Rectangle((rank - 0.47, place - 0.44), 0.94, 0.88, fill=False, edgecolor="#ff7f0e", linewidth=2)
                axes.add_patch(frame)
        if place + 1 < T:
            _write(axes, most, place, f"{true[place]:.2f}", true[place])
    axes.set_xticks(range(most + 1), [*map(str, range(1, most + 1)), "true\nnext"], fontsize=8)
    axes.set_yticks(range(T), tokenizer.pieces(tokens), fontsize=8)
    axes.set(xlabel="likeliest next tokens", ylabel="after")
    figure.colorbar(image, ax=axes, shrink=min(1.0, 3.0 / figure.get_figheight()), label="probability")
    right = sum(best.indices[place, 0].item() == tokens[place + 1] for place in range(T - 1))
    figure.alt = (
        f"The {most} likeliest next tokens after each of {T} tokens. At {right} of {T - 1} positions the likeliest "
        f"is the true one. After the last token: {', '.join(tokenizer.pieces(best.indices[-1, :3].tolist()))}."
    )
    return figure


def distributions(
    panels: "Mapping[str, torch.Tensor]", pieces: Callable[[list[int]], list[str]], most: int = 20
) -> AltFigure:
    """Draw distributions over the same tokens as bars side by side; a cross marks a probability of 0.

    Args:
        panels: probabilities, (V,), by title. The tokens are sorted by probability in the first panel.
        pieces: returns the names of tokens, for instance `tokenizer.pieces`.
        most: number of tokens shown: the most likely ones in the first panel.
    """
    first = next(iter(panels.values()))
    chosen = first.topk(min(most, len(first))).indices
    names = pieces(chosen.tolist())
    size = (1.2 + 2.3 * len(panels), 0.9 + 0.2 * len(names))
    figure = AltFigure(figsize=size, facecolor="white", layout="constrained")
    grid = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    words = []
    for axes, (title, probabilities) in zip(grid, panels.items(), strict=True):
        heights = probabilities[chosen].tolist()
        axes.barh(range(len(names)), heights, color="C0")
        gone = [place for place, height in enumerate(heights) if height == 0]
        (crosses,) = axes.plot([0.0] * len(gone), gone, "x", color="0.5", markersize=4, clip_on=False)
        crosses.set_in_layout(False)  # without crosses, matplotlib would fail to lay them out
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("probability")
        kept = int((probabilities > 0).sum())
        words.append(f"{title}: {kept} tokens have a probability above 0, the largest {probabilities.max():.2f}.")
    grid[0].set_yticks(range(len(names)), names, fontsize=8)
    grid[0].invert_yaxis()
    figure.alt = f"Bars of {len(names)} tokens. " + " ".join(words)
    return figure


def in_lines(tokens: Iterable[int], tokenizer: "Tokenizer") -> str:
    """Decode tokens to text; a slash marks the end of a line."""
    lines: list[list[int]] = [[]]
    for token in tokens:
        lines[-1].append(int(token))
        if token == EOS:
            lines.append([])
    return " / ".join(tokenizer.decode(line) for line in lines)


def sampling_sliders(write: Callable[[float, int, float, int], str]) -> Any:
    """Return sliders for temperature, top-k, top-p and seed, and the text sampled with these settings.

    They need a running kernel. A page without a kernel shows the sliders, but they do nothing.

    Args:
        write: receives the four numbers and returns a string; called when a slider is released.
    """
    import html

    import ipywidgets

    def slider(kind: Any, name: str, **settings: Any) -> Any:
        return kind(description=name, continuous_update=False, **settings)

    sliders = [
        slider(ipywidgets.FloatSlider, "temperature", value=0.7, min=0.1, max=2.0, step=0.1),
        slider(ipywidgets.IntSlider, "top-k", value=50, min=1, max=200),
        slider(ipywidgets.FloatSlider, "top-p", value=0.9, min=0.05, max=1.0, step=0.05),
        slider(ipywidgets.IntSlider, "seed", value=1, min=1, max=20),
    ]
    shown = ipywidgets.HTML()

    def update(_: Any = None) -> None:
        text = write(*(control.value for control in sliders))
        shown.value = f"<p style='max-width: 45em'>{html.escape(text)}</p>"

    for control in sliders:
        control.observe(update, names="value")
    update()
    return ipywidgets.VBox([*sliders, shown])


def _probabilities(model: Any, tokens: Sequence[int]) -> "torch.Tensor":
    """Return the softmax of the logits at each position, (T, V)."""
    import torch

    with torch.no_grad():
        logits: torch.Tensor = model(torch.tensor([tokens]))[0]
    return logits.softmax(dim=-1)


def _write(axes: Any, x: int, y: int, text: str, value: float) -> None:
    """Write a word in a cell, in a readable colour."""
    axes.text(x, y, text, ha="center", va="center", fontsize=8, color="black" if value > 0.55 else "white")
