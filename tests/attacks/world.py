"""What surrounds the grader while it is attacked: files to steal or change, listeners, and a watch over all of them."""

import os
import secrets
import shutil
import socket
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
WATCHED = ("autograder", "solutions", "checkpoints", "notebooks")
SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run")
SECRET = "secret-of-the-test"  # attacks know how it begins


class World:
    """Lies outside pytest's own temporary folder, which only its owner may enter: here, only confinement protects."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.secret = f"{SECRET}-{secrets.token_hex(8)}"
        self.mark = f"attack-{secrets.token_hex(8)}"  # in the name of every file that an attack tries to make
        self.folder = Path(tempfile.mkdtemp(prefix="attacked-"))
        self.temporary = self.folder / "temporary"  # for the grader's own files
        self.kept = self.folder / "kept"
        other = self.kept / "submissions" / "other" / "transformer"
        other.mkdir(parents=True)
        (self.kept / "submissions" / "empty").mkdir()
        self.temporary.mkdir()
        for path in (other / "pe.py", *(self.kept / name for name in ("gradebook.db", "results.json", "canary.txt"))):
            path.write_text(self.secret)
        # A secret in the grader's environment, and a known folder for its own files.
        patch.setenv("GRADER_SECRET", self.secret)
        patch.setenv("TMP", str(self.temporary))
        patch.setattr(tempfile, "tempdir", str(self.temporary))
        self.tcp, self.udp, self.unix, self.abstract = self.listen()
        for path in (self.folder, *self.folder.rglob("*")):
            path.chmod(0o777)
        self.known = {
            "ROOT": str(ROOT),
            "GRADER": os.getpid(),
            "MARK": self.mark,
            "CANARY": str(self.kept / "canary.txt"),
            "RESULTS": str(self.kept / "results.json"),
            "GRADEBOOK": str(self.kept / "gradebook.db"),
            "SUBMISSIONS": str(self.kept / "submissions"),
            "TEMPORARY": str(self.temporary),
            "TCP": self.tcp.getsockname()[1],
            "UDP": self.udp.getsockname()[1],
            "UNIX": self.unix.getsockname(),
            "ABSTRACT": "\0" + self.mark,
        }

    def listen(self) -> tuple[socket.socket, socket.socket, socket.socket, socket.socket]:
        """The listeners; none of them waits when it is asked."""
        tcp, unix, abstract = (socket.socket(family) for family in (socket.AF_INET, *[socket.AF_UNIX] * 2))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        tcp.bind(("127.0.0.1", 0))
        udp.bind(("127.0.0.1", 0))
        unix.bind(str(self.folder / "socket"))
        abstract.bind("\0" + self.mark)
        for listener in (tcp, unix, abstract):
            listener.listen()
        for listener in (tcp, udp, unix, abstract):
            listener.setblocking(False)
        return tcp, udp, unix, abstract

    def assignments(self) -> str:
        """What an attacker may know, as the first line of a module."""
        return "; ".join(f"{name} = {value!r}" for name, value in self.known.items()) + "\n"

    def heard(self) -> list[str]:
        """The listeners that somebody has spoken to."""
        speakers = []
        for name in ("tcp", "udp", "unix", "abstract"):
            listener: socket.socket = getattr(self, name)
            try:
                if name == "udp":
                    listener.recvfrom(100)
                else:
                    listener.accept()[0].close()
                speakers.append(name)
            except BlockingIOError:
                pass
        return speakers

    def files(self) -> dict[str, Any]:
        """Every file that must not change. The kernel's time of change cannot be set back."""
        watched = [path for name in WATCHED for path in (ROOT / name).rglob("*") if "__pycache__" not in path.parts]
        found: dict[str, Any] = {}
        for path in (*watched, self.kept, *self.kept.rglob("*")):
            status = path.lstat()
            found[str(path)] = (status.st_mode, status.st_uid)
            if path.is_symlink() or not path.is_dir():  # beside us, another test may make a folder's __pycache__
                found[str(path)] += (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        for folder in filter(os.path.isdir, SHARED_FOLDERS):
            found[folder] = sorted(name for name in os.listdir(folder) if self.mark in name)
        # torch makes a folder for its compiler as it is imported, in the trusted process that imports it.
        made = [name for name in os.listdir(self.temporary) if not name.startswith("torchinductor_")]
        found["grader's temporary files"] = sorted(made)
        for kind in ("shm", "sem", "msg"):
            path = Path("/proc/sysvipc", kind)
            found[str(path)] = [row.split()[:2] for row in path.read_text().splitlines()] if path.exists() else []
        return found

    def processes(self) -> set[int]:
        """What this process has started and all that came of it: its descendants, and all with our environment."""
        sign = f"TMP={self.temporary}".encode()
        parents, found = {}, set()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                if sign in (entry / "environ").read_bytes().split(b"\0"):
                    found.add(int(entry.name))
            except OSError:  # it has ended, or belongs to somebody else
                continue
        grown = {os.getpid()}
        while more := {pid for pid, parent in parents.items() if parent in grown} - grown:
            grown |= more
        return (found | grown) - {os.getpid()}

    def left_over(self, before: set[int], patience: float = 3.0) -> set[int]:
        """The processes that are there now, were not there before, and do not end soon."""
        until = time.monotonic() + patience
        while (left := self.processes() - before) and time.monotonic() < until:
            time.sleep(0.02)
        return left

    def close(self) -> None:
        for listener in (self.tcp, self.udp, self.unix, self.abstract):
            listener.close()
        shutil.rmtree(self.folder)
