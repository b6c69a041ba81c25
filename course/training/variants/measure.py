"""Compare the small models with baselines: `python -m course.training.variants.measure [NAME ...]`.

The language model is compared with n-grams, in bits per character, and generates samples. The tagger is compared with a
baseline that always chooses a word's most frequent form. The Vision Transformers are compared with logistic regression
and a small convolutional network, which are trained here.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from course.errors import UserError, run_command
from course.variants.trained import TrainedModel, load_trained

BEGINNINGS = (
    "Once upon a time there was a poor shoemaker",
    "The fox said to the youngest son,",
    "In the middle of the wood stood a little house",
    "The wolf knocked at the door and",
    "Then the youngest brother took the golden ring",
)  # written by us
SAMPLING = {"temperature": 0.7, "top_p": 0.9}
NEW_TOKENS = 60


def tales(corpus_dir: Path | None) -> None:
    """Print bits per character on the held-out tales, and the first sample for each beginning."""
    from course.variants.tales import ngram_bits, read_tales

    trained = load_trained("grimm-lm")
    training, held_out = read_tales("train"), read_tales("val")
    for n in (3, 5, 6, 7):
        print(f"{n}-grams of characters: {ngram_bits(training, held_out, n):.3f} bits per character")
    for tale in held_out:
        print(f"{tale.title}: {bits([tale], trained):.3f} bits per character")
    print(f"all four: {bits(held_out, trained):.3f} bits per character")
    for seed, beginning in enumerate(BEGINNINGS, start=1):
        print(f"{seed}. {write(trained, beginning, seed)}")


def bits(held_out: list[Any], trained: TrainedModel) -> float:
    """Return the language model's bits per character."""
    from course.training.variants.tales import bits_per_character

    assert trained.tokenizer is not None
    return bits_per_character(trained.model, held_out, trained.tokenizer, trained.sizes["max_len"]).figure


def write(trained: TrainedModel, beginning: str, seed: int) -> str:
    """Return a prompt and the model's continuation of it, with line breaks shown as slashes."""
    import torch

    from course.config import EOS
    from course.variants.trained import load_variants

    assert trained.tokenizer is not None
    prompt = torch.tensor([trained.tokenizer.encode(beginning)[:-1]])
    generator = torch.Generator().manual_seed(seed)
    tokens = load_variants().generate.generate(trained.model, prompt, NEW_TOKENS, generator, **SAMPLING)[0].tolist()
    lines: list[list[int]] = [[]]
    for token in tokens:
        lines[-1].append(token)
        if token == EOS:
            lines.append([])
    return " / ".join(trained.tokenizer.decode(line) for line in lines)


def capitals(corpus_dir: Path | None) -> None:
    """Print accuracy and F1 score for capitals, excluding first words, for the model and the most frequent forms."""
    from course.training.variants.capitals import predict
    from course.translation.corpora import load_pairs
    from course.variants.capitals import MostFrequentForm, score, units

    trained = load_trained("de-truecase")
    assert trained.tokenizer is not None
    baseline = MostFrequentForm(units(german) for german, _ in load_pairs("tatoeba.train", corpus_dir))
    for corpus in ("tatoeba.test", "multi30k.test_2016_flickr"):
        sentences = [units(german) for german, _ in load_pairs(corpus, corpus_dir)]
        guesses = {
            "most frequent form": [baseline.predict(sentence) for sentence in sentences],
            "de-truecase": predict(trained.model, sentences, trained.tokenizer),
        }
        for name, predicted in guesses.items():
            scores = score(sentences, predicted)
            print(f"{corpus}, {name}: accuracy {scores.accuracy:.2f} %, F1 {scores.f1:.2f} %")


def digits(corpus_dir: Path | None) -> None:
    """Print the accuracy on the held-out digits; the baselines are trained with the model's settings."""
    import torch

    from course.training.variants.__main__ import SETTINGS, WEIGHT_DECAY
    from course.training.variants.baselines import convolution, logistic_regression
    from course.training.variants.digits import Recognition, Search
    from course.training.variants.task import SmallRun
    from course.variants.trained import load_variants

    recognition, modules = Recognition(), load_variants()
    for name, make in (("logistic regression", logistic_regression), ("convolution", convolution)):
        torch.manual_seed(1)
        model = make()
        groups = modules.training.parameter_groups(model, WEIGHT_DECAY)
        with tempfile.TemporaryDirectory() as state:
            run = SmallRun(model, recognition, SETTINGS["digits-vit"], Path(state), groups)
            while run.step < run.total_steps:
                run.train_step()
            run.finish()
        parameters = sum(parameter.numel() for parameter in model.parameters())
        print(f"{name}, {parameters:,} parameters: {recognition.measure(model).figure:.1f} %")
    for name, task in (("digits-vit", recognition), ("digits-vit-canvas", Search())):
        model = load_trained(name).model
        parameters = sum(parameter.numel() for parameter in model.parameters())
        print(f"{name}, {parameters:,} parameters: {task.measure(model).figure:.1f} %")


MEASURES: dict[str, Callable[[Path | None], None]] = {
    "grimm-lm": tales,
    "de-truecase": capitals,
    "digits-vit": digits,
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m course.training.variants.measure",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="*", help=f"{', '.join(MEASURES)} (all)")
    parser.add_argument("--corpus-dir", type=Path, help="folder with tatoeba.*.tsv.gz, for de-truecase")
    args = parser.parse_args(arguments)
    for name in args.name or MEASURES:
        if name not in MEASURES:
            raise UserError(f"there is no model {name!r}; choose from {', '.join(MEASURES)}")
        MEASURES[name](args.corpus_dir)
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
