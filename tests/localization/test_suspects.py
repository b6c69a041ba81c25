"""Which lines are suspected, on traces made by hand: in milliseconds, without a worker."""

from dataclasses import replace

import pytest
import torch

from autograder.diagnosis.line_verdict import Confidence
from autograder.localization.alignment import align
from autograder.localization.arbitrate import arbitrate
from autograder.localization.repair import Repair
from autograder.localization.source import Source
from autograder.localization.suspects import Suspect, find_suspects
from autograder.localization.trace import Call
from tests.localization.made_traces import Op, line, reference, traced

torch.manual_seed(0)
Q, K, V = (torch.randn(4, 8, dtype=torch.float64) for _ in range(3))
SCORES = Q @ K.T
SCALED, WEIGHTS = SCORES / 8**0.5, torch.softmax(SCORES / 8**0.5, dim=-1)
GIVEN = [Op("", 0, (), one) for one in (Q, K, V)]
TEXT = (
    "def f(q, k, v):\n" + "".join(f"    line_{number} = 0\n" for number in range(2, 9)) + "    x.sin()\n    return 0\n"
)


def attention(scale=8**0.5, axis=-1, values=2, scores=SCORES):
    """Attention with a scale, the axis of its softmax, and the node of its values."""
    scaled = scores / scale
    weights = torch.softmax(scaled, dim=axis)
    return [
        *GIVEN,
        Op("matmul", 2, (0, 1), scores, "the scores"),
        Op("div", 3, (3,), scaled, "the scaled scores"),
        Op("softmax", 4, (4,), weights, "the weights"),
        Op("matmul", 5, (5, values), weights @ (Q, K, V)[values], "the output"),
    ]


def suspected(ops, calls=(), right_calls=()):
    alignment = align(traced(ops, calls), reference(attention(), right_calls))
    return find_suspects(alignment, Source({"mha.py": TEXT}))


def test_correct_code_has_no_suspect():
    assert suspected(attention()) == []


@pytest.mark.parametrize(
    ("wrong", "number", "step"),
    [
        ({"scale": 8.0}, 3, "the scaled scores"),
        ({"axis": 0}, 4, "the weights"),
        ({"values": 1}, 5, "the output"),
    ],
)
def test_the_first_wrong_value_is_suspected_with_its_step(wrong, number, step):
    (found,) = suspected(attention(**wrong))
    assert (found.line, found.kind, found.step) == (line(number), "value", step)
    assert found.founded
    assert not found.sources


def test_a_road_of_ones_own_to_the_right_value_is_right():
    ops = attention()
    ops[4] = Op("mul", 3, (0,), Q / 8**0.5)  # the queries are scaled, in place of the scores
    ops[3] = Op("matmul", 2, (0, 1), SCALED)
    ops = [*GIVEN, Op("mul", 2, (0,), Q / 8**0.5), Op("matmul", 3, (3, 1), SCALED), *ops[5:]]
    assert suspected(ops) == []


def test_what_comes_after_a_wrong_value_is_not_suspected():
    assert [one.line.number for one in suspected(attention(scale=8.0))] == [3]


@pytest.mark.parametrize(("proved", "right"), [(True, [2, 3]), (False, [2])])
def test_an_input_of_the_wrong_value_is_called_right_only_if_the_fault_is_proved(proved, right):
    """It may be stored in the wrong shape, place or variable."""
    alignment = align(traced(attention(axis=0)), reference(attention()))
    assert [at.number for at, _ in alignment.lines_right(10, proved=proved)] == right


def test_a_line_that_called_another_function_of_the_student_says_so():
    trace = traced(attention(scale=8.0))
    called = replace(trace, callers=(None, None, None, line(3), *trace.callers[4:]))  # line 2 ran inside line 3
    right = reference(attention())
    found = [find_suspects(align(one, right), Source({"mha.py": TEXT}))[0].elsewhere for one in (trace, called)]
    assert found == [False, True]


def test_a_line_that_computes_pieces_in_a_loop_may_be_right():
    """No piece equals a value of correct code, so the step that seems to be missing may follow after the loop."""
    right = reference(attention())
    for loop in (True, False):
        pieces = []
        for part in Q.split(1):
            pieces += [Op("matmul", 2, (0, 1), part @ K.T), *[Op("sin", 3, (0,), part.sin())] * loop]
        whole = Op("cat", 4, tuple(range(2, 2 + len(pieces))), SCORES * 2)
        found = find_suspects(align(traced([*GIVEN, *pieces, whole]), right), Source({"mha.py": TEXT}))
        assert (found[0].line, found[0].elsewhere) == (line(2), loop)


def call(path, inputs, outputs, number):
    return Call(path, line(number), -1, inputs, outputs)


def test_a_call_with_right_values_that_do_not_belong_there():
    right = [call("W_q", (0,), (3,), 2), call("W_k", (1,), (4,), 3)]
    wrong = [call("W_q", (1,), (3,), 2), call("W_k", (1,), (4,), 3)]
    found = suspected(attention(scores=SCORES + K @ K.T), wrong, right)
    assert (found[0].line, found[0].kind, found[0].called) == (line(2), "call", "W_q")


def test_a_mask_is_weak_evidence():
    """Where the opposite of a mask is in the reference as well, it may be the wrong one of the two."""
    mask = torch.rand(4, 4) > 0.5
    fill = -1e9

    def masked(own):
        filled = SCALED.masked_fill(own, fill)
        return [
            *attention()[:5],
            Op("__eq__", 6, (0,), mask),
            Op("__invert__", 7, (5,), ~mask),
            Op("masked_fill", 8, (4, 5 if own is mask else 6), filled, "the masked scores"),
        ]

    alignment = align(traced(masked(~mask)), reference(masked(mask)))
    (found,) = find_suspects(alignment, Source({"mha.py": TEXT}))
    assert found.line == line(8)
    assert line(7) in found.sources


@pytest.mark.parametrize(("value", "found"), [(SCALED.sin(), True), ([0.75], False), ([0, 2], False)])
def test_only_a_discarded_tensor_is_suspected(value, found):
    ops = attention()
    ops.insert(6, Op("sin", 9, (4,), value))
    ops[7] = Op("matmul", 5, (5, 1), WEIGHTS @ K)
    assert ("discarded" in [one.kind for one in suspected(ops)]) == found


VALUE, WEAK = Suspect(line(3), "value", 4), Suspect(line(8), "value", 9, sources=(line(7),))
STEP = Suspect(line(3), "value", 4, step="the scores", where="here")
RETURN = Suspect(line(9), "return", 12)
GUESS = Suspect(line(5), "value", 9, founded=False)


def repair(number, breaks=""):
    return Repair(line(number), None, breaks)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("suspects", "repairs", "lines", "confidence"),
    [
        ([VALUE], [repair(3)], [3], Confidence.PROVED),
        ([VALUE], [repair(2), repair(3)], [3], Confidence.PROVED),
        ([VALUE], [repair(2)], [2], Confidence.PROBABLE),
        ([VALUE], [], [3], Confidence.POSSIBLE),
        ([STEP], [], [3], Confidence.PROBABLE),
        ([replace(STEP, elsewhere=True)], [], [3], Confidence.POSSIBLE),
        ([replace(STEP, elsewhere=True)], [repair(3)], [3], Confidence.PROVED),
        ([VALUE], [repair(3, "another test")], [3], Confidence.PROBABLE),
        ([], [repair(2), repair(4)], [2, 4], Confidence.POSSIBLE),
        ([RETURN], [repair(9)], [9], Confidence.PROVED),
        ([VALUE, RETURN], [], [3], Confidence.POSSIBLE),
        ([WEAK], [], [8, 7], Confidence.POSSIBLE),
        ([GUESS], [], None, None),
        ([RETURN], [], None, None),
        ([], [], None, None),
    ],
)
def test_what_the_evidence_supports(suspects, repairs, lines, confidence):
    found = arbitrate(suspects, repairs)
    assert (found and [one.number for one in found.lines]) == lines
    assert (found and found.confidence) == confidence
