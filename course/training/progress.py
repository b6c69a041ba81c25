"""The progress of a training run: a bar in a terminal, a line of text in a notebook."""

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from course.training.group import Group


@contextmanager
def progress_bar(group: Group) -> Iterator[Any]:
    """Show a bar with the speed and the remaining time, but only in the first process of a group.

    The remaining time is computed from the mean speed of the whole run: the speed of the last steps varies on a busy
    machine.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("epoch {task.fields[epoch]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.3f}  {task.fields[rate]:,.0f} tokens/s {task.fields[figure]}"),
        TimeRemainingColumn(),
    )
    console = Console()
    in_notebook = console.is_jupyter
    with Progress(
        *columns, console=console, speed_estimate_period=math.inf, disable=not group.leads or in_notebook
    ) as progress:
        if in_notebook and group.leads:
            _write_lines(progress)
        yield progress


def _write_lines(progress: Any) -> None:
    """Show each update as text that replaces the previous one. A widget would be blank without a kernel."""
    from IPython.display import display
    from rich.console import Console

    update = progress.update
    handles: list[Any] = []

    def update_and_write(*args: Any, **fields: Any) -> None:
        update(*args, **fields)
        page = Console(file=io.StringIO(), width=110, force_jupyter=False, force_terminal=False)
        page.print(progress.get_renderable())
        line = {"text/plain": page.file.getvalue().rstrip()}  # type: ignore[attr-defined]
        if handles:
            handles[0].update(line, raw=True)
        else:  # created only now, so that a finished run shows no empty line
            handles.append(display(line, raw=True, display_id=True))  # type: ignore[no-untyped-call]

    progress.update = update_and_write
