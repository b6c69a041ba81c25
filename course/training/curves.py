"""Plot the curves of a training run: the loss, and the quality at the steps where it was measured."""

from pathlib import Path

from course.training.loop import LOG, VALIDATION_LOG, read_log

FORMATS = (".svg", ".png")


def draw_curves(
    folder: Path, path: Path, figure: str = "BLEU, greedy (validation)", loss: str = "loss per token"
) -> None:
    """Plot the logs of a run.

    Args:
        folder: the folder of the logs (`--state`).
        path: the figure, an SVG or a PNG file.
        figure: the axis label of the metric that is drawn next to the loss.
        loss: the axis label of the loss.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    training, measured = read_log(folder / LOG), read_log(folder / VALIDATION_LOG)
    drawing = Figure(figsize=(9 if measured else 5.5, 3.6), layout="constrained")
    axes = drawing.subplots(1, 2 if measured else 1, squeeze=False)[0]
    axes[0].plot(*_columns(training, 0, 1), linewidth=1, label="training")
    axes[0].set_ylabel(loss)
    if measured:
        axes[0].plot(*_columns(measured, 0, 1), marker=".", label="validation, without label smoothing")
        axes[0].legend(frameon=False)
        axes[1].plot(*_columns(measured, 0, 2), marker=".", color="C1")
        axes[1].set_ylabel(figure)
    for axis in axes:
        axis.set_xlabel("step")
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    # The same logs produce the same file, byte for byte.
    with mpl.rc_context({"svg.hashsalt": "curves", "svg.fonttype": "path"}):
        drawing.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)


def _columns(rows: list[list[str]], *numbers: int) -> list[list[float]]:
    return [[float(row[number]) for row in rows] for number in numbers]
