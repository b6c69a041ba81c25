"""Make what the visible tests have stored: `python -m autograder expected [--check]`.

The expected tensors come from the reference modules in solutions/, computed in float64 on one thread. Inputs are
stored, not drawn again when grading, because torch's random numbers differ between processors in their last digits.
With them go the signatures of the known mistakes, and of what correct code computes on the way (see `diagnosis`).
"""

import argparse
import importlib
import tempfile
from pathlib import Path

import numpy as np

from autograder.authoring.stored_steps import store_steps
from autograder.manifest import Assignment, assignment, every_assignment, package_of


def make(folder: Path, chosen: Assignment) -> None:
    """Write the stored tensors of all stages of an assignment into a folder."""
    import torch
    from safetensors.torch import save_file

    torch.set_num_threads(1)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with torch.no_grad():
            for name, tensors in importlib.import_module(f"{package_of(chosen.name)}.make_expected").stored_tensors():
                own = {key: tensor.detach().contiguous().clone() for key, tensor in tensors.items()}
                save_file(own, folder / f"{name}.safetensors")
    finally:  # an audit does other things in the same process
        torch.set_default_dtype(before)


def store_signatures(assignment: Assignment) -> None:
    """Run every known mistake, and all correct code, through the visible tests of its stage and store what it shows."""
    from autograder.diagnosis.mistake_signatures import store
    from autograder.diagnosis.mistakes import all_mistakes
    from autograder.grading.find_mistakes import mistakes_on
    from autograder.grading.run_test import stage_tests
    from autograder.sandbox.worker_processes import make_workers

    workers = make_workers()
    try:
        signatures = {
            name: [(mistake, shown) for mistake, shown in mistakes_on(case, stage, assignment, workers) if shown]
            for stage in assignment.stages
            for name, case in stage_tests(stage).items()
        }
        store_steps(assignment, workers)
    finally:
        workers.close()
    names = [stage.name for stage in assignment.stages]
    hints = {m.id: [m.looks_like, m.read_again] for m in all_mistakes(assignment.name) if m.stage in names}
    store(assignment.name, hints, signatures)


def differences(made: Path, stored: Path) -> list[str]:
    """What differs between two folders beyond the last digits, in which processors differ."""
    from safetensors.numpy import load_file

    found = [f"{name} is missing or not wanted" for name in _names(made) ^ _names(stored)]
    for name in sorted(_names(made) & _names(stored)):
        new, old = load_file(made / name), load_file(stored / name)
        found += [f"{name}: {key} is missing or not wanted" for key in new.keys() ^ old.keys()]
        for key in sorted(new.keys() & old.keys()):
            same_form = new[key].shape == old[key].shape and new[key].dtype == old[key].dtype
            if not same_form or not np.allclose(new[key], old[key], rtol=0, atol=1e-9):
                found.append(f"{name}: {key} differs")
    return found


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*.safetensors") if not path.name.endswith(".steps.safetensors")}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m autograder expected", description=__doc__)
    parser.add_argument("--assignment", metavar="NAME", help="this one only (all)")
    parser.add_argument("--check", action="store_true", help="only compare with the stored files")
    args = parser.parse_args(arguments)
    found = []
    for chosen in [assignment(args.assignment)] if args.assignment else every_assignment():
        folder = chosen.expected
        if not args.check:
            make(folder, chosen)
            store_signatures(chosen)
            continue
        with tempfile.TemporaryDirectory() as made:
            make(Path(made), chosen)
            found += differences(Path(made), folder)
    if args.check:
        print("\n".join(found) or "the expected tensors are up to date")
    return 1 if found else 0
