"""The benchmarks compare like with like: the same weights in other people's code give the same results."""

import pytest
import torch

from bench.peers import CTranslate2, torch_peer
from bench.translate import own_sentences
from course.checkpoint import load_checkpoint
from course.text import pad
from course.translation.decoding import greedy_decode


@pytest.fixture(scope="module")
def checkpoint():
    return load_checkpoint()


@pytest.fixture(scope="module")
def sources(checkpoint):
    return [checkpoint.source.encode(text) for text in own_sentences()[::6]]


@pytest.mark.filterwarnings("ignore:.*nested tensors")
def test_torch_gives_the_same_scores(checkpoint, sources):
    peer = torch_peer(checkpoint.model, checkpoint.config)
    src, src_lengths = pad(sources)
    tgt, tgt_lengths = pad(greedy_decode(checkpoint.model, sources))
    with torch.inference_mode():
        expected, found = (model(src, tgt, src_lengths, tgt_lengths) for model in (checkpoint.model, peer))
    for row, length in enumerate(tgt_lengths.tolist()):  # what stands at padded positions does not matter
        torch.testing.assert_close(found[row, :length], expected[row, :length], atol=1e-3, rtol=0)


def test_ctranslate2_gives_the_same_translations(checkpoint, sources):
    pytest.importorskip("ctranslate2")
    found = CTranslate2(checkpoint.model, checkpoint.config).translate(sources)
    assert found == greedy_decode(checkpoint.model, sources)
