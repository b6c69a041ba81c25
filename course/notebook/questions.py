"""The answers to the self-checking questions, by name. The questions themselves are in the notebooks."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """A question with one right answer, a number or the letter of a choice. The question's text is in the notebook.

    `wrong` lists answers that result from particular mistakes, each with a remark: (answer, remark).
    """

    answer: float | str
    because: str
    wrong: tuple[tuple[float | str, str], ...] = ()
    tolerance: float = 0.0  # the tolerance

    def matches(self, given: float | str, answer: float | str) -> bool:
        """Whether a given answer equals the correct one, up to rounding."""
        if isinstance(given, str) or isinstance(answer, str):
            return str(given).strip().lower() == str(answer).lower()
        return math.isfinite(given) and abs(given - answer) <= self.tolerance + 1e-9 * abs(answer)

    def rounded_to(self, given: float | str) -> bool:
        """Whether a wrong number is the correct answer rounded to too few digits."""
        if isinstance(given, str) or isinstance(self.answer, str) or given == 0 or not self.tolerance:
            return False
        return any(given == round(self.answer, digits) for digits in range(4))


QUESTIONS = {
    # 0_text
    "text-numbers": Question(
        30_720,
        "8 sentences times 20 positions times 192 features are 30,720 numbers.",
        ((160, "That is how many tokens there are. Each has become a vector."),),
    ),
    "text-padding": Question(
        20.8,
        "There are 4 times 12 = 48 positions. The sentences have 38 tokens, so 10 of 48 are padding: 20.8 per cent.",
        (
            (0.208, "In per cent, please."),
            (26.3, "You have divided by the number of tokens, 38. The batch has 48 positions."),
            (10, "That is the number of padded positions. What percentage of all positions is it?"),
        ),
        tolerance=0.2,
    ),
    "text-tokens": Question(
        7,
        "sos, ▁the, ▁dog, ▁sleep, s, the full stop, eos: 7 tokens.",
        ((5, "And sos and eos?"), (6, 'Is "sleeps" one piece in this vocabulary?')),
    ),
    "text-bank": Question(
        "b",
        "b: the embedding is looked up by the index alone. The output of the encoder depends on the whole sentence.",
        (
            ("a", "How is the embedding looked up?"),
            ("c", "In the encoder each token attends to the others, and these differ."),
            ("d", "The word is spelled in the same way. What does the tokenizer know about its meaning?"),
        ),
    ),
    # 1_mha
    "mha-weight": Question(
        0.731,
        "exp(1) = 2.718 and exp(0) = 1. The weight is 2.718 / 3.718 = 0.731; the other one is 0.269.",
        (
            (0.269, "That is the other key's weight."),
            (0.245, "That is the old weight. The forbidden key has dropped out, so the sum is smaller."),
            (0.5, "The scores are not equal."),
        ),
        tolerance=0.002,
    ),
    "mha-scale": Question(
        0.5,
        "√48 / √192 = √(1/4) = 1/2: all scores are half as large as they should be, and the weights are flatter. "
        "Training from scratch could make up for it with longer queries; trained weights would give different results.",
        (
            (0.25, "That is the ratio of 48 to 192. What is the ratio of their square roots?"),
            (2, "Dividing by the larger root makes the scores smaller, so the factor is below 1."),
        ),
        tolerance=0.001,
    ),
    "mha-products": Question(
        15_360,
        "2 sentences times 4 heads times 10 queries times 12 keys are 960 scores, each a sum of 16 products: 15,360.",
        (
            (960, "That is the number of scores. Each is a dot product of vectors with 16 entries."),
            (7_680, "Is that for only one sentence?"),
            (3_840, "Is that for only one head?"),
        ),
    ),
    "mha-mask": Question(
        "c",
        "c: (B, 1, 1, T_k). The mask is about keys. It applies to all heads and all queries of a sentence.",
        (
            ("a", "Then T_k is on the axis of the queries: whole rows would be forbidden."),
            ("b", "Shapes are compared from the right: B would line up with the axis of the queries."),
            ("d", "Then B is on the axis of the heads. With B = H there is no error, but the result is wrong."),
        ),
    ),
    # 2_pe
    "pe-entry": Question(
        -0.990,
        "Column 1 is the cosine of the first clock, whose speed is 1: cos 3 = -0.990 (in radians).",
        (
            (0.141, "That is the sine, column 0."),
            (0.999, "Is your calculator set to radians? Or did you take column 3, the slow clock?"),
        ),
        tolerance=0.001,
    ),
    "pe-partner": Question(
        9,
        "Columns 8 and 9 are the sine and the cosine of clock 4. Both have the exponent 8 / d_model.",
        ((7, "Column 7 is the cosine of clock 3: a pair begins with an even column."),),
    ),
    "pe-length": Question(
        32,
        "sin² + cos² = 1 for each of the 32 clocks, so the dot product of a row with itself is 32, at every position.",
        (
            (64, "There are 64 columns, but a sine and a cosine together give 1."),
            (5.657, "That is the length of the row. The dot product with itself is its square."),
        ),
        tolerance=0.001,
    ),
    "pe-buffer": Question(
        "b",
        "b: a buffer is saved and moved with the model, and no optimizer changes it.",
        (
            ("a", "A parameter would be trained."),
            ("c", "A plain attribute is neither saved nor moved to the GPU."),
        ),
    ),
    # 3_encoder
    "encoder-norm": Question(
        1.414,
        "The mean is 1, the squared distances are 1, 1, 4, the variance 6/3 = 2. The third entry is 2/√2 = 1.414.",
        (
            (1.155, "You have divided by d - 1. Layer norm divides by d."),
            (1, "You have divided by the variance, not by its root."),
            (2.121, "The mean has not been subtracted."),
        ),
        tolerance=0.002,
    ),
    "encoder-network": Question(
        76,
        "W_1 has 4 x 8 = 32 numbers, b_1 has 8, W_2 has 32, b_2 has 4: 76.",
        ((64, "And the two biases?"), (72, "Both biases are counted: 8 and 4."), (68, "Both biases: 8 and 4.")),
    ),
    "encoder-dropout": Question(
        8,
        "A number that is kept is divided by 1 - p = 0.75, and 6 / 0.75 = 8. So the mean over many draws is 6 again.",
        (
            (6, "The kept numbers are scaled up to make up for the dropped ones."),
            (4.5, "It is divided by 1 - p, not multiplied."),
        ),
        tolerance=0.001,
    ),
    "encoder-waste": Question(
        45,
        "The short sentence is padded to 50, so 45 of 100 positions are wasted. Training puts sentences of similar "
        "length into one batch; `batch_by_length` in course/text.py does it.",
        ((0.45, "In per cent, please."), (90, "That is for the short sentence. What is it for both together?")),
        tolerance=0.1,
    ),
    # 4_decoder
    "decoder-examples": Question(
        8,
        "Every token but the first is predicted once: 8.",
        ((9, "Is sos ever predicted?"), (7, "eos is predicted as well.")),
    ),
    "decoder-allowed": Question(
        21,
        "Row i may attend to i + 1 keys: 1 + 2 + 3 + 4 + 5 + 6 = 21 of 36.",
        (
            (15, "A position may attend to itself: the diagonal is allowed."),
            (36, "That is the number of all cells. Those above the diagonal are forbidden."),
        ),
    ),
    "decoder-loss": Question(
        1.386,
        "(ln 2 + ln 8) / 2 = (0.693 + 2.079) / 2 = 1.386. Padding is in neither the sum nor the count.",
        (
            (2.773, "That is the sum. The loss is the mean over the real tokens."),
            (0.924, "There are two real tokens, not three."),
            (-1.386, "The loss is minus the logarithm."),
        ),
        tolerance=0.002,
    ),
    "decoder-weights": Question(
        "c",
        "c: a row for each target position, a column for each source position, in every head: (B, H, T_d, T_e).",
        (
            ("a", "The queries come from the target: they are the rows."),
            ("b", "That is the decoder's self-attention."),
            ("d", "That is the encoder's self-attention."),
        ),
    ),
    # 5_inference
    "inference-result": Question(
        6,
        "sos and the five tokens that were predicted: 6. The limit ended the loop, so there is no eos.",
        ((5, "sos is in the result too."), (9, "The limit ends the loop earlier.")),
    ),
    "inference-memory": Question(
        36,
        "2 x 12 layers x 1,024 tokens x 768 features are 18,874,368 numbers. With two bytes each that is 36 MiB.",
        (
            (18, "Keys and values: two numbers for each feature. Or did you forget that a number has two bytes?"),
            (37.75, "A MiB has 1,048,576 bytes."),
            (3, "That is a single layer."),
        ),
        tolerance=0.01,
    ),
    "inference-errors": Question(
        66.7,
        'Insert "fat" and "down": 2 edits. The reference has 3 words, so the rate is 2/3 = 66.7 per cent.',
        ((40, "Divide by the length of the reference, 3."), (0.667, "In per cent, please.")),
        tolerance=0.1,
    ),
    "inference-brevity": Question(
        0.779,
        "exp(1 - 10/8) = exp(-0.25) = 0.779.",
        (
            (1.221, "Is that exp(1 - c/r)? The penalty is exp(1 - r/c)."),
            (0.8, "8/10 would be a plausible penalty, but BLEU uses exp(1 - r/c)."),
            (1, "The translation is shorter than the reference, so it is penalised."),
        ),
        tolerance=0.001,
    ),
    "inference-mask": Question(
        "b",
        "b: only the attention mask has a row for each query. The padding mask is about keys, and all positions "
        "are still keys. Cut to one column, it would broadcast one value to all keys, without an error.",
        (
            ("a", "Are there fewer keys than before?"),
            ("c", "Cut to (B, 1), the padding mask would treat all keys alike."),
            ("d", "There is one query left. How many rows may the attention mask have?"),
        ),
    ),
    # 6_train
    "train-chance": Question(
        7.6,
        "Each token has probability 1/2000, and -log(1/2000) = log 2000 = 7.60.",
        (
            (3.3, "You have taken the logarithm to base 10. The loss is a natural logarithm."),
            (11, "You have taken the logarithm to base 2. The loss is a natural logarithm."),
        ),
        tolerance=0.05,
    ),
    "train-mask": Question(
        1.44,
        "13 real tokens with loss 2 add up to 26, and there are 18 positions: 26 / 18 = 1.44. That looks better than "
        "the 2.00 of the real tokens, but the model has learnt nothing more about them.",
        ((2, "That is the masked loss, of the real tokens only."), (1, "There are 13 real tokens among 18 positions.")),
        tolerance=0.01,
    ),
    "train-clip": Question(
        0.05,
        "1/20 = 0.05: the gradient keeps its direction.",
        ((20, "It becomes shorter."), (1, "The gradient is longer than 1, so it is scaled.")),
        tolerance=0.0001,
    ),
    "train-loss": Question(
        "c",
        "c: without the causal mask the answer can be copied from the input. The loss gets small, but during "
        "decoding there is nothing to copy. Part C showed this.",
        (
            ("a", "With too little training the loss would not be small."),
            ("b", "Without smoothing the loss gets small too, but the translations are right."),
            ("d", "With a small vocabulary the pieces are shorter, but the translations are not wrong."),
        ),
    ),
}
