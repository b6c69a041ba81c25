"""Stage 1: multi-head attention."""

import contextlib

import numpy as np

from autograder.assignments.transformer.relative import RelativeTestCase
from autograder.diagnosis.compare_tensors import Incorrect
from autograder.sandbox.student_faults import NotStarted, Raised


def shifted_keys(query: np.ndarray, key: np.ndarray, most: float) -> np.ndarray:
    """The keys plus a shared vector, which adds the same number (at most `most`) to all scores of a query."""
    shift = np.random.Generator(np.random.PCG64(1)).standard_normal(key.shape[-1])
    return np.asarray(key + shift * most * np.sqrt(key.shape[-1]) / np.abs(query @ shift).max())


LARGE_LIMIT = 1e-3  # for scores near 700: a softmax in float32, which some students use, is accurate to 3e-5


class TestMultiHeadAttention(RelativeTestCase):
    """Tests of attention with random, sharp weights, d_model = 60 and 4 heads."""

    def attention(self):
        mha = self.student.mha.MultiHeadAttention(d_model=60, num_heads=4)
        mha.load_state(self.stored("weights"))
        return mha

    def masks(self, case: str) -> dict[str, np.ndarray]:
        """The masks of a stored case: key_padding_mask, attention_mask, or both."""
        return {name: mask for name, mask in self.stored(case).items() if name.endswith("_mask") and "/" not in name}

    def check_attention(self, case: str, **masks: np.ndarray) -> None:
        stored = self.stored(case)
        x = self.projected(stored).compute_scaled_dot_product_attention(
            stored["query"], stored["key"], stored["value"], **masks
        )
        self.assert_tensor(x, stored["x"], "x", "B T_q d_model")

    def projected(self, stored: dict[str, np.ndarray]):
        """An attention module after it has projected a case's inputs.

        The two methods may share attributes of the object, and `forward` projects first. A broken projection
        costs points only in its own test.
        """
        mha = self.attention()
        with contextlib.suppress(NotStarted, Raised):
            mha.compute_mh_qkv_transformation(stored["Q"], stored["K"], stored["V"])
        return mha

    def on_heads(self, heads: dict[str, np.ndarray]):
        """An attention module with identity weights that has already projected to these heads; see `projected`."""
        H, d_k = heads["query"].shape[1], heads["query"].shape[-1]
        mha = self.student.mha.MultiHeadAttention(d_model=H * d_k, num_heads=H)
        state = {f"W_{name}.weight": np.eye(H * d_k) for name in "qkvo"}
        mha.load_state(state | {f"W_{name}.bias": np.zeros(H * d_k) for name in "qkvo"})
        tensors = (heads[name].swapaxes(1, 2) for name in ("query", "key", "value"))
        merged = [one.reshape(*one.shape[:2], -1) for one in tensors]  # (B, T, H, d_k) -> (B, T, d_model)
        with contextlib.suppress(NotStarted, Raised):
            mha.compute_mh_qkv_transformation(*merged)
        return mha

    def sound(self) -> bool:
        try:
            self.check_attention("no_mask")
        except (Incorrect, Raised):
            return False
        return True

    def check_projections(self, stored: dict[str, np.ndarray]) -> None:
        result = self.attention().compute_mh_qkv_transformation(stored["Q"], stored["K"], stored["V"])
        q, k, v = self.items(result, 3, "compute_mh_qkv_transformation")
        self.assert_tensor(q, stored["query"], "q", "B H T_q d_k")
        self.assert_tensor(k, stored["key"], "k", "B H T_k d_k")
        self.assert_tensor(v, stored["value"], "v", "B H T_k d_k")

    def test_mha_no_mask(self):
        """Project the inputs to queries, keys and values, split them into heads, and attend without a mask."""
        with self.part("projections"):
            for case in ("no_mask", "cross"):  # as many queries as keys, and fewer
                self.check_projections(self.stored(case))
        with self.part("attention"):
            self.check_attention("no_mask")
        self.warn_of_calls("no_mask", {})
        stored, mha = self.stored("no_mask"), self.attention()
        self.warn_of_side_effects(mha, {name: stored[name] for name in "QKV"}, "compute_mh_qkv_transformation")
        with self.only_warn(), self.student.unnoted():
            heads = {name: stored[name] for name in ("query", "key", "value")}
            mha = self.on_heads(heads)
            mha.train()
            x = mha.compute_scaled_dot_product_attention(**heads)
            self.assert_tensor(x, stored["x"], "x in training mode", "B T_q d_model")

    def warn_of_calls(self, case: str, masks: dict[str, np.ndarray]) -> None:
        """Warn about side effects of `forward` and of attention with these masks."""
        stored = self.stored(case)
        mha = self.projected(stored)
        inputs = dict(zip(("query", "key", "value"), map(stored.get, "QKV"), strict=True))
        before = len(self.warnings)
        with self.only_warn(), self.student.unnoted():
            self.check_projections(stored)
        if len(self.warnings) > before:  # wrong projections cost points only in their own part
            self.warnings.pop()
        else:
            self.warn_of_side_effects(mha, {**inputs, **masks}, weights=self.stored("weights"))
        heads = {name: stored[name] for name in ("query", "key", "value")}
        self.warn_of_changes(mha, {**heads, **masks}, "compute_scaled_dot_product_attention", batch=False)

    def test_mha_key_padding_mask(self):
        """Attend to the keys that are not padding."""
        with self.or_else(self.check_padding):
            self.check_attention("key_padding", **self.masks("key_padding"))
        stored, [(name, mask)] = self.stored("key_padding"), self.masks("key_padding").items()
        with self.only_warn():  # a score of 0 is a score like any other
            heads = {one: stored[one] for one in ("query", "key", "value")}
            even = heads | {"query": 0 * heads["query"]}
            x = self.on_heads(even).compute_scaled_dot_product_attention(**even, **{name: mask})
            allowed = (mask == 0)[:, None, :, None]  # all queries attend to all of these equally
            mean = (allowed * heads["value"]).sum(axis=2, keepdims=True) / allowed.sum(axis=2, keepdims=True)
            merged = mean.swapaxes(1, 2).reshape(len(mean), 1, -1)  # (B, H, 1, d_k) -> (B, 1, d_model)
            expected = np.broadcast_to(merged, stored["x"].shape)
            self.assert_tensor(x, expected, "x, for queries that are all 0,", "B T_q d_model")
        with self.only_warn():  # exp() of such a score is not finite
            loud = heads | {"query": 1e5 * heads["query"]}
            x = self.on_heads(loud).compute_scaled_dot_product_attention(**loud)
            self.assert_form(x, stored["x"].shape, "x, for queries 100,000 times as large,", "B T_q d_model")
        with self.only_warn():
            self.check_shifted("key_padding", {name: mask})

    def check_shifted(self, case: str, masks: dict[str, np.ndarray]) -> None:
        """Fail if adding the same number to all scores of a query changes the result: scores may have any size."""
        stored = self.stored(case)
        heads = {name: stored[name] for name in ("query", "key", "value")}
        with self.student.unnoted():
            for most in (50, 700):
                shifted = heads | {"key": shifted_keys(heads["query"], heads["key"], most)}
                x = self.on_heads(shifted).compute_scaled_dot_product_attention(**shifted, **masks)
                name = f"x, for scores near {most} and -{most},"
                self.assert_tensor(x, stored["x"], name, "B T_q d_model", limit=LARGE_LIMIT)

    def test_mha_key_padding_mask_attention_mask(self):
        """Use an attention mask alone, and together with a key padding mask; any non-zero entry forbids a key."""
        masks, numbers = self.masks("both_masks"), self.masks("both_masks/numbers")
        with self.part("masks of 0 and 1"), self.or_else(self.check_both):
            self.check_attention("causal", **self.masks("causal"))
            self.check_attention("both_masks", **masks)
        with self.part("masks of other numbers and of booleans"), self.or_else(self.check_other_masks):
            self.check_attention("both_masks", **numbers)
            self.check_attention("both_masks", **{name: mask != 0 for name, mask in masks.items()})
        self.warn_of_calls("both_masks", masks)
        with self.only_warn():
            self.check_shifted("causal", self.masks("causal"))

    def test_mha_different_query_and_key(self):
        """Attend with fewer queries than keys, as cross-attention does."""
        with self.or_else(self.check_lengths, beside_masks=True):
            self.check_attention("cross", **self.masks("cross"))
