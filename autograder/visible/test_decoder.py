"""Stage 4: the decoder."""

from autograder.testcase import StageTestCase, inside


class TestDecoder(StageTestCase):
    """The trained decoder on 30 sentence pairs, with teacher forcing."""

    def test_encoder_decoder_predictions(self):
        """Predict every next English token of 30 sentence pairs."""
        stored = self.stored("sentences")
        model = self.trained_transformer()
        logits = model(
            src=stored["src"], tgt=stored["tgt"], src_lengths=stored["src_lengths"], tgt_lengths=stored["tgt_lengths"]
        )
        real = inside(stored["tgt_lengths"])
        self.assert_form(logits, (*real.shape, int(stored["vocab_size"])), "dec_output", "B T_d tgt_vocab_size")
        predicted = logits.argmax(axis=-1)
        # A near tie between two tokens may fall either way.
        self.assert_tensor(predicted, stored["predicted"], "the next token", "B T_d", where=real & ~stored["near_tie"])

    def test_encoder_decoder_states(self):
        """Compute the scores of the output layer from the encoder's output."""
        stored = self.stored("sentences")
        model = self.trained_transformer()
        logits = model.forward_decoder(
            enc_output=stored["enc_output"],
            src_padding_mask=stored["src_padding_mask"],
            tgt=stored["tgt"],
            tgt_lengths=stored["tgt_lengths"],
        )
        real = inside(stored["tgt_lengths"])
        self.assert_form(logits, (*real.shape, int(stored["vocab_size"])), "dec_output", "B T_d tgt_vocab_size")
        # Of the vocabulary a part is stored. Its columns of the output layer have full rank, so any change of the
        # decoder's last state shows in them.
        scores = logits[..., stored["columns"]]
        self.assert_tensor(scores, stored["logits"], "dec_output", "B T_d tokens", where=real[..., None])
