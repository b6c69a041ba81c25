"""Hidden tests for stage 4: sentences with all possible endings, and BLEU for translations of all lengths."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.assignments.attention.hidden.case import CLEAR, AttentionTestCase, padded, sentences
from autograder.assignments.attention.trained import TrainedTestCase
from autograder.grading.graded_case import as_number
from autograder.grading.hidden_case import ReferenceFault, Twins

FAR = 1e3  # added to a token's score, it decides the prediction
MOST = 1000  # columns that are checked: a translation of millions is an attack
LIMIT = 6  # the most tokens that the small models may predict


@dataclass(frozen=True)
class Translated:
    """The student's translations of some sentences."""

    tokens: np.ndarray  # (B, T)
    scores: np.ndarray  # the reference's, for the token after each token but the last, (B, T - 1, V)
    config: dict[str, Any]
    limit: int

    def ends(self) -> list[int]:
        """For each row, the index of its end token, or of its last token if it has no end token."""
        eos = self.config["eos_idx"]
        return [row.index(eos, 1) if eos in row[1:] else len(row) - 1 for row in self.tokens.tolist()]


class TestTranslate(AttentionTestCase, TrainedTestCase):
    def test_translate_extra_credit(self):
        """Check sentences that end immediately, later or never, other special tokens, and the trained model."""
        config = self.config()
        model = self.both(lambda modules: modules.seq2seq.Seq2Seq(**config))
        weights, batch = self.ends_in_the_middle(config, model)
        found = [self.translate(config, model, batch, LIMIT), self.translate(config, model, batch, 1)]
        reverse = {name: value[::-1].copy() for name, value in batch.items()}
        found.append(self.translate(config, model, reverse, LIMIT))
        for shift in (FAR, -FAR):
            self.load(model, self.with_eos(config, weights, shift))
            found.append(self.translate(config, model, batch, self.pick(2, 3)))
        for special in ("sos_idx", "pad_idx"):  # most likely, but does not end a sentence
            again = self.with_eos(config, weights, -FAR)
            self.load(model, self.with_score(again, config[special], FAR))
            found.append(self.translate(config, model, batch, self.pick(2, 3)))
        trained = Twins(self.trained_seq2seq(), self.right(self.trained_seq2seq, self.reference))
        src, src_lengths = padded([sentences()[index][0] for index in self.rng.permutation(len(sentences()))[:4]])
        source = {"src": src, "src_lengths": src_lengths}
        found.append(self.translate(vars(self.trained_config()), trained, source, 25))
        for part, check in (("tokens", self.best_tokens), ("padding", self.only_padding), ("limit", self.within_limit)):
            with self.part(part):
                for one in found:
                    check(one)
                if part == "tokens":
                    self.keeps_arguments(model.student, {**batch, "max_output_length": 2}, "translate")

    def with_eos(self, config: dict[str, Any], weights: dict[str, np.ndarray], shift: float) -> dict[str, np.ndarray]:
        """The weights, changed so that eos has a different score."""
        return self.with_score(weights, config["eos_idx"], shift)

    def with_score(self, weights: dict[str, np.ndarray], token: int, shift: float) -> dict[str, np.ndarray]:
        """The weights, changed so that a token has a different score."""
        bias = weights["decoder.output.bias"].copy()
        bias[token] += shift
        return {**weights, "decoder.output.bias": bias}

    def ends_in_the_middle(
        self, config: dict[str, Any], model: Twins
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Random weights (loaded into both models) and sentences, one of which ends before the limit.

        Without eos, the reference decodes up to the limit. Then the score of eos is raised just enough for eos
        to win late in one of the sentences.
        """
        for _ in range(20):
            weights, batch = self.weights(model.reference), self.batch(config, 4, 6, 1)
            source = {name: batch[name] for name in ("src", "src_lengths")}
            self.load(model, self.with_eos(config, weights, -FAR))
            scores = self.right(lambda reference: self.decode(reference, source), model.reference)  # noqa: B023
            rivals = scores.max(axis=-1) - scores[..., config["eos_idx"]] - FAR  # how far eos is behind at each step
            lowest = np.minimum.accumulate(rivals, axis=1)
            gain = lowest[:, :-2] - rivals[:, 1:-1]  # by how much a step is better for eos than all earlier steps
            row, step = np.unravel_index(gain.argmax(), gain.shape)
            if gain[row, step] > 10 * CLEAR:
                weights = self.with_eos(config, weights, (lowest[row, step] + rivals[row, step + 1]) / 2)
                self.load(model, weights)
                return weights, source
        raise ReferenceFault("found no sentence that ends in the middle")

    def decode(self, reference: Any, source: dict[str, np.ndarray]) -> np.ndarray:
        """The reference's scores at every step, (B, LIMIT, V)."""
        tokens = reference.translate(**source, max_output_length=LIMIT)
        return self.score(reference, source, tokens)

    def score(self, reference: Any, source: dict[str, np.ndarray], tokens: np.ndarray) -> np.ndarray:
        """The reference's scores for the token that follows each token except the last, (B, T - 1, V)."""
        lengths = np.full(len(tokens), tokens.shape[1] - 1)
        return np.asarray(reference(tgt=tokens[:, :-1], tgt_lengths=lengths, **source))

    def translate(self, config: dict[str, Any], model: Twins, source: dict[str, np.ndarray], limit: int) -> Translated:
        """The student's translations of sentences. Fail unless the result is an array of tokens, (B, T)."""
        tokens = model.student.translate(**source, max_output_length=limit)
        self.checks += 1
        B = len(source["src"])
        if not isinstance(tokens, np.ndarray) or tokens.ndim != 2 or tokens.dtype.kind != "i" or len(tokens) != B:
            shape = f" of shape {tokens.shape}" if isinstance(tokens, np.ndarray) else ""
            self.wrong("the result is not a tensor of tokens, (B, T)", f"got       {type(tokens).__name__}{shape}")
        if tokens.shape[1] > MOST:
            self.wrong(f"the result has {tokens.shape[1]:,} columns")
        if tokens.shape[1] < 2 or tokens.min() < 0 or tokens.max() >= config["tgt_vocab_size"]:
            self.wrong("the result has no predictions, or numbers that are not token indices", actual=tokens)
        scores = self.right(
            lambda reference: self.score(reference, source, tokens), model.reference, given=tokens.tolist()
        )
        return Translated(tokens, scores, config, limit)

    def best_tokens(self, found: Translated) -> None:
        """Fail unless each row starts with sos, and each token up to its end is the best one, except at near ties."""
        sos, tokens = found.config["sos_idx"], found.tokens
        behind = found.scores.max(axis=-1) - np.take_along_axis(found.scores, tokens[:, 1:, None], axis=-1)[..., 0]
        for number, (row, end) in enumerate(zip(tokens, found.ends(), strict=True)):
            self.checks += 1
            if row[0] != sos:
                got = f"got       {row.tolist()}"
                self.wrong(f"sentence {number + 1} does not start with sos_idx = {sos}", got, actual=tokens)
            wrong = behind[number, : min(end, found.limit)] > CLEAR
            if wrong.any():
                step = int(wrong.argmax())
                best = int(found.scores[number, step].argmax())
                self.wrong(
                    f"sentence {number + 1} takes a token that does not have the highest score",
                    f"expected  {[*row[: step + 1].tolist(), best]} ...",
                    f"got       {row[: step + 2].tolist()} ...",
                    actual=tokens,
                )

    def only_padding(self, found: Translated) -> None:
        """Fail unless each row contains only padding after its end, and the last column is not all padding."""
        eos, pad = (found.config[f"{name}_idx"] for name in ("eos", "pad"))
        for number, (row, end) in enumerate(zip(found.tokens.tolist(), found.ends(), strict=True), start=1):
            self.checks += 1
            if any(token != pad for token in row[end + 1 :]):
                what = f"after eos_idx = {eos} there are tokens other than pad_idx = {pad}"
                self.wrong(f"sentence {number}: {what}", f"got       {row}", actual=found.tokens)
        if max(found.ends()) + 1 < found.tokens.shape[1]:
            got = f"got       {found.tokens.tolist()}"
            self.wrong("all sentences have ended, but the result continues with padding", got, actual=found.tokens)

    def within_limit(self, found: Translated) -> None:
        """Fail unless rows without an end have as many tokens as the limit allows, and no row has more."""
        eos, columns = found.config["eos_idx"], found.tokens.shape[1]
        self.checks += 1
        if columns > found.limit + 1:
            sizes = f"expected  at most 1 + max_output_length = {found.limit + 1} columns", f"got       {columns}"
            self.wrong("the result has too many columns", *sizes, actual=found.tokens)
        for number, (row, end) in enumerate(zip(found.tokens.tolist(), found.ends(), strict=True), start=1):
            self.checks += 1
            if row[end] != eos and columns <= found.limit:
                short = f"ends before max_output_length = {found.limit} without eos_idx = {eos}"
                self.wrong(f"sentence {number} {short}", f"got       {row}", actual=found.tokens)

    def test_sentence_bleu_extra_credit(self):
        """Check short, long, empty, correct and wrong candidates, words and numbers, and k from 1 to 5."""
        with self.part("precisions"):
            for _ in range(12):
                reference = self.words(self.pick(3, 5, 8))
                self.measure(self.words(len(reference) + self.pick(0, 2)), reference, self.pick(1, 2, 3))
                self.measure(reference[self.pick(1, 2) :] + reference, reference, self.pick(1, 2, 3))
                self.measure(reference, reference[: self.pick(1, 2)], 3)  # which has no trigrams
        with self.part("penalty"):
            for _ in range(8):
                reference = self.words(self.pick(5, 6, 9))
                self.measure(reference[: self.pick(3, 4)], reference, self.pick(1, 2, 3))
        with self.part("short"):
            for _ in range(4):
                candidate = self.words(self.pick(1, 2))
                self.measure(candidate, candidate + self.words(self.pick(0, 2)), self.pick(3, 4, 5))
            self.measure([], self.words(3), 2)

    def words(self, number: int) -> list[Any]:
        """Random words from a small vocabulary."""
        return [f"w{token}" for token in self.rng.integers(self.pick(2, 4), size=number)]

    def measure(self, candidate: list[Any], reference: list[Any], k: int) -> None:
        """Fail unless the BLEU score of a translation is correct, whether its tokens are words or numbers."""
        self.measure_once(candidate, reference, k)
        self.measure_once([int(word[1:]) for word in candidate], [int(word[1:]) for word in reference], k)

    def measure_once(self, candidate: list[Any], reference: list[Any], k: int) -> None:
        """Fail unless the BLEU score of a translation is correct."""
        measured = self.function("seq2seq", "sentence_bleu")
        right = self.right(lambda function: function(candidate, reference, k), measured.reference)
        actual = as_number(measured.student(candidate, reference, k))
        self.checks += 1
        if actual.shape != () or actual.dtype.kind not in "iuf":
            self.wrong("sentence_bleu did not return a number", f"got       {actual!r:.80}")
        if not abs(float(actual) - right) < 1e-6:
            numbers = f"expected  {right:.6f}", f"got       {float(actual):.6f}"
            self.wrong("sentence_bleu is wrong", *numbers, actual=actual.astype(np.float64))
