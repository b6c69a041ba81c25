"""The base class of the graded tests: ordinary unittest test cases with the student's modules at hand."""

import unittest
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from autograder.compare import LIMITS, Wrong, compare, deviation, wrong_form
from autograder.sandbox.student import Student
from course.config import CHECKPOINTS, CONFIG, WEIGHTS, ModelConfig

EXPECTED = Path(__file__).with_name("expected")


class Incorrect(AssertionError):
    """The student's code gave a result, and it is wrong.

    `actual` is the wrong tensor, of which the elements `where` count; both serve to name the mistake. `expected` and
    the names of its axes are there if the two can be compared element by element.
    """

    def __init__(
        self,
        wrong: Wrong,
        call: str,
        actual: Any = None,
        where: np.ndarray | None = None,
        expected: np.ndarray | None = None,
        axes: str = "",
    ) -> None:
        super().__init__(wrong.message)
        self.wrong, self.call, self.actual, self.where = wrong, call, actual, where
        self.expected, self.axes = expected, axes


@cache
def read_tensors(path: Path) -> dict[str, np.ndarray]:
    """All tensors of a safetensors file."""
    from safetensors.numpy import load_file

    return load_file(path)


class StageTestCase(unittest.TestCase):
    """A graded test. The first line of its docstring is what the student reads."""

    student: Student
    reference: Student | None = None
    seed = 0
    hidden = False
    answers: Any = None  # of the reference, for hidden tests
    measured: list[tuple[float, float]] | None = None  # (deviation, limit) of the checks, if somebody wants them
    part: int | None = None  # only so many of the stored sentences, for a look that gives no points
    checks = 0  # made so far; the number of the one that fails is part of its signature
    assignment = "transformer"
    checkpoint = "de-en"

    def stored(self, prefix: str) -> dict[str, np.ndarray]:
        """The stored tensors whose names start with `prefix` and a slash, without that part of the name."""
        stage = type(self).__module__.rpartition(".")[2].removeprefix("test_")
        tensors = read_tensors(EXPECTED / self.assignment / f"{stage}.safetensors")
        start = prefix + "/"
        return {name.removeprefix(start): value for name, value in tensors.items() if name.startswith(start)}

    def trained_config(self) -> ModelConfig:
        """The configuration of the checkpoint."""
        return ModelConfig.load(CHECKPOINTS / self.checkpoint / CONFIG)

    def trained_transformer(self, student: Student | None = None) -> Any:
        """The student's Transformer with the weights of the checkpoint, made once for all tests of a stage."""
        student = student or self.student
        if self.checkpoint not in student.kept:
            model = student.transformer.Transformer(**vars(self.trained_config()))
            read_tensors(CHECKPOINTS / self.checkpoint / WEIGHTS)  # raises what is wrong with the file
            model.load_state({}, stored=self.checkpoint)
            student.kept[self.checkpoint] = model
        return student.kept[self.checkpoint]

    def assert_tensor(
        self,
        actual: Any,
        expected: np.ndarray,
        name: str,
        axes: str,
        where: np.ndarray | None = None,
        limit: float = 0.0,
        groups: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        """Fail unless `actual` is the expected tensor; see `autograder.compare`."""
        self.checks += 1
        limit = max(limit, LIMITS[self.student.dtype])
        if self.measured is not None and isinstance(actual, np.ndarray) and actual.shape == expected.shape:
            self.measured.append((deviation(actual, expected, where), limit))
        if wrong := compare(name, axes, actual, expected, limit, where, groups):
            fits = isinstance(actual, np.ndarray) and actual.shape == expected.shape
            if not fits:
                raise Incorrect(wrong, self.student.last_call, actual)
            raise Incorrect(wrong, self.student.last_call, actual, where, expected, axes)

    def part_of_scores(
        self, model: Any, shape: tuple[int, ...], name: str, axes: str, columns: np.ndarray | None = None
    ) -> Callable[..., np.ndarray]:
        """A function like `model` that gives some columns of its scores, or the best of each row, (..., vocabulary).

        It fails unless the scores are finite numbers of this shape. The worker chooses, so that not all is sent.
        """

        def call(method: str | None = None, **inputs: Any) -> np.ndarray:
            taking = model.taking(shape, None if columns is None else columns.tolist())
            result = (getattr(taking, method) if method else taking)(**inputs)
            if not isinstance(result, list) or result[:1] != ["taken"] or not isinstance(result[-1], np.ndarray):
                self.assert_form(result, shape, name, axes)
                self.wrong(f"{name} cannot be read")
            self.checks += 1
            return result[-1]

        return call

    def assert_form(self, actual: Any, shape: tuple[int, ...], name: str, axes: str) -> None:
        """Fail unless `actual` is a tensor of finite floating-point numbers of this shape."""
        self.checks += 1
        if wrong := wrong_form(name, axes, actual, shape, floating=True):
            raise Incorrect(wrong, self.student.last_call, actual)

    def wrong(self, message: str, *details: str, actual: np.ndarray | None = None) -> NoReturn:
        """Fail with a message in the words of the student; `actual` are the wrong numbers, if there are some."""
        raise Incorrect(Wrong(message, details), self.student.last_call, actual)

    def items(self, value: Any, number: int, name: str) -> Any:
        """Fail unless a call returned `number` values; they are given back."""
        self.checks += 1
        if not isinstance(value, list) or len(value) != number:
            got = f"a list or tuple of {len(value)}" if isinstance(value, list) else _kind(value)
            self.wrong(f"{name} returned the wrong number of values", f"expected  {number} values", f"got       {got}")
        return value


def _kind(value: Any) -> str:
    return "None" if value is None else "one tensor" if isinstance(value, np.ndarray) else str(value)


def inside(lengths: np.ndarray) -> np.ndarray:
    """True for the positions inside each sentence: (B,) -> (B, T) with T = the largest length."""
    return np.asarray(np.arange(lengths.max())[None, :] < lengths[:, None])
