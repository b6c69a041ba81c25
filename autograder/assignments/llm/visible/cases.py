"""Inputs to the visible tests, other than tensors."""

from typing import Any

# Our own text. Its words share beginnings and endings; "aaaa" overlaps itself; some letters have several bytes.
TEXT = (
    "the bat sat on the mat, and the cat that sat at the bath was mad. aaaa haaaa! "
    "Die Bären hören schöne Töne, größere Mäuse hören mehr. The bat has had enough: the mat, the hat, 10 caps."
)
TIES = "ab ba cd dc ab ba cd dc ef"
MERGE = ([1, 2, 3, 1, 2, 2, 1, 1, 2], (1, 2), 300)
OVERLAPS: tuple[tuple[list[int], tuple[int, int], int], ...] = (
    ([7, 7, 7], (7, 7), 256),
    ([5, 7, 7, 7, 7, 7], (7, 7), 256),
    ([7, 7, 7, 1, 7, 7], (7, 7), 256),
    ([7], (7, 7), 256),
    ([], (7, 7), 256),
)
WORDS = ([[1, 2, 3, 2], [2, 1], [4, 1, 2], [5]], [3, 10, 2, 7])
DOUBLED = ([[7, 7, 7, 7], [7, 7, 8, 8, 8]], [2, 5])
# The last merge, of "cd" and a space, occurs in no word.
MERGES = [[97, 98], [99, 100], [98, 99], [256, 256], [258, 257], [256, 257], [32, 260], [260, 259], [257, 32]]
# In the first word, the longest token, the latest merge and the leftmost merge all lead to different ids.
WORD_MERGES = [[97, 98], [99, 100], [98, 99], [100, 98], [259, 100], [260, 256], [99, 259]]
WORD_CASES = [b"cbcdbca", b"bcd", b"abcd", b"cdbdabcd", b"x", "bä".encode(), b"abababcd"]
SPECIAL = ["<|a", "<|a|>", "(b*)"]
ENCODED = "cd abcd<|a|>abab<|a(b*) ab"
DECODED = "Bären hören schöne Töne"

# The options of each group, and the shapes of its parameters. The large rates make every mistake visible.
ADAMW = (
    ((("lr", 0.3), ("betas", (0.8, 0.95)), ("eps", 0.01), ("weight_decay", 0.5)), ((3, 4), (5,))),
    ((("lr", 0.1), ("betas", (0.5, 0.8)), ("eps", 0.1), ("weight_decay", 0.0)), ((2, 3),)),
)
MUON = (
    ((("lr", 0.3), ("momentum", 0.8), ("weight_decay", 0.5), ("steps", 5)), ((3, 5), (6, 3))),
    ((("lr", 0.1), ("momentum", 0.5), ("weight_decay", 0.0), ("steps", 3)), ((4, 4),)),
)
RATES = [[0.3, 0.1], [0.5, 0.2], [0.1, 0.4], [0.2, 0.3]]
MISSING = ((0, 0), (2, 1), (2, 2))  # (step, parameter) without a gradient
MATRICES = {
    "wide": ((3, 5, 5), (1, 4, 5), (4, 4, 2)),
    "tall": ((5, 3, 5), (4, 1, 3)),
    "zeros": ((2, 3, 5),),
}  # n, m, steps
# Name, kind, sizes. "shared" shares the weight of the row with this number.
MODELS = {
    "kinds": [
        ("table", "embedding", [7, 4]),
        ("embedding_projection", "linear", [4, 6]),
        ("norm", "norm", [4]),
        ("filters", "conv", [4, 4, 3]),
        ("mixing", "parameter", [4, 4]),
        ("scale", "parameter", [4]),
    ],
    "shared": [("tokens", "embedding", [7, 4]), ("hidden", "linear", [4, 4]), ("output", "shared", [0])],
}
# step, total, warmup, decay, floor
SCHEDULES: dict[str, list[tuple[Any, ...]]] = {
    "whole": [(step, 12, 4, 5, 0.3) for step in range(12)],
    "borders": [(12, 12, 4, 5, 0.1), (30, 12, 4, 5, 0.1), (0, 6, 0, 3), (4, 6, 0, 3), (6, 6, 2, 0, 0.2), (5, 6, 2, 0)],
}
