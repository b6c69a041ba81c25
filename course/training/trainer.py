"""A training run: the data, the model, the step, and the state saved between steps."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course.config import PAD
from course.errors import UserError, first_reason
from course.text import Pair, batch_by_length
from course.training.data import TokenTable
from course.training.group import Group
from course.training.settings import TrainConfig

if TYPE_CHECKING:
    import torch

STATE = "state.pt"
ALONE = Group()


class Run:
    """The common part of all training runs: model, optimizer, step, mean of the last weights, saved state."""

    def __init__(
        self, model: Any, optimizer: Any, config: TrainConfig, folder: Path, steps_per_epoch: int, group: Group = ALONE
    ) -> None:
        self.model, self.optimizer, self.config, self.folder, self.group = model, optimizer, config, folder, group
        self.step = 0
        self.seconds = 0.0
        self.steps_per_epoch = steps_per_epoch
        self.total_steps = config.epochs * steps_per_epoch
        self.averaged: list[int] = []  # the steps whose weights are in the sum
        self.weight_sum: dict[str, torch.Tensor] = {}

    def train_step(self) -> "tuple[torch.Tensor, int]":
        """Perform one update.

        Returns:
            The sum of the losses of this process's targets, and the number of targets of all processes.
        """
        raise NotImplementedError

    def begin_step(self) -> None:
        """Set the learning rate, and seed dropout's random numbers from the step number alone."""
        import torch

        for settings in self.optimizer.param_groups:
            settings["lr"] = self.config.rate(self.step, self.total_steps)
        torch.manual_seed((self.config.seed * 1_000_003 + self.step) * 4096 + self.group.rank)  # same in a resumed run
        self.model.train()

    def update(self, loss: "torch.Tensor") -> None:
        """Update the weights with the clipped gradients of a loss."""
        import torch

        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip_norm)
        self.optimizer.step()
        self.step += 1
        if self.step in self.config.averaged_steps(self.total_steps):
            self.add_to_average()

    def add_to_average(self) -> None:
        """Add the current weights to the sum from which the mean weights are computed at the end."""
        wanted = self.config.averaged_steps(self.total_steps)
        if not set(self.averaged) <= set(wanted):  # the run was extended, so its last steps have changed
            self.averaged, self.weight_sum = [], {}
        for name, parameter in self.model.named_parameters():
            weights = parameter.detach()
            self.weight_sum[name] = self.weight_sum[name] + weights if name in self.weight_sum else weights.clone()
        self.averaged.append(self.step)

    def finish(self) -> None:
        """Load the averaged weights into the model. The saved state keeps the weights of the last step."""
        means = {name: total / len(self.averaged) for name, total in self.weight_sum.items()}
        self.model.load_state_dict(means, strict=False)  # buffers are unchanged

    def save(self) -> None:
        """Write the state; the file is replaced atomically, so the saved state is always complete."""
        import torch

        if not self.group.leads:
            return
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "seconds": self.seconds,
            "train_config": asdict(self.config),
            "averaged": self.averaged,
            "weight_sum": self.weight_sum,
        }
        partial = self.folder / "state.partial"
        torch.save(state, partial)
        partial.replace(self.folder / STATE)

    def resume(self) -> bool:
        """Load the saved state, if there is one; return whether a state was loaded.

        Raises:
            UserError: if the state is damaged or belongs to a different configuration. The number of epochs may change.
        """
        import torch

        path = self.folder / STATE
        if not path.is_file():
            return False
        try:
            state = torch.load(path, weights_only=True, map_location=self.group.device)
            saved = dict(state["train_config"], epochs=self.config.epochs)
            if saved != asdict(self.config):
                raise UserError(f"{path} belongs to a run with other settings; choose another --state folder")
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.step, self.seconds = state["step"], state["seconds"]
            self.averaged, self.weight_sum = state["averaged"], state["weight_sum"]
        except UserError:
            raise
        except Exception as error:  # whatever a damaged file raises
            raise UserError(
                f"cannot continue from {path}: {first_reason(error)}. Delete it or choose another --state folder"
            ) from error
        return True


class Trainer(Run):
    """The training run of a translator.

    Each process in a group has its own trainer; all trainers have equal weights after every step.
    """

    def __init__(
        self,
        model: Any,
        pairs: list[Pair],
        config: TrainConfig,
        folder: Path,
        group: Group = ALONE,
        bf16: bool = False,
        compiled: bool = False,
    ) -> None:
        """Start a run.

        Args:
            model: a `Transformer` with initialised weights.
            pairs: source and target tokens.
            config: the training settings.
            folder: the folder for the state.
            group: the processes that train together.
            bf16: multiply in bfloat16 (autocast); the weights stay in float32.
            compiled: use kernels from torch.compile, which takes minutes at the start.
        """
        import torch

        self.pairs, self.config = pairs, config
        model.to(group.device)
        self.forward = group.parallel(model)
        if compiled:
            self.forward = torch.compile(self.forward, dynamic=True)
        self.bf16 = bf16
        self.tables = [TokenTable(side, group.device) for side in zip(*pairs, strict=True)]
        self.epoch_batches: tuple[int, list[list[int]]] | None = None
        optimizer = torch.optim.Adam(model.parameters(), lr=config.peak_rate, betas=(0.9, 0.98), eps=1e-9, fused=True)
        super().__init__(model, optimizer, config, folder, len(self.batches(0)), group)

    def batches(self, epoch: int) -> list[list[int]]:
        """Return an epoch's batches, but no more than in the first epoch, so that all epochs are equally long."""
        if self.epoch_batches is None or self.epoch_batches[0] != epoch:
            batches = batch_by_length(self.pairs, self.config.batch_tokens, seed=self.config.seed * 1000 + epoch)
            self.epoch_batches = (epoch, batches)
        batches = self.epoch_batches[1]
        return batches[: self.steps_per_epoch] if epoch else batches

    def train_step(self) -> "tuple[torch.Tensor, int]":
        import torch

        group = self.group
        epoch, index = divmod(self.step, self.steps_per_epoch)
        batches = self.batches(epoch)
        # An epoch may be one batch short; then its first batch is used again.
        batch = batches[index % len(batches)]
        count = sum(self.tables[1].lengths[pair] - 1 for pair in batch)
        share = batch[group.rank :: group.size]  # batches are sorted by length, so the shares are equally large
        (src, src_lengths), (tgt, tgt_lengths) = (table.batch(share or batch[:1]) for table in self.tables)
        self.begin_step()
        with torch.autocast(group.device.partition(":")[0], dtype=torch.bfloat16, enabled=self.bf16):
            # Teacher forcing: the decoder reads all tokens except the last and predicts all except the first.
            logits = self.forward(src=src, tgt=tgt[:, :-1], src_lengths=src_lengths, tgt_lengths=tgt_lengths - 1)
        loss = self.loss(logits.float(), tgt[:, 1:])
        if not share:  # more processes than pairs: this one takes part, but with a weight of 0
            loss = loss * 0
        # The group averages the gradients over its processes; the goal is the mean over all tokens.
        self.update(loss * (group.size / count))
        return loss.detach(), count

    def loss(self, logits: "torch.Tensor", wanted: "torch.Tensor") -> "torch.Tensor":
        """The total loss over all tokens except padding.

        Args:
            logits: (B, T_d, vocabulary).
            wanted: the target tokens, (B, T_d).
        """
        import torch.nn.functional as F

        return F.cross_entropy(
            logits.flatten(0, 1),  # (B, T_d, vocabulary) -> (B * T_d, vocabulary)
            wanted.flatten(),
            ignore_index=PAD,
            label_smoothing=self.config.label_smoothing,
            reduction="sum",
        )
