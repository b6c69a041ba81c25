"""Bugs that the visible tests miss and the hidden tests see."""

from dataclasses import dataclass

import pytest

from autograder.grading.grade_submission import grade
from autograder.submissions.read_submission import Submission
from tests.support.hidden_grading import ASSIGNMENT, changed, hidden_only, lost
from tests.support.quick import some

# Bugs that the visible tests miss


# Lines of the solution.
KEY_MASK = "key_padding_mask[:, None, None, :] != 0"
LENGTHS = "length_to_padding_mask(src_lengths, device=src.device)"
SOURCE_MASK, SOURCE = "encoder_padding_mask=src_padding_mask,\n        )", "encoder_out=enc_output,"
NEXT_CACHE, KEEP = "cache=None if cache is None else cache[index],", "new_cache.append(x)"
STOP = "next_token.item() == self.eos_idx"

IN_TRAINING = "None if self.training else "


@dataclass(frozen=True)
class Bug:
    """A change of the solution."""

    what: str
    stage: str
    module: str
    old: str
    new: str
    seen: int  # number of tests that see it
    message: str  # part of what the first of them says


BUGS = [
    Bug("size of the visible test", "mha", "mha", "math.sqrt(self.d_k)", "math.sqrt(15)", 3, "wrong values"),
    Bug(
        "some numbers only", "mha", "mha", KEY_MASK, f"({KEY_MASK.replace('!= 0', '> -3')}) & ({KEY_MASK})", 1, "wrong"
    ),
    Bug("mask changed", "mha", "mha", KEY_MASK, KEY_MASK.replace("[", ".ne_(0)[", 1), 1, "one of its arguments"),
    Bug("fill with -35", "mha", "mha", "torch.finfo(scores.dtype).min", "-35.0", 2, "masked keys have weight"),
    Bug("W_o left out", "mha", "mha", "return self.W_o(x)", "return x", 3, "forward: right shape, wrong"),
    Bug("size of the visible test", "pe", "pe", "/ d_model)", "/ 32)", 1, "wrong values"),
    Bug("one row short", "pe", "pe", "T > self.max_seq_length", "T >= self.max_seq_length", 1, "ValueError"),
    Bug("padding by token", "encoder", "transformer", LENGTHS, "(src == 1).long()", 1, "wrong values"),
    Bug(
        "no source mask in training",
        "decoder",
        "transformer",
        SOURCE_MASK,
        SOURCE_MASK.replace("=", f"={IN_TRAINING}"),
        1,
        "in training mode",
    ),
    Bug("detached", "decoder", "transformer", SOURCE, "encoder_out=enc_output.detach(),", 1, "no gradient reaches"),
    Bug("eos at the start", "inference", "transformer", STOP, f"tgt.size(1) > 2 and {STOP}", 1, "continues after eos"),
    Bug(
        "eos of the checkpoint",
        "inference",
        "transformer",
        STOP,
        "next_token.item() == 3",
        2,
        "continues after eos",
    ),
    Bug("sos of the checkpoint", "inference", "transformer", "self.sos_idx,", "2,", 2, "does not start with sos"),
    Bug("cache changed", "inference", "decoder", KEEP, f"{KEEP}; cache and cache.append(x)", 1, "argument cache"),
    Bug("cache not used", "inference", "decoder", NEXT_CACHE, "cache=None,", 1, "wrong values"),
]


@pytest.mark.parametrize("bug", some(BUGS, every=3), ids=lambda bug: f"{bug.stage}: {bug.what}")
def test_a_bug_that_the_visible_tests_miss_is_seen(workers, bug: Bug):
    sources = changed(bug.module, (bug.old, bug.new))
    stage = ASSIGNMENT.stage(bug.stage)
    tests = lost(grade(Submission(bug.what, sources), ASSIGNMENT, workers, [stage], hidden_seed=1).tests)
    assert all(test.hidden for test in tests), tests
    assert len(tests) == bug.seen, tests
    assert bug.message in tests[0].message
    others = [stage.name for stage in ASSIGNMENT.stages if bug.module in stage.modules and stage.name != bug.stage]
    assert lost(hidden_only(workers, sources, 1, others)) == []
