"""Keep the seed of a class's hidden tests in batch.json, so that all submissions get the same tests in every run."""

import hashlib
import json
import secrets
from pathlib import Path

from autograder.manifest import Assignment
from autograder.reports.write_files import write_whole
from course.errors import UserError

FILE = "batch.json"


def seed_of_student(seed: int, submission: str) -> int:
    """Return the seed of one submission's hidden tests, if each submission gets its own inputs."""
    return int.from_bytes(hashlib.sha256(f"{seed} {submission}".encode()).digest()[:8], "big") >> 1


def seed_of_class(folder: Path, chosen: Assignment, wanted: int | None) -> int:
    """Return the recorded seed of the hidden tests. For a new folder, return the requested seed or a random one.

    Raises:
        UserError: if the folder has results for a different assignment or seed.
    """
    path = folder / FILE
    if path.exists():
        try:
            recorded = json.loads(path.read_text(encoding="utf-8"))
            name, seed = str(recorded["assignment"]), int(recorded["seed"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path} cannot be read: restore it, or choose another --out") from error
        if name != chosen.name:
            raise UserError(f"{folder} has results of the assignment {name}: choose another --out")
        if wanted not in (None, seed):
            raise UserError(
                f"{folder} has grades with a different seed, recorded in {path}: leave out --seed to "
                "continue with it, or choose another --out"
            )
        return seed
    seed = secrets.randbits(63) if wanted is None else wanted
    write_whole(path, json.dumps({"assignment": chosen.name, "seed": seed}).encode())
    return seed
