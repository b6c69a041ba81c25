"""Measure a checkpoint: `python -m course.evaluate --corpus-dir DIR` prints BLEU and chrF on the test sets.

It evaluates both greedy decoding and beam search. The scores are sacreBLEU's (BLEU cased, 13a tokenisation), so they
are comparable with published scores that have the same signature. The last line reports how many of the hand-aligned
word pairs from our own sentences the best cross-attention head agrees with.
"""

import argparse
import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from course.errors import UserError, run_command
from course.kinds import kind_of, kind_of_checkpoint
from course.location import checkpoints
from course.training.speed import keep_freed_memory

if TYPE_CHECKING:
    from course.checkpoint import Checkpoint

TEST_SETS = (
    "tatoeba.test",
    "tatoeba-challenge.test_v2020-07-28",
    "multi30k.test_2016_flickr",
    "multi30k.test_2017_flickr",
    "multi30k.test_2018_flickr",
)


LENGTHS = (5, 8, 12, 16, 24)  # upper bounds of the length groups, in words; the last group has no upper bound


@dataclass(frozen=True)
class Score:
    """The translation quality of a checkpoint on one corpus."""

    corpus: str
    pairs: int
    beam: int  # 1 is greedy
    bleu: float
    chrf: float
    bleu_lowercase: float  # both sides in lower case, as some papers report it
    bleu_signature: str
    chrf_signature: str
    seconds: float
    by_length: dict[str, tuple[int, float]]  # length of the German sentence in words -> number of pairs, BLEU

    @property
    def search(self) -> str:
        return "greedy" if self.beam == 1 else f"beam {self.beam}"


def evaluate(checkpoint: "Checkpoint", corpus: str, pairs: list[tuple[str, str]], beam: int = 1) -> Score:
    """Translate the German sentences and compare the translations with the English sentences.

    Greedy decoding runs the modules' own code; beam search runs `course.translation.kv_cache`.

    Raises:
        UserError: if there are no pairs, or a German sentence has more tokens than the model supports.
    """
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    from course.translation.decoding import beam_search

    if not pairs:
        raise UserError(f"the corpus {corpus} is empty")
    started = time.monotonic()
    kind, sources = kind_of(checkpoint.config), [checkpoint.source.encode(german) for german, _ in pairs]
    longest = kind.longest(checkpoint.config)
    for number, source in enumerate(sources, start=1):
        if len(source) > longest:
            raise UserError(f"line {number} of {corpus} has {len(source)} tokens, but the model takes only {longest}")
    model = checkpoint.model
    decoded = kind.translate(model, sources) if beam == 1 else beam_search(model, sources, beam)
    translations = [checkpoint.target.decode(tokens) for tokens in decoded]
    references = [[english for _, english in pairs]]
    bleu, chrf = BLEU(), CHRF()
    groups: dict[str, list[int]] = {}
    for number, length in sorted(enumerate(len(german.split()) for german, _ in pairs), key=lambda pair: pair[1]):
        groups.setdefault(name_of_length(length), []).append(number)
    return Score(
        corpus=corpus,
        pairs=len(pairs),
        beam=beam,
        bleu=bleu.corpus_score(translations, references).score,
        chrf=chrf.corpus_score(translations, references).score,
        bleu_lowercase=BLEU(lowercase=True).corpus_score(translations, references).score,
        bleu_signature=str(bleu.get_signature()),
        chrf_signature=str(chrf.get_signature()),
        seconds=time.monotonic() - started,
        by_length={
            name: (len(group), bleu.corpus_score(*of_group(translations, references[0], group)).score)
            for name, group in groups.items()
        },
    )


def name_of_length(words: int) -> str:
    """Return the length group of a sentence, for instance "6 to 8" or "over 24"."""
    first = 1
    for last in LENGTHS:
        if words <= last:
            return f"{first} to {last}"
        first = last + 1
    return f"over {LENGTHS[-1]}"


def of_group(translations: list[str], references: list[str], group: list[int]) -> tuple[list[str], list[list[str]]]:
    """The translations and references of some pairs, in sacreBLEU's format."""
    return [translations[number] for number in group], [[references[number] for number in group]]


def print_scores(scores: list[Score]) -> None:
    """Print a table of scores and the signatures of the metrics."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    # Narrow: the longest name and all numbers fit into 80 columns.
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("corpus", no_wrap=True)
    table.add_column("search", no_wrap=True)
    for heading in ("pairs", "BLEU", "chrF", "BLEU,\nlower\ncase", "s"):
        table.add_column(heading, justify="right")
    for score in scores:
        table.add_row(
            score.corpus,
            score.search,
            f"{score.pairs:,}",
            f"{score.bleu:.2f}",
            f"{score.chrf:.2f}",
            f"{score.bleu_lowercase:.2f}",
            f"{score.seconds:.0f}",
        )
    console = Console(highlight=False, markup=False)
    console.print(table)
    console.print(f"BLEU  {scores[0].bleu_signature}\nchrF  {scores[0].chrf_signature}", soft_wrap=True)


def print_lengths(scores: list[Score]) -> None:
    """Print BLEU scores and numbers of pairs, grouped by the number of words in the German sentence."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for heading in ("corpus", "search", "words"):
        table.add_column(heading, no_wrap=True)
    for heading in ("pairs", "BLEU"):
        table.add_column(heading, justify="right")
    for score in scores:
        for name, (pairs, bleu) in score.by_length.items():
            table.add_row(score.corpus, score.search, name, f"{pairs:,}", f"{bleu:.2f}")
    Console(highlight=False, markup=False).print(table)


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m course.evaluate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--corpus-dir", type=Path, metavar="DIR", help="folder with <name>.tsv.gz (default: downloaded)")
    add("--corpus", nargs="+", default=TEST_SETS, metavar="NAME", help=f"the test sets ({', '.join(TEST_SETS)})")
    add("--checkpoint", type=Path, default=checkpoints() / "de-en", metavar="DIR", help="the model (%(default)s)")
    add("--modules", type=Path, metavar="DIR", help="folder of the modules (default: the reference, if it exists)")
    add(
        "--beam",
        type=int,
        default=4,
        metavar="N",
        help="beam size of the Transformer; 1 means greedy only (%(default)s)",
    )
    add("--threads", type=int, default=os.cpu_count(), metavar="N", help="CPU threads (%(default)s)")
    add("--by-length", action="store_true", help="also print BLEU by the number of words in the German sentence")
    add("--json", type=Path, metavar="FILE", help="also write the scores to a file")
    args = parser.parse_args(arguments)
    for name in ("threads", "beam"):
        if getattr(args, name) < 1:
            parser.error(f"--{name} must be at least 1, not {getattr(args, name)}")
    return args


def main(arguments: list[str] | None = None) -> int:
    args = parse_arguments(arguments)
    keep_freed_memory()
    import torch

    from course.translation.alignment import agreement
    from course.translation.corpora import load_pairs

    torch.set_num_threads(args.threads)
    corpora = {name: load_pairs(name, args.corpus_dir) for name in args.corpus}
    try:
        kind = kind_of_checkpoint(args.checkpoint)
        checkpoint = kind.load(args.checkpoint, kind.load_modules(args.modules))
        searches = sorted({1, args.beam}) if kind.has_beams else [1]
        scores = [evaluate(checkpoint, name, pairs, beam) for name, pairs in corpora.items() for beam in searches]
        aligned = agreement(checkpoint, weigh=kind.cross_weights)
    except NotImplementedError as error:
        raise UserError(f"the modules are not finished: {error}") from error
    print_scores(scores)
    if args.by_length:
        print_lengths(scores)
    print(aligned)
    if args.json is not None:
        report = {
            "checkpoint": args.checkpoint.resolve().name,
            "scores": [asdict(score) for score in scores],
            "alignment": aligned.as_dict(),
        }
        text = json.dumps(report, indent=2)
        args.json.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
