"""Hidden tests for stage 1: multi-head attention of many sizes, with all kinds of masks, and its gradients."""

import contextlib
from typing import Any

import numpy as np

from autograder.assignments.transformer.relative import D, H, RelativeTestCase, merged
from autograder.diagnosis.compare_tensors import Incorrect
from autograder.grading.hidden_case import HiddenTestCase, Twins
from autograder.sandbox.remote_values import Gradients
from autograder.sandbox.student_faults import NotStarted, Raised

METHOD = "compute_scaled_dot_product_attention"
PROJECT = "compute_mh_qkv_transformation"
SIZES = (3, 5, 6, 7, 10, 12)  # of d_k: no powers of 4, for which the scale would be exact
LARGE_LIMIT = 1e-3  # for scores near 760: a softmax in float32, as some write it, is accurate to 3e-5


class TestMultiHeadAttention(HiddenTestCase, RelativeTestCase):
    def sound(self) -> bool:
        """Whether attention and its gradients are correct without masks."""
        mha, heads = self.student.mha.MultiHeadAttention(d_model=H * D, num_heads=H), self.heads(4, 5)
        scores = heads["query"] @ heads["key"].swapaxes(-1, -2) / np.sqrt(D)
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        right = merged(powers / powers.sum(axis=-1, keepdims=True) @ heads["value"])
        try:
            if not self.alike(self.attended(heads), right):
                return False
            gradients = mha.gradients([right], method=METHOD, **heads).inputs
            return all(isinstance(gradient, np.ndarray) and gradient.any() for gradient in gradients)
        except (Incorrect, Raised):
            return False

    def attention(self, H: int) -> tuple[Twins, int]:
        """An attention module with H heads and random weights, and its d_k."""
        d_k = self.pick(*SIZES)
        return self.twins(lambda modules: modules.mha.MultiHeadAttention(d_model=H * d_k, num_heads=H)), d_k

    def plain(self, H: int, d_k: int) -> Twins:
        """An attention module whose projections change nothing: the heads are its inputs, split into parts."""
        d_model = H * d_k
        plain = self.both(lambda modules: modules.mha.MultiHeadAttention(d_model=d_model, num_heads=H))
        state = {f"W_{name}.weight": np.eye(d_model) for name in "qkvo"}
        self.load(plain, state | {f"W_{name}.bias": np.zeros(d_model) for name in "qkvo"})
        return plain

    def after_projection(self, plain: Twins, heads: dict[str, np.ndarray]) -> Any:
        """The student's attention module, right after a projection that produces these heads.

        `forward` projects first, and the two methods may share attributes of the object. A broken projection
        costs points only in its own test.
        """
        with contextlib.suppress(NotStarted, Raised):
            plain.student.compute_mh_qkv_transformation(*(merged(heads[name]) for name in ("query", "key", "value")))
        return plain.student

    def random_heads(self, B: int, H: int, T_q: int, T_k: int, d_k: int) -> dict[str, np.ndarray]:
        """Random queries, keys and values."""
        return {
            "query": 1.5 * self.random(B, H, T_q, d_k),
            "key": 1.5 * self.transposed(B, H, T_k, d_k),
            "value": self.random(B, H, T_k, d_k),
        }

    def inputs(self, B: int, T_q: int, T_k: int, mha: Twins) -> dict[str, np.ndarray]:
        """Random inputs for `forward`."""
        d_model = self.right(lambda reference: reference.attribute("d_model"), mha.reference)
        shapes = {"query": (B, T_q, d_model), "key": (B, T_k, d_model), "value": (B, T_k, d_model)}
        return {name: self.transposed(*shape) for name, shape in shapes.items()}

    def holes(self, *shape: int, marks: tuple[int, ...] = (1,)) -> np.ndarray:
        """A random mask, half zeros and half values from `marks`, in which each row allows at least one key."""
        mask = self.rng.choice(marks, size=shape) * (self.rng.random(shape) < 0.5)
        np.put_along_axis(mask, self.rng.integers(shape[-1], size=(*shape[:-1], 1)), 0, axis=-1)
        return mask

    def attend(self, plain: Twins, where: np.ndarray | None = None, **inputs: np.ndarray) -> np.ndarray:
        """Fail unless attention returns the same result as the reference."""
        self.after_projection(plain, inputs)
        return self.same(
            lambda model: model.compute_scaled_dot_product_attention(**inputs), plain, "x", "B T_q d_model", where
        )

    def mixed(self, mha: Twins, **inputs: np.ndarray) -> Gradients:
        """Fail unless `forward`, with W_o, and its gradients are correct; check that its arguments stay unchanged."""
        y = self.same(lambda model: model(**inputs), mha, "the output of forward", "B T_q d_model")
        gradients = self.same_gradients(mha, inputs, self.random(*y.shape), "B T d_model")
        self.keeps_arguments(mha.student, inputs)
        return gradients

    def ignores(self, plain: Twins, forbidden: np.ndarray, where: bool | np.ndarray = True, **inputs) -> None:
        """Fail if forbidden keys (True in `forbidden`, (B, T_k)) change the output at the positions in `where`."""
        keys = forbidden[:, None, :, None]
        # The scores of all allowed keys are near -40, which reveals a fill value that is not far lower.
        B, H, T_q, d_k = inputs["query"].shape
        size = np.sqrt(40 * np.sqrt(d_k))
        query, key = inputs["query"].copy(), inputs["key"].copy()
        query[..., 0], key[..., 0] = -size, size
        quiet = {**inputs, "query": query, "key": key}
        louder = {
            **quiet,
            "key": np.where(keys, -10 * key, key),
            "value": np.where(keys, 1e4 + inputs["value"], inputs["value"]),
        }
        before, after = (getattr(self.after_projection(plain, case), METHOD)(**case) for case in (quiet, louder))
        self.assert_form(before, (B, T_q, H * d_k), "x", "B T_q d_model")
        counted = np.broadcast_to(where, before.shape)
        self.unchanged(after, before, "masked keys have weight: changing them changes x", "x", "B T_q d_model", counted)

    def large_scores(self, mha: Twins, signs: tuple[int, ...], **inputs: np.ndarray) -> None:
        """Fail unless attention is correct for scores near 760 or -760, whose exponentials overflow or become 0.

        Args:
            signs: the signs of the scores of the first query, the second query, and so on, repeated as needed. With
                both signs, subtracting the same number from the scores of all queries does not help.
        """
        size = np.sqrt(760 * np.sqrt(inputs["query"].shape[-1]))
        inputs["query"], inputs["key"] = inputs["query"].copy(), inputs["key"].copy()
        inputs["query"][..., 0] = size * np.resize(signs, inputs["query"].shape[-2])
        inputs["key"][..., 0] = size
        self.after_projection(mha, inputs)
        attend = lambda model: model.compute_scaled_dot_product_attention(**inputs)  # noqa: E731
        self.same(attend, mha, "x", "B T_q d_model", limit=LARGE_LIMIT)

    def test_mha_no_mask(self):
        """Check one sentence, one head, as many sentences as heads or positions, and the gradients."""
        with self.part("projections"):
            for H in (self.pick(2, 3, 5), 1):
                mha, _ = self.attention(H)
                T_q, T_k = self.sizes(2)
                for B in (1, H + (H == 1), T_q):
                    results = self.project(mha, inputs := self.inputs(B, T_q, T_k, mha))
            arguments = dict(zip("QKV", inputs.values(), strict=True))
            gradients = [self.random(*result.shape) for result in results]
            self.same_gradients(mha, arguments, gradients, "B T d_model", PROJECT)
            self.keeps_arguments(mha.student, arguments, PROJECT)
        with self.part("attention"):
            for H in (self.pick(2, 3, 5), 1):
                mha, d_k = self.attention(H)
                plain = self.plain(H, d_k)
                T_q, T_k = self.sizes(2)
                for B in (1, H + (H == 1), T_q):
                    heads = self.random_heads(B, H, T_q, T_k, d_k)
                    self.attend(plain, **heads)
                inputs = self.inputs(B, T_q, T_k, mha)
                self.mixed(mha, **inputs)
            self.keeps_arguments(self.after_projection(plain, heads), heads, METHOD)
            name = "the output in training mode"
            self.same(lambda model: model(**inputs), self.train(mha), name, "B T_q d_model")

    def project(self, mha: Twins, inputs: dict[str, np.ndarray]) -> Any:
        """Fail unless the queries, keys and values are correct; return the correct ones."""
        # The reference comes first: known answers are in the order of the calls, whatever the student's code does.
        right = self.right(lambda model: model.compute_mh_qkv_transformation(*inputs.values()), mha.reference)
        actual = mha.student.compute_mh_qkv_transformation(*inputs.values())
        results = zip("qkv", self.items(actual, 3, "compute_mh_qkv_transformation"), right, strict=True)
        for name, tensor, expected in results:
            self.assert_tensor(tensor, expected, name, f"B H T_{'q' if name == 'q' else 'k'} d_k")
        return right

    def test_mha_key_padding_mask(self):
        """Check masks of 0 and 1, large numbers at masked keys, and the gradients."""
        with self.or_else(self.check_padding):
            self.check_key_padding()

    def check_key_padding(self) -> None:
        """Fail unless a key padding mask works on its own."""
        H = self.pick(2, 3, 5)
        mha, d_k = self.attention(H)
        plain = self.plain(H, d_k)
        T, T_k = self.sizes(2, low=6)
        for B, T_q in ((H, T), (T_k, T_k), (1, T)):
            heads = self.random_heads(B, H, T_q, T_k, d_k)
            mask = self.holes(B, T_k)
            self.attend(plain, **heads, key_padding_mask=mask)
            nothing = {**heads, "query": 0 * heads["query"]}  # a score of 0 is a score like any other
            self.attend(plain, **nothing, key_padding_mask=mask)
            self.ignores(plain, mask != 0, **heads, key_padding_mask=mask)
            for signs in ((1,), (-1,), (1, -1)):
                self.large_scores(plain, signs, **heads, key_padding_mask=mask)
        mask = self.holes(H, T_k)
        gradients = self.mixed(mha, **self.inputs(H, T, T_k, mha), key_padding_mask=mask)
        for name, gradient in zip(("key", "value"), gradients.inputs[1:3], strict=False):
            wrong = f"a gradient reaches masked keys: the gradient of {name} should be 0 there"
            none = np.zeros_like(gradient)
            self.unchanged(gradient, none, wrong, "the gradient", "B T_k d_model", (mask != 0)[..., None])

    def test_mha_key_padding_mask_attention_mask(self):
        """Check shared and individual attention masks, alone or with a key padding mask, and fully masked queries."""
        with self.part("masks of 0 and 1"), self.or_else(self.check_both):
            self.check_attention_masks()
        with self.part("masks of other numbers and of booleans"), self.or_else(self.check_other_masks):
            self.check_other_numbers()

    def check_attention_masks(self) -> None:
        """Fail unless an attention mask works, alone and with a key padding mask."""
        H = self.pick(2, 3, 5)
        mha, d_k = self.attention(H)
        plain = self.plain(H, d_k)
        (T,) = self.sizes(1, low=6)
        causal = np.triu(np.ones((1, T, T), dtype=np.int64), k=1)
        for B in (H, T, 1):
            heads = self.random_heads(B, H, T, T, d_k)
            self.attend(plain, **heads, attention_mask=causal)
            self.attend(plain, **{**heads, "query": 0 * heads["query"]}, attention_mask=causal)
            later = np.broadcast_to(np.arange(T) > T // 2, (B, T))
            self.ignores(plain, later, ~later[..., None], **heads, attention_mask=causal)
            self.large_scores(plain, (1, -1), **heads, attention_mask=causal)
            # Each sentence has its own mask.
            mask = self.holes(B, T, T)
            self.attend(plain, **heads, attention_mask=mask)
            padding = self.rng.choice((0, 1), size=(B, T)) * (np.arange(T) > 1)
            mask[..., :2] = np.where(self.rng.random((B, T, 1)) < 0.5, (0, 1), (1, 0))
            self.attend(plain, **heads, key_padding_mask=padding, attention_mask=mask)
        self.mixed(mha, **self.inputs(H, T, T, mha), key_padding_mask=self.padding(self.lengths(H, T), T))
        self.mixed(mha, **self.inputs(H, T, T, mha), attention_mask=causal)
        self.nothing_left(plain, T, self.random_heads(2, H, T, T, d_k))
        self.shared_with_padding(mha, plain, H, d_k)

    def shared_with_padding(self, mha: Twins, plain: Twins, H: int, d_k: int) -> None:
        """Fail unless a shared attention mask works with a padding mask, in alternating short and long calls."""
        for lengths, mask in self.in_turn():
            B, T = len(lengths), max(lengths)
            masks = {"key_padding_mask": self.padding(lengths, T), "attention_mask": mask}
            heads = {**self.random_heads(B, H, T, T, d_k), **masks}
            self.attend(plain, **heads)
            self.mixed(mha, **self.inputs(B, T, T, mha), **masks)
        self.keeps_arguments(self.after_projection(plain, heads), heads, METHOD)

    def check_other_numbers(self) -> None:
        """Fail unless True and any non-zero number forbid a key."""
        H = self.pick(2, 3, 5)
        d_k = self.pick(*SIZES)
        plain = self.plain(H, d_k)
        B, T_q, T_k = self.sizes(3)
        heads = self.random_heads(B, H, T_q, T_k, d_k)
        masks = {
            "key_padding_mask": self.holes(B, T_k, marks=(1, -7)),
            "attention_mask": self.holes(B, T_q, T_k, marks=(7, -1, 2)),
        }
        self.attend(plain, **heads, key_padding_mask=masks["key_padding_mask"])
        self.attend(plain, **heads, attention_mask=masks["attention_mask"])
        self.keeps_arguments(self.after_projection(plain, heads), {**heads, **masks}, METHOD)
        # Numbers of the two masks may cancel out: 1 in one mask and -1 in the other still forbid the key.
        masks["key_padding_mask"][:, :2] = 0
        masks["attention_mask"][..., :2] = np.where(self.rng.random((B, T_q, 1)) < 0.5, (0, 7), (-1, 0))
        self.attend(plain, **heads, **masks)
        self.attend(plain, **heads, **{name: mask != 0 for name, mask in masks.items()})

    def nothing_left(self, plain: Twins, T: int, heads: dict[str, np.ndarray]) -> None:
        """Fail unless queries with allowed keys get the correct result, even if other queries have none.

        The results of queries without allowed keys are not graded: filling with minus infinity makes them NaN.
        """
        mask = self.holes(2, T, T)
        mask[0, 1] = 1
        padding = np.stack([np.zeros(T, dtype=np.int64), np.ones(T, dtype=np.int64)])
        some = ((mask == 0) & (padding[:, None] == 0)).any(axis=-1, keepdims=True)
        self.attend(plain, some, **heads, key_padding_mask=padding, attention_mask=mask)

    def test_mha_different_query_and_key(self):
        """Check more and fewer keys than queries, a single query, and masks: padding, attention, or both."""
        with self.or_else(self.check_lengths, beside_masks=True):
            self.check_queries_and_keys()

    def check_queries_and_keys(self) -> None:
        """Fail unless attention works with more or fewer keys than queries."""
        H = self.pick(2, 3, 5)
        mha, d_k = self.attention(H)
        plain = self.plain(H, d_k)
        small, large = sorted(self.sizes(2))
        for B, T_q, T_k in ((H, large, small), (small, small, large), (2, 1, large)):
            heads = self.random_heads(B, H, T_q, T_k, d_k)
            padding = self.padding(self.lengths(B, T_k), T_k)
            self.attend(plain, **heads, key_padding_mask=padding)
            self.ignores(plain, padding != 0, **heads, key_padding_mask=padding)
            mask = self.holes(B, T_q, T_k)
            mask[..., 0] = 0
            self.attend(plain, **heads, attention_mask=mask[:1])
            self.attend(plain, **heads, attention_mask=mask, key_padding_mask=padding)
        self.mixed(mha, **self.inputs(2, small, large, mha), key_padding_mask=self.holes(2, large))
