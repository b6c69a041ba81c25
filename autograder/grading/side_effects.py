"""Check that a call neither keeps state for the next call nor cuts off the gradients.

Neither check needs stored values. The sentences of a batch are independent, so reversing the batch must reverse the
results, unless the first call has left some state behind. A gradient is a slope: two more calls show how much the
results change with inputs and weights.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Protocol

import numpy as np

from autograder.diagnosis.compare_tensors import LIMITS, compare_own

STEP = 1e-4  # how far inputs and weights are moved
SHARE = 0.02  # allowed error, relative to the gradient's length; correct code stays below 0.002, even in float32
OTHER = "a second call, with the same batch in reverse order, gives different results"
KEPT_WHY = "Is something kept from call to call: on self, in a variable of the module, in a default argument?"
CUT_WHY = "does the computation leave the graph (.detach(), ...)?"


class Case(Protocol):
    """The part of a test case's interface that these checks need."""

    student: Any
    checks: int

    def wrong(self, message: str, *details: str, actual: np.ndarray | None = None) -> NoReturn: ...


def _readable(check: Callable[..., None]) -> Callable[..., None]:
    """Make a check fail, instead of raising an error, if the results of two calls do not have the same form."""

    @functools.wraps(check)
    def run(case: Case, *args: Any, **kwargs: Any) -> None:
        try:
            check(case, *args, **kwargs)
        except (ValueError, TypeError, IndexError):
            case.wrong("the results of a first and a second call differ in form")

    return run


@_readable
def check_forgets(
    case: Case, call: Callable[..., Any], arguments: Mapping[str, Any], where: np.ndarray | None = None
) -> None:
    """Fail unless a second call, with the batch in reverse order, returns the first results in reverse order.

    Args:
        where: the elements of the first result that count.
    """
    first = _tensors(call(**arguments))
    if any(
        np.isnan(result).any(where=True if where is None or number else where) for number, result in enumerate(first)
    ):
        case.wrong("the output: contains NaN")
    rows = len(first[0]) if first and first[0].ndim else 1
    second = _tensors(call(**{name: _reversed(value, rows) for name, value in arguments.items()}))
    case.checks += 1
    if len(first) != len(second):
        case.wrong("a second call returns more or fewer tensors than the first one", KEPT_WHY)
    for number, (before, after) in enumerate(zip(first, second, strict=True)):
        counted = None if where is None or number else where[::-1]
        axes = " ".join(f"axis_{axis}" for axis in range(before.ndim))
        right = before[::-1] if before.ndim else before
        limit = 10 * LIMITS[case.student.dtype] * max(1.0, float(np.abs(np.nan_to_num(before)).max(initial=0)))
        if before.dtype.kind != "f":
            if not np.array_equal(after, right):
                case.wrong(OTHER, KEPT_WHY)
            continue
        # -inf, for masked scores, is an ordinary value.
        infinite = np.isinf(right) & (after == right) if np.shape(after) == right.shape else False
        after, right = (np.where(infinite, 0, result) for result in (after, right))
        if wrong := compare_own("the second result", axes, after, right, limit, counted):
            case.wrong(OTHER, KEPT_WHY, wrong.message, *wrong.details, actual=after)


@_readable
def check_gradients(
    case: Case,
    model: Any,
    arguments: Mapping[str, Any],
    method: str | None = None,
    weights: Mapping[str, np.ndarray] | None = None,
    where: np.ndarray | None = None,
) -> None:
    """Fail unless the gradients of all inputs and weights match the numerical slopes of the result.

    Args:
        weights: the weights that the model was loaded with. Without them, only inputs are varied.
        where: the elements of the first result that count.
    """
    call = getattr(model, method) if method else model
    rng = np.random.Generator(np.random.PCG64(1))
    # Ones would not work: the sum over a layer norm's output does not depend on its input.
    outputs = [rng.standard_normal(output.shape) for output in _tensors(call(**arguments))]
    if where is not None:
        outputs[0] = outputs[0] * where
    computed = model.gradients(outputs, **({"method": method} if method else {}), **arguments)
    inputs = [name for name, value in arguments.items() if getattr(value, "dtype", None) == np.float64]
    gradients: dict[str, Any] = dict(zip(inputs, computed.inputs, strict=False))
    learned = {name: value for name, value in (weights or {}).items() if name in computed.parameters}
    gradients |= {name: computed.parameters[name] for name in learned}
    moved = {name: arguments[name] for name in inputs} | learned
    steps = {name: rng.standard_normal(value.shape) for name, value in moved.items()}
    weights_moved = False

    def total(names: Mapping[str, Any], by: float) -> float:
        nonlocal weights_moved
        changed = {name: value + by * steps[name] if name in names else value for name, value in moved.items()}
        moves_weights = any(name in names for name in learned)
        if moves_weights or weights_moved:
            model.load_state({**(weights or {}), **{name: changed[name] for name in learned}})
        weights_moved = moves_weights
        results = _tensors(call(**{**arguments, **{name: changed[name] for name in inputs}}))
        products = (np.where(output == 0, 0, result) * output for result, output in zip(results, outputs, strict=True))
        return float(sum(product.sum() for product in products))

    def is_wrong(names: Mapping[str, Any]) -> bool:
        slope = (total(names, STEP) - total(names, -STEP)) / (2 * STEP)
        known = [(gradients[name], steps[name]) for name in names if isinstance(gradients[name], np.ndarray)]
        expected = sum(float((gradient * step).sum()) for gradient, step in known)
        length = float(np.sqrt(sum((gradient**2).sum() for gradient, _ in known)))
        return not abs(slope - expected) <= SHARE * max(length, abs(slope), 0.1)

    case.checks += 1
    try:
        # Separately: beside all the weights, a missing gradient of an input would hardly show.
        groups = [dict.fromkeys(names) for names in (inputs, learned) if names]
        wrong = next((group for group in groups if is_wrong(group)), None) if case.student.dtype == "float64" else None
        if wrong is None:
            return
        name = next((name for name in wrong if is_wrong({name: None})), None)
    finally:
        if weights and weights_moved:
            model.load_state(weights)
    call(**arguments)  # this call is traced to find the line
    gradient = gradients.get(name or "")
    if name is None:
        case.wrong(f"the gradients of {' and '.join(wrong)} together are not correct: {CUT_WHY}")
    if not isinstance(gradient, np.ndarray) or not gradient.any():
        case.wrong(f"no gradient reaches {name}: {CUT_WHY}")
    if not np.isfinite(gradient).all():
        case.wrong(f"the gradient of {name} is not a finite number: is 0 divided by 0 somewhere?")
    case.wrong(f"the gradient of {name} is not correct: {CUT_WHY}")


def _tensors(value: Any) -> list[np.ndarray]:
    """Return all tensors in a result, including those in nested lists."""
    if isinstance(value, list):
        return [tensor for part in value for tensor in _tensors(part)]
    return [value] if isinstance(value, np.ndarray) else []


def _reversed(value: Any, rows: int) -> Any:
    """Return an argument with its batch reversed; arguments without one row per sentence stay unchanged."""
    if isinstance(value, list):
        return [_reversed(part, rows) for part in value]
    return value[::-1].copy() if isinstance(value, np.ndarray) and value.ndim and len(value) == rows else value
