"""The line of a verdict where Python's own numbers, texts and lists are computed: rates, BLEU, decoded sentences."""

import textwrap

import pytest

from autograder.grading.grade_submission import grade
from autograder.grading.results import TestResult
from autograder.manifest import assignment
from autograder.sandbox.plain_values import Series, plain, signature_of
from autograder.sandbox.statements import statements
from autograder.submissions.read_submission import Submission, read_submission
from tests import slips


def failed(workers, name: str, stage: str, module: str, old: str, new: str) -> tuple[TestResult, int]:
    """The first failed test of a solution with a text replaced, and its line."""
    chosen = assignment(name)
    sources = read_submission(chosen.solution, chosen).sources
    text = sources[module]
    assert text.count(old) == 1
    changed = Submission("", {**sources, module: text.replace(old, new)})
    report = grade(changed, chosen, workers, [chosen.stage(stage)])
    return next(test for test in report.tests if test.status != "passed"), text[: text.index(old)].count("\n") + 1


def wrong_lines(test: TestResult) -> list[int]:
    return [mark.line for mark in test.marks if mark.state == "wrong"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(step - warmup) / (total - warmup)", "step / (total - warmup)"),
        ("return floor + (peak - floor) * (1 + math.cos(", "return floor + (peak - floor) * (1 - math.cos("),
        ("return peak * step / warmup", "return peak * (step - 1) / warmup"),
        ("return peak * min(step / warmup", "return peak * max(step / warmup"),
    ],
)
def test_the_line_of_a_wrong_rate(workers, old, new):
    test, line = failed(workers, "variants", "training", "training", old, new)
    assert wrong_lines(test) == [line]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.0, 1 - len(reference) / len(candidate)", "0.0, 1 - len(candidate) / len(reference)"),
        ("(len(candidate) - n + 1)) ** 0.5**n", "(len(candidate) - n)) ** 0.5**n"),
        ("** 0.5**n", "** 0.25**n"),
    ],
)
def test_the_line_of_a_wrong_bleu(workers, old, new):
    test, line = failed(workers, "attention", "translate", "seq2seq", old, new)
    assert wrong_lines(test) == [line]


def test_a_loop_that_ends_too_early(workers):
    old = "for n in range(1, min(k, len(candidate)) + 1):"
    test, line = failed(workers, "attention", "translate", "seq2seq", old, old.replace(" + 1)", ")"))
    assert f"Line {line} of seq2seq.py ends too early:" in " ".join(test.pointed)
    assert wrong_lines(test) == [line]


def test_the_number_that_a_line_of_tensors_uses_is_wrong_itself(workers):
    text = read_submission(assignment("transformer").solution, assignment("transformer")).sources["mha"]
    line = next(one for one in text.splitlines() if "math.sqrt(" in one)
    indent = " " * (len(line) - len(line.lstrip()))
    new = f"{indent}root = math.sqrt(self.d_k + 2)\n{line.replace('math.sqrt(self.d_k)', 'root')}"
    assert new.count("root") == 2
    test, number = failed(workers, "transformer", "mha", "mha", line, new)
    assert wrong_lines(test) == [number]
    assert "root = math.sqrt" in " ".join(test.pointed)


def test_a_function_that_is_given_a_model_is_followed(workers):
    old = "x = x + block.feed_forward(block.norm2(x))"
    test, line = failed(workers, "variants", "generate", "generate", old, old.replace("norm2", "norm1"))
    assert wrong_lines(test) == [line]


def test_what_nothing_makes_is_said_where_no_line_is_wrong(workers, monkeypatch):
    monkeypatch.setattr("autograder.grading.mending_lines.mended", lambda *_: {})
    loop = "        for gradient in gradients:\n            gradient.mul_(max_norm / norm)\n"
    test, line = failed(workers, "variants", "training", "training", f"    if norm > max_norm:\n{loop}", "")
    assert "nothing makes the gradients, shortened" in " ".join(test.pointed)
    assert not wrong_lines(test)
    # Of a loop that is not reached the condition is told, of one that has no rounds its head.
    test, line = failed(workers, "variants", "training", "training", f"norm > max_norm:\n{loop}", f"norm < 0:\n{loop}")
    assert f"Line {line} of training.py begins a branch whose lines never run:" in test.pointed
    empty = loop.replace("in gradients", "in gradients[:0]")
    test, line = failed(
        workers,
        "variants",
        "training",
        "training",
        f"    if norm > max_norm:\n{loop}",
        f"    if norm > max_norm:\n{empty}",
    )
    assert f"Line {line + 1} of training.py begins a loop whose lines never run:" in test.pointed


def test_a_return_that_only_passes_on_a_number_is_not_named(workers):
    test, _ = failed(workers, "attention", "translate", "seq2seq", "if not candidate:", "if len(candidate) > 0:")
    assert all(mark.state != "wrong" or mark.text != "return bleu" for mark in test.marks)


# Their parts


def of_numbers(*numbers: float) -> tuple[float, ...]:
    series = Series()
    for one in numbers:
        series.add(one)
    return series.signature()


def near(one, other) -> bool:
    return max(abs(a - b) for a, b in zip(one, other, strict=True)) < 1e-9


def test_numbers_one_behind_the_other_are_like_a_list_of_them():
    assert near(of_numbers(3, 2.5, 0.1), signature_of([3, 2.5, 0.1]))
    assert not near(of_numbers(3, 2.5, 0.1), of_numbers(2.5, 3, 0.1))


@pytest.mark.parametrize("pair", [(1e-4, 1.001e-4), (3, 4), (0.0, 1e-9), (2.5, -2.5), (1e12, 1.00001e12)])
def test_numbers_are_told_apart(pair):
    one, other = map(of_numbers, pair)
    assert max(abs(a - b) for a, b in zip(one, other, strict=True)) > 3e-6


def test_rounding_does_not_matter():
    assert near(of_numbers(0.1 + 0.2), of_numbers(0.3))


def test_texts_and_dictionaries_are_known_again_in_whatever_order_they_were_filled():
    assert signature_of({"a": 1, "b": 2}) == signature_of({"b": 2, "a": 1})
    assert signature_of(["a", "b"]) != signature_of(["b", "a"])
    assert plain({("a",): [1, 2.0, "x"]})
    assert not plain([object()])
    assert not plain({1 << 40})  # as the `id` of an object


def test_statements_say_what_they_use_and_make():
    found = statements(
        textwrap.dedent(
            """\
            def f(xs, k):
                total = sum(
                    x * k for x in xs
                )
                counts[k] += total
                seen.append(total)
                for n, x in enumerate(xs):
                    total += n
                return total
            """
        )
    )
    assert (found[2].first, found[2].last) == (found[4].first, found[4].last) == (2, 4)
    assert set(found[3].uses) >= {"k", "xs"}
    assert found[2].makes == ("total",)
    assert set(found[5].makes) == {"counts"}
    assert set(found[5].uses) >= {"counts", "k", "total"}
    assert found[6].makes == ("seen",)
    assert set(found[7].makes) == {"n", "x"}
    assert found[7].inside == (8, 8)
    assert "total" in found[8].uses
    assert found[9].returns


def test_places_of_the_largest_prove_nothing_of_what_they_are_chosen_from(workers):
    old, new = "tokens if cache is None else tokens[:, -1:], cache", "tokens if cache is None else tokens[:, :], cache"
    road = "generate-loop-inverse-distribution"
    tests, line = slips.failed(workers, "variants", "generate", "generate", old, new, road)
    assert [wrong_lines(test) for test in tests if test.marks] == [[line]]
    assert "It calls forward_cached() with other inputs than it should." in " ".join(tests[0].pointed)
