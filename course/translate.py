"""Translate German sentences: `python -m course.translate "Der Hund schläft unter dem Tisch."`.

Without a sentence, or with "-", the command translates the lines of standard input. It calls the modules'
`Transformer.inference` for one sentence at a time. With --beam, it instead uses the search in
`course.translation.decoding`, with a KV cache and many sentences at once; `--beam 1` means greedy decoding.
"""

import sys

from course.startup import begin

if __name__ == "__main__":
    begin()  # before imports that need a package or a later Python

import argparse
import contextlib
import io
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from course.errors import UserError, run_command
from course.location import checkpoints
from course.training.speed import keep_freed_memory

if TYPE_CHECKING:
    from course.checkpoint import Checkpoint


class Translator:
    """A model built from a folder's modules and a checkpoint's weights; it translates with `Transformer.inference`."""

    def __init__(self, checkpoint: Path, modules: Path | None = None, max_tokens: int | None = None) -> None:
        from course.checkpoint import load_checkpoint
        from course.modules import load_modules

        with errors_of_modules():
            self.checkpoint: Checkpoint = load_checkpoint(checkpoint, load_modules(modules))
        longest = self.checkpoint.config.max_seq_length
        if max_tokens is not None and not 1 <= max_tokens <= longest:
            raise UserError(f"--max-tokens must be from 1 to {longest}, the model's max_seq_length, not {max_tokens}")
        self.max_tokens = max_tokens

    def translate(self, sentence: str) -> str:
        """Translate one sentence.

        Without `max_tokens`, the translation has at most 1.5 times as many tokens as the source, plus 10.

        Raises:
            UserError: if the sentence is empty or too long, or a module is not written yet or fails.
        """
        import torch

        source = self.encode(sentence)
        limit = self.max_tokens or min(len(source) * 3 // 2 + 10, self.checkpoint.config.max_seq_length)
        with torch.inference_mode(), errors_of_modules():
            result = self.checkpoint.model.inference(
                torch.tensor([source]), torch.tensor([len(source)]), max_output_length=limit
            )
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            why = "nothing: is there a `return`?" if result is None else f"{type(result).__name__}, not these two"
            raise UserError(
                f"inference of transformer.py has to return the translations and the caches; it returns {why}"
            )
        with errors_of_modules():
            return self.checkpoint.target.decode(result[0][0].tolist())

    def search(
        self, sentences: Iterable[str], beam: int, length_penalty: float = 0.6, at_once: int = 256
    ) -> Iterator[str]:
        """Translate many sentences in batches with the search of `course.translation.decoding`.

        It uses only the modules' encoder and weights. Empty lines are kept, so that line numbers match.

        Raises:
            UserError: as in `translate`, but only after the preceding sentences are translated.
        """
        from course.translation.decoding import beam_search

        sentences, problem = iter(sentences), None
        while problem is None and (lines := list(islice(sentences, at_once))):
            batch: list[list[int]] = []
            try:
                batch.extend(self.encode(line) for line in lines if line.strip())
            except UserError as error:
                problem = error  # raised once the preceding sentences are translated
            with errors_of_modules():
                translations = iter(
                    beam_search(self.checkpoint.model, batch, beam, length_penalty, limit=self.max_tokens)
                )
            for line in lines:
                tokens = next(translations, None) if line.strip() else []
                if tokens is None:
                    break  # the problem is in this sentence
                yield self.checkpoint.target.decode(tokens)
        if problem is not None:
            raise problem

    def encode(self, sentence: str) -> list[int]:
        """Return the tokens of a sentence.

        Raises:
            UserError: if it is empty or too long.
        """
        if not sentence.strip():
            raise UserError("there is an empty sentence; enter some German text")
        longest, source = self.checkpoint.config.max_seq_length, self.checkpoint.source.encode(sentence)
        if len(source) > longest:
            raise UserError(
                f"the sentence that starts with {sentence[:40]!r} has {len(source)} tokens, "
                f"but the model takes at most {longest}; split it"
            )
        return source


@contextlib.contextmanager
def errors_of_modules() -> Iterator[None]:
    """Turn exceptions from the student's modules into a `UserError` that names the line."""
    from course.modules import describe, place_of

    try:
        yield
    except UserError:
        raise
    except NotImplementedError as error:
        raise UserError(f"the modules are not finished: {error}") from error
    except Exception as error:
        if place_of(error) is not None:
            raise UserError(f"your code raised an exception: {describe(error)}") from error
        if "NoneType" in str(error):
            raise UserError(f"one of your methods returns nothing: is there a `return`? ({describe(error)})") from error
        raise


def read_sentences() -> Iterator[str]:
    """Yield the lines of standard input, decoded as UTF-8 on every system."""
    if sys.stdin.isatty():
        print("German sentences, one per line:", file=sys.stderr)
    for number, line in enumerate(sys.stdin.buffer, start=1):
        try:
            yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise UserError(f"line {number} of the input is not UTF-8") from error


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m course.translate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("sentences", nargs="*", metavar="sentence", help="German text; - or nothing reads lines from standard input")
    add("--checkpoint", type=Path, default=checkpoints() / "de-en", metavar="DIR", help="the model (%(default)s)")
    add("--modules", type=Path, metavar="DIR", help="folder of the five modules (default: the reference, if it exists)")
    add("--max-tokens", type=int, metavar="N", help="maximum tokens (default: 1.5 times the source, plus 10)")
    add("--beam", type=int, metavar="N", help="search with N beams, many sentences at once")
    add(
        "--length-penalty",
        type=float,
        default=0.6,
        metavar="X",
        help="larger values favour longer translations (%(default)s)",
    )
    args = parser.parse_args(arguments)
    if args.beam is not None and args.beam < 1:
        parser.error(f"--beam must be at least 1, not {args.beam}")
    if args.length_penalty < 0:
        parser.error(f"--length-penalty must be at least 0, not {args.length_penalty}")
    return args


def main(arguments: list[str] | None = None) -> int:
    args = parse_arguments(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    translator = Translator(args.checkpoint, args.modules, args.max_tokens)
    sentences = read_sentences() if args.sentences in ([], ["-"]) else args.sentences
    if sentences is args.sentences:
        for sentence in args.sentences:
            translator.encode(sentence)  # reports errors before any slow translation
    if args.beam is None:
        translations: Iterable[str] = (translator.translate(line) if line.strip() else "" for line in sentences)
    else:
        keep_freed_memory()
        # A person at the keyboard waits for each answer.
        at_once = 1 if sentences is not args.sentences and sys.stdin.isatty() else 256
        translations = translator.search(sentences, args.beam, args.length_penalty, at_once)
    for translation in translations:
        print(translation, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
