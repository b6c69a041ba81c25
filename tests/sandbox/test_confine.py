"""Confined workers: what is refused from inside, and that honest code notices nothing of it (Linux)."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.authoring.formulations import correct_submissions
from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.sandbox import confine
from autograder.sandbox.limits import CPU_SECONDS
from autograder.sandbox.student_faults import Crashed, Raised
from autograder.submissions.read_submission import read_submission
from tests.sandbox.test_seccomp import DANGEROUS
from tests.support.confining import ROOT, needs_confinement, run, start

EXPECTED = ROOT / "autograder" / "assignments" / "transformer" / "expected" / "pe.safetensors"


@pytest.fixture
def confined(confined_workers):
    return confined_workers


@pytest.fixture
def listener(tmp_path):
    """Sockets that an attacker could reach: the port of one, the path of another."""
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(tmp_path / "socket"))
        unix.listen()
        yield tcp.getsockname()[1], tmp_path / "socket"


# What each does succeeds without confinement; that is tested too, or it would not show anything.
FORBIDDEN = {
    "read a file of the system": "return len(open('/etc/passwd').read())",
    "read expected values": "return len(open(expected, 'rb').read())",
    "read the grader": "return len(open(grader).read())",
    "list a folder": "return len(os.listdir('/'))",
    "list its own folder": "return len(os.listdir(folder))",
    "read its own memory": "return len(open('/proc/self/maps').read())",
    "read an environment": "return len(open('/proc/self/environ').read()) + 1",
    "read a library": "return len(open(os.__file__).read())",
    "list a library": "return len(os.listdir(os.path.dirname(os.__file__)))",
    "look at a library": "return os.stat(os.__file__).st_size",
    "look at it by the C library": (
        "if ctypes.CDLL(None).statx(-100, os.__file__.encode(), 0, 0x7ff, bytes(256)): raise PermissionError\nreturn 1"
    ),
    "look for a file": "os.lstat('/etc/passwd'); return 1",
    "ask for access": "if not os.access(os.__file__, os.R_OK): raise PermissionError\nreturn 1",
    "follow a link": "return len(os.readlink('/proc/self/cwd'))",
    "write a file": "open(folder + '/written', 'w').write('x'); return 1",
    "overwrite a file": "open(folder + '/mine', 'r+').write('x'); return 1",
    "remove a file": "os.remove(folder + '/mine'); return 1",
    "make a folder": "os.mkdir(folder + '/made'); return 1",
    "make a symbolic link": "os.symlink('/', folder + '/link'); return 1",
    "change permissions": "os.chmod(folder + '/mine', 0o600); return 1",
    "change times": "os.utime(folder + '/mine'); return 1",
    "write shared memory": "tempfile.TemporaryFile(dir='/dev/shm'); return 1",
    "make a file in memory": "return os.memfd_create('x')",
    "make a pipe": "return os.pipe()[0]",
    "change the folder": "os.chdir('/usr'); return 1",
    "fork": "pid = os.fork()\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)\nreturn 1",
    "start a program": "subprocess.run(['true'], check=True); return 1",
    "become a program": "os.posix_spawn('/bin/true', ['true'], {}); return 1",
    "start a thread": "threading.Thread(target=print).start(); return 1",
    "look for the parent": "os.kill(os.getppid(), 0); return 1",
    "signal itself as a group": "signal.signal(signal.SIGURG, signal.SIG_IGN); os.killpg(0, signal.SIGURG); return 1",
    "leave its group": "os.setpgid(0, os.getpgid(os.getppid())); return 1",
    "change its priority": "os.nice(1); return 1",
    "change a limit": "resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); return 1",
    "outlive the grader": "if ctypes.CDLL(None).prctl(1, 0, 0, 0, 0): raise PermissionError\nreturn 1",
    "make a socket": "return socket.socket().fileno()",
    "call the grader's machine": "socket.create_connection(('127.0.0.1', port), 5); return 1",
    "send a datagram": "return socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', port))",
    "call a local service": "socket.socket(socket.AF_UNIX).connect(path); return 1",
    "make a pair of sockets": "socket.socketpair(); return 1",
    "own signals of a descriptor": "import fcntl; fcntl.fcntl(1, fcntl.F_SETOWN, os.getpid()); return 1",
}


@needs_confinement
@pytest.mark.parametrize("what", FORBIDDEN)
def test_forbidden(bare_confined, bare_unconfined, listener, tmp_path, what):
    (tmp_path / "mine").write_text("kept", encoding="utf-8")
    tmp_path.chmod(0o777)
    names = {
        "expected": str(EXPECTED),
        "grader": str(ROOT / "autograder" / "manifest" / "reading.py"),
        "folder": str(tmp_path),
        "port": listener[0],
        "path": str(listener[1]),
    }
    before = sorted(path.name for path in tmp_path.iterdir())
    refusals = r"PermissionError|FileNotFoundError|Errno 1[: ]|can't start new thread|not allowed to raise"
    with pytest.raises(Raised, match=refusals):
        run(bare_confined, FORBIDDEN[what], **names)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert (tmp_path / "mine").read_text(encoding="utf-8") == "kept"
    assert run(bare_unconfined, FORBIDDEN[what], **names) >= 1


@needs_confinement
def test_dangerous_calls_never_reach_the_kernel(bare_confined):
    """Each is called with arguments that the kernel itself would find invalid, and not answer by EPERM."""
    column = confine.ARCHITECTURES[os.uname().machine][1]
    numbers = {name: pair[column] for name, pair in DANGEROUS.items()}
    body = (
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "def refused(number):\n"
        "    ctypes.set_errno(0)\n"
        "    return libc.syscall(number, -1, -1, -1, -1, -1, -1) == -1 and ctypes.get_errno() == 1\n"
        "return [name for name, number in numbers.items() if not refused(number)]"
    )
    assert run(bare_confined, body, numbers=numbers) == []
    # Beside what the header calls x32, where the same calls have other numbers.
    assert run(bare_confined, body, numbers={"x32 getpid": 0x40000000 + 39}) == []


@needs_confinement
def test_the_state_of_a_worker(confined):
    student = start(confined, "import os\ndef pid(): return os.getpid()")
    try:
        pid = student.own.pid()
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        assert status["NoNewPrivs"].strip() == "1"
        assert status["Seccomp"].strip() == "2"
        assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0
        assert status["Threads"].strip() == "1"
        if os.geteuid() == 0 and confine.libraries_are_public():
            assert status["Uid"].split() == status["Gid"].split() == [str(confine.NOBODY)] * 4
            assert status["Groups"].strip() == ""
    finally:
        student.close()
    environment = run(confined, "return [os.getcwd(), *os.environ]")
    assert environment[0] == "/"
    assert set(environment[1:]) <= {"HOME", "USER", "TORCHINDUCTOR_CACHE_DIR", "OMP_NUM_THREADS"}


@needs_confinement
def test_only_the_connection_and_the_output_are_open(confined):
    body = (
        "import fcntl\nfound = []\n"
        "for number in range(1024):\n"
        "    try: fcntl.fcntl(number, fcntl.F_GETFD); found.append(number)\n"
        "    except OSError: pass\n"
        "return found"
    )
    found = run(confined, body)
    assert found[:3] == [0, 1, 2]
    assert len(found) == 4


@needs_confinement
def test_limits(confined):
    with pytest.raises(Raised, match=r"allocate memory|MemoryError"):
        run(confined, "import torch; return len([torch.ones(1 << 27) for _ in range(20)])")
    with pytest.raises(Crashed, match="printed more than 16 MiB"):
        run(confined, "for _ in range(40): os.write(1, bytes(1 << 20))")
    with pytest.raises(Crashed, match="SIGABRT"):
        run(confined, "os.abort()")
    limits = run(
        confined, "return [*resource.getrlimit(resource.RLIMIT_CPU), resource.getrlimit(resource.RLIMIT_CORE)[1]]"
    )
    assert limits == [CPU_SECONDS, CPU_SECONDS, 0]


@needs_confinement
@pytest.mark.parametrize(
    "name", ["einsum", *(pytest.param(one, marks=pytest.mark.slow) for one in ("solution", "loops"))]
)
def test_honest_code_gets_full_marks(confined, name):
    chosen = assignment("transformer")
    correct = correct_submissions(chosen) if name != "solution" else {}
    submission = correct[name][0] if correct else read_submission(chosen.solution, chosen)
    report = grade(submission, chosen, confined, hidden_seed=7)
    wrong = [(test.name, test.status, test.message) for test in report.tests if test.status != "passed"]
    assert wrong == []
    assert report.points == report.max_points == chosen.max_points
    assert report.end_to_end is not None
    assert report.end_to_end.status == "passed"
    assert report.confined is True


@needs_confinement
def test_what_honest_modules_do(confined):
    """Imports that Python and torch make late, gradients, an optimizer, threads that are asked for but not needed."""
    body = """
import colorsys, dataclasses, decimal, fractions, random, statistics, typing, uuid, warnings
import numpy as np
import torch
from torch import nn, optim
import torch.nn.functional as F
torch.set_num_threads(4)
torch.set_grad_enabled(True)
model = nn.Linear(300, 300)
for parameter in model.parameters():
    parameter.data.zero_()  # workers leave out random initial values
optimizer = optim.AdamW(model.parameters(), lr=1e-3)
x = torch.randn(300, 300)
losses = []
for _ in range(3):
    loss = F.mse_loss(model(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(float(loss))
warnings.warn("slow")
print(uuid.uuid4(), decimal.Decimal("1.1"), np.random.default_rng(0).normal(), torch.linalg.svd(x)[1][0])
return losses
"""
    losses = run(confined, body.strip())
    assert losses[2] < losses[0]


LATE = {
    "optimizers": (
        "from torch import nn, optim\ntorch.set_grad_enabled(True)\nmodel = nn.Linear(2, 2)\n"
        "step = optim.SGD(model.parameters(), lr=1.0)\nmodel(torch.ones(2)).sum().backward()\n"
        "step.step(); step.zero_grad(); return 1"
    ),
    "gradients of functions": "return torch.func.grad(lambda x: (x * x).sum())(torch.ones(3)).sum().item()",
    "a module with a dot": "import html.entities; return len(html.entities.html5)",
    "from a package": "from concurrent import futures; return len(futures.FIRST_COMPLETED)",
    "several": "import wave, colorsys as c, html; return len(html.escape('<')) + len(c.rgb_to_hsv(1, 1, 1))",
    "behind a colon": "if True: import calendar; return len(calendar.month_name)",
    "over lines": "from html.parser import (\n    HTMLParser,\n)\nreturn len(HTMLParser.__name__)",
    "numpy's own": "import numpy as np; np.testing.assert_allclose(np.fft.fft([1.0]), 1); return np.ma.ones(2).size",
    "encodings": "return len('\u00e9'.encode('utf-16') + 'e'.encode('cp1252'))",
    "deterministic algorithms": "torch.use_deterministic_algorithms(True); return 1",
    "text of a tensor": "return len(repr(torch.ones(2)))",
    "a warning": "import warnings; warnings.warn('slow'); return 1",
    "an exception in a library": (
        "import traceback\ntry: torch.nn.functional.one_hot(torch.ones(2))\n"
        "except RuntimeError: return len(traceback.format_exc())"
    ),
    "nothing to be had": "try: import no_such_module\nexcept ImportError: return 1",
}


@needs_confinement
@pytest.mark.parametrize("what", LATE)
def test_what_is_imported_late(confined, what):
    """No file is read when the code of a submission runs: what it imports, and what that imports late, is there."""
    assert run(confined, f"import torch\n{LATE[what]}") >= 1


@needs_confinement
def test_gradients(confined):
    student = start(confined, "from torch import nn\nclass Own(nn.Linear): pass")
    try:
        model = student.own.Own(3, 2)
        model.load_state({"weight": np.eye(2, 3), "bias": np.zeros(2)})
        gradients = model.gradients([np.ones((4, 2))], np.ones((4, 3)))
    finally:
        student.close()
    np.testing.assert_array_equal(gradients.inputs[0], np.ones((4, 2)) @ np.eye(2, 3))
    np.testing.assert_array_equal(gradients.parameters["weight"], np.full((2, 3), 4.0))


@needs_confinement
def test_errors_show_the_line(confined):
    with pytest.raises(Raised, match="ZeroDivisionError") as caught:
        run(confined, "number = 0\nreturn 1 / number")
    assert caught.value.where[-1].text == "return 1 / number"
    with pytest.raises(Raised, match="No module named 'sacrebleu'"):
        run(confined, "import sacrebleu")


@needs_confinement
def test_what_is_left_from_looking_at_results_does_no_harm(confined):
    """An import of matplotlib, which many write in a module and forget."""
    assert run(confined, "import matplotlib.pyplot as plt\nreturn 1") == 1


@pytest.mark.slow
@needs_confinement
@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="not root: everything above ran as another user")
def test_the_same_as_another_user():
    tests = "test_forbidden or test_dangerous or test_what_honest or einsum"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", tests, __file__]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/"}
    other: dict[str, Any] = {"user": confine.NOBODY, "group": confine.NOBODY, "extra_groups": []}

    def as_other(command):
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=400, **other)

    try:
        ready = as_other([sys.executable, "-c", f"import torch; open({str(EXPECTED)!r})"])
        reason = ready.stderr if ready.returncode else ""
    except OSError as error:
        reason = str(error)
    if reason:
        pytest.skip(f"another user cannot read this Python or this project: {reason}")
    done = as_other(command)
    assert done.returncode == 0, done.stdout[-3000:]


def test_a_confined_worker_answers_quickly(confined):
    """A worker is made per stage, so this must stay small beside the tests; the figures are in docs/security.md."""
    student = start(confined, "def one(): return 1")
    student.own.one()
    student.close()
    started = time.monotonic()
    assert run(confined, "return 1") == 1
    assert time.monotonic() - started < 2
