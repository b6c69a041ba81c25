"""Every answer is what running the code gives, and no other option is: checked from the text, with other numbers."""

import ast
import random
import re
from collections import defaultdict
from functools import cache

import pytest
import torch

from autograder.authoring.formulations import correct_submissions
from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.questions.generate import calls_of, paper
from autograder.questions.kinds import KINDS
from autograder.sandbox.worker_processes import make_workers
from autograder.submissions.read_submission import Submission, read_submission
from tests.support.answering import CHANGE, Asked, Unreadable, changed, counted, holds, imported

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
COUNT = 12


@cache
def workers():
    return make_workers()


@cache
def questions(of, stage, name, seed=0):
    chosen = assignment(of)
    submission = (
        read_submission(chosen.solution, chosen) if name == "solution" else correct_submissions(chosen)[name][0]
    )
    calls = calls_of(chosen.stage(stage), chosen, workers())
    made = paper(submission, chosen.stage(stage), chosen, workers(), COUNT, seed, calls)
    assert made.complete, made
    return submission, made.questions


def plain(option):
    return option.strip("`")


@pytest.mark.parametrize(("of", "stage", "name"), CASES)
def test_answers_are_what_the_code_gives(of, stage, name, tmp_path):
    """A reader who runs the code finds exactly one right option, the one that the key says."""
    torch.set_default_dtype(torch.float64)
    submission, made = questions(of, stage, name)
    assert len(made) >= 5
    checked: dict[str, int] = defaultdict(int)
    try:
        for number, question in enumerate(made):
            try:
                found = answers(question, submission.sources, tmp_path / str(number))
            except Unreadable:
                continue
            assert found == [question.right], (question, found)
            checked[question.kind] += 1
    finally:
        torch.set_default_dtype(torch.float32)
    assert sum(checked.values()) >= len(made) // 3, checked


def number_in(text):
    """The first number of a text."""
    return int(re.findall(r"\d+", text)[0])


def answers(question, sources, folder):
    """The options that are right, by running the code in this process; those of kinds that need a whole stage are read
    elsewhere."""
    module = question.lines[0][0].removesuffix(".py")
    if question.kind in ("effect", "cause"):
        fact = question.text.rpartition("What happens to the result?")[0] or question.text
        asked = Asked(question.text, 5)
        with imported(sources, folder / "base") as own:
            base = asked.run(own)
        if question.kind == "effect":
            with imported({**sources, module: changed(sources[module], fact[-300:])}, folder / "new") as other:
                after = asked.run(other)
            return [at for at, option in enumerate(question.options) if holds(option, base, after)]
        fact = question.text.partition("this is true: ")[2].removesuffix(" Which change is it?")
        found = []
        for at, option in enumerate(question.options):
            file = next(file for file, line in question.lines if line == number_in(option))
            name = file.removesuffix(".py")
            with imported({**sources, name: changed(sources[name], option)}, folder / f"new{at}") as other:
                found += [at] if holds(fact, base, asked.run(other)) else []
        return found
    if question.kind == "influence":
        asked = Asked(question.text, 5)
        (where,) = re.findall(r"differs only in `(\w+)\[(.*?)\]`", question.text)
        moved = asked.arguments[where[0]].clone()
        moved[ast.literal_eval(f"({where[1]},)")] += torch.linspace(0.2, 0.9, moved.shape[-1])
        with imported(sources, folder) as own:
            base, after = asked.run(own), asked.run(own, **{where[0]: moved})
        return [at for at, option in enumerate(question.options) if holds(option, base, after)]
    if question.kind in ("times", "reach"):
        asked = Asked(question.text, 5)
        with imported(sources, folder) as own:
            if question.kind == "times":
                n = counted(lambda: asked.run(own), folder, question.lines[0][1], question.lines[0][0])
                return [at for at, option in enumerate(question.options) if option == str(n)]
            runs = []
            for option in question.options:
                line = number_in(option)
                file = next(file for file, number in question.lines if number == line)
                runs.append(counted(lambda: asked.run(own), folder, line, file) > 0)
        return [at for at, one in enumerate(runs) if one == ("lines runs" in question.text)]
    if question.kind == "result":
        asked = Asked(question.text, 5)
        with imported(sources, folder) as own:
            result = torch.as_tensor(asked.run(own)).double()
        place = re.search(r"What is `result\[(.*?)\]`\?", question.text)
        result = result[ast.literal_eval(f"({place[1]},)")] if place else result
        close = []
        for at, option in enumerate(question.options):
            value = torch.tensor(ast.literal_eval(plain(option)), dtype=torch.float64)
            close += [at] if value.shape == result.shape and torch.allclose(value, result, atol=6e-3, rtol=0) else []
        return close
    raise Unreadable(question.kind)


@pytest.mark.parametrize(("of", "stage", "name"), [("transformer", "mha", "einsum"), ("variants", "vit", "solution")])
def test_tests_variants_and_exchanges(of, stage, name):
    """What is said to fail a test does; what is said to change nothing passes all of them."""
    submission, made = questions(of, stage, name)
    chosen = assignment(of)
    for question in made:
        module = question.lines[0][0].removesuffix(".py")
        if question.kind == "test":
            results = statuses(submission, module, changed(submission.sources[module], question.text), chosen, stage)
            failing = [results[plain(option).strip('"')] != "passed" for option in question.options]
            assert failing == [at == question.right for at in range(len(failing))]
        if question.kind == "variant":
            new = f"line {question.lines[0][1]}: {question.options[question.right]}"
            results = statuses(submission, module, changed(submission.sources[module], new), chosen, stage)
            assert set(results.values()) == {"passed"}


def statuses(submission, module, text, chosen, stage):
    other = Submission(submission.name, {**submission.sources, module: text})
    report = grade(other, chosen, workers(), [chosen.stage(stage)])
    return {test.title: test.status for test in report.tests}


@pytest.mark.parametrize(("of", "stage", "name"), CASES[:12])
def test_questions_are_of_one_kind_each_and_sound(of, stage, name):
    _, made = questions(of, stage, name)
    for question in made:
        assert question.kind in KINDS
        assert 3 <= len(set(question.options)) == len(question.options) <= 4
        assert question.because
        shown = {(file, line) for file, line, _ in question.code}
        assert set(question.lines) <= shown
        mentioned = {
            int(number) for number in re.findall(r"(?i)\blines? (\d+)", " ".join((question.text, *question.options)))
        }
        assert mentioned <= {line for _, line, _ in question.code}
        assert "#" not in "".join(text for _, _, text in question.code if '"' not in text and "'" not in text)


def test_the_same_seed_gives_the_same_questions():
    chosen = assignment("transformer")
    stage = chosen.stage("pe")
    submission = read_submission(chosen.solution, chosen)
    calls = calls_of(stage, chosen, workers())
    first, second, other = (paper(submission, stage, chosen, workers(), 5, seed, calls).questions for seed in (1, 1, 2))
    assert first == second != other


def test_looks_tell_nothing():
    """Who goes by the longest option, the middle number or the first line, is right in at most 4 of 10."""
    longest, middle, first = [], [], []
    for case in CASES:
        for question in questions(*case)[1]:
            lengths = [len(option) for option in question.options]
            if lengths.count(max(lengths)) == 1:
                longest.append(lengths.index(max(lengths)) == question.right)
            if all(re.fullmatch(r"`?-?[\d.]+`?", option) for option in question.options):
                order = sorted(range(len(lengths)), key=lambda at: float(plain(question.options[at])))
                middle.append(0.5 * (question.right in order[1:3]) if len(order) == 4 else order[1] == question.right)
            lines = [CHANGE.search(option) or re.match(r"lines? (\d+)", option) for option in question.options]
            numbers = [int(re.findall(r"\d+", one[0])[0]) for one in lines if one]
            if len(set(numbers)) == len(lines):
                first.append(numbers.index(min(numbers)) == question.right)
    assert len(longest) > 60
    rates = {
        name: sum(found) / len(found) for name, found in (("longest", longest), ("middle", middle), ("first", first))
    }
    assert max(rates.values()) <= 0.4, rates


def test_positions_of_the_right_option_are_even():
    at = [question.right for case in CASES for question in questions(*case)[1] if len(question.options) == 4]
    assert max(at.count(place) for place in range(4)) <= 0.4 * len(at)


def test_the_reference_is_not_looked_at(monkeypatch):
    """Questions are the same where there is no solution, so nothing of it can be in them."""
    chosen = assignment("transformer")
    submission, made = questions("transformer", "mha", "einsum")

    def refuse(self):
        raise AssertionError("the solution was looked at")

    monkeypatch.setattr(type(chosen), "solution", property(refuse))
    stage = chosen.stage("mha")
    calls = calls_of(stage, chosen, workers())
    assert paper(submission, stage, chosen, workers(), COUNT, 0, calls).questions == made


def test_seeds():
    """Different seeds, the same truth: a random program and seed each time, as the day decides."""
    dice = random.Random(20)
    for case in dice.sample(CASES[:8], 2):
        for question in questions(*case, seed=dice.randrange(1000))[1]:
            assert question.options.count(question.options[question.right]) == 1
