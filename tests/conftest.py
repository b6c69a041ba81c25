"""What the tests share: one thread, our own sentences, and a tiny checkpoint."""

import gzip
import os
from itertools import product
from pathlib import Path

import pytest

# Before torch is imported, here and in the processes that tests start: threads only get into each other's way.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

VOCABULARY = 34
WHO = {"Der Hund": "The dog", "Die Katze": "The cat", "Ein Kind": "A child", "Unser Lehrer": "Our teacher"}
DOES = {"schläft": "sleeps", "wartet": "waits", "spielt": "plays", "singt": "sings"}
WHERE = {"im Garten": "in the garden", "am Bahnhof": "at the station", "zu Hause": "at home", "dort": "there"}


@pytest.fixture(scope="session")
def sentences() -> list[tuple[str, str]]:
    """64 (German, English) pairs."""
    triples = product(WHO.items(), DOES.items(), WHERE.items())
    return [(f"{a} {b} {c}.", f"{x} {y} {z}.") for (a, x), (b, y), (c, z) in triples]


@pytest.fixture(scope="session")
def corpus_dir(sentences: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sentences as the corpus "own"."""
    folder = tmp_path_factory.mktemp("corpora")
    text = "".join(f"{german}\t{english}\n" for german, english in sentences)
    (folder / "own.tsv.gz").write_bytes(gzip.compress(text.encode()))
    return folder


@pytest.fixture(scope="session")
def tiny_checkpoint(sentences: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with random weights, in the reference modules."""
    import torch

    from course.checkpoint import build_model, save_weights
    from course.config import CONFIG, SOURCE_TOKENIZER, TARGET_TOKENIZER, WEIGHTS, ModelConfig
    from course.modules import load_modules
    from course.text import Tokenizer

    folder = tmp_path_factory.mktemp("tiny")
    for side, name in enumerate((SOURCE_TOKENIZER, TARGET_TOKENIZER)):
        Tokenizer.train((pair[side] for pair in sentences), folder / name, VOCABULARY)
    config = ModelConfig(VOCABULARY, VOCABULARY, d_model=16, num_heads=2, num_layers=2, d_ff=32, max_seq_length=40)
    config.save(folder / CONFIG)
    torch.manual_seed(3)
    save_weights(build_model(config, load_modules()), folder / WEIGHTS)
    return folder
