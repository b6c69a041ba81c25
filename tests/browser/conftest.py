"""A JupyterLab server over a copy of what students receive, and a browser."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
INSTALL = 'install it: make browser, or pip install -c constraints.txt -e ".[browser]"'
KNOWN_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def course_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The course folder as a student has it: notebooks and pictures; the packages are those of this checkout."""
    folder = tmp_path_factory.mktemp("course")
    shutil.copytree(ROOT / "notebooks", folder / "notebooks", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "img", folder / "img")
    return folder


@pytest.fixture(scope="session")
def lab(course_copy: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab over what students receive."""
    with running_lab(course_copy, tmp_path_factory.mktemp("home")) as address:
        yield address


@contextlib.contextmanager
def running_lab(folder: Path, home: Path) -> Iterator[str]:
    """The address of a running JupyterLab over a folder, without the settings of this machine's user."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
    }
    # All cells stay in the page, those outside the window too, and nothing pops up over it.
    for name, setting in {
        "notebook-extension/tracker": '{"windowingMode": "none"}',
        "apputils-extension/notification": '{"fetchNews": "false", "checkForUpdates": false}',
    }.items():
        file = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True)
        file.write_text(setting, encoding="utf-8")
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1"]
    command += ["--IdentityProvider.token=", "--ServerApp.password=", f"--ServerApp.root_dir={folder}"]
    with (home / "log").open("w") as log:
        server = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log)
        try:
            yield started(server, home)
        finally:
            server.terminate()
            server.wait(timeout=30)


def started(server: subprocess.Popen[bytes], home: Path) -> str:
    """Wait until the server answers; its address, with the free port that it has found and written down."""
    for _ in range(600):
        assert server.poll() is None, (home / "log").read_text()
        time.sleep(0.2)
        for known in (home / "runtime").glob("jpserver-*.json"):
            with contextlib.suppress(OSError, ValueError):
                address = str(json.loads(known.read_text())["url"]).rstrip("/")
                urllib.request.urlopen(f"{address}/api/status", timeout=60).close()
                return address
    raise TimeoutError((home / "log").read_text())


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The Chromium of the system, or the one that CHROMIUM names."""
    playwright = pytest.importorskip("playwright.sync_api", reason=f"there is no Playwright; {INSTALL}")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, KNOWN_BROWSERS)), None)
    if found is None:
        pytest.skip("there is no Chromium; apt-get install chromium, or set CHROMIUM to the path of one")
    with playwright.sync_playwright() as driver:
        window = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield window
        window.close()


@pytest.fixture
def screenshots(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures of what was seen are left; SCREENSHOTS names another folder."""
    folder = os.environ.get("SCREENSHOTS")
    path = Path(folder) if folder else tmp_path_factory.mktemp("screenshots")
    path.mkdir(parents=True, exist_ok=True)
    return path
