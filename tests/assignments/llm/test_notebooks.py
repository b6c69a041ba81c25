"""The notebooks of `llm` that load trained models, solved, in an unpacked handout: their texts say what cells print."""

import pytest

from autograder.manifest import assignment
from tests.support.running_notebooks import (
    EXCUSES,
    STANDINS,
    check_claims,
    check_outputs,
    check_pictures,
    outputs,
    run,
    said,
    unpacked_handout,
)

CHOSEN = assignment("llm")
SECONDS = 1200  # for a cell that trains, on a busy machine
CLAIMS = {
    "3_lm.ipynb": [("write-trained", r"2,189,248 weights: 1\.61 bits", "trained", r"2\.2 million weights")],
    "5_lens.ipynb": [
        (
            "see-lens",
            r"(?s)18\.47 .*4\.90 .*4\.62 .*4\.21 .*3\.99 ",
            "see-lens-read",
            r"18\.47 to 4\.90, 4\.62, 4\.21 and",
        ),
        ("see-lens", r" 1 +the +ed +him ", "see-lens-read", r"the guess is \*him\*"),
        ("see-induction", r"induction +1 +0\.73 0\.45 0\.73 0\.66", "see-induction-read", r"from 0\.45 to 0\.73"),
        ("see-induction", r"induction-1-layer: .* 2\.88 in the rep", "see-induction-read", r"to 2\.88"),
        ("see-induction", r"even attention +0\.04", "see-induction-read", r"none of its scores is much above"),
        ("see-ablate", r" 2 +0\.\d+ .* 0\.198 +3 ", "see-ablate-read", r"at most 0\.20"),
        ("see-ablate", r" 0 +4\.8\d+ +3\.0\d+ ", "see-ablate-read", r"more than 3"),
    ],
}


@pytest.fixture(scope="module")
def handout(tmp_path_factory):
    return unpacked_handout(tmp_path_factory.mktemp("handout"), "--assignment", CHOSEN.name)


@pytest.mark.slow
@pytest.mark.parametrize("name", CLAIMS)
def test_solved_the_texts_say_what_cells_print(name, handout, tmp_path, monkeypatch):
    cells = run(CHOSEN.solution, name, handout, tmp_path, monkeypatch, seconds=SECONDS)
    check_outputs(cells)
    check_claims(CHOSEN.solution / name, cells, CLAIMS[name])
    check_pictures(CHOSEN.solution / name)
    printed = "".join(map(said, cells))
    assert not [excuse for excuse in (*EXCUSES, STANDINS) if excuse in printed]
    (stage,) = (stage for stage in CHOSEN.stages if stage.notebook == name)
    (grade,) = (cell for cell in cells if cell.id == "grade")
    assert float(outputs(grade, "text/plain")[-1]) == stage.max_points
