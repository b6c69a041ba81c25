"""Stand-in for bpe.py: tokens are characters of a string, so that Python's own `str.replace` can merge them."""

import re
from collections import Counter

Pair = tuple[int, int]
PATTERN = re.compile(r"['\u2019](?:s|t|re|ve|m|ll|d)\b| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def split_words(text: str) -> list[bytes]:
    """Split a text into words, as UTF-8."""
    return [found.group().encode() for found in PATTERN.finditer(text)]


def merge(ids: list[int], pair: Pair, new: int) -> list[int]:
    """Replace every occurrence of a pair of neighbouring tokens with a new token."""
    left, right = pair
    letters = "".join(map(chr, ids)).replace(chr(left) + chr(right), chr(new))
    return [ord(letter) for letter in letters]


def count_pairs(words: dict[tuple[int, ...], int]) -> dict[Pair, int]:
    """Count how often each pair of tokens is adjacent within a word."""
    total: Counter[Pair] = Counter()
    for word, often in words.items():
        within = Counter((word[i], word[i + 1]) for i in range(len(word) - 1))
        total.update({pair: often * count for pair, count in within.items()})
    return total


class Tokenizer:
    """A tokenizer that turns text into ids and back, with learned merges."""

    def __init__(self, merges: list[Pair], special: list[str] | None = None) -> None:
        self.rank = {pair: number for number, pair in enumerate(merges)}
        self.pieces = [bytes([byte]) for byte in range(256)]
        for left, right in merges:
            self.pieces.append(self.pieces[left] + self.pieces[right])
        self.special = {text: len(self.pieces) + number for number, text in enumerate(special or [])}
        self.pieces += [text.encode("utf-8") for text in self.special]

    def encode_word(self, word: bytes) -> list[int]:
        """Apply the merges to one word, in order."""
        known: dict[bytes, list[int]] = vars(self).setdefault("_known", {})  # most words in a text recur
        if word not in known:
            letters = word.decode("latin-1")
            for (left, right), number in self.rank.items():
                letters = letters.replace(chr(left) + chr(right), chr(256 + number))
            known[word] = [ord(letter) for letter in letters]
        return list(known[word])

    def encode(self, text: str) -> list[int]:
        """Encode a text; at each position, the longest special token wins."""
        read: list[int] = []
        while text:
            places = {special: text.find(special) for special in self.special}
            found = [(place, -len(special), special) for special, place in places.items() if place >= 0]
            place, _, special = min(found, default=(len(text), 0, ""))
            read += [token for word in split_words(text[:place]) for token in self.encode_word(word)]
            read += [self.special[special]] if special else []
            text = text[place + len(special) :]
        return read

    def decode(self, ids: list[int]) -> str:
        """Turn ids into text."""
        everything = bytearray()
        for token in ids:
            everything.extend(self.pieces[token])
        return str(bytes(everything), "utf-8", "replace")
