"""A training run: the data, the model, the step, and the state that is saved between steps."""

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


class Trainer:
    """A model on its way. All processes of a group have one, with the same weights after every step."""

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
        """Begin a run.

        Args:
            model: a `Transformer` with its first weights.
            pairs: source and target tokens.
            config: how to train.
            folder: where the state is saved.
            group: the processes that train together.
            bf16: multiply in bfloat16 (autocast); the weights stay in float32.
            compiled: let torch.compile write the kernels. That takes minutes at the start.
        """
        import torch

        self.model, self.pairs, self.config, self.folder, self.group = model, pairs, config, folder, group
        model.to(group.device)
        self.forward = group.parallel(model)
        if compiled:
            self.forward = torch.compile(self.forward, dynamic=True)
        self.bf16 = bf16
        self.tables = [TokenTable(side, group.device) for side in zip(*pairs, strict=True)]
        self.optimizer = torch.optim.Adam(
            model.parameters(), lr=config.peak_rate, betas=(0.9, 0.98), eps=1e-9, fused=True
        )
        self.step = 0
        self.seconds = 0.0
        self.epoch_batches: tuple[int, list[list[int]]] | None = None
        self.steps_per_epoch = len(self.batches(0))
        self.total_steps = config.epochs * self.steps_per_epoch
        self.averaged: list[int] = []  # the steps whose weights are in the sum
        self.weight_sum: dict[str, torch.Tensor] = {}

    def batches(self, epoch: int) -> list[list[int]]:
        """The batches of an epoch, cut to the number of the first epoch so that every epoch has as many."""
        if self.epoch_batches is None or self.epoch_batches[0] != epoch:
            batches = batch_by_length(self.pairs, self.config.batch_tokens, seed=self.config.seed * 1000 + epoch)
            self.epoch_batches = (epoch, batches)
        batches = self.epoch_batches[1]
        return batches[: self.steps_per_epoch] if epoch else batches

    def train_step(self) -> "tuple[torch.Tensor, int]":
        """One update.

        Returns:
            the sum of the losses of this process's target tokens, and the number of target tokens of all processes.
        """
        import torch

        config, group = self.config, self.group
        epoch, index = divmod(self.step, self.steps_per_epoch)
        batches = self.batches(epoch)
        # An epoch may come out a batch short; then its first batch serves again.
        batch = batches[index % len(batches)]
        count = sum(self.tables[1].lengths[pair] - 1 for pair in batch)
        share = batch[group.rank :: group.size]  # batches are sorted by length, so the shares weigh the same
        (src, src_lengths), (tgt, tgt_lengths) = (table.batch(share or batch[:1]) for table in self.tables)
        for settings in self.optimizer.param_groups:
            settings["lr"] = config.rate(self.step, self.total_steps)
        # The random numbers of dropout depend on the step alone: a resumed run draws the same.
        torch.manual_seed((config.seed * 1_000_003 + self.step) * 4096 + group.rank)
        self.model.train()
        with torch.autocast(group.device.partition(":")[0], dtype=torch.bfloat16, enabled=self.bf16):
            # Teacher forcing: the decoder reads all tokens but the last and predicts all but the first.
            logits = self.forward(src=src, tgt=tgt[:, :-1], src_lengths=src_lengths, tgt_lengths=tgt_lengths - 1)
        loss = self.loss(logits.float(), tgt[:, 1:])
        if not share:  # more processes than pairs: this one takes part, and counts for nothing
            loss = loss * 0
        self.optimizer.zero_grad()
        # The group averages the gradients over its processes; wanted is the mean over all tokens.
        (loss * (group.size / count)).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.clip_norm)
        self.optimizer.step()
        self.step += 1
        if self.step in config.averaged_steps(self.total_steps):
            self.add_to_average()
        return loss.detach(), count

    def loss(self, logits: "torch.Tensor", wanted: "torch.Tensor") -> "torch.Tensor":
        """The sum of the losses of all tokens that are not padding.

        Args:
            logits: (B, T_d, vocabulary).
            wanted: the tokens that are to be predicted, (B, T_d).
        """
        import torch.nn.functional as F

        return F.cross_entropy(
            logits.flatten(0, 1),  # (B, T_d, vocabulary) -> (B * T_d, vocabulary)
            wanted.flatten(),
            ignore_index=PAD,
            label_smoothing=self.config.label_smoothing,
            reduction="sum",
        )

    def add_to_average(self) -> None:
        """Add the weights as they are now to the sum, of which the mean is taken at the end."""
        wanted = self.config.averaged_steps(self.total_steps)
        if not set(self.averaged) <= set(wanted):  # the run has become longer: what was its end is no longer
            self.averaged, self.weight_sum = [], {}
        for name, parameter in self.model.named_parameters():
            weights = parameter.detach()
            self.weight_sum[name] = self.weight_sum[name] + weights if name in self.weight_sum else weights.clone()
        self.averaged.append(self.step)

    def finish(self) -> None:
        """Give the model the mean of the averaged weights. The state that was saved keeps those of the last step."""
        means = {name: total / len(self.averaged) for name, total in self.weight_sum.items()}
        self.model.load_state_dict(means, strict=False)  # the buffers stay

    def save(self) -> None:
        """Write the state; the file is replaced in one go, so a stop at any moment leaves a whole one."""
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
        """Go back to the saved state, if there is one.

        Raises:
            UserError: if the state is damaged or belongs to another configuration. The number of epochs may change.
        """
        import torch

        path = self.folder / STATE
        if not path.is_file():
            return False
        try:
            state = torch.load(path, weights_only=True, map_location=self.group.device)
            saved = dict(state["train_config"], epochs=self.config.epochs)
            if saved != asdict(self.config):
                raise UserError(f"{path} belongs to a run with other settings; give another --state folder")
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.step, self.seconds = state["step"], state["seconds"]
            self.averaged, self.weight_sum = state["averaged"], state["weight_sum"]
        except UserError:
            raise
        except Exception as error:  # whatever a damaged file raises
            raise UserError(
                f"cannot go on from {path}: {first_reason(error)}. Delete it or give another --state folder"
            ) from error
        return True
