"""The sizes and settings of the visible tests."""

from typing import Any

# d_head = 6 is not a power of 4, since such a scale would be exact. HEADS is not 3, since W_qkv has 3 parts.
D_MODEL, HEADS, D_FF = 30, 5, 44
LENGTHS = (9, 5, 2)
MODEL: dict[str, Any] = {
    "vocab_size": 41,
    "d_model": D_MODEL,
    "num_heads": HEADS,
    "num_layers": 2,
    "d_ff": D_FF,
    "max_len": 12,
    "dropout": 0.1,
    "padding_idx": 1,
}
VIT: dict[str, Any] = {
    "img_size": (6, 9),
    "patch_size": 3,
    "channels": 2,
    "num_classes": 5,
    "d_model": D_MODEL,
    "num_heads": HEADS,
    "num_layers": 2,
    "d_ff": D_FF,
    "dropout": 0.1,
}
# Added to all features of all keys. The first makes scores up to 90 or -90, which reveals a fill value that is not far
# lower. With the second, the exponentials of some scores overflow, and those of others are 0.
SHIFTS = (15.0, 400.0)
SHIFT_LIMIT = 1e-3  # float32 stores such scores with fewer decimal places
RATES, MAX_NORM = [0.05, 0.2, 0.1], 0.8
FILTERS: dict[str, dict[str, Any]] = {
    "temperature": {"temperature": 0.7},
    "top_k": {"top_k": 4},
    "top_p": {"top_p": 0.6},
    "all": {"temperature": 1.6, "top_k": 6, "top_p": 0.8},
}


SMOOTHINGS = {"none": 0.0, "usual": 0.1, "much": 0.4}
PEAK, WARMUP, TOTAL, FLOOR = 0.8, 10, 200, 0.05
CLIPS = {"short": 5.0, "long": 1.5}  # the norm is 4.3, its square 18.6


def with_shifted_keys(name: str, weights: Any, shift: float) -> Any:
    """Attention parameters that add one vector to all keys, so that all scores of a query change by the same number.

    Args:
        name: the parameter: "W_k.bias" for one head, or "W_qkv.bias" for all heads at once, with the keys second.
        weights: an array; it is not changed.
    """
    if name.endswith("W_k.bias"):
        return weights + shift
    if not name.endswith("W_qkv.bias"):
        return weights
    third = len(weights) // 3
    shifted = weights.copy()
    shifted[third : 2 * third] += shift
    return shifted


def without_queries(name: str, weights: Any) -> Any:
    """Attention parameters with the query weights set to 0, so that all scores are 0.

    Args:
        name: the parameter: "W_q..." for one head, or "W_qkv..." for all heads at once, with the queries first.
        weights: an array or a tensor; it is not changed.
    """
    if "W_q." in name:
        return 0 * weights
    if "W_qkv." not in name:
        return weights
    kept = 0 * weights
    kept[len(weights) // 3 :] = weights[len(weights) // 3 :]
    return kept
