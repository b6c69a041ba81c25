"""The processes that train one model together, as started by `torchrun`; without it, a single process."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from course.errors import UserError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Group:
    """A process and its rank in its group."""

    rank: int = 0
    size: int = 1
    device: str = "cpu"  # the device of this process

    @property
    def leads(self) -> bool:
        """Whether this is the first process, which writes the files and reports progress."""
        return self.rank == 0

    @property
    def cuda(self) -> bool:
        return self.device.startswith("cuda")

    def wait(self) -> None:
        """Wait for all processes."""
        if self.size > 1:
            import torch.distributed as dist

            dist.barrier()

    def sum(self, values: "torch.Tensor") -> "torch.Tensor":
        """Replace a tensor with its sum over all processes, and return it."""
        if self.size > 1:
            import torch.distributed as dist

            dist.all_reduce(values)
        return values

    def parallel(self, model: Any) -> Any:
        """Wrap the model so that gradients are averaged over the processes."""
        if self.size == 1:
            return model
        from torch.nn.parallel import DistributedDataParallel

        return DistributedDataParallel(model)


@contextmanager
def joined(device: str | None = None) -> Iterator[Group]:
    """Join the processes started by torchrun, for the duration of the `with` block.

    Args:
        device: "cpu" or "cuda"; None means CUDA if available.

    Raises:
        UserError: if there is no such device for this process.
    """
    import torch

    rank, size, local = (int(os.environ.get(name, default)) for name, default in TORCHRUN.items())
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("there is no CUDA device here; leave out --device cuda")
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if size == 1:
        yield Group(device=device)
        return
    import torch.distributed as dist

    if not dist.is_available():
        raise UserError("this build of torch has no torch.distributed; start one process, without torchrun")
    if device == "cuda":
        if local >= torch.cuda.device_count():
            raise UserError(f"process {local} finds {torch.cuda.device_count()} CUDA devices; start one for each")
        torch.cuda.set_device(local)
        device = f"cuda:{local}"
    dist.init_process_group("nccl" if device != "cpu" else "gloo")
    try:
        yield Group(rank, size, device)
    finally:
        dist.destroy_process_group()


# The variables that torchrun sets for its processes, with the defaults for a single process.
TORCHRUN = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}
