"""Stage 1: byte-pair encoding, from text to numbers (Sennrich and others, 2016; bytes as in GPT-2).

A text is cut into words, and a word is a sequence of bytes. The ids 0 to 255 are the bytes. Merge number r joins two
neighbouring tokens into the new token 256 + r. The ids of special tokens come after all of these. Only Python's
standard library is needed.
"""

import re
from collections import Counter
from itertools import pairwise

Pair = tuple[int, int]
# Contractions, words, numbers and punctuation, with the space before; then other whitespace. \u2019 is an apostrophe.
PATTERN = re.compile(r"['\u2019](?:s|t|re|ve|m|ll|d)\b| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def split_words(text: str) -> list[bytes]:
    """Given: cut a text into words, as UTF-8. Joining the words restores the text; no token crosses a word boundary."""
    return [word.encode("utf-8") for word in PATTERN.findall(text)]


def merge(ids: list[int], pair: Pair, new: int) -> list[int]:
    """Replace a pair of neighbouring tokens with a new token, everywhere.

    Go from left to right; each token is used once. Merging (7, 7) in [7, 7, 7] gives [new, 7].

    Args:
        ids: the tokens of a word.
        pair: the two ids to replace.
        new: the id that takes their place.

    Returns:
        A new list; `ids` does not change.
    """
    raise NotImplementedError("Stage 1: merge is not written yet")


def count_pairs(words: dict[tuple[int, ...], int]) -> dict[Pair, int]:
    """Count how often two tokens are neighbours within a word.

    Every occurrence counts, even if two of them overlap: [7, 7, 7] contains the pair (7, 7) twice.

    Args:
        words: the tokens of each distinct word, and how often the word occurs in the text.

    Returns:
        The count of each pair that occurs; a dict or a Counter.
    """
    raise NotImplementedError("Stage 1: count_pairs is not written yet")


def train(text: str, num_merges: int) -> list[Pair]:
    """Learn merges: repeatedly merge the most frequent pair of neighbours.

    Cut the text into words with `split_words`; each word starts as a tuple of bytes. Pairs are counted within words
    only. If several pairs are equally frequent, take the smallest one, as Python compares tuples: (5, 9) is smaller
    than (6, 2). A pair that occurs only once is merged too.

    Args:
        text: the text to learn from; it may be empty.
        num_merges: the number of merges to learn. Training stops early if no pair is left.

    Returns:
        The merged pairs in order. Merge number r creates the token 256 + r.
    """
    raise NotImplementedError("Stage 1: train is not written yet")


class Tokenizer:
    """Turns text into ids and back, using learned merges.

    Attributes:
        rank: the number of each merge, by its pair: `rank[a, b]` is r if merge r joins a and b into 256 + r.
        pieces: the bytes of each id, special tokens included.
        special: the id of each special token, by its text.
    """

    def __init__(self, merges: list[Pair], special: list[str] | None = None) -> None:
        self.rank = {pair: number for number, pair in enumerate(merges)}
        self.pieces = [bytes([byte]) for byte in range(256)]
        for left, right in merges:
            self.pieces.append(self.pieces[left] + self.pieces[right])
        self.special = {text: len(self.pieces) + number for number, text in enumerate(special or [])}
        self.pieces += [text.encode("utf-8") for text in self.special]

    def encode_word(self, word: bytes) -> list[int]:
        """Apply the merges to one word, in the order in which they were learned.

        Among neighbouring pairs that have a merge, take the merge with the lowest number, and apply it everywhere in
        the word. Repeat until no pair has a merge. This does not always produce the longest tokens.

        Args:
            word: UTF-8, as `split_words` returns it.

        Returns:
            The ids.
        """
        raise NotImplementedError("Stage 1: Tokenizer.encode_word is not written yet")

    def encode(self, text: str) -> list[int]:
        """Encode a text that may contain special tokens.

        From left to right, each occurrence of a special token's text becomes the token's id. If several begin at the
        same position, the longest one wins. The text between special tokens is cut with `split_words`, and each word
        is encoded by `encode_word`.

        Args:
            text: any text; it may be empty.

        Returns:
            The ids.
        """
        raise NotImplementedError("Stage 1: Tokenizer.encode is not written yet")

    def decode(self, ids: list[int]) -> str:
        """Turn ids into text.

        A letter may be spread over several tokens, so join all bytes before you decode them. Bytes that are not valid
        UTF-8 become the replacement character, as with `errors="replace"`; they raise no exception.

        Args:
            ids: any ids of this tokenizer, even in an order that no text produces.

        Returns:
            The text.
        """
        raise NotImplementedError("Stage 1: Tokenizer.decode is not written yet")
