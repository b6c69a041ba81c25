"""Decoding of batches gives what the graded `Transformer.inference` gives, token for token; beam search finds more.

With sentences of a corpus: `CORPORA=folder pytest -m slow tests/course/test_decoding.py`.
"""

import os
from pathlib import Path

import pytest
import torch

from course.checkpoint import build_model, load_checkpoint
from course.config import BOS, EOS, PAD, ModelConfig
from course.modules import load_modules
from course.translation.decoding import beam_search, greedy_decode
from course.translation.kv_cache import CachedDecoder

VOCABULARY, LONGEST = 30, 60
OWN = [
    "Guten Morgen!",
    "Der Igel schläft unter der Bank.",
    "Unser Lehrer hat die Tür mit einem kleinen Messer geöffnet.",
    "Auf dem Dach sitzt ein schwarzer Vogel und singt, obwohl es schon seit heute Mittag regnet.",
    "Warum hast du das Paket noch nicht geöffnet?",
    "Komm herein, kleiner Igel!",
    "Der Gärtner hat gestern die alte Leiter verkauft.",
    "Wenn der Zug nach Bremen wieder zu spät kommt, fahren wir morgen mit dem Rad.",
]
WAYS = {"own, one by one": (1, False), "own": (4096, False), "cache, one by one": (1, True), "cache": (4096, True)}


@pytest.fixture
def random_model():
    """Random weights in float64, so that no two scores are nearly equal. It never ends a sentence."""
    config = ModelConfig(VOCABULARY, VOCABULARY, d_model=16, num_layers=2, d_ff=24, max_seq_length=LONGEST)
    torch.manual_seed(11)
    model = build_model(config, load_modules()).double()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.normal_()
        model.decoder.output_layer.bias[[PAD, EOS]] = -1000
    return model.eval()


def one_by_one(model, source, steps):
    with torch.inference_mode():
        decoded, _ = model.inference(torch.tensor([source]), torch.tensor([len(source)]), steps)
    return decoded[0].tolist()[1:]


def agree_with_inference(checkpoint, texts):
    """All ways of greedy decoding, in float64, where no two scores are nearly equal."""
    model = checkpoint.model.double()
    sources = [checkpoint.source.encode(text) for text in texts]
    expected = [one_by_one(model, source, LONGEST + len(source)) for source in sources]
    for name, (max_tokens, cache) in WAYS.items():
        results = greedy_decode(model, sources, max_tokens, cache)
        different = [
            text
            for text, result, tokens in zip(texts, results, expected, strict=True)
            if [*result, EOS] != tokens and result != tokens[: len(result)]
        ]
        assert different == [], name
    return expected


def test_all_ways_give_what_inference_gives():
    expected = agree_with_inference(load_checkpoint(), OWN)
    assert all(tokens[-1] == EOS for tokens in expected)


@pytest.mark.slow
def test_all_ways_give_what_inference_gives_on_a_corpus():
    if not os.environ.get("CORPORA"):
        pytest.skip("CORPORA does not name a folder of corpora")
    from course.translation.corpora import read_pairs

    pairs = read_pairs(Path(os.environ["CORPORA"]), "tatoeba.test")[:500]
    agree_with_inference(load_checkpoint(), [german for german, _ in pairs])


@pytest.mark.parametrize("cache", [False, True])
@pytest.mark.parametrize("max_tokens", [1, 100, 4096])
def test_sentences_that_end(tiny_checkpoint, sentences, max_tokens, cache):
    checkpoint = load_checkpoint(tiny_checkpoint)
    chosen = [*sentences[::4], ("Der Hund.", ""), ("Ein Kind schläft schläft im Garten dort.", "")]
    sources = [checkpoint.source.encode(german) for german, _ in chosen]
    for source, result in zip(sources, greedy_decode(checkpoint.model, sources, max_tokens, cache), strict=True):
        assert [*result, EOS] == one_by_one(checkpoint.model, source, LONGEST)


@pytest.mark.parametrize("cache", [False, True])
def test_sentences_that_do_not_end(random_model, cache):
    generator = torch.Generator().manual_seed(4)
    sources = [
        [BOS, *torch.randint(4, VOCABULARY, (length,), generator=generator).tolist(), EOS] for length in (1, 9, 4, 15)
    ]
    results = greedy_decode(random_model, sources, cache=cache)
    assert [len(result) for result in results] == [14, 26, 19, 35]  # one and a half times the source, and 10
    assert len({tuple(result) for result in results}) > 1  # the source matters
    for source, result in zip(sources, results, strict=True):
        assert result == one_by_one(random_model, source, len(result))


def test_the_model_is_put_in_evaluation_mode(random_model):
    sources = [[BOS, 7, 8, 9, EOS]]
    expected = greedy_decode(random_model, sources)
    random_model.train()
    assert greedy_decode(random_model, sources) == expected


def test_the_longest_source_stays_inside_the_encoding_table(random_model):
    (result,) = greedy_decode(random_model, [[BOS, *[5] * (LONGEST - 2), EOS]])
    assert len(result) == LONGEST - 1


def test_no_sentences_give_no_translations(random_model):
    assert greedy_decode(random_model, []) == beam_search(random_model, []) == []


@pytest.mark.parametrize("cache", [False, True])
def test_a_limit_cuts_every_translation(random_model, cache):
    sources = [[BOS, 7, 8, 9, EOS], [BOS, 5, EOS]]
    for results in (
        greedy_decode(random_model, sources, cache=cache, limit=3),
        beam_search(random_model, sources, 2, limit=3),
    ):
        assert [len(result) for result in results] == [3, 3]


# Beam search


@pytest.fixture
def ending_model(random_model):
    """Random weights, as above, but sentences end after some tokens."""
    with torch.no_grad():
        random_model.decoder.output_layer.weight *= 0.3
        random_model.decoder.output_layer.bias[EOS] = 2.5
    return random_model


def some_sources(count, seed):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 8, (count,), generator=generator).tolist()
    return [[BOS, *torch.randint(4, VOCABULARY, (n,), generator=generator).tolist(), EOS] for n in lengths]


def log_probability(model, source, result):
    """Of a whole translation, eos included, by teacher forcing."""
    tokens = torch.tensor([[BOS, *result, EOS]])
    with torch.no_grad():
        scores = model(
            torch.tensor([source]), tokens[:, :-1], torch.tensor([len(source)]), torch.tensor([len(result) + 1])
        )
    scores[..., PAD] = -torch.inf
    return scores.log_softmax(-1)[0].gather(1, tokens[0, 1:, None]).sum().item()


def simple_beam_search(model, source, beam, length_penalty, limit):
    """The same search for one sentence, with lists, and everything computed anew."""
    beginnings: list[tuple[list[int], float]] = [([], 0.0)]
    finished: list[tuple[float, list[int]]] = []
    for length in range(1, limit + 1):
        longer = []
        for tokens, total in beginnings:
            tgt = torch.tensor([[BOS, *tokens]])
            with torch.inference_mode():
                scores = model(torch.tensor([source]), tgt, torch.tensor([len(source)]), torch.tensor([length]))[0, -1]
            log_probs = scores.log_softmax(-1)
            log_probs[PAD] = -torch.inf
            longer += [([*tokens, token], total + value) for token, value in enumerate(log_probs.tolist())]
        longer.sort(key=lambda pair: -pair[1])
        factor = (6 / (5 + length)) ** length_penalty
        finished += [(total * factor, tokens[:-1]) for tokens, total in longer[:beam] if tokens[-1] == EOS]
        beginnings = [pair for pair in longer if pair[0][-1] != EOS][:beam]
        if finished and max(finished)[0] >= beginnings[0][1] * (6 / (5 + limit)) ** length_penalty:
            break
    return max(finished)[1] if finished else beginnings[0][0]


@pytest.mark.parametrize(("beam", "length_penalty"), [(2, 0.0), (4, 0.6), (5, 2.0)])
def test_beam_search_is_the_simple_one(ending_model, beam, length_penalty):
    sources = some_sources(8, seed=3)
    results = beam_search(ending_model, sources, beam, length_penalty)
    for source, result in zip(sources, results, strict=True):
        assert result == simple_beam_search(ending_model, source, beam, length_penalty, len(source) * 3 // 2 + 10)
    assert len({len(result) for result in results}) > 2
    assert results == beam_search(ending_model, sources, beam, length_penalty, max_tokens=1)  # one by one


def test_one_beam_is_greedy_decoding(ending_model, random_model):
    sources = some_sources(12, seed=5)
    for model in (ending_model, random_model):
        assert beam_search(model, sources, beam=1) == greedy_decode(model, sources)


def test_beams_find_more_probable_translations(ending_model):
    sources = some_sources(12, seed=7)
    greedy, beams = greedy_decode(ending_model, sources), beam_search(ending_model, sources, 8, length_penalty=0.0)
    sums = [
        sum(log_probability(ending_model, source, result) for source, result in zip(sources, results, strict=True))
        for results in (greedy, beams)
    ]
    assert sums[1] > sums[0] + 1


def test_a_larger_penalty_gives_longer_translations(ending_model):
    sources = some_sources(12, seed=9)
    lengths = [sum(map(len, beam_search(ending_model, sources, 4, penalty))) for penalty in (0.0, 1.0, 3.0)]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]


def test_rows_of_the_cache_can_be_moved(random_model):
    """The scores after a change of rows are those of the new rows."""
    source = torch.tensor(some_sources(1, seed=2))
    memory, _ = random_model.forward_encoder(source, torch.tensor([source.size(1)]))
    decoder = CachedDecoder(random_model, memory, width=3)
    rows = torch.tensor([[BOS, 5, 6], [BOS, 7, 8], [BOS, 9, 10]])
    with torch.inference_mode():
        for token in rows.T:
            decoder(token)
        decoder.select(torch.tensor([2, 0, 0]))
        scores = decoder(torch.tensor([11, 12, 13]))
        for row, (origin, token) in enumerate([(2, 11), (0, 12), (0, 13)]):
            tgt = torch.cat([rows[origin], torch.tensor([token])])[None]
            expected = random_model(source, tgt, torch.tensor([source.size(1)]), torch.tensor([4]))
            torch.testing.assert_close(scores[row], expected[0, -1])
