"""The inputs of the visible tests that are not tensors."""

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
