"""The dependencies of the course, as declared in pyproject.toml."""

import importlib.metadata
import sys
from pathlib import Path


def requirements(pyproject: Path) -> list[str]:
    """Return the packages that the course needs, each with its version range."""
    if not pyproject.is_file():
        return importlib.metadata.requires("transformer-course") or []
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    dependencies: list[str] = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]["dependencies"]
    return dependencies
