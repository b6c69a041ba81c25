"""How confined workers end: with their grader, with what they left behind, or by not starting at all (Linux)."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.sandbox.student_faults import Crashed, Raised
from autograder.sandbox.worker_processes import make_workers
from tests.support.confining import ROOT, needs_confinement, needs_linux, run, start


@pytest.fixture(scope="module")
def confined():
    workers = make_workers(confined=True)
    yield workers
    workers.close()


@needs_confinement
def test_a_dead_worker_is_replaced_by_a_confined_one(confined):
    student = start(confined, "import os\ndef end(): os._exit(0)\ndef read(): return open('/etc/passwd').read()")
    try:
        for _ in range(2):
            with pytest.raises(Crashed, match="exit code 0"):
                student.own.end()
            with pytest.raises(Raised, match="PermissionError"):
                student.own.read()
    finally:
        student.close()


@needs_confinement
def test_a_worker_ends_with_its_grader():
    script = """
from autograder.sandbox.worker_processes import make_workers
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.remote_values import Code
source = "import os\\ndef pid(): return os.getpid()\\ndef spin():\\n    while True: pass"
student = Student(make_workers(confined=True), Code({"own": source}, replace={}, modules=("own",)))
print(student.own.pid(), flush=True)
student.own.spin()
"""

    def runs(pid):
        stat = Path(f"/proc/{pid}/stat")
        return stat.exists() and stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"

    grader = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert grader.stdout is not None
    with grader:
        worker = int(grader.stdout.readline())
        assert runs(worker)
        grader.kill()
    deadline = time.monotonic() + 10
    while runs(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not runs(worker)


@needs_linux
def test_what_a_worker_leaves_behind_is_ended(bare_unconfined):
    """A process that has left its parent and its group, as only an unconfined worker can make it."""
    body = (
        "reading, writing = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        os.write(writing, str(os.getpid()).encode())\n"
        "        import time; time.sleep(60)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "return int(os.read(reading, 20))"
    )
    daemon = run(bare_unconfined, body)
    with pytest.raises(ProcessLookupError):
        os.kill(daemon, 0)
    assert run(bare_unconfined, "return 1") == 1


@needs_confinement
def test_no_worker_at_all_where_the_kernel_refuses():
    """Landlock allows 16 layers. In a process that has used them up no worker can be confined, so none starts."""
    script = """
import ctypes, struct
from autograder.sandbox.confine import LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF, PR_SET_NO_NEW_PRIVS
libc = ctypes.CDLL(None)
libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
rules = libc.syscall(LANDLOCK_CREATE_RULESET, struct.pack("=Q", 1 << 9), ctypes.c_size_t(8), 0)
for _ in range(16):
    assert libc.syscall(LANDLOCK_RESTRICT_SELF, rules, 0) == 0
from autograder.sandbox.worker_processes import make_workers
try:
    make_workers(confined=True).start()
except RuntimeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert "a worker cannot be confined" in done.stdout
    assert done.returncode == 0
