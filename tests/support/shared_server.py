"""For the tests of the shared server: Unix users, an exchange, the handout for all, the project for the instructor."""

import grp
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from autograder.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
COURSE = "transformer-course"
IGNORED = shutil.ignore_patterns(".git", ".venv", "build", "runs", "__pycache__", ".*_cache", "gradebook.db", "graded")
# The settings of the page docs/shared-server.md, for everybody.
SETTINGS = """
c = get_config()
c.Exchange.root = {exchange!r}
c.CourseDirectory.course_id = {course!r}
"""
NBGRADER = "import sys\nfrom nbgrader.apps.nbgraderapp import main\nsys.exit(main())\n"
PROGRAMS = {"alembic": "alembic", "jupyterhub-singleuser": "jupyterhub.singleuser"}


PACKAGES = Path(pytest.__file__).parent.parent


def runs_for_others(python: Path) -> bool:
    """Whether another user may run a Python."""
    command = ["runuser", "-u", "nobody", "--", str(python), "-c", ""]
    return subprocess.run(command, capture_output=True, cwd="/").returncode == 0


def python_for_all(folder: Path) -> Path:
    """This Python, or where it lies in a home that others may not enter, links to its files in a folder."""
    python = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    if runs_for_others(python):
        return python
    left_out = shutil.ignore_patterns("site-packages", "test", "__pycache__")
    shutil.copytree(sys.base_prefix, folder, ignore=left_out, copy_function=link_or_copy, symlinks=True)
    return folder / "bin" / python.name


def link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # on another disk
        shutil.copy(source, target)


def make_environment(folder: Path) -> None:
    """An environment for all, as /srv/venv of the guide. Its packages are those of this one."""
    python = python_for_all(folder.with_name("python"))
    if not runs_for_others(python):
        pytest.skip("other users may not run this Python")
    subprocess.run([str(python), "-m", "venv", "--without-pip", str(folder)], check=True)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    shutil.rmtree(site_packages)
    site_packages.symlink_to(PACKAGES)
    (folder / "share").mkdir(exist_ok=True)
    (folder / "share" / "jupyter").symlink_to(Path(sys.prefix) / "share" / "jupyter")
    shutil.copytree(Path(sys.prefix) / "etc" / "jupyter", folder / "etc" / "jupyter")
    (folder / "bin" / "nbgrader").write_text(NBGRADER, encoding="utf-8")
    for name, module in PROGRAMS.items():
        program = folder / "bin" / name
        program.write_text(f'#!/bin/sh\nexec {folder}/bin/python -m {module} "$@"\n', encoding="utf-8")
        program.chmod(0o755)


def cannot() -> str:
    """Why the shared server cannot be played here, or ""."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "users are made and played by root on Linux"
    if missing := [name for name in ("useradd", "userdel", "runuser") if shutil.which(name) is None]:
        return f"there is no {', '.join(missing)}"
    return ""


class Server:
    """A machine with an instructor and students, who share an exchange."""

    def __init__(self, base: Path, names: dict[str, str]) -> None:
        self.base, self.users = base, names  # as they are called in the tests -> on this machine
        self.exchange, self.handout = base / "exchange", base / "handout"

    def home(self, who: str) -> Path:
        return self.base / self.users[who]

    def environment(self, who: str) -> dict[str, str]:
        """What a login gives: everybody imports the handout, as where it is installed for all."""
        return {
            "HOME": str(self.home(who)),
            "USER": self.users[who],
            "LOGNAME": self.users[who],
            "LANG": "C.UTF-8",
            "PATH": f"{self.base}/venv/bin:/usr/bin:/bin",
            "PYTHONPATH": str(self.handout),
            "OMP_NUM_THREADS": "1",
            "LD_LIBRARY_PATH": f"{self.base}/python/lib",  # if the Python is a copy, its library is too
        }

    def run(self, who: str, *arguments: str, cwd: str = "", code: int = 0) -> str:
        """Run Python as a user; all that it printed."""
        variables = [f"{name}={value}" for name, value in self.environment(who).items()]
        command = ["runuser", "-u", self.users[who], "--", "env", "-i", *variables]
        done = subprocess.run(
            [*command, f"{self.base}/venv/bin/python", *arguments],
            cwd=self.home(who) / cwd,
            capture_output=True,
            encoding="utf-8",
            timeout=1200,
        )
        said = done.stdout + done.stderr
        assert done.returncode == code, said
        return said

    def nbgrader(self, who: str, *arguments: str, code: int = 0, cwd: str = "") -> str:
        """Run nbgrader's own program, which does not import from the folder in which it is called."""
        return self.run(who, str(self.base / "venv" / "bin" / "nbgrader"), *arguments, code=code, cwd=cwd)

    def write(self, who: str, path: str, text: str) -> None:
        """Write a file as a user would."""
        file = self.home(who) / path
        file.write_text(text, encoding="utf-8")
        shutil.chown(file, self.users[who])

    def solve(self, who: str, folder: str, *modules: str) -> None:
        """A student writes modules."""
        for module in modules:
            text = (ROOT / "solutions" / "transformer" / f"{module}.py").read_text(encoding="utf-8")
            self.write(who, f"{folder}/{module}.py", text)


@contextmanager
def a_server(*students: str) -> Iterator[Server]:
    """Make the users, the exchange, the handout and the project; remove all of it in the end."""
    base = Path(tempfile.mkdtemp(prefix="shared-"))
    base.chmod(0o755)
    mark = uuid.uuid4().hex[:6]
    server = Server(base, {name: f"{name}-{mark}" for name in ("prof", *students)})
    try:
        for name in server.users:
            user = server.users[name]
            subprocess.run(["useradd", "-M", "-d", str(base / user), "-s", "/bin/bash", user], check=True)
            server.home(name).mkdir(mode=0o700)
        server.exchange.mkdir()
        server.exchange.chmod(0o777)
        make_environment(base / "venv")
        settings = SETTINGS.format(exchange=str(server.exchange), course=COURSE)
        (base / "venv" / "etc" / "jupyter" / "nbgrader_config.py").write_text(settings, encoding="utf-8")
        assert main(["handout", str(base / "transformer-student.zip")]) == 0
        with zipfile.ZipFile(base / "transformer-student.zip") as packed:
            packed.extractall(base)
        (base / "transformer-student").rename(server.handout)
        shutil.copytree(ROOT, server.home("prof") / "course", ignore=IGNORED)
        for name, user in server.users.items():
            group = grp.getgrgid(pwd.getpwnam(user).pw_gid).gr_name
            for path in (server.home(name), *server.home(name).rglob("*")):
                shutil.chown(path, user, group)
        yield server
    finally:
        for user in server.users.values():
            end_processes_of(user)
            subprocess.run(["userdel", user], capture_output=True)
        shutil.rmtree(base, ignore_errors=True)


def end_processes_of(user: str) -> None:
    """End what is left of a user that was made for a test."""
    import psutil

    for _ in range(50):
        left = [one for one in psutil.process_iter(["username"]) if one.info["username"] == user]
        if not left:
            return
        for one in left:
            one.kill()
        time.sleep(0.1)
