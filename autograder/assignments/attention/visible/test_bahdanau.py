"""Stage 3: the decoder with attention, and the whole model."""

from typing import Any

from autograder.assignments.attention.trained import TrainedTestCase
from autograder.grading.graded_case import inside

LOGITS, WEIGHTS = ("logits", "B T_d V"), ("weights", "B T_d T_e")


class TestBahdanau(TrainedTestCase):
    """A small model with random weights, and the trained one."""

    def small(self) -> Any:
        """The small model."""
        stored = self.stored("small")
        model = self.student.seq2seq.Seq2Seq(**{name: int(size) for name, size in stored.items()})
        model.load_state(self.stored("weights"))
        return model

    def small_decoder(self) -> Any:
        """A decoder with the weights of the small model's."""
        stored = self.stored("small")
        sizes = (int(stored[name]) for name in ("tgt_vocab_size", "embed_size", "hidden_size", "attention_size"))
        decoder = self.student.seq2seq.AttentionDecoder(*sizes)
        weights = self.stored("weights")
        start = "decoder."
        decoder.load_state({n.removeprefix(start): w for n, w in weights.items() if n.startswith(start)})
        return decoder

    def test_decoder_step(self):
        """Make one step: look at the source with the previous state, go to the next state, score the next token."""
        stored = self.stored("step")
        inputs = {name: stored[name] for name in ("token", "state", "enc_outputs", "src_lengths")}
        logits, state, weights = self.items(self.small_decoder().step(**inputs), 3, "step")
        self.assert_tensor(weights, stored["weights"], "weights", "B T_e")
        self.assert_tensor(state, stored["new_state"], "the new state", "B h")
        self.assert_tensor(logits, stored["logits"], "logits", "B V")

    def test_teacher_forcing(self):
        """Decode known targets: each step reads the right token, and the state that the step before it left."""
        stored, decoder = self.stored("forced"), self.small_decoder()
        inputs = {name: stored[name] for name in ("tgt", "state", "enc_outputs", "src_lengths")}
        logits, weights = self.items(decoder(**inputs), 2, "forward")
        self.assert_following(weights, stored["weights"], *WEIGHTS, lambda: self.unrolled(decoder, **inputs)[1])
        self.assert_following(logits, stored["logits"], *LOGITS, lambda: self.unrolled(decoder, **inputs)[0])

    def test_seq2seq(self):
        """Encode and decode, with zeros for padding; predict every next word of our sentences when trained."""
        stored, model = self.stored("sentence_pairs"), self.small()
        inputs = {name: stored[name] for name in ("src", "tgt", "src_lengths", "tgt_lengths")}
        enc_outputs, src_lengths, tgt_lengths = stored["enc_outputs"], inputs["src_lengths"], inputs["tgt_lengths"]

        def following() -> Any:
            result = self.small_decoder()(inputs["tgt"], stored["state"], enc_outputs, src_lengths)
            return self.without_padding(self.items(result, 2, "forward")[0], tgt_lengths)

        if self.assert_following(model(**inputs), stored["logits"], *LOGITS, following):
            self.predict()

    def predict(self) -> None:
        """Fail unless the trained model predicts the tokens that it should; a near tie may fall either way."""
        stored = self.stored("trained")
        rows = slice(self.part)
        inputs = {name: stored[name][rows] for name in ("src", "tgt", "src_lengths", "tgt_lengths")}
        real = inside(inputs["tgt_lengths"])
        inputs |= {
            "src": inputs["src"][:, : inputs["src_lengths"].max()],
            "tgt": inputs["tgt"][:, : real.shape[1]],
        }
        model = self.trained_seq2seq()
        score = self.part_of_scores(model, (*real.shape, self.trained_config().tgt_vocab_size), *LOGITS)
        clear = real & ~stored["near_tie"][rows, : real.shape[1]]
        expected = stored["predicted"][rows, : real.shape[1]]
        self.assert_tensor(score(**inputs), expected, "the next token", "B T_d", where=clear)
