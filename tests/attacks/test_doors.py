"""No door in a worker leads to a ready-made attention of torch, whatever the words of a text have made it load."""

import pytest

from autograder.sandbox.confine import unsupported
from autograder.sandbox.worker_processes import OPTIONAL, make_workers
from autograder.worker.allowed_modules import is_kept
from tests.attacks import doors
from tests.support.confining import start

pytestmark = pytest.mark.skipif(bool(unsupported()), reason=unsupported())


@pytest.fixture(scope="module", params=["as it starts", "with all that words load"])
def student(request):
    workers = make_workers(confined=True, bare=True)
    text = doors.TEXT if request.param == "as it starts" else doors.LOADS + doors.TEXT
    student = start(workers, text)
    yield student
    student.close()
    workers.close()


def test_the_search_knows_attention_when_it_sees_it(student):
    assert student.own.public_attention() is True


@pytest.mark.parametrize(("search", "least"), [("by_attributes", 20), ("by_memory", 80), ("by_operators", 10)])
def test_nothing_attends(student, search, least):
    count, found = getattr(student.own, search)()
    assert count >= least
    assert found == []


def test_only_kept_modules_are_left(student):
    assert [name for name in student.own.torch_modules() if not is_kept(name)] == []


@pytest.mark.parametrize("made", ["5", "types.SimpleNamespace(f=len)", "Odd('odd')"])
def test_what_stands_under_a_name_of_torch_shows_no_other(made):
    """An import in torch's files shows the hidden modules for a moment; what fails then must not leave them shown."""
    text = doors.TEXT + (
        "class Odd(types.ModuleType):\n    __dict__ = __spec__ = __name__ = property(lambda self: 1 / 0)\n"
        f"sys.modules['torch.odd'] = {made}\n"
        "def load():\n    torch.nn.Linear(2, 2).share_memory()\n    torch.compile(len)\n    torch.hub.list\n"
        "def after():\n"
        "    try:\n        importlib.import_module('torch.ao')\n    except BaseException:\n        pass\n"
        "    try:\n        load()\n    except BaseException:\n        pass\n"
        "    return torch_modules()\n"
    )
    workers = make_workers(confined=True, bare=True)
    student = start(workers, "import importlib\n" + text)
    try:
        assert [name for name in student.own.after() if not is_kept(name)] in ([], ["torch.odd"])
    finally:
        student.close()
        workers.close()


def test_words_load_all():
    import re

    for name, words in OPTIONAL.items():
        assert re.search(words, doors.LOADS) or not name.startswith("torch"), name


def test_the_grader_is_hidden():
    """One of its modules holds what the stage allows: student code finds none of them, by any name."""
    text = (
        "import enum, importlib, sys\n"
        "def grader():\n    return [name for name in sys.modules if name.startswith('autograder')]\n"
        "def imported():\n"
        "    for load in (importlib.import_module, __import__):\n"
        "        try:\n            load('autograder.worker.ready_made_parts')\n"
        "        except ImportError:\n            continue\n"
        "        return True\n"
        "    return False\n"
    )
    workers = make_workers(confined=True, bare=True)
    student = start(workers, text)
    try:
        assert student.own.grader() == []
        assert student.own.imported() is False
        assert student.own.grader() == []
    finally:
        student.close()
        workers.close()
