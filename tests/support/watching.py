"""`python grade.py --watch` as a student runs it, driven by tests and by the benchmark."""

import contextlib
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOLUTION = ROOT / "solutions" / "transformer"
STUBS = ROOT / "notebooks" / "transformer"


class Watcher:
    """A running `grade.py --watch`."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        command = [sys.executable, "grade.py", "--watch", "--submission", str(folder), *arguments]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
            text=True,
            encoding="utf-8",
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def verdict(self, timeout: float = 40) -> str:
        """What is printed up to the next line that says what is watched."""
        return self.until("; press Ctrl-C to stop.", timeout)

    def until(self, words: str, timeout: float = 40) -> str:
        """What is printed up to a line with these words."""
        text = ""
        while words not in text:
            text += self._lines.get(timeout=timeout)
        return text

    def save(self, module: str, old: str, new: str) -> None:
        """Edit a module as many editors do: write a new file, then put it in the place of the old one."""
        path = self.folder / f"{module}.py"
        text = path.read_text(encoding="utf-8")
        assert old in text
        partial = path.with_name(f".{path.name}.new")
        partial.write_text(text.replace(old, new), encoding="utf-8")
        partial.replace(path)

    def interrupt(self) -> tuple[int, str]:
        """Press Ctrl-C; the exit status and the rest of what is printed."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=20)
        rest = ""
        with contextlib.suppress(queue.Empty):
            while True:
                rest += self._lines.get(timeout=0.5)
        return code, rest


def latency(runs: int) -> list[float]:
    """Seconds from saving mha.py to the verdict on its stage."""
    seconds = []
    with tempfile.TemporaryDirectory() as folder, watching(Path(folder), "mha") as watcher:
        watcher.verdict()
        for _ in range(runs):
            started = time.perf_counter()
            watcher.save("mha", "import math\n", "import math  # saved\n")
            watcher.verdict()
            seconds.append(time.perf_counter() - started)
            watcher.save("mha", "import math  # saved\n", "import math\n")
            watcher.verdict()
    return seconds


@contextlib.contextmanager
def watching(folder: Path, *arguments: str, stubs: Sequence[str] = ()) -> Iterator[Watcher]:
    """Watch a copy of the reference modules, or of the stubs of some, which are graded in no time."""
    for module in SOLUTION.glob("*.py"):
        shutil.copy(STUBS / module.name if module.stem in stubs else module, folder)
    watcher = Watcher(folder, *arguments)
    try:
        yield watcher
    finally:
        watcher.process.kill()
        watcher.process.wait()
