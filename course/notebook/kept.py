"""Data that a notebook keeps for a student: predictions, answers or attempts, in a JSON file next to the notebook."""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def read_kept(path: Path) -> dict[str, Any]:
    """Return the contents of the file; empty if it is missing or damaged."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def write_kept(path: Path, known: Mapping[str, Any]) -> None:
    """Write the file. If the folder is read-only, nothing is kept."""
    with contextlib.suppress(OSError):
        path.write_text(json.dumps(known, indent=1, ensure_ascii=False), encoding="utf-8")
