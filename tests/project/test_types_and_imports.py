"""Types and the layers of imports, as in `make lint`; both take long, so they run beside the other tests."""

import subprocess
import sys
from pathlib import Path

from course.location import ENGINE


def test_the_type_checker_finds_nothing():
    found = subprocess.run([sys.executable, "-m", "mypy"], cwd=ENGINE, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout


def test_no_import_leaves_its_layer():
    command = Path(sys.executable).with_name("lint-imports")
    found = subprocess.run([command], cwd=ENGINE, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout
