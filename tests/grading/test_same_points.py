"""A correct program with other harmless code in it gets full marks: visible and hidden, confined and not."""

import random
import textwrap

import pytest

from autograder.authoring.formulations import correct_submissions
from autograder.grading.forbidden_parts import check_submission
from autograder.grading.grade_submission import grade
from autograder.manifest import every_assignment
from autograder.submissions.read_submission import Submission
from tests.support.confining import needs_confinement
from tests.support.innocent_lines import PROGRAMS

pytestmark = needs_confinement
# In one module, a few of the innocent programs; each is run once, before the module is used.
HARMLESS = [body for body in PROGRAMS if "get_type_hints" not in body and "pickle" not in body]  # which are forbidden
IMPORTS = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"


def with_innocent_code(seed):
    """An assignment, and one of its correct programs with harmless functions that one of its modules calls."""
    chance = random.Random(seed)
    chosen = every_assignment()[seed % len(every_assignment())]
    programs = correct_submissions(chosen)
    name = chance.choice(sorted(programs))
    sources = dict(programs[name][0].sources)
    module = chance.choice(sorted(sources))
    stages = [stage for stage in chosen.stages if module in stage.modules]  # the others never run this text
    forbidden = [part.rpartition(".")[2] for stage in stages for part in stage.forbids]
    bodies = [body for body in HARMLESS if not any(part in body for part in forbidden)]
    text = sources[module].rstrip("\n") + "\n\n\n" + IMPORTS
    for number, body in enumerate(chance.sample(bodies, 3)):
        text += f"\n\ndef beside_{number}():\n{textwrap.indent(body, '    ')}\n\n\nbeside_{number}()\n"
    return chosen, stages, Submission(name, {**sources, module: text}), f"{seed}: {name}, {module}.py"


def differences(both, seed):
    chosen, stages, submission, what = with_innocent_code(seed)
    found = []
    if forbidden := check_submission(submission, chosen, both[0]).forbidden:
        found.append(f"{what}: forbidden {forbidden}")
    for workers in both:
        for hidden in (None, seed):
            report = grade(submission, chosen, workers, stages, hidden_seed=hidden)
            lost = [(test.name, test.message) for test in report.tests if test.points != test.max_points]
            if lost:
                found.append(f"{what}, hidden {hidden}, confined {workers is both[0]}: {lost}")
    return found


@pytest.mark.parametrize("seed", range(1))
def test_the_same_points_in_all_four_ways(both, seed):
    assert differences(both, seed) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 201))
def test_the_same_points_in_all_four_ways_many_times(both, seed):
    assert differences(both, seed) == []
