"""Train the recurrent translator of `attention`: `python -m course.train_gru --corpus-dir DIR --out FOLDER`.

As `course.train` trains the Transformer: a run can be stopped at any time and goes on when the same command is given.
"""

import argparse
import os
import sys
from dataclasses import fields
from pathlib import Path

from course.config import CHECKPOINTS, CONFIG, SOURCE_TOKENIZER, TARGET_TOKENIZER, WEIGHTS
from course.errors import UserError, run_command
from course.recurrent import RecurrentConfig
from course.training.curves import draw_curves
from course.training.data import encode_pairs, prepare_tokenizers
from course.training.group import Group, joined
from course.training.loop import train
from course.training.recurrent import RecurrentValidation, initialise_recurrent, precomputed_decoder
from course.training.settings import TrainConfig
from course.training.speed import fast_dropout, keep_freed_memory
from course.training.trainer import Trainer

MODEL_OPTIONS = ("embed_size", "hidden_size", "attention_size", "dropout_prob")
TRAIN_OPTIONS = tuple(field.name for field in fields(TrainConfig))


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    model, settings = RecurrentConfig(1, 1), TrainConfig()
    parser = argparse.ArgumentParser(prog="python -m course.train_gru", description=__doc__)
    add = parser.add_argument
    add("--corpus-dir", type=Path)
    add("--corpus", nargs="+", default=["tatoeba.train"])
    add("--validate", metavar="CORPUS")
    add("--validate-every", type=int, metavar="STEPS")
    add("--out", type=Path, required=True)
    add("--state", type=Path, default=Path("runs/gru-de-en"))
    add("--tokenizers", type=Path, default=CHECKPOINTS / "de-en")
    for name in (*MODEL_OPTIONS, *TRAIN_OPTIONS):
        default = getattr(model if name in MODEL_OPTIONS else settings, name)
        add("--" + name.replace("_", "-"), type=type(default), default=default, help="%(default)s")
    add("--threads", type=int)
    add("--device", choices=("cpu", "cuda"))
    add("--precision", choices=("float32", "bf16"), default="float32")
    return parser.parse_args(arguments)


def run(args: argparse.Namespace, group: Group) -> None:
    import torch

    from course.checkpoint import save_checksums, save_weights
    from course.corpora import load_pairs

    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "solutions" / "attention"))
    import seq2seq

    train_config = TrainConfig(**{name: getattr(args, name) for name in TRAIN_OPTIONS})
    torch.set_num_threads(args.threads or max(1, (os.cpu_count() or 1) // group.size))
    sentences = [pair for name in args.corpus for pair in load_pairs(name, args.corpus_dir)]
    if not sentences:
        raise UserError(f"there are no sentence pairs in {', '.join(args.corpus)}")
    args.state.mkdir(parents=True, exist_ok=True)
    source, target = prepare_tokenizers(sentences, args.state, 0, args.tokenizers)
    options = {name: getattr(args, name) for name in MODEL_OPTIONS}
    config = RecurrentConfig(source.vocab_size, target.vocab_size, **options)
    pairs = encode_pairs(sentences, source, target)
    validation = None
    if args.validate is not None:
        validation = RecurrentValidation(load_pairs(args.validate, args.corpus_dir), source, target, 200, group.device)
    torch.manual_seed(train_config.seed)
    model = seq2seq.Seq2Seq(**vars(config))
    initialise_recurrent(model)
    precomputed_decoder(model)
    if not group.cuda:
        fast_dropout(model)
    trainer = Trainer(model, pairs, train_config, args.state, group, bf16=args.precision == "bf16")
    trainer.resume()
    parameters = sum(parameter.numel() for parameter in model.parameters())
    print(f"{len(pairs):,} pairs, {parameters:,} parameters, {trainer.total_steps:,} steps, from {trainer.step:,}")
    train(trainer, validation, args.validate_every)
    trainer.finish()
    args.out.mkdir(parents=True, exist_ok=True)
    config.save(args.out / CONFIG)
    for name in (SOURCE_TOKENIZER, TARGET_TOKENIZER):
        (args.out / name).write_bytes((args.state / name).read_bytes())
    save_weights(model, args.out / WEIGHTS)
    save_checksums(args.out)
    draw_curves(args.state, args.out / "curves.svg")
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
