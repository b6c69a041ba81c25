"""Prepare torch once, before any submission: import it, adapt it to workers, and warm it up."""

import contextlib
import os
from typing import Any


def prepare_torch() -> None:
    """Import torch, adapt it to workers, and read the checkpoints."""
    import torch
    import torch.nn.functional as F
    from safetensors.torch import load, load_file, save

    # A confined worker cannot read these modules later.
    from autograder.worker import (  # noqa: F401
        allowed_modules,
        answer_requests,
        disable_builtins,
        ready_made_parts,
        reflection,
        unconfined_refusals,
    )
    from course.config import WEIGHTS
    from course.errors import UserError
    from course.location import checkpoints

    with contextlib.suppress(UserError):  # outside a course
        for file in checkpoints().glob(f"*/{WEIGHTS}"):
            with contextlib.suppress(Exception):  # the grader reads the file too, and reports errors in it
                answer_requests.STORED[file.parent.name] = load_file(file)

    torch.set_num_threads(1)
    # Compiling takes longer than grading and needs files; the uncompiled function returns the same result.
    plain: Any = {"compile": lambda model=None, **_: (lambda later: later) if model is None else model}
    # Torch would read a random seed from a file.
    plain["seed"] = lambda: torch.manual_seed(int.from_bytes(os.urandom(8), "little")).initial_seed()
    vars(torch).update(plain)
    vars(torch.random)["seed"] = plain["seed"]
    setattr(torch.nn.Module, "compile", lambda self, *_, **__: None)  # noqa: B010 - mypy knows it as a method
    # Every weight comes from the grader, so random initialisation would waste time.
    for name in vars(torch.nn.init):
        if name.endswith("_") and not name.startswith("_"):
            setattr(torch.nn.init, name, lambda tensor, *args, **kwargs: tensor)
    ready_made_parts.forbid()
    disable_builtins.prepare()
    # First calls set up tables inside torch; done here, every fork has them.
    with torch.no_grad():
        x = load(save({"x": torch.ones(2, 8, 8, dtype=torch.float64)}))["x"]
        F.layer_norm(torch.softmax(x @ x, dim=-1), (8,))
    allowed_modules.hide()
