"""The line of a training run: the time that is left, and plain text in a notebook."""

import re

import pytest

from course.training.group import Group
from course.training.progress import progress_bar
from tests.support.kernels import SOLUTION

FIELDS = {"epoch": 1, "loss": 0.5, "rate": 100.0, "figure": ""}


def test_the_time_that_is_left_follows_from_the_whole_run():
    seconds = 0.0
    with progress_bar(Group()) as progress:
        progress.get_time = lambda: seconds
        task = progress.add_task("", total=100, **FIELDS)
        for seconds, step in ((1, 10), (100, 20), (101, 30)):  # noqa: B007 - read by get_time
            progress.update(task, completed=step)
        assert progress.tasks[0].time_remaining == pytest.approx(350, abs=1)  # 20 steps in 100 seconds, 70 to come


TRAIN = """
from pathlib import Path
from course.training.group import Group
from course.training.progress import progress_bar
with progress_bar(Group()) as progress:
    task = progress.add_task("", total=100, epoch=1, loss=0.5, rate=100.0, figure="")
    for step in (10, 100):
        progress.update(task, completed=step)
"""


def test_in_a_notebook_it_is_a_line_of_text(kernel):
    """A widget would be a blank place wherever no kernel runs, such as an exported page."""
    kernel.fill(SOLUTION)
    output = kernel.run(TRAIN)
    assert output.error == []
    assert "Output()" not in output.text
    assert re.search(r"epoch 1 .* 100/100 loss 0\.500", output.text)
    # A run that is at its end already shows nothing, not even an empty line.
    counting = "import IPython.display\nshown = []\nIPython.display.display = lambda *_, **__: shown.append(1)\n"
    assert kernel.run(f"{counting}{TRAIN.replace('(10, 100)', '()')}\nshown").result == "[]"
