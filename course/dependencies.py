"""What the course depends on, as pyproject.toml declares it."""

import importlib.metadata
import sys
from pathlib import Path


def requirements(pyproject: Path) -> list[str]:
    """The packages that the course needs, with the range of versions of each."""
    if not pyproject.is_file():
        return importlib.metadata.requires("transformer-course") or []
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    dependencies: list[str] = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]["dependencies"]
    return dependencies
