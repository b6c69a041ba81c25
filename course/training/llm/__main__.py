"""Train a small model of the assignment `llm`: `python -m course.training.llm NAME --out FOLDER`."""

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from course.config import CONFIG, WEIGHTS
from course.errors import run_command
from course.llm.trained import END, MERGES, bits_per_character, encode_tales, load_llm, repeats, text_of
from course.variants.tales import read_tales

VOCABULARY = 2048
KINDS = 64  # of tokens, for the models of repeated tokens
SIZES: dict[str, dict[str, Any]] = {
    "grimm-modern": {"vocab_size": VOCABULARY, "d_model": 128, "num_layers": 4, "d_ff": 320, "dropout": 0.25},
    "induction": {"vocab_size": KINDS, "d_model": 64, "num_layers": 2, "num_kv_heads": 4, "d_ff": 64},
    "no-induction": {"vocab_size": KINDS, "d_model": 64, "num_layers": 1, "num_kv_heads": 4, "d_ff": 64},
}
STEPS = {"grimm-modern": 900, "induction": 2000, "no-induction": 2000}
BATCH, LENGTH = 8, 256  # of windows of the tales
LOOKS = 6  # at the held-out tales


class Trainer:
    """A model with its optimizers: Muon for the matrices of the layers, AdamW for all other parameters."""

    def __init__(self, modules: SimpleNamespace, sizes: dict[str, Any], steps: int, rate: float) -> None:
        import torch

        torch.manual_seed(1)
        self.model = modules.lm.LanguageModel(modules.lm.Config(**sizes))
        hidden, others = modules.optim.split(self.model)
        adam = modules.optim.AdamW(others, lr=rate, weight_decay=0.0)
        self.optimizers = [modules.optim.Muon(hidden, lr=0.02), adam]
        self.rates = [group["lr"] for optimizer in self.optimizers for group in optimizer.param_groups]
        self.wsd, self.steps = modules.optim.wsd, steps

    def step(self, number: int, tokens: Any) -> float:
        """Train on a batch, (B, T + 1); return its loss."""
        factor = self.wsd(number, self.steps, min(20, self.steps), self.steps // 2)
        loss = self.model.loss(tokens)
        loss.backward()
        for optimizer, rate in zip(self.optimizers, self.rates, strict=True):
            optimizer.param_groups[0]["lr"] = factor * rate
            optimizer.step()
            optimizer.zero_grad()
        return float(loss.detach())


def train_tales(modules: SimpleNamespace, steps: int, out: Path) -> Any:
    """Train tokenizer and model on the fairy tales; return the model."""
    import torch

    training, held_out = read_tales("train"), read_tales("val")
    merges = modules.bpe.train("".join(text_of(tale) for tale in training), VOCABULARY - 256 - 1)
    (out / MERGES).write_text(json.dumps(merges) + "\n", encoding="utf-8")
    tokenizer = modules.bpe.Tokenizer(merges, [END])
    tokens, others = torch.cat(encode_tales(training, tokenizer)), encode_tales(held_out, tokenizer)
    print(f"{len(tokens):,} tokens of training, {sum(map(len, others)):,} held out", flush=True)
    trainer = Trainer(modules, SIZES["grimm-modern"], steps, 3e-3)
    chance = torch.Generator().manual_seed(1)
    trainer.model.train()
    begun = time.process_time()
    for number in range(steps):
        starts = torch.randint(len(tokens) - LENGTH, (BATCH,), generator=chance)
        loss = trainer.step(number, tokens[starts[:, None] + torch.arange(LENGTH + 1)])
        if (number + 1) % max(1, steps // LOOKS) == 0:
            bits = bits_per_character(trainer.model, held_out, others, LENGTH)
            seconds = time.process_time() - begun
            print(f"step {number + 1}, {seconds:.0f} s: loss {loss:.2f}, bits per character {bits:.3f}", flush=True)
    return trainer.model


def train_repeats(modules: SimpleNamespace, name: str, steps: int) -> Any:
    """Train a model to continue random tokens that repeat themselves; return it."""
    import torch

    trainer = Trainer(modules, SIZES[name], steps, 3e-3)
    chance = torch.Generator().manual_seed(1)
    begun = time.process_time()
    for number in range(steps):
        period = int(torch.randint(8, 25, (), generator=chance))
        loss = trainer.step(number, repeats(16, 49, period, KINDS, chance))
        if (number + 1) % max(1, steps // LOOKS) == 0:
            print(f"step {number + 1}, {time.process_time() - begun:.0f} s: loss {loss:.3f}", flush=True)
    return trainer.model


def main(arguments: list[str] | None = None) -> int:
    import torch

    from course.checkpoint import save_checksums, save_weights

    parser = argparse.ArgumentParser(prog="python -m course.training.llm", description=__doc__)
    parser.add_argument("name", choices=SIZES, help="the model to train")
    parser.add_argument("--out", type=Path, required=True, help="folder for the finished checkpoint")
    parser.add_argument("--steps", type=int, help="number of steps (default: as for the shipped model)")
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    modules, steps = load_llm(), args.steps or STEPS[args.name]
    model = (
        train_tales(modules, steps, args.out)
        if args.name == "grimm-modern"
        else train_repeats(modules, args.name, steps)
    )
    sizes = asdict(model.config)
    (args.out / CONFIG).write_text(json.dumps(sizes, indent=2) + "\n", encoding="utf-8", newline="\n")
    save_weights(model, args.out / WEIGHTS)
    save_checksums(args.out)
    print(f"wrote {args.out}: {sum(parameter.numel() for parameter in model.parameters()):,} parameters")
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
