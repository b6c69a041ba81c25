"""A class is graded calmly, and once more while its processes are killed at random: the grades must be the same.

    python -m tests.stress.load_and_loss {here,cluster} [--number 1000] [--kills 20] [--folder DIR]

Everything is kept in DIR, and the same command goes on where it was stopped. On this machine the batch, its jobs and
their warm processes are killed; on a Dask cluster of four worker processes the scheduler, the workers, their warm
processes and the batch. What is killed is started again, as a service manager does. Of each student the record, the
page and the row are compared.
"""

import argparse
import json
import os
import random
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from tests.stress.fuzz_submissions import mutated
from tests.support.batches import ASSIGNMENT, CONFINED, ROOT, SEED, SOLUTION, STUBS, recorded

WORKERS = 4  # processes of the cluster
PATIENCE = 600  # seconds without a new result
TIMES = re.compile(r'"seconds": [0-9.e-]+')


def hand_in_class(folder: Path, number: int) -> None:
    """Submissions that cost little, no two alike: stubs, one module solved, one module broken."""
    for one in range(number):
        rng = random.Random(one)
        texts = {module: (STUBS / f"{module}.py").read_bytes() for module in ASSIGNMENT.modules}
        module = rng.choice(["pe", "pe", "mha"])
        whole = (SOLUTION / f"{module}.py").read_bytes()
        kind = rng.choice(["stubs", "stubs", "solved", "solved", "tokens", "lines", "returns", "bytes", "odd"])
        if kind != "stubs":
            texts[module] = whole if kind == "solved" else mutated(whole.decode(), kind, rng)
        target = folder / f"s{one:04}" / ASSIGNMENT.name
        target.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (target / f"{name}.py").write_bytes(text + f"\n# {one}\n".encode())


class Services:
    """A scheduler and its workers, started again when they have died."""

    def __init__(self, folder: Path) -> None:
        self.log = (folder / "cluster.log").open("ab")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        scheduler = ["scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
        worker = ["worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        worker += ["--local-directory", str(folder), "--death-timeout", "60"]
        self.commands = [scheduler, *[worker] * WORKERS]
        self.processes = [self.start(command) for command in self.commands]

    def start(self, command: list[str]) -> subprocess.Popen[bytes]:
        call = [sys.executable, "-m", f"distributed.cli.dask_{command[0]}", *command[1:]]
        return subprocess.Popen(call, cwd=ROOT, stdout=self.log, stderr=self.log)

    def revive(self) -> None:
        for place, process in enumerate(self.processes):
            if process.poll() is not None:
                self.processes[place] = self.start(self.commands[place])

    def close(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        self.log.close()


def targets(batch: subprocess.Popen[bytes], services: Services | None) -> dict[str, list[psutil.Process]]:
    """What can be killed now, by its role."""
    found = {"batch": [psutil.Process(batch.pid)], "job": [], "scheduler": [], "worker": []}
    if services is None:
        found["job"] = [child for child in found["batch"][0].children() if "spawn_main" in " ".join(child.cmdline())]
    else:
        found["scheduler"], found["worker"] = (
            [psutil.Process(one.pid) for one in part] for part in (services.processes[:1], services.processes[1:])
        )
    found["warm process"] = [child for one in (*found["job"], *found["worker"]) for child in one.children()]
    return {role: processes for role, processes in found.items() if processes}


def command(folder: Path, out: Path, services: Services | None) -> list[str]:
    place = ["--scheduler", services.address] if services else ["--jobs", "2"]
    options = ["--seed", str(SEED), "--time-limit", "60", *CONFINED, *place]
    return [sys.executable, "-m", "autograder", "batch", str(folder / "in"), "--out", str(out), *options]


@contextmanager
def running(call: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as output:
        process = subprocess.Popen(call, cwd=ROOT, stdout=output, stderr=output, start_new_session=True)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def results(out: Path) -> dict[str, tuple[int, bool]]:
    """When each result was written (ns), and whether it is a grade. Each must be whole."""
    found = {}
    for path in (out / "results").glob("*.json"):
        found[path.name] = path.stat().st_mtime_ns, not json.loads(path.read_bytes())["fault"]
    return found


def calm(folder: Path, out: Path) -> float:
    """Grade the class without a disturbance; CPU seconds of all its processes."""
    before = os.times()
    with running(command(folder, out, None), folder / "calm.log") as process:
        code = process.wait()
    assert code == 0, (folder / "calm.log").read_text(encoding="utf-8")[-2000:]
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def disturbed(folder: Path, out: Path, kills: int, services: Services | None) -> list[str]:
    """Grade the class while its processes are killed, as often as `kills` says; the roles of what was killed.

    Raises:
        AssertionError: if a grade that was there is gone or was made again, or nothing goes on.
    """
    record = folder / f"kills-{out.name}.jsonl"
    record.touch()
    number = sum(1 for _ in (folder / "in").iterdir())
    rng = random.Random()
    while True:
        before = results(out)
        with running(command(folder, out, services), folder / f"{out.name}.log") as process:
            progress = time.monotonic(), -1
            while process.poll() is None:
                if services:
                    services.revive()
                count = len(os.listdir(out / "results")) if (out / "results").exists() else 0
                done = len(record.read_text(encoding="utf-8").splitlines())
                if done < kills and count >= number * (done + rng.random()) / (kills + 1):
                    time.sleep(rng.uniform(0, 1))
                    if role := kill_one(process, services, rng):
                        with record.open("a", encoding="utf-8") as file:
                            file.write(json.dumps({"killed": role, "results": count}) + "\n")
                if count > progress[1]:
                    progress = time.monotonic(), count
                assert time.monotonic() - progress[0] < PATIENCE, "nothing goes on"
                time.sleep(0.1)
        now = results(out)
        again = [name for name, (when, graded) in before.items() if graded and now.get(name) != (when, True)]
        assert not again, f"these were graded, and are gone or graded again: {again}"
        if process.returncode == 0:
            return [json.loads(line)["killed"] for line in record.read_text(encoding="utf-8").splitlines()]


def kill_one(batch: subprocess.Popen[bytes], services: Services | None, rng: random.Random) -> str:
    """Kill a process of a role chosen at random; the role, or nothing if it had ended already."""
    try:
        found = targets(batch, services)
        role = rng.choice([*found])
        rng.choice(found[role]).kill()
    except psutil.Error:
        return ""
    return role


def differences(one: Path, other: Path) -> list[str]:
    """What differs between two folders of results, but for times."""
    left, right = ({name: comparable(entry) for name, entry in recorded(out).items()} for out in (one, other))
    found = [f"record of {name}" for name in left.keys() | right.keys() if left.get(name) != right.get(name)]
    pages = {path.relative_to(out) for out in (one, other) for path in out.rglob("feedback/*.html")}
    for path in (Path("grades.csv"), *pages):
        same = (
            all((out / path).exists() for out in (one, other))
            and (one / path).read_bytes() == (other / path).read_bytes()
        )
        found += [] if same else [str(path)]
    return sorted(found)


def comparable(entry: dict[str, Any]) -> str:
    return TIMES.sub("", json.dumps(entry, sort_keys=True))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.stress.load_and_loss", description=__doc__)
    parser.add_argument("where", choices=["here", "cluster"])
    parser.add_argument("--number", type=int, default=1000, help="submissions (%(default)s)")
    parser.add_argument("--kills", type=int, default=20, help="(%(default)s)")
    parser.add_argument("--folder", type=Path, default=Path("load_and_loss"), help="(%(default)s)")
    args = parser.parse_args()
    folder: Path = args.folder.resolve()
    hand_in_class(folder / "in", args.number)
    started = time.monotonic()
    cpu = calm(folder, folder / "calm")
    print(f"{args.number} submissions, calm: {time.monotonic() - started:.0f} s, {cpu:.0f} s of CPU", flush=True)
    started = time.monotonic()
    services = Services(folder) if args.where == "cluster" else None
    try:
        killed = disturbed(folder, folder / args.where, args.kills, services)
    finally:
        if services:
            services.close()
    print(f"{args.where}: {time.monotonic() - started:.0f} s, killed: {dict(Counter(killed))}")
    found = differences(folder / "calm", folder / args.where)
    print(f"{len(recorded(folder / args.where))} grades; {len(found)} differences: {found[:20]}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
