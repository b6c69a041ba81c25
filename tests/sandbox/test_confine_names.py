"""What works without confinement works with it: innocent programs, and every public name, in both kinds of worker."""

import re
from collections import defaultdict

import pytest

from autograder.sandbox.student_faults import Raised, StudentFault
from autograder.sandbox.worker_processes import OPTIONAL, make_workers
from tests.support.confining import needs_confinement, run, start
from tests.support.innocent_lines import PREFIX, PROGRAMS, REFUSED, lines, public_names, text_of, wanted

pytestmark = needs_confinement
AT_ONCE = 10  # names in a worker
# Work without confinement only: a confined worker writes no files and has no compiler; see docs/security.md.
UNCONFINED_ONLY = {
    "torch.distributed.FileStore('cpu')",
    "torch.func.linearize(f, x)",
    "torch.compiler.cudagraph_mark_step_begin()",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_innocent_programs(both, program):
    run(both[0], PREFIX + program)


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_innocent_programs_otherwise(both, program):
    run(both[1], PREFIX + program)
    for workers in both:
        run(workers, PREFIX + program, at_import=True)


@pytest.mark.parametrize("at_import", [False, True], ids=["called", "imported"])
@pytest.mark.parametrize(("reason", "program"), REFUSED)
def test_what_neither_does(both, reason, program, at_import):
    for workers in both:
        with pytest.raises(Raised):
            run(workers, PREFIX + program, at_import)


def works(workers, chosen):
    """Of each line, whether it works, and why not."""
    found: list[str] = []
    while len(found) < len(chosen):
        student = start(workers, text_of(chosen))
        try:
            at = len(found)
            found += student.own.call(at, len(chosen))
        except StudentFault:  # one of them ends the worker, or its time
            student.close()
            student = start(workers, text_of(chosen))
            try:
                while len(found) < len(chosen):
                    found += student.own.call(len(found), len(found) + 1)
            except StudentFault:
                found.append("n")
        finally:
            student.close()
    return [letter == "y" for letter in found]


def one_way_only(names, unconfined):
    """Lines with these names that work without confinement only. For each the worker has what its words ask for."""
    of: dict[frozenset[str], list[str]] = defaultdict(list)
    for at in range(0, len(names), AT_ONCE):
        chosen = list(lines(names[at : at + AT_ONCE]))
        for line, good in zip(chosen, works(unconfined, chosen), strict=True):
            if good:
                of[wanted(line)].append(line)
    missing = []
    for need, good in sorted(of.items(), key=lambda item: len(item[0])):
        workers = make_workers(confined=True)
        try:
            for at in range(0, len(good), 600):
                part = good[at : at + 600]
                failing = [line for line, fine in zip(part, works(workers, part), strict=True) if not fine]
                # Lines before it may have changed something, so each gets a worker of its own.
                missing += [line for line in failing if not works(workers, [line])[0]]
        finally:
            workers.close()
        print(len(good), "lines that need", ", ".join(sorted(need)) or "nothing")
    return missing


def test_some_names(both):
    """A sample, without what takes long to provide."""
    names = [name for name in public_names() if not wanted(name)][::60]
    assert one_way_only(names, both[1]) == []


@pytest.mark.slow
def test_every_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some names write files
    workers = make_workers()
    try:
        assert set(one_way_only(public_names(), workers)) == UNCONFINED_ONLY
    finally:
        workers.close()


def test_the_words_are_those_of_the_lines():
    """No line is helped by a word of what surrounds it."""
    assert wanted("torch.ones(2)") == frozenset()
    assert not re.search("|".join(OPTIONAL.values()), text_of([]))
