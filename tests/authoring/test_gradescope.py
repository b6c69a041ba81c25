"""The autograder for Gradescope: made, unpacked into an /autograder of its own, and run as Gradescope runs it."""

import os
import stat
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from autograder.authoring.packing.gradescope_archive import parse_arguments
from autograder.grading.results import Report
from autograder.platforms import grading as in_container
from autograder.platforms.grading import SETTINGS, Settings
from autograder.reports import gradescope_results
from autograder.reports.gradescope_results import FAULT
from autograder.reports.verdict import verdict
from autograder.sandbox import confine
from autograder.sandbox.remote_modules import Student
from autograder.sandbox.remote_values import Code
from autograder.sandbox.student_faults import Raised
from autograder.sandbox.worker_processes import make_workers
from course.errors import UserError
from tests.support.containers import ASSIGNMENT, SECONDS, SEED, UNCONFINED, Container, needs_bash, pack, statuses
from tests.support.pages import make_report, make_test
from tests.support.worth import FULL, TOTAL

ROOT = Path(__file__).resolve().parents[2]
SOLUTION, STUBS = ROOT / "solutions" / ASSIGNMENT.name, ROOT / "notebooks" / ASSIGNMENT.name
MEGABYTES = 700  # Gradescope gives a container 768


def results(report: Report, release: str = "visible") -> dict[str, Any]:
    return gradescope_results.results(verdict(report, ASSIGNMENT, release=release), report.hidden_seed)


needs_root = pytest.mark.skipif(
    bool(confine.unsupported(landlock=False)), reason=confine.unsupported(landlock=False) or "-"
)


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("archive") / "new folder" / "autograder.zip"
    assert pack(path, "--seed", str(SEED)) == 0
    return path


@pytest.fixture
def container(tmp_path, archive) -> Container:
    return Container(tmp_path, archive)


# Grading


class Measured(threading.Thread):
    """Looks at the memory of a process and of all that it starts, with shared pages counted once."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        super().__init__()
        self.process, self.peak = process, 0

    def run(self) -> None:
        psutil = pytest.importorskip("psutil")
        root = psutil.Process(self.process.pid)
        while self.process.poll() is None:
            used = 0
            for process in (root, *root.children(recursive=True)):
                try:
                    used += process.memory_full_info().pss
                except psutil.Error:  # it has ended
                    continue
            self.peak = max(self.peak, used)
            time.sleep(0.25)


@needs_bash
def test_the_solution_gets_full_marks_within_the_limits(container):
    container.hand_in(SOLUTION)
    started = time.monotonic()
    process = container.start()
    measured = Measured(process)
    measured.start()
    printed, _ = process.communicate(timeout=2 * SECONDS)
    measured.join()
    seconds, megabytes = time.monotonic() - started, measured.peak / 1e6
    print(f"{seconds:.1f} s, {megabytes:.0f} MB")
    found = container.results()
    assert found["score"] == TOTAL, printed
    assert set(statuses(found).values()) == {"passed"}
    assert found["extra_data"]["confined"] is (not UNCONFINED)
    assert seconds < SECONDS
    assert 100 < megabytes < MEGABYTES
    # For the instructor.
    assert f"seed {SEED}" in printed
    # Gradescope hands the results to later submissions of the student.
    assert str(SEED) not in (container.root / "results" / "results.json").read_text(encoding="utf-8")
    for name in ("source", "results", "submission_metadata.json"):
        assert stat.S_IMODE((container.root / name).stat().st_mode) & 0o077 == 0


@needs_bash
def test_a_wrong_submission_gets_what_it_deserves(container):
    container.hand_in(STUBS, transformer=('raise NotImplementedError("Stage 3', 'import os; os.abort()  # ("Stage 3'))
    container.hand_in(SOLUTION, "mha", "pe", mha=("math.sqrt(", "("))
    found = container.grade()
    by_stage: dict[str, list[str]] = {}
    for test in found["tests"]:
        by_stage.setdefault(test["extra_data"]["stage"], []).append(test["extra_data"]["status"])
    assert by_stage == {
        "mha": ["failed", "passed", "passed", "passed"],  # a wrong scale costs once
        "pe": ["passed"],
        "encoder": ["not started"],  # the layer, which comes first; the model ends the process
        "decoder": ["not started"] * 2,
        "inference": ["not started"] * 2,
    }, container.printed
    assert found["score"] == FULL["pe"] + FULL["mha"] - ASSIGNMENT.stage("mha").parts["test_mha_no_mask"]["attention"]
    assert "square root" in found["tests"][0]["output"]
    assert found["tests"][0]["extra_data"]["lines"]  # the archive has what names the line
    assert "SIGABRT" in found["tests"][5]["output"]


@needs_bash
@pytest.mark.parametrize("source", [pytest.param(STUBS, marks=pytest.mark.slow), None], ids=["stubs", "empty"])
def test_nothing_done_is_no_fault(container, source):
    if source:
        container.hand_in(source)
    found = container.grade()
    assert found["score"] == 0
    assert set(statuses(found).values()) <= ({"not started"} if source else {"no file", "blocked"}), container.printed
    if source is None:
        assert "mha.py is missing from the submission" in found["tests"][0]["output"]


@needs_bash
def test_a_submission_that_hangs_gets_a_result(tmp_path):
    assert pack(tmp_path / "a.zip", "--time-limit", "1.5") == 0
    container = Container(tmp_path / "autograder", tmp_path / "a.zip")
    container.hand_in(STUBS, pe=("import math\n", "import math\nwhile True:\n    pass\n"))
    found = container.grade()
    verdicts = statuses(found)
    assert verdicts.pop("test_pe") == "timed out", container.printed
    assert set(verdicts.values()) <= {"not started", "timed out"}
    assert found["score"] == 0


# The grader's own faults


@needs_bash
@pytest.mark.parametrize("script", ["exit 1", "kill -9 $$"], ids=["fails", "is killed"])
def test_a_grader_that_fails_says_so(container, script):
    container.hand_in(SOLUTION)
    container.python(script)
    found = container.grade()
    assert found["score"] == 0
    assert found["output"] == FAULT
    assert set(statuses(found).values()) == {"fault"}
    assert all("this says nothing about your code" in test["output"] for test in found["tests"])
    assert "Project the inputs to queries" in found["tests"][0]["name"]


@needs_bash
def test_a_container_without_a_submission_is_a_fault_of_the_grader(container):
    (container.root / "submission").rmdir()
    assert container.grade()["output"] == FAULT
    assert "error: there is no folder" in container.printed
    assert "Traceback" not in container.printed


def test_a_fault_in_one_test_is_said_above_all():
    assert results(make_report(make_test("a"), make_test("b", "fault")))["output"] == FAULT
    words = results(make_report(make_test("a"), make_test("b", "failed")))["output"]
    assert words.splitlines() == [
        "Not all required points yet: the tests below say what is wrong.",
        "1. Attention: 4 of 8",
        "2. Inference: 1.5 of 2 (extra credit)",
    ]
    both = results(make_report(make_test("a", "fault"), confined=False, hidden_seed=1))["output"]
    assert both.startswith("Graded without confinement")
    assert both.endswith(FAULT)


# Confinement


def settings(unconfined: bool) -> Settings:
    return Settings(ASSIGNMENT.name, SEED, 10, unconfined)


def test_what_cannot_be_confined_is_refused_unless_the_archive_allows_it(monkeypatch, capsys):
    monkeypatch.setattr(in_container, "unsupported", lambda landlock=True: "this kernel has nothing")
    with pytest.raises(UserError, match="cannot be confined in this container: this kernel has nothing"):
        in_container.workers_of(settings(unconfined=False))
    with closing(in_container.workers_of(settings(unconfined=True))) as workers:
        assert not workers.confined
    assert "ran unconfined" in capsys.readouterr().out


@needs_bash
def test_without_landlock_only_root_can_confine(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "requires root" in confine.unsupported(landlock=False)


@pytest.fixture(scope="module")
def as_another_user() -> Iterator[Any]:
    """Workers of a root whose kernel has no Landlock."""
    workers = make_workers(confined=True, landlock=False)
    yield workers
    workers.close()


@pytest.fixture(scope="module")
def free() -> Iterator[Any]:
    workers = make_workers()
    yield workers
    workers.close()


# What each does succeeds without confinement; that is tested too, or it would not show anything.
ATTEMPTS = {
    "read what is root's": "open(secret).read()",
    "list a folder of root's": "os.listdir(folder)",
    "read the environment of the grader": "open(f'/proc/{grader}/environ').read()",
    "read the memory map of another worker": "open(f'/proc/{other}/maps').read()",
    "write": "open('/dev/null', 'w')",
    "reach a network": "socket.socket()",
}


@needs_root
@pytest.mark.parametrize("what", ATTEMPTS)
def test_without_landlock_another_user_is_kept_out(as_another_user, free, tmp_path, what):
    folder = tmp_path / "source"
    folder.mkdir(mode=0o700)
    (folder / SETTINGS).write_text("{}", encoding="utf-8")

    def attempt(workers):
        other = Student(workers, Code({"own": "import os\ndef pid(): return os.getpid()"}, {}, ("own",)))
        names = {"secret": str(folder / SETTINGS), "folder": str(folder), "grader": os.getpid()}
        names["other"] = int(other.own.pid())
        source = "".join(f"{name} = {value!r}\n" for name, value in names.items())
        source += f"import os, socket\ndef user(): return os.getuid()\ndef call(): {ATTEMPTS[what]}"
        student = Student(workers, Code({"own": source}, {}, ("own",)))
        try:
            student.own.call()
        finally:
            user = student.own.user()
            student.close()
            other.close()
            assert user == (confine.NOBODY if workers.confined else 0)

    attempt(free)
    with pytest.raises(Raised, match="PermissionError"):
        attempt(as_another_user)


@needs_root
def test_without_landlock_the_grades_are_the_same(as_another_user):
    from autograder.grading.grade_submission import grade
    from autograder.submissions.read_submission import read_submission

    report = grade(
        read_submission(SOLUTION, ASSIGNMENT), ASSIGNMENT, as_another_user, [ASSIGNMENT.stage("mha")], hidden_seed=SEED
    )
    assert (report.points, report.confined) == (FULL["mha"], True)


# When students see what


def test_hidden_results_are_seen_later_and_nothing_tells_them_before():
    tests = (make_test("a"), make_test("b", "failed"), make_test("c", "failed", hidden=True))
    found = results(make_report(*tests), "after_due_date")
    later = "after_due_date"
    assert [test.get("visibility") for test in found["tests"]] == [later, None, later, later]
    passing = results(make_report(make_test("a"), make_test("b", "failed"), make_test("c")), "after_due_date")
    assert passing["output"] == found["output"]
    assert "1 of 4 tests do not pass in their visible version" in found["output"]
    assert not any("visibility" in test for test in results(make_report(*tests))["tests"])


def test_settings_come_from_a_file(tmp_path, capsys):
    settings = tmp_path / "gradescope.toml"
    settings.write_text('hidden_results = "after_due_date"\ntime_limit = 100\n', encoding="utf-8")
    args = parse_arguments([str(tmp_path / "a.zip"), "--settings", str(settings), "--time-limit", "90"])
    assert (args.hidden_results, args.time_limit, args.seed) == ("after_due_date", 90, None)
    wrong = {"limit = 3": "there is no option limit", 'seed = "x"': "seed cannot be 'x'", "=": "cannot read"}
    for text, complaint in wrong.items():
        settings.write_text(text, encoding="utf-8")
        assert pack(tmp_path / "a.zip", "--settings", str(settings)) == 2
        assert complaint in capsys.readouterr().err
