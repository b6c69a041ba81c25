"""Train a German-English translator: `python -m course.train --corpus-dir DIR --out FOLDER`.

The model is built from the project's own modules: a Transformer or, with `--model recurrent`, its predecessor.
Training can be stopped at any time; the same command then continues it, with the same result as an uninterrupted run.
`torchrun --nproc-per-node N -m course.train` trains in N processes: each process computes its share of every batch,
and the result is the same as with one process.
"""

import argparse
import os
import sys
from dataclasses import fields, replace
from pathlib import Path

from course.config import CONFIG, SOURCE_TOKENIZER, TARGET_TOKENIZER, WEIGHTS
from course.errors import UserError, run_command
from course.kinds import KINDS, Kind
from course.training.curves import FORMATS, draw_curves
from course.training.data import encode_pairs, prepare_tokenizers
from course.training.group import Group, joined
from course.training.loop import train
from course.training.settings import TrainConfig
from course.training.speed import fast_dropout, importable, keep_freed_memory
from course.training.trainer import Trainer
from course.training.validation import Validation

# The configuration entries that are options of the command.
MODEL_OPTIONS = tuple(dict.fromkeys(size for kind in KINDS.values() for size in kind.sizes))
TRAIN_OPTIONS = tuple(field.name for field in fields(TrainConfig))
POSITIVE = (
    *("vocab_size", "epochs", "batch_tokens", "peak_rate", "warmup_steps", "clip_norm", "threads"),
    *("average", "average_every", "validate_every"),
)


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    settings = TrainConfig()
    parser = argparse.ArgumentParser(
        prog="python -m course.train", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--corpus-dir", type=Path, help="folder with <name>.tsv.gz (default: downloaded if possible)")
    add("--corpus", nargs="+", default=["tatoeba.train"], help="names of corpora to train on (%(default)s)")
    add("--validate", metavar="CORPUS", help="corpus for measuring loss and BLEU during training")
    add("--validate-every", type=int, metavar="STEPS", help="interval of these measurements (default: an epoch)")
    add("--out", type=Path, required=True, help="folder for the finished checkpoint")
    add("--state", type=Path, default=Path("runs/de-en"), help="folder for the state of the run (%(default)s)")
    add(
        "--curves",
        type=Path,
        metavar="FILE",
        help="figure of loss and BLEU, .svg or .png (default: curves.svg in --out)",
    )
    add("--modules", type=Path, help="folder of the modules (default: the reference)")
    add("--model", choices=KINDS, default="transformer", help="the kind of translator (%(default)s)")
    add("--init", type=Path, metavar="FOLDER", help="checkpoint to start from: its weights, tokenizers and sizes")
    add("--tokenizers", type=Path, metavar="FOLDER", help="checkpoint to take only the tokenizers from")
    add("--vocab-size", type=int, default=4000)
    for name in MODEL_OPTIONS:
        values = {kind.name: getattr(kind.config(1, 1), name) for kind in KINDS.values() if name in kind.sizes}
        shown = ", ".join(f"{value} ({kind})" for kind, value in values.items())
        add("--" + name.replace("_", "-"), type=type(next(iter(values.values()))), help=shown)
    for name in TRAIN_OPTIONS:
        default = getattr(settings, name)
        add("--" + name.replace("_", "-"), type=type(default), default=default, help="%(default)s")
    add("--threads", type=int, help="CPU threads (default: all CPUs, shared by the processes)")
    add("--device", choices=("cpu", "cuda"), help="default: cuda if available")
    add(
        "--precision",
        choices=("float32", "bf16"),
        help="precision of multiplications (default: bf16 on cuda, float32 on the CPU)",
    )
    add("--compile", action="store_true", help="use torch.compile; worth the minutes it takes only on cuda")
    args = parser.parse_args(arguments)
    args.kind = KINDS[args.model]
    args.sizes = {name: getattr(args, name) for name in MODEL_OPTIONS if getattr(args, name) is not None}
    if strange := [name for name in args.sizes if name not in args.kind.sizes]:
        parser.error(f"--{strange[0].replace('_', '-')} is not a size of the {args.model} model")
    if args.init is not None and args.tokenizers is not None:
        parser.error("--init takes the tokenizers of its checkpoint; leave out --tokenizers")
    for name in POSITIVE:
        value = getattr(args, name)
        if value is not None and value <= 0:
            parser.error(f"--{name.replace('_', '-')} must be more than 0, not {value}")
    if not 0 <= args.label_smoothing < 1:
        parser.error(f"--label-smoothing must be from 0 up to, but not including, 1, not {args.label_smoothing}")
    if args.curves is not None and args.curves.suffix not in FORMATS:
        parser.error(f"--curves must end in {' or '.join(FORMATS)}, not {args.curves.name}")
    return args


def run(args: argparse.Namespace, group: Group) -> None:
    """Train a model; every process of a group runs this function."""
    import torch

    from course.checkpoint import fill, load_weights, save_checksums, save_weights
    from course.translation.corpora import load_pairs

    kind: Kind = args.kind
    config = kind.config(args.vocab_size, args.vocab_size, **args.sizes)
    if args.init is not None:
        config = replace(kind.config.load(args.init / CONFIG), dropout_prob=config.dropout_prob)
    train_config = TrainConfig(**{name: getattr(args, name) for name in TRAIN_OPTIONS})
    torch.set_num_threads(args.threads or max(1, (os.cpu_count() or 1) // group.size))
    if group.cuda:
        torch.set_float32_matmul_precision("high")  # TF32 where bfloat16 is not used
    sentences = [pair for name in args.corpus for pair in load_pairs(name, args.corpus_dir)]
    if not sentences:
        raise UserError(f"there are no sentence pairs in {', '.join(args.corpus)}")
    if group.leads:
        args.state.mkdir(parents=True, exist_ok=True)
        prepare_tokenizers(sentences, args.state, args.vocab_size, args.init or args.tokenizers)
    group.wait()
    source, target = prepare_tokenizers(sentences, args.state, args.vocab_size)
    if args.tokenizers is not None:
        config = replace(config, src_vocab_size=source.vocab_size, tgt_vocab_size=target.vocab_size)
    if (source.vocab_size, target.vocab_size) != (config.src_vocab_size, config.tgt_vocab_size):
        raise UserError(f"{args.state} has tokenizers with a different --vocab-size; choose another --state folder")
    pairs = encode_pairs(sentences, source, target)
    if not pairs:
        raise UserError(f"all sentences in {', '.join(args.corpus)} are too long to train on")
    validation = None
    if args.validate is not None and group.leads:
        measured = load_pairs(args.validate, args.corpus_dir)
        validation = Validation(measured, source, target, kind.longest(config), group.device, translate=kind.translate)
    torch.manual_seed(train_config.seed)
    modules = kind.load_modules(args.modules)
    model = kind.build(config, modules)
    if args.init is None:
        kind.initialise(model)
    else:
        fill(model, load_weights(args.init / WEIGHTS), args.init)
    if not group.cuda:
        fast_dropout(model)
    if args.modules is None:  # with --modules, the user wants to see what their own attention learns
        kind.quicken(model, modules, group.cuda)
    if args.compile:
        importable(modules)
    precision = args.precision or ("bf16" if group.cuda else "float32")
    trainer = Trainer(model, pairs, train_config, args.state, group, bf16=precision == "bf16", compiled=args.compile)
    trainer.resume()
    if group.leads:
        parameters = sum(parameter.numel() for parameter in model.parameters())
        print(
            f"{len(pairs):,} pairs, {parameters:,} parameters, {trainer.total_steps:,} steps on {group.device}, "
            f"from step {trainer.step:,}",
            flush=True,
        )
    train(trainer, validation, args.validate_every)
    if not group.leads:
        return
    trainer.finish()
    args.out.mkdir(parents=True, exist_ok=True)
    config.save(args.out / CONFIG)
    for name in (SOURCE_TOKENIZER, TARGET_TOKENIZER):
        (args.out / name).write_bytes((args.state / name).read_bytes())
    save_weights(model, args.out / WEIGHTS)
    save_checksums(args.out)
    draw_curves(args.state, args.curves or args.out / "curves.svg")
    if validation is not None:
        quality = validation.measure(model)
        print(f"{args.validate}: loss {quality.loss:.3f}, BLEU {quality.bleu:.2f} (greedy, the finished checkpoint)")
    print(f"wrote {args.out} after {trainer.seconds / 60:.0f} minutes of training")


def main(arguments: list[str] | None = None) -> int:
    args = parse_arguments(arguments)
    keep_freed_memory()
    with joined(args.device) as group:
        run(args, group)
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
