"""The surroundings of the grader while it is attacked."""

from collections.abc import Iterator

import pytest

from tests.attacks.world import World


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Files to steal or change, listeners, a secret in the environment, and a watch over all of them."""
    tmp_path_factory.getbasetemp()  # pytest's own folder is made before the place for temporary files is changed
    with pytest.MonkeyPatch.context() as patch:
        world = World(patch)
        yield world
        world.close()
