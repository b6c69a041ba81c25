"""What the tests share: one thread, our own sentences, and a tiny checkpoint trained on them."""

import gzip
import os
import signal
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.support.sampled import EVERY

# Before torch is imported, here and in the processes that tests start: threads only get into each other's way.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
# A job in the background ignores Ctrl-C, and so would the programs that tests start and interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

VOCABULARY = 34
WHO = {"Der Hund": "The dog", "Die Katze": "The cat", "Ein Kind": "A child", "Unser Lehrer": "Our teacher"}
DOES = {"schläft": "sleeps", "wartet": "waits", "spielt": "plays", "singt": "sings"}
WHERE = {"im Garten": "in the garden", "am Bahnhof": "at the station", "zu Hause": "at home", "dort": "there"}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are processors: many tests wait for a process, or for a limit of time."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `sampled` leaves out of the test command as slow."""
    seen: Counter[str] = Counter()
    for item in items:
        test = item.nodeid.partition("tests/")[2].partition("[")[0]
        if test in EVERY and not item.get_closest_marker("slow"):
            if not EVERY[test] or seen[test] % EVERY[test]:
                item.add_marker(pytest.mark.slow)
            seen[test] += 1


@pytest.fixture(scope="session", autouse=True)
def graded_tests() -> None:
    """Import the graded tests before grading does so in several threads: pytest parses them to rewrite what they
    assert, and CPython 3.11 cannot parse in two threads (SystemError: AST constructor recursion depth mismatch)."""
    from autograder.grading.run_test import stage_tests
    from autograder.manifest import every_assignment

    for chosen in every_assignment():
        for stage in chosen.stages:
            for hidden in (False, True):
                stage_tests(stage, hidden)


@pytest.fixture(scope="session", autouse=True)
def patient_trials() -> None:
    """Let what trials may cost be counted in operations only: beside other tests a machine is slow."""
    from autograder.localization import repair

    repair.SECONDS, repair.CALL_SECONDS = 60.0, 2.0


@pytest.fixture(scope="session", autouse=True)
def shared_warm_processes() -> Iterator[None]:
    """Let the commands that run in this process share warm processes: each would import torch anew, for seconds."""
    from autograder.sandbox import worker_processes
    from autograder.sandbox.worker_processes import ForkingWorkers

    begin, end = ForkingWorkers.__init__, ForkingWorkers.close
    idle: dict[object, list[dict[str, Any]]] = {}

    def key_of(*kind: bool) -> object:
        environment = worker_processes.clean_environment()
        return *kind, *worker_processes.python_command(""), *sorted(environment.items())

    def start(self: ForkingWorkers, confined: bool = False, landlock: bool = True, bare: bool = False) -> None:
        key = key_of(confined, landlock, bare)
        while found := idle.get(key):
            vars(self).update(found.pop())
            if self._process.poll() is None:
                return
            end(self)
        begin(self, confined, landlock, bare)
        self.key = key  # type: ignore[attr-defined]

    def close(self: ForkingWorkers) -> None:
        if self._provided or self._process.poll() is not None or len(idle.get(self.key, ())) > 1:  # type: ignore[attr-defined]
            end(self)
        else:
            idle.setdefault(self.key, []).append(dict(vars(self)))  # type: ignore[attr-defined]

    with mock.patch.multiple(ForkingWorkers, __init__=start, close=close):
        yield
    for kept in idle.values():
        for state in kept:
            old = object.__new__(ForkingWorkers)
            vars(old).update(state)
            end(old)


@pytest.fixture(scope="session")
def sentences() -> list[tuple[str, str]]:
    """64 (German, English) pairs."""
    triples = product(WHO.items(), DOES.items(), WHERE.items())
    return [(f"{a} {b} {c}.", f"{x} {y} {z}.") for (a, x), (b, y), (c, z) in triples]


@pytest.fixture(scope="session")
def corpus_dir(sentences: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sentences as the corpus "own"."""
    folder = tmp_path_factory.mktemp("corpora")
    text = "".join(f"{german}\t{english}\n" for german, english in sentences)
    (folder / "own.tsv.gz").write_bytes(gzip.compress(text.encode()))
    return folder


@pytest.fixture(scope="session")
def tiny_checkpoint(corpus_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that `course.train` has trained until it knows the sentences by heart (a few seconds).

    The processes of a test run share it: the first that needs it trains it.
    """
    from filelock import FileLock

    from course.train import main

    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "tiny"
    options = f"""--corpus own --vocab-size {VOCABULARY} --threads 1 --d-model 32 --num-layers 1 --d-ff 64
        --epochs 40 --batch-tokens 400 --peak-rate 5e-3 --warmup-steps 30 --dropout-prob 0"""
    folders = ["--corpus-dir", str(corpus_dir), "--state", str(folder / "state"), "--out", str(folder / "written")]
    with FileLock(f"{folder}.lock"):
        if not (folder / "checkpoint").exists():
            assert main([*folders, *options.split()]) == 0
            (folder / "written").rename(folder / "checkpoint")
    return folder / "checkpoint"


@pytest.fixture(scope="session")
def workers():
    """What runs the code of submissions."""
    from autograder.sandbox.worker_processes import make_workers

    workers = make_workers()
    yield workers
    workers.close()


@pytest.fixture(scope="session")
def confined_workers():
    """What runs the code of submissions with hidden tests."""
    from autograder.sandbox.worker_processes import make_workers

    workers = make_workers(confined=True)
    yield workers
    workers.close()


@pytest.fixture(scope="session")
def bare_unconfined():
    """Workers that refuse nothing in Python."""
    from autograder.sandbox.worker_processes import make_workers

    workers = make_workers(bare=True)
    yield workers
    workers.close()


@pytest.fixture(scope="session")
def bare_confined():
    """Confined workers that refuse nothing in Python, so that the kernel and the grader have to."""
    from autograder.sandbox.worker_processes import make_workers

    workers = make_workers(confined=True, bare=True)
    yield workers
    workers.close()


@pytest.fixture
def both(confined_workers, workers):
    """Workers of both kinds: confined, and not."""
    return [confined_workers, workers]


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of what only explains a failure is one here; and no test inherits the `--course` of another."""
    monkeypatch.setattr("autograder.grading.stage_run.STRICT", True)
    monkeypatch.setenv("AUTOGRADER_COURSE", "")


@pytest.fixture
def without_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """No edits are tried after failed tests: for tests of something else, which grade much wrong code."""
    monkeypatch.setattr("autograder.localization.repair.RepairSearch.repairs", lambda *_: [])


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """A kernel whose folder holds the untouched stubs."""
    from tests.support.kernels import IMPORTS, STUBS, Notebook

    notebook = Notebook(tmp_path_factory.mktemp("student"))
    notebook.fill(STUBS)
    try:
        assert notebook.run(IMPORTS).error == []
        yield notebook
    finally:
        notebook.client.stop_channels()
        notebook.manager.shutdown_kernel(now=True)
