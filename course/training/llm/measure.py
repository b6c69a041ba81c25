"""Measure the small models of `llm`: `python -m course.training.llm.measure [NAME ...]`.

The language model is compared with n-grams and with `grimm-lm`, in bits per character, and generates samples. The two
models of repeated sequences are compared with each other.
"""

import argparse
import sys
from collections.abc import Callable
from typing import Any

from course.errors import UserError, run_command
from course.llm import END, bits_per_character, encode_tales, load_standins
from course.training.llm.tasks import TEST_PERIOD, ModernTales, look_back
from course.training.variants.measure import BEGINNINGS, NEW_TOKENS, SAMPLING, bits
from course.variants.trained import load_trained, load_variants


def tales() -> None:
    """Print bits per character on the held-out tales, and the first sample for each beginning."""
    from course.variants.tales import ngram_bits, read_tales

    model, tokenizer = load_modern()
    training, held_out = read_tales("train"), read_tales("val")
    for n in (3, 5, 6, 7):
        print(f"{n}-grams of characters: {ngram_bits(training, held_out, n):.3f} bits per character")
    print(f"grimm-lm: {bits(held_out, load_trained('grimm-lm')):.3f} bits per character")
    tokens = encode_tales(held_out, tokenizer)
    for tale, ids in zip(held_out, tokens, strict=True):
        print(f"{tale.title}: {bits_per_character(model, [tale], [ids], ModernTales.T):.3f} bits per character")
    print(f"all four: {bits_per_character(model, held_out, tokens, ModernTales.T):.3f} bits per character")
    for seed, beginning in enumerate(BEGINNINGS, start=1):
        print(f"{seed}. {write(model, tokenizer, beginning, seed)}")


def load_modern() -> tuple[Any, Any]:
    """Load `grimm-modern` into the stand-ins; return the model and the byte-pair tokenizer."""
    trained = load_trained("grimm-modern", load_standins())
    return trained.model, trained.tokenizer.tokens


def write(model: Any, tokenizer: Any, beginning: str, seed: int) -> str:
    """Return a prompt and the model's continuation of it, with line breaks shown as slashes."""
    import torch

    generate, draw = load_variants().generate, torch.Generator().manual_seed(seed)
    ids, caches = tokenizer.encode(END + beginning), None
    unread = torch.tensor([ids])
    with torch.no_grad():
        for _ in range(NEW_TOKENS):
            logits, caches = model(unread, len(ids) - unread.size(1), caches)
            chances = generate.filter_logits(logits[:, -1], **SAMPLING).softmax(dim=-1)
            unread = torch.multinomial(chances, 1, generator=draw)
            ids.append(int(unread))
    return str(tokenizer.decode(ids[1:])).replace("\n", " / ")


def repetitions() -> None:
    """Print how well a two-layer and a one-layer model predict a repetition: losses, correct tokens, head scores."""
    print(f"32 texts of {TEST_PERIOD} random tokens and their repetition")
    for name in ("induction", "induction-1-layer"):
        found = look_back(load_trained(name, load_standins()).model)
        print(
            f"{name}: loss {found.first_loss:.2f} in the first period, {found.loss:.2f} in the repetition, "
            f"{100 * found.right:.1f} % right"
        )
        for layer, scores in enumerate(found.scores.tolist()):
            print(f"  induction scores, layer {layer}: {', '.join(f'{score:.2f}' for score in scores)}")


MEASURES: dict[str, Callable[[], None]] = {"grimm-modern": tales, "induction": repetitions}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m course.training.llm.measure",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="*", help=f"{', '.join(MEASURES)} (all)")
    for name in parser.parse_args(arguments).name or MEASURES:
        if name not in MEASURES:
            raise UserError(f"there is no model {name!r}; choose from {', '.join(MEASURES)}")
        MEASURES[name]()
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
