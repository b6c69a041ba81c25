"""Checks for invalid input, single numbers and distributions, shared by the tests of several stages."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from autograder.grading.graded_case import StageTestCase, shape_of
from autograder.sandbox.student_faults import Raised

GELU_LIMIT = 4e-5  # in any precision: the error of the tanh approximation is up to 4.7e-4

EMBEDDINGS = ("token_embedding.weight", "position_embedding.weight")


def alike_values(name: str, weights: np.ndarray) -> np.ndarray:
    """Attention parameters for which all features of a value are the same number.

    Args:
        name: the parameter: "W_v..." for one head, or "W_qkv..." for all heads at once, with the values last.
    """
    first = {"W_v": 0, "W_qkv": 2 * len(weights) // 3}.get(name.rpartition(".")[0])
    if first is None:
        return weights
    return np.concatenate([weights[:first], np.broadcast_to(weights[first], weights[first:].shape)])


class CheckingTestCase(StageTestCase):
    """A test case with this assignment's checks."""

    def refuses(self, call: Callable[[], Any], *numbers: int) -> None:
        """Fail unless a call raises a ValueError whose message contains these numbers.

        If every earlier part of the test raised a ValueError, the code rejects all input, so this part fails too.
        """
        self.checks += 1
        earlier = [error for error, _ in self.outcomes.values()]
        if earlier and all(isinstance(error, Raised) and error.message.startswith("ValueError") for error in earlier):
            raise next(filter(None, earlier))
        named = " and ".join(map(str, numbers))
        try:
            call()
        except Raised as fault:
            details = f"expected  a ValueError with {named}", f"got       {fault.message}"
            if not fault.message.startswith("ValueError"):
                self.wrong("the input is refused, but not with a ValueError", *details)
            if set(map(int, re.findall(r"\d+", fault.message))) >= {*numbers}:
                return
            self.wrong("the message of the ValueError does not name the numbers", *details)
        self.wrong(
            "the input is accepted, but it must be refused", f"expected  a ValueError with {named} in its message"
        )

    def assert_number(self, actual: Any, expected: Any, name: str) -> None:
        """Fail unless a number, or a 0-dimensional tensor, is correct."""
        number = isinstance(actual, (int, float)) and not isinstance(actual, bool)
        self.assert_tensor(np.asarray(float(actual)) if number else actual, np.asarray(expected), name, "")

    def assert_drops_weights(self, attention: Any, weights: Mapping[str, np.ndarray], x: np.ndarray, H: int) -> None:
        """Fail if attention with a dropout of 0.5 drops elements of its result or its values instead of weights.

        If attention drops elements of the result, each kept element is the same multiple of its value without dropout.
        The features of a value are equal here, so the kept features of a head should be equal too.

        Args:
            weights: the parameters of the attention; W_o, if there is one, is replaced so that it changes nothing.
            H: the number of heads in the result.
        """
        plain = {"W_o.weight": np.eye(x.shape[-1]), "W_o.bias": np.zeros(x.shape[-1])}
        attention.load_state({name: plain.get(name, alike_values(name, weight)) for name, weight in weights.items()})
        whole = attention(x)
        attention.train()
        some = attention(x)
        self.checks += 1
        if shape_of(whole) != shape_of(some) or not np.any(some):
            return
        factors = some[some != 0] / whole[some != 0]
        if np.ptp(factors) <= 1e-4 * np.abs(factors).max():
            why = "Dropping a weight removes a key from a query, so all numbers of its result change."
            wrong = "in training mode, dropout drops numbers of the result instead of weights"
            self.wrong(wrong, why, actual=some, operation="dropout")
        features = some.reshape(-1, some.shape[-1] // H)  # -> (B * T * H, d_head)
        highest = np.where(features != 0, features, -np.inf).max(axis=-1)
        lowest = np.where(features != 0, features, np.inf).min(axis=-1)
        if not np.all(highest - lowest <= 1e-4 * np.abs(features).max()):  # both are infinite if all are dropped
            why = "All features of a value are equal here, so the features of each head of the result should be too."
            wrong = "in training mode, dropout drops individual features of the values: apply it to the weights"
            self.wrong(wrong, why, actual=some, operation="dropout")

    def assert_groups(
        self,
        found: Any,
        shapes: dict[str, tuple[int, ...]],
        weight_decay: float,
        embeddings: Collection[str] | None = None,
    ) -> None:
        """Fail unless weight decay is applied to all non-embedding matrices and to nothing else.

        Args:
            found: for each group, its weight decay and the sorted names of its parameters.
            shapes: the shapes of all parameters by name.
            embeddings: the names of the `nn.Embedding` parameters, if the model is not the language model.
        """
        of, embeddings = ("", EMBEDDINGS) if embeddings is None else ("in another model, ", embeddings)
        groups = []
        for group, decay in zip(self.items(found, 2, "parameter_groups"), (weight_decay, 0.0), strict=True):
            strength, names = self.items(group, 2, "a group")
            self.assert_number(strength, decay, "the weight decay of a group")
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                self.wrong("the parameter names of a group cannot be read")
            groups.append(Counter(names))
        self.checks += 1
        decaying, others = groups
        wrong = {}
        for name in sorted({*shapes, *decaying, *others}):
            times, axes = decaying[name] + others[name], len(shapes.get(name, ()))
            if name not in shapes:
                wrong[name] = "is in the groups, but is not a parameter of the model"
            elif times != 1:
                wrong[name] = f"is in the groups {times} times" if times else "is in neither group"
            elif others[name] and axes == 2 and name not in embeddings:
                wrong[name] = "does not decay, although it has two axes and does not belong to an nn.Embedding"
            elif decaying[name] and name in embeddings:
                wrong[name] = "decays, although it belongs to an nn.Embedding"
            elif decaying[name] and axes != 2:
                wrong[name] = f"decays, although it has {axes} {'axis' if axes == 1 else 'axes'}, not 2"
        if wrong:
            name, what = next(iter(wrong.items()))
            self.wrong(f"{of}{name} {what}", f"{len(wrong)} of {len(shapes)} parameters are in the wrong place.")

    def assert_samples(self, tokens: Any, prompt: np.ndarray, new: int, vocab_size: int) -> None:
        """Fail unless `tokens` is the prompt followed by `new` tokens from the vocabulary."""
        B, T = prompt.shape
        fits = isinstance(tokens, np.ndarray) and tokens.shape == (B, T + new) and tokens.dtype.kind == "i"
        right = np.concatenate([prompt, tokens[:, T:] if fits else np.zeros((B, new), dtype=np.int64)], axis=1)
        self.assert_tensor(tokens, right, "the prompt with the sampled tokens", "B T")
        self.checks += 1
        if (tokens < 0).any() or (tokens >= vocab_size).any():
            self.wrong(
                "a sampled token is not in the vocabulary", f"the tokens range from {tokens.min()} to {tokens.max()}"
            )

    def assert_frequencies(
        self, model: Any, prompt: np.ndarray, wanted: np.ndarray, options: list[Any], number: int
    ) -> None:
        """Fail unless the tokens after a prompt are as frequent as they should be.

        Frequencies are random, but a correct program fails here less than once in 10^12 runs.

        Args:
            prompt: (1, T), the beginning of all `number` texts.
            wanted: the probability of each token.
            options: the temperature, top_k and top_p of `generate`.
        """
        prompts = np.repeat(prompt, number, axis=0)
        drawn = self.student.drivers.generate_with_seeds(model, prompts, 1, [11], *options)
        (tokens,) = self.items(drawn, 1, "sampling")
        self.assert_samples(tokens, prompts, 1, len(wanted))
        found = np.bincount(tokens[:, -1], minlength=len(wanted)) / number
        self.checks += 1
        # Bernstein's inequality, with a probability of 10^-14 for each token
        room = 33.0
        allowed = np.sqrt(2 * wanted * (1 - wanted) * room / number) + 2 * room / (3 * number)
        if (found[wanted == 0] > 0).any():
            self.wrong("a token that the filter removes is drawn")
        worst = int(np.argmax(np.abs(found - wanted) - allowed))
        if abs(found[worst] - wanted[worst]) > allowed[worst]:
            expected = f"expected  a share of {wanted[worst]:.3f} for token {worst} among {number} samples"
            got = f"got       {found[worst]:.3f}"
            self.wrong("the sampled tokens are not as frequent as they should be", expected, got)


def softmax(logits: np.ndarray) -> np.ndarray:
    """The softmax over the last axis. If all logits of a row are -inf, the result is NaN."""
    with np.errstate(invalid="ignore", over="ignore"):
        powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
