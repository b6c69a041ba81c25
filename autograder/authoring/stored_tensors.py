"""Write the stored tensors of the visible tests: `python -m autograder expected [--check]`.

A file is written if it is missing or outdated. Differences in the last digits are ignored, since these depend on the
processor.

The expected tensors come from the reference modules in solutions/, computed in float64 on one thread. Inputs are
stored instead of sampled during grading, because torch's random numbers differ between processors in their last
digits. The signatures of the known mistakes, and of intermediate results of correct code, are stored with them
(see `diagnosis`).
"""

import argparse
import importlib
import os
import tempfile
from collections.abc import Container
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from autograder.authoring.stored_steps import store_steps
from autograder.manifest import Assignment, Stage, assignment, every_assignment, package_of, work_on

if TYPE_CHECKING:
    from autograder.diagnosis.mistake_signatures import Signature
    from autograder.grading.graded_case import StageTestCase


def make(folder: Path, chosen: Assignment) -> list[str]:
    """Write the stored tensors of all stages of an assignment into a folder; return the names of changed files.

    Files of stages that no longer exist are removed.
    """
    import torch
    from safetensors.torch import save

    torch.set_num_threads(1)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    folder.mkdir(parents=True, exist_ok=True)
    written, wanted = [], set()
    try:
        with torch.no_grad():
            for name, tensors in importlib.import_module(f"{package_of(chosen.name)}.make_expected").stored_tensors():
                stored = {key: tensor.detach().contiguous().clone() for key, tensor in tensors.items()}
                file, data = folder / f"{name}.safetensors", save(stored)
                wanted.add(name)
                if not _same(file, data):
                    file.write_bytes(data)
                    written.append(file.name)
    finally:  # an audit continues in the same process
        torch.set_default_dtype(before)
    return written + [f"(removed) {name}" for name in remove_stale(folder, wanted)]


def remove_stale(folder: Path, stages: Container[str]) -> list[str]:
    """Remove the stored tensors and traces of all stages not in `stages`; return the names of the removed files."""
    stale = sorted(path for path in folder.glob("*.safetensors") if path.name.partition(".")[0] not in stages)
    for path in stale:
        path.unlink()
    return [path.name for path in stale]


def store_signatures(assignment: Assignment) -> None:
    """Run all known mistakes and all correct code through the visible tests of their stages; store the signatures."""
    from autograder.diagnosis.mistake_signatures import store
    from autograder.diagnosis.mistakes import all_mistakes
    from autograder.grading.find_mistakes import mistakes_on
    from autograder.grading.run_test import stage_tests
    from autograder.sandbox.worker_processes import make_workers

    workers = make_workers()
    tests = [(stage, name, case) for stage in assignment.stages for name, case in stage_tests(stage).items()]

    def tried(test: "tuple[Stage, str, StageTestCase]") -> "list[tuple[str, Signature | None]]":
        stage, _, case = test
        return list(mistakes_on(case, stage, assignment, workers))

    signatures: dict[str, list[tuple[str, Signature]]] = {}
    names = [stage.name for stage in assignment.stages]
    hints = {m.id: [m.looks_like, m.read_again] for m in all_mistakes(assignment.name) if m.stage in names}
    try:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for (stage, name, _), shown in zip(tests, pool.map(tried, tests), strict=True):
                signatures[name] = [(mistake, each) for mistake, each in shown if each]
                print(f"  {stage.name}: {name} sees {len(signatures[name])} of {len(shown)} mistakes", flush=True)
        store(assignment.name, hints, signatures)
        store_steps(assignment, workers)
    finally:
        workers.close()


def differences(made: Path, stored: Path) -> list[str]:
    """Return the differences between two folders, ignoring the last digits, which depend on the processor."""
    from safetensors.numpy import load_file

    problems = [f"{name} is missing or unexpected" for name in _names(made) ^ _names(stored)]
    for name in sorted(_names(made) & _names(stored)):
        problems += [f"{name}: {what}" for what in _different(load_file(made / name), load_file(stored / name))]
    return problems


def _different(new: dict[str, np.ndarray], old: dict[str, np.ndarray]) -> list[str]:
    problems = [f"{key} is missing or unexpected" for key in sorted(new.keys() ^ old.keys())]
    for key in sorted(new.keys() & old.keys()):
        same_form = new[key].shape == old[key].shape and new[key].dtype == old[key].dtype
        if not same_form or not np.allclose(new[key], old[key], rtol=0, atol=1e-9):
            problems.append(f"{key} differs")
    return problems


def _same(file: Path, data: bytes) -> bool:
    """Whether a file already contains these tensors."""
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
    parser.add_argument("--assignment", metavar="NAME", help="only this assignment (default: all)")
    parser.add_argument("--check", action="store_true", help="only compare with the stored files")
    args = parser.parse_args(arguments)
    work_on(args.assignment)
    problems = []
    for chosen in [assignment(args.assignment)] if args.assignment else every_assignment():
        folder = chosen.expected
        if not args.check:
            print(f"{chosen.name}: the expected tensors ...", flush=True)
            written = make(folder, chosen)
            print(f"  wrote {', '.join(written)}" if written else "  are unchanged")
            print(f"{chosen.name}: the results of known mistakes in each test ...", flush=True)
            store_signatures(chosen)
            continue
        with tempfile.TemporaryDirectory() as made:
            make(Path(made), chosen)
            problems += differences(Path(made), folder)
    if args.check:
        print("\n".join(problems) or "the expected tensors are up to date")
    return 1 if problems else 0
