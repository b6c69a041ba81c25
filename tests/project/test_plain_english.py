"""Texts for people are plain: no sentence of more than 30 words, and no phrase that no English speaker would write."""

import re
from pathlib import Path

import pytest

from tests.support.prose import GROUPS, MOST_WORDS, group, sentences

ROOT = Path(__file__).resolve().parents[2]
# Translated word by word, these are right in other languages. What to write instead is on the right.
ODD = {
    r"\bwhat (?:stands|lies)\b": "the contents",
    r"\b(?:stands?|lies?) (?:in|at|behind|there)\b": "is in, comes after, follows",
    r"\bin the place of\b": "instead of",
    r"\bit is said\b": "name who says it: the verdict says",
    r"\bshall\b": "must, should",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\bgives? what\b": "returns the right result",
    r"\bequals one\b": "is that of",
    r"\bof what\b(?! is)": "name the thing",
    r"\bwithout end\b": "endless, without bound",
    r"\bfor granted\b": "assume",
    r"\bin another (?:order|place|shape|way)\b": "in a different order",
}


@pytest.mark.parametrize("name", GROUPS)
def test_sentences_are_short(name):
    long = [sentence for sentence in group(name) if sentence.words > MOST_WORDS]
    assert not long, long[:5]


@pytest.mark.parametrize("name", GROUPS)
def test_phrases_are_english(name):
    found = [(odd, *sentence) for sentence in group(name) for odd in ODD if re.search(odd, sentence.text, re.I)]
    assert not found, [f"{file}: {text!r}. Write: {ODD[odd]}" for odd, file, text in found[:10]]


def test_code_and_formulas_are_left_out():
    text = """A *short* sentence. See `x.shape == (2, 3)` and $a. B$ here!

```python
what = "stands in code. It is no sentence"
```

| cell | Another one: with two |
|---|---|

1. First point of [a list](docs/x.md). a) Part one b) Part two
"""
    assert list(sentences(text)) == [
        *("A *short* sentence.", "See X and X here!", "cell", "Another one: with two", "---", "---"),
        *("First point of a list.", "a) Part one", "b) Part two"),
    ]


def test_no_page_has_two_versions_of_a_merge():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tests/**/*.md"), *ROOT.glob("course/**/*.md")]
    assert len(pages) > 25
    assert [
        page.name for page in pages if re.search("^(<<<<<<<|>>>>>>>) ", page.read_text("utf-8"), re.MULTILINE)
    ] == []
