"""Stage 1: multi-head attention."""

from autograder.grading.graded_case import StageTestCase


class TestMultiHeadAttention(StageTestCase):
    """Attention with random, sharp weights, d_model = 60 and 4 heads."""

    def attention(self):
        mha = self.student.mha.MultiHeadAttention(d_model=60, num_heads=4)
        mha.load_state(self.stored("weights"))
        return mha

    def check_attention(self, case: str, **masks: str) -> None:
        stored = self.stored(case)
        x = self.attention().compute_scaled_dot_product_attention(
            stored["query"], stored["key"], stored["value"], **{name: stored[entry] for name, entry in masks.items()}
        )
        self.assert_tensor(x, stored["x"], "x", "B T_q d_model")

    def test_mha_no_mask(self):
        """Project to queries, keys and values, split them into heads, and attend without a mask."""
        stored = self.stored("no_mask")
        result = self.attention().compute_mh_qkv_transformation(stored["Q"], stored["K"], stored["V"])
        q, k, v = self.items(result, 3, "compute_mh_qkv_transformation")
        self.assert_tensor(q, stored["query"], "q", "B H T_q d_k")
        self.assert_tensor(k, stored["key"], "k", "B H T_k d_k")
        self.assert_tensor(v, stored["value"], "v", "B H T_k d_k")
        self.check_attention("no_mask")

    def test_mha_key_padding_mask(self):
        """Attend to the keys that are not padding; any non-zero value marks padding."""
        self.check_attention("key_padding", key_padding_mask="key_padding_mask")

    def test_mha_key_padding_mask_attention_mask(self):
        """Use an attention mask alone, and together with a key padding mask."""
        self.check_attention("causal", attention_mask="attention_mask")
        self.check_attention("both_masks", key_padding_mask="key_padding_mask", attention_mask="attention_mask")

    def test_mha_different_query_and_key(self):
        """Attend with fewer queries than keys, as cross-attention does."""
        self.check_attention("cross", key_padding_mask="key_padding_mask")
