"""Stage 1: byte-pair encoding."""

from autograder.assignments.llm.visible import cases
from autograder.assignments.llm.visible.checks import CheckingTestCase


class TestBytePairs(CheckingTestCase):
    def test_merge(self):
        """Merge a pair in a sequence of tokens, even where occurrences overlap."""
        with self.part("pairs"):
            ids, pair, new = cases.MERGE
            self.assert_ids(self.student.bpe.merge(ids, pair, new), self.stored("merge")["ids"], "the merged ids", "T")
        with self.part("overlaps"):
            for number, (ids, pair, new) in enumerate(cases.OVERLAPS):
                right = self.stored("merge")[f"overlap.{number}"]
                self.assert_ids(self.student.bpe.merge(ids, pair, new), right, f"{list(ids)} with {pair} merged", "T")
        self.warn_of_changes(self.student.bpe.merge, {"ids": [1, 2, 1, 2], "pair": (1, 2), "new": 256}, batch=False)

    def test_count_pairs(self):
        """Count the pairs of neighbouring tokens in words that occur several times."""
        for part, given in (("words", cases.WORDS), ("overlaps", cases.DOUBLED)):
            with self.part(part):
                counts = self.student.drivers.count_pairs_of(*given)
                self.assert_ids(counts, self.stored("counts")[part], "the table of pairs and counts", "pair column", 3)

    def test_train(self):
        """Learn merges from a two-line text, from a text with ties, and from a text that runs out of pairs."""
        for part, (text, number) in (
            ("merges", (cases.TEXT, 6)),
            ("ties", (cases.TIES, 6)),
            ("end", ("abab cd", 99)),
        ):
            with self.part(part):
                merges = self.student.bpe.train(text, number)
                self.assert_ids(merges, self.stored("train")[part], "the list of merges", "merge side", 2)

    def test_encode_word(self):
        """Encode seven words with seven merges."""
        for number, word in enumerate(cases.WORD_CASES):
            ids = self.student.drivers.encode_word_of(cases.WORD_MERGES, list(word))
            self.assert_ids(ids, self.stored("word")[str(number)], f"the ids of {word.decode()!r}", "T")

    def test_encode(self):
        """Encode a text, with and without special tokens."""
        with self.part("words"):
            ids = self.student.drivers.encode_of(cases.MERGES, [], "cd abcd ababcd, abcd")
            self.assert_ids(ids, self.stored("text")["words"], "the ids", "T")
            self.assert_ids(self.student.drivers.encode_of(cases.MERGES, [], ""), [], "the ids of an empty text", "T")
        with self.part("special"):
            ids = self.student.drivers.encode_of(cases.MERGES, cases.SPECIAL, cases.ENCODED)
            self.assert_ids(ids, self.stored("text")["special"], "the ids", "T")

    def test_decode(self):
        """Decode multi-byte letters, special tokens, and bytes that are not valid UTF-8."""
        with self.part("letters"):
            ids = [*cases.DECODED.encode(), 262, 256 + len(cases.MERGES)]
            text = self.student.drivers.decode_of(cases.MERGES, ["<|a"], ids)
            self.assert_text(text, cases.DECODED + self.piece(262) + "<|a", "the decoded text")
        with self.part("invalid"):
            text = self.student.drivers.decode_of(cases.MERGES, [], [97, 195, 256, 255, 98, 195])
            self.assert_text(text, "a\ufffdab\ufffdb\ufffd", "the decoded text")

    def piece(self, token: int) -> str:
        """The text of one of the test's merged tokens."""
        if token < 256:
            return chr(token)
        left, right = cases.MERGES[token - 256]
        return self.piece(left) + self.piece(right)
