"""The line that gives something wrong to what a `return` only passes on: a name, a list, or what came back before."""

import pytest

from tests.slips import failed, told, wrong_lines


def test_a_wrong_tensor_under_the_name_that_comes_back(workers):
    """No trial is made of this program: it prints."""
    case = "transformer", "mha", "mha", "q = q.transpose(1, 2)", "q = v.transpose(1, 2)"
    [test], line = failed(workers, *case, "chatty")
    assert f"Line {line} makes q, which comes back and is not yet what it should be" in told([test])
    assert wrong_lines(test) == [line]


def test_a_right_tensor_under_a_wrong_name_is_no_fault_of_the_line_that_makes_it(workers):
    [test], line = failed(workers, "transformer", "mha", "mha", "return q, k, v", "return v, k, v", "chatty")
    assert wrong_lines(test) == [line]


def test_something_else_is_put_into_one_of_two_lists(workers, monkeypatch):
    monkeypatch.setattr("autograder.grading.mending_lines.mended", lambda *_: {})
    case = "transformer", "inference", "transformer", "decoded_list.append(tgt.squeeze(0))"
    tests, line = failed(workers, *case, "decoded_list.append(tgt_embedded.squeeze(0))", "helper_module")
    assert wrong_lines(tests[0]) == [line]
    assert "puts something else than it should into the list" in told(tests)


@pytest.mark.xfail(strict=True, reason="not yet, since functions are graded one by one")
def test_the_first_position_comes_back_in_each_round(workers, monkeypatch):
    """The list beside it is as it should be."""
    monkeypatch.setattr("autograder.grading.mending_lines.mended", lambda *_: {})
    case = "transformer", "inference", "decoder", "y = x[:, -1, :]", "y = x[:, 0, :]"
    tests, line = failed(workers, *case, "old_style")
    assert [wrong_lines(test) for test in tests] == [[line]]
    assert "makes the same as in an earlier round" in told(tests)


def test_all_positions_in_the_place_of_the_last(workers):
    case = "transformer", "inference", "decoder", "last = x if cache is None else x[:, -1:]"
    tests, line = failed(workers, *case, "last = x if cache is None else x[:, :]")
    assert [wrong_lines(test) for test in tests] == [[line]]


def test_one_list_in_the_place_of_both(workers):
    case = "transformer", "inference", "transformer", "return decoded_list, cache_list"
    tests, line = failed(workers, *case, "return decoded_list, decoded_list", "loops")
    assert [wrong_lines(test) for test in tests if test.pointed] == [[line]]
