"""Translate German sentences: `python -m course.translate "Der Hund schläft unter dem Tisch."`.

Without a sentence, or with "-", it translates the lines that it reads.
"""

import argparse
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from course.config import CHECKPOINTS
from course.errors import UserError, run_command

if TYPE_CHECKING:
    from course.checkpoint import Checkpoint


class Translator:
    """A checkpoint in the modules of a folder, translating through the graded interface, `Transformer.inference`."""

    def __init__(self, checkpoint: Path, modules: Path | None = None, max_tokens: int | None = None) -> None:
        from course.checkpoint import load_checkpoint
        from course.modules import load_modules

        try:
            self.checkpoint: Checkpoint = load_checkpoint(checkpoint, load_modules(modules))
        except NotImplementedError as error:
            raise UserError(f"the modules are not finished: {error}") from error
        longest = self.checkpoint.config.max_seq_length
        if max_tokens is not None and not 1 <= max_tokens <= longest:
            raise UserError(f"--max-tokens must be from 1 to {longest}, the model's max_seq_length, not {max_tokens}")
        self.max_tokens = max_tokens

    def translate(self, sentence: str) -> str:
        """Translate one sentence.

        Without `max_tokens` the translation may have one and a half times as many tokens as the source, and 10 more.

        Raises:
            UserError: if the sentence is empty or too long, or a module is not written yet.
        """
        import torch

        if not sentence.strip():
            raise UserError("there is an empty sentence; give some German text")
        config, source = self.checkpoint.config, self.checkpoint.source.encode(sentence)
        if len(source) > config.max_seq_length:
            raise UserError(
                f"the sentence that starts with {sentence[:40]!r} has {len(source)} tokens, "
                f"but the model takes at most {config.max_seq_length}; split it"
            )
        limit = self.max_tokens or min(len(source) * 3 // 2 + 10, config.max_seq_length)
        with torch.inference_mode():
            try:
                decoded, _ = self.checkpoint.model.inference(
                    torch.tensor([source]), torch.tensor([len(source)]), max_output_length=limit
                )
            except NotImplementedError as error:
                raise UserError(f"the modules are not finished: {error}") from error
        return self.checkpoint.target.decode(decoded[0].tolist())


def read_sentences() -> Iterator[str]:
    """The lines of standard input, as UTF-8 on every system."""
    if sys.stdin.isatty():
        print("German sentences, one a line:", file=sys.stderr)
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
    add("--checkpoint", type=Path, default=CHECKPOINTS / "de-en", metavar="DIR", help="the model (%(default)s)")
    add("--modules", type=Path, metavar="DIR", help="folder of the five modules (the reference where it is present)")
    add("--max-tokens", type=int, metavar="N", help="longest translation (one and a half times the source, and 10)")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    args = parse_arguments(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    translator = Translator(args.checkpoint, args.modules, args.max_tokens)
    for sentence in read_sentences() if args.sentences in ([], ["-"]) else args.sentences:
        print(translator.translate(sentence), flush=True)
    return 0


def command() -> int:
    """Run the console script `course-translate`."""
    return run_command(main)


if __name__ == "__main__":
    sys.exit(command())
