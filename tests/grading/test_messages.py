"""What a student reads when a call goes wrong: who was called with what, which files count, what came back."""

import re

import pytest
from rich.console import Console

from autograder.diagnosis.line_verdict import LineMark
from autograder.grading.grade_submission import grade
from autograder.grading.results import Report, TestResult
from autograder.manifest import assignment
from autograder.reports.console import Above, print_short, print_total
from autograder.sandbox.student_faults import fault_of
from autograder.sandbox.wire import Tuple, flatten, unflatten
from autograder.submissions.read_submission import Submission, read_submission

pytestmark = pytest.mark.usefixtures("without_trials")

ASSIGNMENT = assignment("transformer")
SOURCES = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources


def failed(workers, stage: str, module: str, old: str, new: str) -> list[TestResult]:
    """The failed tests of a stage where a text of the solution is replaced."""
    assert SOURCES[module].count(old) == 1
    sources = {**SOURCES, module: SOURCES[module].replace(old, new)}
    report = grade(Submission("", sources), ASSIGNMENT, workers, [ASSIGNMENT.stage(stage)])
    return [test for test in report.tests if test.status != "passed"]


def test_a_given_function_that_is_called_wrongly_says_what_the_argument_is(workers):
    call = "length_to_padding_mask(src_lengths, device=src.device)"
    (test,) = failed(workers, "encoder", "transformer", call, "length_to_padding_mask(src_lengths, torch.bool)")
    assert test.message.splitlines()[1:] == ["length_to_padding_mask was called with device=torch.bool"]


def test_the_call_that_is_warned_of_is_shown(workers):
    sources = {**SOURCES, "mha": SOURCES["mha"].replace("torch.finfo(scores.dtype).min", "-20.0")}
    tests = grade(Submission("", sources), ASSIGNMENT, workers, [ASSIGNMENT.stage("mha")]).tests
    test = next(test for test in tests if test.message.startswith("passes, but: "))
    assert test.details[0].startswith("called    MultiHeadAttention(d_model=")
    assert "key_padding_mask=(" in test.details[0]


def test_a_test_with_all_its_points_has_passed_whatever_ends_it_later(workers):
    made = "self.d_model = d_model"
    sources = {
        **SOURCES,
        "mha": SOURCES["mha"].replace(made, f"{made}\n        self.scale = nn.Parameter(torch.ones(1))", 1),
    }
    tests = grade(Submission("", sources), ASSIGNMENT, workers, [ASSIGNMENT.stage("mha")]).tests
    assert {test.status for test in tests} == {"passed", "error"}
    for test in tests:
        assert (test.status == "passed") == (test.points == test.max_points)
        assert test.status != "passed" or test.message.startswith(("passes, but: ",)) or not test.message


def test_a_call_can_be_made_by_oneself(workers):
    (test, *_) = failed(workers, "mha", "mha", "self.W_v(V)", "self.W_q(V)")
    called = "called    MultiHeadAttention(d_model=60, num_heads=4).compute_mh_qkv_transformation((3,8,60), "
    assert test.details[0].startswith(called)


def test_a_file_of_one_s_own_that_is_missing_says_which_files_are_read(workers):
    (test,) = failed(workers, "pe", "pe", "import math", "import math\nfrom utils import table")
    assert "No module named 'utils'" in test.message
    assert "only mha.py, pe.py, encoder.py, decoder.py, transformer.py are read" in test.message


# Stubs of another making, which do not raise by themselves: what is taken out of the solution, or has another name.
DECODE = r"tgt_padding_mask = .*?\n        \)\n"
ENCODE = r"src_padding_mask = length.*?=src_padding_mask\)\n"
LOOP = r"tgt = torch.full.*?\n|tgt = torch.cat.*?\n|if next_token.item.*?break\n"
STUBS = {
    "encoder": (ENCODE, "", "not started", "forward_encoder is not written yet"),
    "decoder": (DECODE, "", "not started", "forward_decoder is not written yet"),
    "inference": (LOOP, "", "not started", "inference is not written yet"),
    "decoder, another name": (r"dec_output(?= = )", "result", "error", "NameError: name 'dec_output'"),
    "decoder, a mask missing": (r" +tgt_padding_mask = .*?\n", "", "error", "NameError: name 'tgt_padding_mask'"),
    "inference, another name": (r"tgt(?= = torch)", "result", "error", "tgt"),
}


@pytest.mark.parametrize("what", STUBS)
def test_an_untouched_stub_is_not_started_and_an_error_is_an_error(workers, what):
    text, new, status, message = STUBS[what]
    sources = {**SOURCES, "transformer": re.sub(text, new, SOURCES["transformer"], flags=re.DOTALL)}
    report = grade(Submission("", sources), ASSIGNMENT, workers, [ASSIGNMENT.stage(what.partition(",")[0])])
    assert {test.status for test in report.tests} == {status}
    assert all(message in test.message for test in report.tests)


def test_names_of_missing_weights_stand_in_lines_without_tabs():
    message = (
        'Error(s) in loading state_dict for M:\n\tMissing key(s) in state_dict: "a.b". \n\tUnexpected key(s): "c".'
    )
    fault = fault_of({"kind": "RuntimeError", "message": message, "where": []}, "M.load_state_dict(...)")
    assert "\t" not in fault.message
    assert fault.message.splitlines()[1:] == ['Missing key(s) in state_dict: "a.b".', 'Unexpected key(s): "c".']


@pytest.mark.parametrize(
    ("value", "got"),
    [
        ("(enc_output, src_padding_mask, 1)", "a tuple of 3"),
        ("[enc_output]", "a list of 1"),
        ("enc_output", "one tensor of shape (30, 20, 192)"),
        ("None", "None"),
        ("{1: 2}", "a value of type dict"),
    ],
)
def test_what_came_back_instead_of_two_values_is_told(workers, value, got):
    (test,) = failed(workers, "encoder", "transformer", "return enc_output, src_padding_mask", f"return {value}")
    assert test.details[-1] == f"got       {got}"


def test_a_tuple_stays_a_tuple_on_the_wire():
    sent = flatten([1, (2, [3])], lambda value: None)
    assert sent == [1, {"$tuple": [2, [3]]}]
    value = unflatten(sent, lambda kind, key: None)
    assert value == [1, [2, [3]]]
    assert isinstance(value[1], Tuple)


def test_the_run_with_own_modules_names_the_line(capsys):
    whole = TestResult("decoder", "t", "A title", "error", 0, 0, "ValueError: no", ("mha.py:7 in forward: x",))
    report = Report("T", "anna", (), 1.0, end_to_end=whole)
    print_total(Console(width=100), report)
    assert "mha.py:7 in forward: x" in capsys.readouterr().out


def test_a_return_that_was_forgotten_is_asked_for(workers):
    old = "return split_heads(self.W_q(Q)), split_heads(self.W_k(K)), split_heads(self.W_v(V))"
    test = failed(workers, "mha", "mha", old, old.replace("return", "heads ="))[0]
    assert "compute_mh_qkv_transformation returns nothing: is there a `return`?" in test.message
    assert test.details[-2:] == ("expected  3 values", "got       None")


def test_what_a_test_above_has_said_is_not_repeated(capsys):
    def shown(*tests):
        above = Above()
        for test in tests:
            print_short(Console(width=100), test, above)
        return capsys.readouterr().out

    def test(title, hint="", code=("    a", "    b")):
        marks = tuple(LineMark("mha.py", number, text, "wrong") for number, text in ((7, "a"), (9, "b")))
        pointed = ("mha.py:7 or mha.py:9 may be wrong:", *code)
        return TestResult(
            "s", "t", title, "failed", 0, 1, "wrong", hints=(hint,) * bool(hint), pointed=pointed, marks=marks
        )

    known = test("Rotate.", "You turn the angles.")
    assert shown(known, known).splitlines()[-1].strip() == "Same cause as above."
    seen = shown(known, test("Norm.", "Another mistake."), known).splitlines()
    assert [row.strip() for row in seen[2:4]] == ["a", "b"]  # each line of code in a row of its own
    assert seen[-1].strip() == "Same cause as in: Rotate."
    # Two tests that fail at one line may have different causes.
    seen = shown(test("Rotate."), test("Norm.")).splitlines()
    assert [row.strip() for row in seen[-2:]] == ["wrong", "mha.py:7 or mha.py:9 may be wrong here, too."]
