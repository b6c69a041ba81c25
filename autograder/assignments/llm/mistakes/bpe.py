"""Known mistakes in stage 1: byte-pair encoding."""

from typing import Any

from autograder.diagnosis.mistakes import Mistake

# Lines of the reference.
LOOP = "while i < len(ids):"
TAKEN = "merged.append(new)\n            i += 2"
SAME = "(ids[i], ids[i + 1]) == pair"
COUNTED = "for pair in pairwise(ids):\n            counts[pair] += times"
WORDS = "= Counter(tuple(word) for word in split_words(text))"
RANGE = "for new in range(256, 256 + num_merges):"
STOP = "if not counts:\n            break"
BEST = "best = min(counts, key=lambda pair: (-counts[pair], pair))"
WHILE = "while len(ids) > 1:"
FIRST = "pair = min(pairwise(ids), key=lambda pair: self.rank.get(pair, len(self.rank)))"
APPLIED = "ids = merge(ids, pair, 256 + self.rank[pair])"
ORDER = "longest_first = sorted(self.special, key=len, reverse=True)"
PARTS = '"(" + "|".join(map(re.escape, longest_first)) + ")"'
SPLIT = "for word in split_words(part):\n                    ids += self.encode_word(word)"
JOINED = 'return b"".join(self.pieces[token] for token in ids).decode("utf-8", errors="replace")'

LEFT = "Work through a sequence of three equal tokens by hand, from left to right. Each token is used once."
TIE = "The docstring says which of several equally frequent pairs is taken."
EARLIEST = "The docstring of this method says which merge comes first, and when to stop."


def _bpe(name: str, old: str, new: str, looks_like: str, read_again: str, **options: Any) -> Mistake:
    return Mistake(f"bpe.{name}", "bpe", old, new, looks_like, read_again, **options)


MISTAKES: tuple[Mistake, ...] = (
    _bpe(
        "merge-overlap",
        TAKEN,
        TAKEN.replace("i += 2", "i += 1"),
        "After a merge, your code looks at the second token of the pair again.",
        LEFT,
    ),
    _bpe(
        "merge-last-lost",
        LOOP,
        "while i < len(ids) - 1:",
        "Your merge loses the last token if it is not part of a pair.",
        "What happens to a token that has no token after it? A word of one token does not change.",
    ),
    _bpe(
        "merge-first-only",
        TAKEN,
        "return [*ids[:i], new, *ids[i + 2 :]]",
        "You merge only the first occurrence of the pair.",
        "The docstring says that the pair is replaced everywhere.",
    ),
    _bpe(
        "merge-unordered",
        SAME,
        "{ids[i], ids[i + 1]} == {*pair}",
        "You also merge the two tokens when they occur in the opposite order.",
        "A pair has an order: (97, 98) is not (98, 97).",
    ),
    _bpe(
        "merge-from-the-right",
        "return merged\n",
        """merged, i = [], len(ids) - 1
    while i >= 0:
        if i > 0 and (ids[i - 1], ids[i]) == pair:
            merged.insert(0, new)
            i -= 2
        else:
            merged.insert(0, ids[i])
            i -= 1
    return merged
""",
        "You merge from right to left.",
        LEFT,
    ),
    _bpe(
        "merge-changes-argument",
        "return merged\n",
        "ids[:] = merged\n    return ids\n",
        "Your merge changes the list that is passed in.",
        "The docstring promises a new list. The caller may still need the old one.",
        seen_by="hidden",
    ),
    _bpe(
        "count-each-word-once",
        COUNTED,
        COUNTED.replace("+= times", "+= 1"),
        "You count each word only once, however often it occurs in the text.",
        "The values of the argument say how often each word occurs.",
    ),
    _bpe(
        "count-once-in-a-word",
        COUNTED,
        COUNTED.replace("pairwise(ids)", "{*pairwise(ids)}"),
        "You count a pair only once per word, even if the word contains it several times.",
        "The docstring says that every occurrence counts. How often does the word [7, 7, 7, 7] "
        "contain the pair (7, 7)?",
    ),
    _bpe(
        "count-overlaps-skipped",
        COUNTED,
        """i = 0
        while i < len(ids) - 1:
            pair = ids[i], ids[i + 1]
            counts[pair] += times
            i += 2 if ids[i : i + 3] == (*pair, pair[0]) and pair[0] == pair[1] else 1""",
        "You leave out occurrences that overlap the previous occurrence.",
        "Merging uses each token once; counting does not. The docstring has an example with three equal tokens.",
    ),
    _bpe(
        "count-unordered",
        COUNTED,
        COUNTED.replace("counts[pair]", "counts[min(pair), max(pair)]"),
        "You count a pair and the reversed pair together.",
        "A pair has an order: (97, 98) is not (98, 97).",
    ),
    _bpe(
        "count-across-words",
        COUNTED,
        COUNTED + "\n    row = [ids for ids in words if ids]\n    for left, right in zip(row, row[1:]):\n"
        "        counts[left[-1], right[0]] += words[right]",
        "You also count pairs formed by the last token of a word and the first token of the next word.",
        "Pairs are counted within a word. The words are in no particular order.",
    ),
    _bpe(
        "train-tie-first-counted",
        BEST,
        "best = max(counts, key=counts.__getitem__)",
        "Among equally frequent pairs, you take the one that was counted first.",
        TIE,
    ),
    _bpe(
        "train-tie-largest",
        BEST,
        "best = max(counts, key=lambda pair: (counts[pair], pair))",
        "Among equally frequent pairs, you take the largest one.",
        TIE,
    ),
    _bpe(
        "train-stops-at-single-pairs",
        STOP,
        "if max(counts.values(), default=0) < 2:\n            break",
        "You stop as soon as no pair occurs twice.",
        "The docstring says what happens to a pair that occurs only once.",
    ),
    _bpe(
        "train-never-stops",
        STOP,
        "",
        "Your training looks for the best pair even when no pair is left.",
        "A short text may have fewer merges than requested. See num_merges in the docstring.",
    ),
    _bpe(
        "train-letters",
        WORDS,
        '= Counter(tuple(map(ord, word.decode("utf-8"))) for word in split_words(text))',
        "You begin with letters instead of bytes.",
        "A word is a sequence of bytes. A letter such as \u00e4 takes two bytes; its Unicode code point is "
        "neither of them.",
    ),
    _bpe(
        "train-one-long-word",
        WORDS,
        '= Counter([tuple(text.encode("utf-8"))])',
        "You merge across word boundaries.",
        "Split the text into words first. The docstring names the function for this.",
    ),
    _bpe(
        "train-each-word-once",
        WORDS,
        "= Counter({tuple(word) for word in split_words(text)})",
        "Your training counts each word only once, however often the text contains it.",
        "How does the count of a word get from the text into your dictionary?",
    ),
    _bpe(
        "train-rarest-first",
        BEST,
        "best = min(counts, key=lambda pair: (counts[pair], pair))",
        "You merge the rarest pair.",
        "The most frequent pair is merged first.",
    ),
    _bpe(
        "train-ids-begin-late",
        RANGE,
        "for new in range(257, 257 + num_merges):",
        "The first new token gets an id that is too large.",
        "There are 256 bytes, and their ids start at 0. So what is the first free id?",
    ),
    _bpe(
        "train-pairs-counted-once",
        STOP,
        STOP + "\n        counts = {pair: counts[pair] for pair in counts if max(pair) < 256}\n"
        "        if not counts:\n            break",
        "You merge only bytes, never a token from an earlier merge.",
        "After each merge, the pairs are counted again, including pairs with new tokens.",
    ),
    _bpe(
        "word-longest-token",
        WHILE,
        """known = {piece: token for token, piece in enumerate(self.pieces)}
        start, ids = 0, []
        while start < len(word):
            end = max(end for end in range(start + 1, len(word) + 1) if word[start:end] in known)
            ids.append(known[word[start:end]])
            start = end
        return ids
        while len(ids) > 1:""",
        "From left to right, your encoder always takes the longest matching token.",
        EARLIEST,
    ),
    _bpe(
        "word-latest-merge",
        FIRST,
        "pair = max(pairwise(ids), key=lambda pair: self.rank.get(pair, -1))",
        "Your encoder applies the merge with the highest number first.",
        EARLIEST,
    ),
    _bpe(
        "word-leftmost-merge",
        FIRST,
        "pair = next((pair for pair in pairwise(ids) if pair in self.rank), (-1, -1))",
        "Your encoder applies the first possible merge from the left.",
        EARLIEST,
    ),
    _bpe(
        "word-one-merge",
        WHILE,
        "for _ in range(1):",
        "Your encoder applies one merge and stops.",
        EARLIEST,
    ),
    _bpe(
        "word-rank-as-id",
        APPLIED,
        "ids = merge(ids, pair, self.rank[pair])",
        "Your encoder uses the number of a merge as an id.",
        "Ids 0 to 255 are bytes. The top of the file says which token a merge creates.",
    ),
    _bpe(
        "encode-special-shorter-first",
        ORDER,
        "longest_first = sorted(self.special, key=len)",
        "If two special tokens start at the same position, you take the shorter one.",
        "The docstring says which one to prefer. Which one you find depends on the order in which you look for them.",
    ),
    _bpe(
        "encode-special-not-escaped",
        PARTS,
        '"(" + "|".join(longest_first) + ")"',
        "You use the text of special tokens as a regular expression.",
        "Dots, bars and brackets have a special meaning in regular expressions. The module re can escape them.",
    ),
    _bpe(
        "encode-special-ignored",
        "if part in self.special:",
        "if False:",
        "You encode special tokens like other text.",
        "Each special token has its own id.",
    ),
    _bpe(
        "encode-special-dropped",
        PARTS,
        '"|".join(map(re.escape, longest_first))',
        "Special tokens are missing from your result.",
        "A split drops the separators, unless the pattern has a group.",
    ),
    _bpe(
        "encode-without-special-tokens",
        " if longest_first else [text]",
        "",
        "Without special tokens, your encoder cuts the text between any two letters.",
        "Which pattern do you build if there are no special tokens? An empty pattern matches everywhere.",
    ),
    _bpe(
        "encode-words-not-cut",
        SPLIT,
        'ids += self.encode_word(part.encode("utf-8"))',
        "You merge across word boundaries.",
        "The text between special tokens is split into words first.",
    ),
    _bpe(
        "decode-token-by-token",
        JOINED,
        'return "".join(self.pieces[token].decode("utf-8", errors="replace") for token in ids)',
        "You decode each token separately.",
        "A letter may be spread over several tokens. Which comes first, joining or decoding?",
    ),
    _bpe(
        "decode-strict",
        JOINED,
        JOINED.replace(', errors="replace"', ""),
        "Your decoder fails for bytes that are not valid UTF-8.",
        "A model may produce any sequence of ids. The docstring says what happens to invalid bytes.",
    ),
    _bpe(
        "decode-invalid-dropped",
        JOINED,
        JOINED.replace("replace", "ignore"),
        "Your decoder leaves out bytes that are not valid UTF-8.",
        "The docstring says what happens to invalid bytes.",
    ),
    _bpe(
        "decode-latin-1",
        JOINED,
        JOINED.replace('"utf-8", errors="replace"', '"latin-1"'),
        "Your decoder turns each byte into one letter.",
        "The bytes are UTF-8, in which a letter such as \u00e4 takes two bytes.",
    ),
)
