"""Stage 4, hidden: sentences that end in all ways they can, and the measure for translations of all lengths."""

from typing import Any

import numpy as np

from autograder.assignments.attention.hidden.case import CLEAR, AttentionTestCase, padded, sentences
from autograder.assignments.attention.trained import TrainedTestCase
from autograder.grading.hidden_case import ReferenceFault, Twins

FAR = 1e3  # added to the score of a token, it decides alone
LIMIT = 6  # tokens that the small models may predict


class TestTranslate(AttentionTestCase, TrainedTestCase):
    def test_translate_extra_credit(self):
        """Sentences that end at once, in the middle and never, with other tokens; other sentences when trained."""
        config = self.config()
        model = self.both(lambda modules: modules.seq2seq.Seq2Seq(**config))
        weights, batch = self.ends_in_the_middle(config, model)
        rows = [sentences()[index][0] for index in self.rng.permutation(len(sentences()))[:4]]
        src, src_lengths = padded(rows)
        self.translate(config, model, batch, LIMIT)
        for shift in (FAR, -FAR):
            self.load(model, self.with_eos(config, weights, shift))
            self.translate(config, model, batch, self.pick(2, 3))
        self.translate(config, model, batch, 1)
        self.keeps_arguments(model.student, {**batch, "max_output_length": 2}, "translate")
        trained = Twins(self.trained_seq2seq(), self.right(self.trained_seq2seq, self.reference))
        self.translate(vars(self.trained_config()), trained, {"src": src, "src_lengths": src_lengths}, 25)

    def with_eos(self, config: dict[str, Any], weights: dict[str, np.ndarray], shift: float) -> dict[str, np.ndarray]:
        """The weights with another score for eos."""
        bias = weights["decoder.output.bias"].copy()
        bias[config["eos_idx"]] += shift
        return {**weights, "decoder.output.bias": bias}

    def ends_in_the_middle(
        self, config: dict[str, Any], model: Twins
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Random weights (loaded into the twins) and sentences, of which one ends after some tokens.

        Without eos, the reference decodes up to the limit. Then the score of eos is raised so far that it wins late
        in one of the sentences.
        """
        for _ in range(20):
            weights, batch = self.weights(model.reference), self.batch(config, 4, 6, 1)
            source = {name: batch[name] for name in ("src", "src_lengths")}
            self.load(model, self.with_eos(config, weights, -FAR))
            scores = self.right(lambda reference: self.decode(reference, source), model.reference)  # noqa: B023
            rivals = scores.max(axis=-1) - scores[..., config["eos_idx"]] - FAR  # what eos lacks at each step
            lowest = np.minimum.accumulate(rivals, axis=1)
            gain = lowest[:, :-2] - rivals[:, 1:-1]  # by how much a step is the best one for eos up to then
            row, step = np.unravel_index(gain.argmax(), gain.shape)
            if gain[row, step] > 10 * CLEAR:
                weights = self.with_eos(config, weights, (lowest[row, step] + rivals[row, step + 1]) / 2)
                self.load(model, weights)
                return weights, source
        raise ReferenceFault("found no sentence that ends in the middle")

    def decode(self, reference: Any, source: dict[str, np.ndarray]) -> np.ndarray:
        """The scores in all steps of the reference, (B, LIMIT, V)."""
        tokens = reference.translate(**source, max_output_length=LIMIT)
        return self.score(reference, source, tokens)

    def score(self, reference: Any, source: dict[str, np.ndarray], tokens: np.ndarray) -> np.ndarray:
        """The reference's scores for what follows each token but the last, (B, T - 1, V)."""
        lengths = np.full(len(tokens), tokens.shape[1] - 1)
        return np.asarray(reference(tgt=tokens[:, :-1], tgt_lengths=lengths, **source))

    def translate(self, config: dict[str, Any], model: Twins, source: dict[str, np.ndarray], limit: int) -> None:
        """Fail unless the student decodes greedily: each token is the best one, except near ties."""
        tokens = model.student.translate(**source, max_output_length=limit)
        self.check_form(config, tokens, len(source["src"]), limit)
        self.checks += 1
        if tokens.min() < 0 or tokens.max() >= config["tgt_vocab_size"]:
            self.wrong("the result holds numbers that are no tokens", actual=tokens)
        scores = self.right(
            lambda reference: self.score(reference, source, tokens), model.reference, given=tokens.tolist()
        )
        behind = scores.max(axis=-1) - np.take_along_axis(scores, tokens[:, 1:, None], axis=-1)[..., 0]
        ended = np.cumsum(tokens == config["eos_idx"], axis=1)[:, :-1] - (config["sos_idx"] == config["eos_idx"]) > 0
        for number, row in enumerate(tokens):
            self.checks += 1
            wrong = (behind[number] > CLEAR) & ~ended[number]
            if wrong.any():
                step = int(wrong.argmax())
                best = int(scores[number, step].argmax())
                self.wrong(
                    f"sentence {number + 1} takes a token that has not the highest score",
                    f"expected  {[*row[: step + 1].tolist(), best]} ...",
                    f"got       {row[: step + 2].tolist()} ...",
                    actual=tokens,
                )

    def check_form(self, config: dict[str, Any], tokens: Any, B: int, limit: int) -> None:
        """Fail unless the rows start with sos, end when they should, and have padding behind the end."""
        self.checks += 1
        if not isinstance(tokens, np.ndarray) or tokens.ndim != 2 or tokens.dtype.kind != "i" or len(tokens) != B:
            shape = f" of shape {tokens.shape}" if isinstance(tokens, np.ndarray) else ""
            self.wrong("the result is no tensor of tokens, (B, T)", f"got       {type(tokens).__name__}{shape}")
        sos, eos, pad = (config[f"{name}_idx"] for name in ("sos", "eos", "pad"))
        if not 2 <= tokens.shape[1] <= limit + 1:
            sizes = f"expected  at most 1 + max_output_length = {limit + 1} columns", f"got       {tokens.shape[1]}"
            self.wrong("the result has the wrong number of columns", *sizes, actual=tokens)
        longest = 0
        for number, row in enumerate(tokens.tolist(), start=1):
            self.checks += 1
            got = f"got       {row}"
            if row[0] != sos:
                self.wrong(f"sentence {number} does not start with sos_idx = {sos}", got, actual=tokens)
            end = row.index(eos, 1) if eos in row[1:] else len(row) - 1
            if any(token != pad for token in row[end + 1 :]):
                behind = f"behind eos_idx = {eos} stands something else than pad_idx = {pad}"
                self.wrong(f"sentence {number}: {behind}", got, actual=tokens)
            if row[end] != eos and len(row) <= limit:
                short = f"ends before max_output_length = {limit} without eos_idx = {eos}"
                self.wrong(f"sentence {number} {short}", got, actual=tokens)
            longest = max(longest, end)
        if longest + 1 < tokens.shape[1]:
            self.wrong(
                "all sentences have ended, and the tensor goes on", f"got       {tokens.tolist()}", actual=tokens
            )

    def test_sentence_bleu_extra_credit(self):
        """Candidates that are short, long, empty, right and wrong, words and numbers, and k of 1 to 5."""
        for number in range(30):
            length = self.pick(1, 2, 3, 5, 8)
            reference = [f"w{token}" for token in self.rng.integers(self.pick(2, 4, 9), size=length)]
            candidate = [f"w{token}" for token in self.rng.integers(self.pick(2, 4, 9), size=self.pick(0, 1, 2, 4, 7))]
            if number % 3 == 0:  # close to the reference: a part of it, twice
                candidate = reference[: self.pick(1, 3, 9)] + reference[self.pick(0, 1, 2) :]
            if number % 5 == 0:
                reference, candidate = ([int(word[1:]) for word in words] for words in (reference, candidate))
            self.measure(candidate, reference, self.pick(1, 2, 3, 4, 5))

    def measure(self, candidate: list[Any], reference: list[Any], k: int) -> None:
        """Fail unless a translation has the right BLEU."""
        measured = self.function("seq2seq", "sentence_bleu")
        right = self.right(lambda function: function(candidate, reference, k), measured.reference)
        actual = np.asarray(measured.student(candidate, reference, k))
        self.checks += 1
        if actual.shape != () or actual.dtype.kind not in "iuf":
            self.wrong("sentence_bleu returned no number", f"got       {actual!r:.80}")
        if not abs(float(actual) - right) < 1e-6:
            numbers = f"expected  {right:.6f}", f"got       {float(actual):.6f}"
            self.wrong("sentence_bleu is wrong", *numbers, actual=actual.astype(np.float64))
