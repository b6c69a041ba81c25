"""The wire to a worker: tensors in the format of safetensors, whatever their form, and the watchdog over each call."""

import os
import threading
import time

import numpy as np
import pytest
import safetensors.numpy
import torch
from safetensors.torch import load

from autograder.sandbox.remote_values import DTYPES, as_bytes
from autograder.sandbox.watchdog import Watchdog
from autograder.sandbox.wire import Tuple, flatten, pack_tensors, unflatten
from autograder.worker.answer_requests import in_bytes

FORMS = [(), (0,), (3,), (2, 0, 4), (2, 3, 4)]


@pytest.mark.parametrize("dtype", DTYPES.values())
def test_arrays_are_packed_as_safetensors_reads_them(dtype):
    arrays = {f"t{i}": (np.random.default_rng(i).random(shape) * 3).astype(dtype) for i, shape in enumerate(FORMS)}
    read = safetensors.numpy.load(pack_tensors((name, *as_bytes(array)) for name, array in arrays.items()))
    assert read.keys() == arrays.keys()
    for name, array in arrays.items():
        assert read[name].dtype == array.dtype
        np.testing.assert_array_equal(read[name], array)


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.bfloat16, torch.complex64, torch.int64, torch.bool]
)
def test_a_worker_packs_what_its_code_makes(dtype):
    """Of every type and form, also tensors that share memory."""
    whole = (torch.rand(4, 5) * 3).to(dtype)
    tensors = {"0": whole, "1": whole[:0], "2": whole.flatten()[:1].reshape(()), "3": whole}
    read = load(in_bytes(tensors))
    assert all(torch.equal(read[name], tensor) and read[name].dtype == dtype for name, tensor in tensors.items())


def test_a_tuple_arrives_as_a_tuple_in_the_worker_and_marked_in_the_grader():
    """Student code may compare one with a tuple of its own; a message of the grader says which it was."""
    sent = flatten([(1, ("a", [2]))], lambda value: None)
    assert unflatten(sent, lambda kind, name: None, tuples=tuple) == [(1, ("a", [2]))]
    (read,) = unflatten(sent, lambda kind, name: None)
    assert isinstance(read, Tuple)
    assert read == [1, ["a", [2]]]


def test_the_watchdog_calls_in_time_and_only_then():
    dog, called = Watchdog(), []
    with dog.after(60, lambda: called.append("long")):
        started = time.monotonic()
        done = threading.Event()
        with dog.after(0.05, done.set):  # an earlier deadline than the one that it waits for
            assert done.wait(5)
        assert 0.05 <= time.monotonic() - started < 3
        with dog.after(0.05, lambda: called.append("short")):
            pass
        time.sleep(0.2)
    assert called == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_watchdog_works_in_a_fork_too():
    dog = Watchdog()
    with dog.after(60, lambda: None):
        pass
    child = os.fork()
    if child == 0:
        with dog.after(0.05, lambda: os._exit(7)):
            time.sleep(20)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
