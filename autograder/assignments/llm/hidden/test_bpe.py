"""Hidden tests for stage 1: texts with many ties and overlaps, characters of up to four bytes, and random merges."""

from functools import partial
from typing import Any

from autograder.assignments.llm.hidden.cases import LlmTestCase

EVERYWHERE = "aäß東京🐸é ab"


class TestBytePairs(LlmTestCase):
    def test_merge(self):
        """Check sequences of two and three different tokens."""
        for part, kinds in (("pairs", 3), ("overlaps", 2)):
            with self.part(part):
                for length in (2, 9, 30):
                    ids = [int(token) for token in self.rng.integers(kinds, size=length)]
                    pair = (self.pick(0, 1), self.pick(0, 1)) if part == "overlaps" else (0, self.pick(1, 2))
                    self.same_ids(partial(self.merged, ids=ids, pair=pair), "the merged ids", "T")
                ids = [1] * self.pick(3, 5, 7)
                self.same_ids(partial(self.merged, ids=ids, pair=(1, 1)), "the merged ids", "T")
                self.keeps_arguments(self.student.bpe.merge, {"ids": [1, 2, 1, 2], "pair": (1, 2), "new": 300})

    def test_count_pairs(self):
        """Check random words with random counts."""
        for part, kinds in (("words", 6), ("overlaps", 2)):
            with self.part(part):
                words: list[list[int]] = []
                while len(words) < 6:
                    word = [int(token) for token in self.rng.integers(kinds, size=self.pick(1, 2, 4, 6))]
                    words += [] if word in words else [word]
                times = [int(often) for often in self.rng.integers(1, 9, size=len(words))]
                self.same_ids(
                    partial(self.counted, words=words, times=times), "the table of pairs and counts", "pair column", 3
                )

    def counted(self, modules: Any, words: list[list[int]], times: list[int]) -> Any:
        return modules.drivers.count_pairs_of(words, times)

    def merged(self, modules: Any, ids: list[int], pair: tuple[int, int]) -> Any:
        return modules.bpe.merge(ids, pair, 300)

    def word_encoded(self, modules: Any, merges: list[list[int]], word: list[int]) -> Any:
        return modules.drivers.encode_word_of(merges, word)

    def encoded(self, modules: Any, merges: list[list[int]], special: list[str], text: str) -> Any:
        return modules.drivers.encode_of(merges, special, text)

    def test_train(self):
        """Check random texts with few and with many different letters, an empty text, and too many merges."""
        text = " ".join(self.letters(EVERYWHERE[:-3], 5) for _ in range(30))
        longer = self.letters("abc ", 300) + " " + text
        ties = self.letters("abcd ", 60)
        with self.part("merges"):
            self.same_ids(lambda m: m.bpe.train(longer, 12), "the list of merges", "merge side", 2)
        with self.part("ties"):
            self.same_ids(lambda m: m.bpe.train(ties, 12), "the list of merges", "merge side", 2)
        with self.part("end"):
            short = self.letters("abc", 6) + " " + self.letters("xyz", 4)
            self.same_ids(lambda m: m.bpe.train(short, 60), "the list of merges", "merge side", 2)
            self.same_ids(lambda m: m.bpe.train("", 3), "the list of merges of an empty text", "merge side", 2)
            self.same_ids(lambda m: m.bpe.train("a b c", 3), "the list of merges of single letters", "merge side", 2)

    def test_encode_word(self):
        """Check random words with random merges."""
        merges = self.merges("abc", 12)
        for length in (1, 2, 8, 12, 16, 20):
            word = list(self.letters("abc", length).encode())
            self.same_ids(partial(self.word_encoded, merges=merges, word=word), "the ids of a word", "T")

    def test_encode(self):
        """Check random texts with random merges and up to three special tokens, some of which share a prefix."""
        merges = self.merges("ab ", 10)
        with self.part("words"):
            text = self.letters("ab ", 40) + " " + self.letters(EVERYWHERE, 20)
            self.same_ids(lambda m: m.drivers.encode_of(merges, [], text), "the ids", "T")
        with self.part("special"):
            sets = (["<e>", "<e>+", "[a]"], ["a|b", "a|b.", ".*"], ["end", "endof", "(("], ["<s>"])
            special = list(self.rng.permutation(self.choose(sets)))
            special = [str(text) for text in special]
            for _ in range(4):
                text = "".join(self.choose([*special, " ab", "b", "a a", " ba,"]) for _ in range(14))
                self.same_ids(partial(self.encoded, merges=merges, special=special, text=text), "the ids", "T")

    def test_decode(self):
        """Check random ids: some encode characters of up to four bytes, others do not decode to valid text."""
        merges = self.merges(EVERYWHERE, 30)
        with self.part("letters"):
            text = self.letters(EVERYWHERE, 30)
            ids = [*text.encode(), 286]
            decoded = self.student.drivers.decode_of(merges, ["<s>"], ids)
            self.assert_text(decoded, text + "<s>", "the decoded text")
        with self.part("invalid"):
            ids = [int(token) for token in self.rng.integers(286, size=30)]
            call = lambda m: m.drivers.decode_of(merges, [], ids)  # noqa: E731
            decoded = call(self.student)
            self.assert_text(decoded, self.right(call, self.reference), "the decoded text")
