"""Every answer is what running the code gives, and no other option is: checked from the text, with other numbers."""

import ast
import random
import re
import traceback
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
import torch

from autograder.authoring.formulations import correct_submissions
from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.questions.generate import paper
from autograder.questions.kinds import KINDS
from autograder.questions.question import pick
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import Submission, read_submission
from tests.support.answering import (
    Asked,
    Unreadable,
    Weights,
    changed,
    counted,
    exchanged,
    holds,
    imported,
    looks,
    seen_after,
    unlike,
)

CASES = [
    *(("transformer", "mha", name) for name in ("solution", "einsum", "loops", "short", "german", "mha-additive")),
    *(("transformer", "pe", name) for name in ("solution", "numpy_table", "pe-column-by-column")),
    *(("transformer", "encoder", name) for name in ("solution", "encoder-functional", "chatty")),
    *(("attention", "pooling", name) for name in ("solution", "pooling-loop", "kernels-where")),
    *(("attention", "scoring", name) for name in ("solution", "scores-einsum")),
    *(("variants", "heads", name) for name in ("solution", "heads-head-where", "heads-efficient-einsum")),
    *(("variants", "layers", name) for name in ("solution", "layers-norm-sums")),
    ("variants", "vit", "vit-patches-loops"),
    ("variants", "training", "solution"),
    ("variants", "modern", "modern-rotate-complex"),
    ("transformer", "decoder", "solution"),
    ("attention", "translate", "solution"),
]
QUICK = [("transformer", "pe", "numpy_table"), ("attention", "pooling", "pooling-loop")]
COUNT = 12
CODE: dict[tuple[str, str, str], tuple] = {}


@cache
def workers():
    return make_workers()


@cache
def questions(of, stage, name, seed=0):
    chosen = assignment(of)
    submission = (
        read_submission(chosen.solution, chosen) if name == "solution" else correct_submissions(chosen)[name][0]
    )
    made = paper(submission, chosen.stage(stage), chosen, workers(), COUNT, seed)
    assert made.complete, made
    CODE[of, stage, name] = made.code
    return submission, made.questions


def code(of, stage, name):
    return CODE[of, stage, name]


def plain(option):
    return option.strip("`")


def check(of, stage, name, tmp_path, seed=0):
    """How many questions of each kind have exactly one right option, the one of the key, and those that have not."""
    torch.set_default_dtype(torch.float64)
    submission, made = questions(of, stage, name, seed)
    right: dict[str, int] = defaultdict(int)
    wrong: dict[str, list] = defaultdict(list)
    try:
        for number, question in enumerate(made):
            folder = tmp_path / f"{stage}{number}"
            try:
                found = ANSWERS[question.kind](question, dict(submission.sources), folder, (submission, of, stage))
            except Unreadable:
                continue
            if found == [question.right]:
                right[question.kind] += 1
            else:
                wrong[question.kind].append((question, found))
    finally:
        torch.set_default_dtype(torch.float32)
    return right, wrong


def module_of(question):
    return question.lines[0][0].removesuffix(".py")


def options(question, is_right):
    """The numbers of the options for which something holds."""
    return [at for at, option in enumerate(question.options) if is_right(option)]


def effect(question, sources, folder, _):
    asked = Asked(question.text, 5)
    with imported(sources, folder / "base") as own:
        base = asked.run(own)
    with imported(changed(sources, module_of(question), question.text), folder / "new") as other:
        after = asked.run(other)
    return options(question, lambda option: holds(option, base, after))


def times(question, sources, folder, _):
    asked, (file, line) = Asked(question.text, 5), question.lines[0]
    with imported(sources, folder) as own:
        n = counted(lambda: asked.run(own), folder, line, file)
    return options(question, lambda option: option == str(n))


def after_line(question, sources, folder):
    """What the question's line gave to the name that it asks about, in each of its runs."""
    asked, (file, line) = Asked(question.text, 5), question.lines[0]
    name = re.search(r"`(\w+)` after line", question.text)
    with imported(sources, folder) as own:
        return seen_after(lambda: asked.run(own), folder, line, file, name and name[1])


def shape(question, sources, folder, _):
    found = {str(tuple(value.shape)) for value in after_line(question, sources, folder)}
    return options(question, lambda option: found == {option})


def number(question, sources, folder, _):
    (value,) = after_line(question, sources, folder)

    def is_right(option):
        told = ast.literal_eval(plain(option))
        if not isinstance(value, torch.Tensor):
            return told == value if not isinstance(value, float) else abs(told - value) < 6e-3
        told = torch.tensor(told).double()
        return told.shape == value.shape and bool(((told - value).abs() < 6e-3).all())

    return options(question, is_right)


def heatmap(question, sources, folder, _):
    """With other random numbers each change gives another picture, which may or may not look like the one shown."""
    asked = Asked(question.text, 5)

    def picture(texts, where):
        with imported(texts, folder / where) as own, Weights() as weights:
            asked.run(own)
        value = weights.last
        for axis in range(value.ndim - 2):
            value = value[0 if axis else -1]
        return value

    base = picture(sources, "base")
    seen = looks(question.maps[0][1], question.maps[1][1], exact=False)
    changes = [changed(sources, module_of(question), option) for option in question.options]
    pictures = [picture(texts, f"new{at}") for at, texts in enumerate(changes)]
    off = [unlike(looks(base, one, exact=True), seen) for one in pictures]
    return [at for at, one in enumerate(off) if one == min(off)]


def swap(question, sources, folder, known):
    """The tests of the stage say which statements can change places."""

    def is_right(option):
        ((first, second, module),) = re.findall(r"^lines (\d+) and (\d+)(?: of (\w+)\.py)?", option)
        name = module or module_of(question)
        texts = {**sources, name: exchanged(sources[name], int(first), int(second))}
        return all(statuses(known, texts).values())

    return options(question, is_right)


def statuses(known, texts):
    """Of each test of the stage, by its title, whether it passes with other modules."""
    submission, of, stage = known
    report = grade(Submission(submission.name, texts), assignment(of), workers(), [assignment(of).stage(stage)])
    return {test.title: test.status == "passed" for test in report.tests}


def variant(question, sources, folder, _):
    asked, line = Asked(question.text, 5), question.lines[0][1]
    with imported(sources, folder / "base") as own:
        base = asked.run(own)

    def is_right(option):
        texts = changed(sources, module_of(question), f"line {line}: {option}")
        with imported(texts, folder / str(question.options.index(option))) as other:
            return holds("The result is the same.", base, asked.run(other))

    return options(question, is_right)


def exception(question, sources, folder, _):
    asked = Asked(question.text, 5)
    with imported(changed(sources, module_of(question), question.text), folder) as own:
        error = asked.run(own)
    *_, last = [one for one in traceback.extract_tb(error.__traceback__) if str(folder) in one.filename]
    place = rf"line {last.lineno}( of {Path(last.filename).name})?"
    return options(question, lambda option: re.fullmatch(place, option))


ANSWERS = {
    "effect": effect,
    "times": times,
    "shape": shape,
    "number": number,
    "heatmap": heatmap,
    "swap": swap,
    "variant": variant,
    "exception": exception,
}


@pytest.mark.parametrize(
    ("of", "stage", "name"), [case if case in QUICK else pytest.param(*case, marks=pytest.mark.slow) for case in CASES]
)
def test_answers_are_what_the_code_gives(of, stage, name, tmp_path):
    """A reader who runs the code finds exactly one right option, the one that the key says."""
    right = 0
    for seed in range(4):  # a stage with few questions needs several seeds
        found, wrong = check(of, stage, name, tmp_path / str(seed), seed)
        assert not wrong, dict(wrong)
        right += sum(found.values())
        if right >= 5:
            break
    assert right >= 5
    assert set(ANSWERS) == set(KINDS)


@pytest.mark.parametrize(("of", "stage", "name"), QUICK)
def test_questions_are_sound(of, stage, name):
    for question in questions(of, stage, name)[1]:
        assert 3 <= len(set(question.options)) == len(question.options) <= 4
        assert question.because
        shown = {(file, line) for file, line, _ in code(of, stage, name)}
        assert set(question.lines) <= shown
        said = re.findall(r"(?i)\blines? (\d+)(?: and (\d+))?", " ".join((question.text, *question.options)))
        assert {int(number) for pair in said for number in pair if number} <= {line for _, line in shown}
    texts = [text for _, _, text in code(of, stage, name)]
    assert "#" not in "".join(text for text in texts if '"' not in text and "'" not in text)


def test_the_same_seed_gives_the_same_questions(monkeypatch):
    """Also where there is no solution, so nothing of it can be in them."""
    chosen = assignment("transformer")
    submission, stage = read_submission(chosen.solution, chosen), chosen.stage("pe")
    first, other = (paper(submission, stage, chosen, workers(), 5, seed).questions for seed in (1, 2))

    def refuse(self):
        raise AssertionError("the solution was looked at")

    monkeypatch.setattr(type(chosen), "solution", property(refuse))
    assert paper(submission, stage, chosen, workers(), 5, 1).questions == first != other


def test_looks_tell_nothing():
    """Of a right option and its pool, whatever they are, no look says which is right."""
    dice = random.Random(4)
    longest, middle = [], []
    for _ in range(300):
        n = dice.choice((2, 3, 4, 6, 8))
        near = {n - 1, n + 1, n + 2, 2 * n, n // 2, 3 * n, 1} - {n}
        order = sorted(map(int, [str(n), *pick(dice, str(n), [*map(str, sorted(near))])]))
        middle.append(0.5 * (n in order[1:3]))
        right, *pool = ["a" * dice.randrange(1, 60) + str(number) for number in range(20)]
        longest.append(len(right) == max(map(len, [right, *pick(dice, right, pool)])))
    assert max(sum(longest), sum(middle)) / 300 <= 0.4, (sum(longest), sum(middle))


def test_every_rank_is_as_likely():
    """Also where few of the possible numbers give the right one its rank: 1 of 220 sets makes it the largest."""
    dice = random.Random(5)
    pool = [str(number) for number in (1, 2, 3, *range(5, 14))]
    ranks = [sum(int(one) < 4 for one in pick(dice, "4", pool)) for _ in range(400)]
    assert all(70 <= ranks.count(rank) <= 130 for rank in range(4)), ranks


@pytest.mark.slow
def test_looks_of_real_questions_tell_nothing():
    """Who goes by the longest option, a middle number or the first line, is right in at most 4 of 10."""
    rates = leaks([question for case in CASES for question in questions(*case)[1]])
    assert max(rates.values()) <= 0.4, rates


def leaks(asked):
    """How often somebody is right who goes by the looks of options alone."""
    found = defaultdict(list)
    for question in asked:
        lengths = [len(option) for option in question.options]
        found["longest"].append((lengths[question.right] == max(lengths)) / lengths.count(max(lengths)))
        found["place"].append(question.right == 0)
        if all(re.fullmatch(r"`?-?[\d.]+`?", option) for option in question.options):
            order = sorted(range(len(lengths)), key=lambda at: float(plain(question.options[at])))
            middle = order[1:3] if len(order) == 4 else order[1:2]
            found["middle"].append((question.right in middle) / len(middle))
        lines = [re.match(r"lines? (\d+)", option) for option in question.options]
        numbers = [int(one[1]) for one in lines if one]
        if len(numbers) == len(lines) and len(set(numbers)) > 1:
            found["first"].append((numbers[question.right] == min(numbers)) / numbers.count(min(numbers)))
    return {name: sum(rates) / len(rates) for name, rates in found.items() if len(rates) > 9}
