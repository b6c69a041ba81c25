"""Sentences per second of the ways of decoding, and of others on the same weights: `python -m bench.translate`.

All take turns in one run, on one thread, so their ratios hold. Time is that of the processor, so other work on the
machine is not counted. The sentences are our own, or 500 of tatoeba.test with --corpus-dir. CTranslate2 takes part
where it is installed: `pip install -e ".[peers]"`.
"""

import argparse
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path

from course.training.speed import keep_freed_memory

Translations = list[list[int]]

WHO = ["Der alte Koch", "Meine Schwester", "Unser Nachbar", "Ein Kind", "Die Katze", "Der Lehrer meines Bruders"]
WHEN = ["hat gestern", "hat heute Morgen", "hat noch nie"]
WHAT = [
    "den Schlüssel gesucht.",
    "einen Apfel gegessen, obwohl er nicht hungrig war.",
    "so laut gelacht.",
    "auf dem kleinen Sofa neben dem Fenster geschlafen.",
]


def own_sentences() -> list[str]:
    """72 sentences of 5 to 14 words."""
    return [f"{who} {when} {what}" for who, when, what in product(WHO, WHEN, WHAT)]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.translate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--runs", type=int, default=5, help="counted runs of each way (%(default)s)")
    add("--corpus-dir", type=Path, metavar="DIR", help="folder with tatoeba.test.tsv.gz")
    add("--sentences", type=int, default=500, help="that many of the corpus (%(default)s)")
    return parser.parse_args()


def main() -> int:
    args = parse_arguments()
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # before torch is imported
    keep_freed_memory()
    import torch

    from bench.peers import CTranslate2, torch_peer
    from course.checkpoint import load_checkpoint
    from course.translation.corpora import read_pairs
    from course.translation.decoding import beam_search, greedy_decode, longest_translation

    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message=".*nested tensors is in prototype")
    checkpoint = load_checkpoint()
    model, config = checkpoint.model, checkpoint.config
    texts = own_sentences()
    if args.corpus_dir is not None:
        texts = [german for german, _ in read_pairs(args.corpus_dir, "tatoeba.test")[: args.sentences]]
    sources = [checkpoint.source.encode(text) for text in texts]

    def reference() -> Translations:
        results = []
        with torch.inference_mode():
            for source in sources:
                limit = longest_translation(model, source)
                decoded, _ = model.inference(torch.tensor([source]), torch.tensor([len(source)]), limit)
                results.append([token for token in decoded[0].tolist()[1:] if token != config.eos_idx])
        return results

    peer = torch_peer(model, config)
    ways: dict[str, Callable[[], Translations]] = {
        "Transformer.inference, one by one": reference,
        "everything anew, one by one": lambda: greedy_decode(model, sources, max_tokens=1),
        "KV cache, one by one": lambda: greedy_decode(model, sources, max_tokens=1, cache=True),
        "everything anew, in batches": lambda: greedy_decode(model, sources),
        "torch.nn.Transformer, in batches": lambda: greedy_decode(peer, sources),
        "KV cache, in batches": lambda: greedy_decode(model, sources, cache=True),
        "KV cache, in batches, beam 4": lambda: beam_search(model, sources, 4),
    }
    try:
        for kind in ("float32", "int8"):
            other = CTranslate2(model, config, kind)
            ways[f"CTranslate2 {kind}, in batches"] = lambda other=other: other.translate(sources)  # type: ignore[misc]
            ways[f"CTranslate2 {kind}, in batches, beam 4"] = lambda other=other: other.translate(sources, 4)  # type: ignore[misc]
    except ModuleNotFoundError:
        print('CTranslate2 is not installed: pip install -e ".[peers]"')

    seconds: dict[str, list[float]] = {name: [] for name in ways}
    results: dict[str, Translations] = {}
    for run in range(args.runs + 1):
        for name, way in ways.items():
            started = time.process_time()
            results[name] = way()
            if run:  # the first round warms up
                seconds[name].append(time.process_time() - started)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    base, anew = medians["Transformer.inference, one by one"], medians["everything anew, in batches"]
    expected = results["Transformer.inference, one by one"]
    print(f"{len(sources)} sentences, {sum(map(len, expected)):,} tokens, medians of {args.runs}, one thread")
    print(f"{'':<40}{'sentences/s':>12}{'x inference':>12}{'x all anew':>12}{'same':>8}")
    for name, median in medians.items():
        same = sum(result == tokens for result, tokens in zip(results[name], expected, strict=True)) / len(sources)
        print(f"{name:<40}{len(sources) / median:>12.0f}{base / median:>12.2f}{anew / median:>12.2f}{same:>8.1%}")
    for suffix in ("", ", beam 4"):
        ours = medians[f"KV cache, in batches{suffix}"]
        for peer_name in ("torch.nn.Transformer", "CTranslate2 float32", "CTranslate2 int8"):
            if theirs := medians.get(f"{peer_name}, in batches{suffix}"):
                print(f"KV cache, in batches{suffix}: {theirs / ours:.2f} times as fast as {peer_name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
