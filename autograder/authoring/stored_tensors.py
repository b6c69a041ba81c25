"""Make what the visible tests have stored: `python -m autograder expected [--check]`.

A file is written where it is missing or differs beyond the last digits, in which processors differ.

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


def make(folder: Path, chosen: Assignment) -> list[str]:
    """Write the stored tensors of all stages of an assignment into a folder; the names of the files that are new."""
    import torch
    from safetensors.torch import save

    torch.set_num_threads(1)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    try:
        with torch.no_grad():
            for name, tensors in importlib.import_module(f"{package_of(chosen.name)}.make_expected").stored_tensors():
                own = {key: tensor.detach().contiguous().clone() for key, tensor in tensors.items()}
                file, data = folder / f"{name}.safetensors", save(own)
                if not _same(file, data):
                    file.write_bytes(data)
                    written.append(file.name)
    finally:  # an audit does other things in the same process
        torch.set_default_dtype(before)
    return written


def store_signatures(assignment: Assignment) -> None:
    """Run every known mistake, and all correct code, through the visible tests of its stage and store what it shows."""
    from autograder.diagnosis.mistake_signatures import Signature, store
    from autograder.diagnosis.mistakes import all_mistakes
    from autograder.grading.find_mistakes import mistakes_on
    from autograder.grading.run_test import stage_tests
    from autograder.sandbox.worker_processes import make_workers

    workers = make_workers()
    signatures: dict[str, list[tuple[str, Signature]]] = {}
    try:
        for stage in assignment.stages:
            for name, case in stage_tests(stage).items():
                tried = list(mistakes_on(case, stage, assignment, workers))
                signatures[name] = [(mistake, shown) for mistake, shown in tried if shown]
                print(f"  {stage.name}: {name} sees {len(signatures[name])} of {len(tried)} mistakes", flush=True)
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
        found += [f"{name}: {what}" for what in _different(load_file(made / name), load_file(stored / name))]
    return found


def _different(new: dict[str, np.ndarray], old: dict[str, np.ndarray]) -> list[str]:
    found = [f"{key} is missing or not wanted" for key in sorted(new.keys() ^ old.keys())]
    for key in sorted(new.keys() & old.keys()):
        same_form = new[key].shape == old[key].shape and new[key].dtype == old[key].dtype
        if not same_form or not np.allclose(new[key], old[key], rtol=0, atol=1e-9):
            found.append(f"{key} differs")
    return found


def _same(file: Path, data: bytes) -> bool:
    """Whether a file holds these tensors already."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return not _different(load(data), load(file.read_bytes()))
    except (OSError, SafetensorError):
        return False


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
            print(f"{chosen.name}: the expected tensors ...", flush=True)
            written = make(folder, chosen)
            print(f"  wrote {', '.join(written)}" if written else "  are as they were")
            print(f"{chosen.name}: what known mistakes give in each test ...", flush=True)
            store_signatures(chosen)
            continue
        with tempfile.TemporaryDirectory() as made:
            make(Path(made), chosen)
            found += differences(Path(made), folder)
    if args.check:
        print("\n".join(found) or "the expected tensors are up to date")
    return 1 if found else 0
