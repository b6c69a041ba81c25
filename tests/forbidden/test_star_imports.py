"""The source check and `from ... import *`: the student's own files are followed, a library's star is not trusted."""

from autograder.forbidden.rules import check_modules

OWN = "class TransformerEncoder:\n    pass\n"
USED = "from encoder import *\nfrom mha import *\nx = TransformerEncoder()\n"


def forbidden(**sources: str) -> list[str]:
    found, _ = check_modules(sources)
    return [finding.what for _, finding in found if finding.forbidden]


def test_a_name_that_comes_through_stars_of_own_files_is_own():
    chain = {"mha": "import torch\nfrom torch import nn\n", "encoder": f"from mha import *\n{OWN}"}
    assert forbidden(**chain, decoder="from encoder import *\n", transformer=USED) == []


def test_a_ready_made_part_is_found_through_stars():
    for star in ("from torch.nn import *\n", "from torch.nn import TransformerEncoder\n"):
        assert forbidden(mha=star, encoder="from mha import *\n", transformer=USED), star
    # Which of the two it is depends on the order of the lines.
    assert forbidden(mha="from torch.nn import *\n", encoder=OWN, transformer=USED)


def test_stars_in_a_circle_come_to_an_end():
    assert forbidden(mha="from encoder import *\n", encoder=f"from mha import *\n{OWN}", transformer=USED) == []
