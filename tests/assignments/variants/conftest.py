"""What the tests of the assignment `variants` share."""

import pytest
import torch

from course.variants.trained import load_variants


@pytest.fixture(scope="session")
def modules():
    return load_variants()


@pytest.fixture(autouse=True)
def _float64():
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)
    torch.set_default_dtype(dtype)
