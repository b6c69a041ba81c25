"""A small class while its processes are killed; `python -m tests.stress.load_and_loss` has a class of 1,000."""

import os

import pytest

pytest.importorskip("psutil")
pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="sessions of Unix")]

from tests.stress.load_and_loss import Services, calm, differences, disturbed, hand_in_class  # noqa: E402

NUMBER, KILLS = 30, 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A class, and in `calm` what it gets where nothing is killed."""
    folder = tmp_path_factory.mktemp("load")
    hand_in_class(folder / "in", NUMBER)
    calm(folder, folder / "calm")
    return folder


@pytest.mark.parametrize("where", ["here", "cluster"])
def test_nothing_is_lost_and_no_grade_differs(folder, where):
    services = Services(folder) if where == "cluster" else None
    try:
        killed = disturbed(folder, folder / where, KILLS, services)
    finally:
        if services:
            services.close()
    assert len(killed) > KILLS // 2  # as many as there was time for
    assert differences(folder / "calm", folder / where) == []
    (folder / where / "results" / "s0007.json").unlink()
    assert differences(folder / "calm", folder / where) == ["record of s0007"]
