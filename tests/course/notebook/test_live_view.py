"""The live view of a model: what it shows is what the model computes, with or without scripts, without a network."""

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch

from course import explore_attention, explore_model, trained
from course.errors import UserError
from course.modules import load_modules
from course.notebook.live.sentence_box import show_with_box
from course.notebook.live.trace import trace
from course.notebook.live.view import TEMPERATURES, LiveView

ROOT = Path(__file__).resolve().parents[3]
SENTENCE = "Der Hund schläft."


@pytest.fixture(scope="module")
def checkpoint():
    return trained()


@pytest.fixture(scope="module")
def view(checkpoint):
    return explore_model(checkpoint, SENTENCE)


@pytest.fixture(scope="module")
def page(view):
    return view._repr_html_()


@pytest.fixture(scope="module")
def data(page):
    """What the script of the view draws from."""
    (text,) = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def unpacked(packed):
    steps = np.frombuffer(base64.b64decode(packed["data"]), "<u2").astype(float).reshape(packed["shape"])
    return packed["low"] + (packed["high"] - packed["low"]) * steps / 65535


def near(packed, tensor):
    """Equal but for half a step of the 16-bit numbers."""
    limit = 0.51 * (packed["high"] - packed["low"]) / 65535 + 1e-6
    return np.abs(unpacked(packed) - tensor.numpy()).max() <= limit


def test_attention_streams_and_scores_are_those_of_the_model(checkpoint, view, data):
    model, src = checkpoint.model, torch.tensor([checkpoint.source.encode(SENTENCE)])
    tgt = torch.tensor([[model.sos_idx, *view.trace.chosen[:-1]]])
    lengths, tgt_lengths = torch.tensor([src.size(1)]), torch.tensor([tgt.size(1)])
    with torch.no_grad():
        embedded = model.encoder_embedding(src)
        memory, _ = model.forward_encoder(src, lengths)
        scores = model(src=src, tgt=tgt, src_lengths=lengths, tgt_lengths=tgt_lengths)[0].double()
    encoder, decoder = (dict(data["streams"][side]) for side in ("encoder", "decoder"))
    assert near(encoder["embedding"], embedded[0])
    assert near(encoder["with positions"], model.positional_encoding(embedded)[0])
    assert near(encoder["layer 2, feed-forward"], memory[0])
    assert list(encoder) == ["embedding", "with positions"] + [
        f"layer {layer}, {part}" for layer in range(3) for part in ("self-attention", "feed-forward")
    ]
    assert len(decoder) == 2 + 3 * 3
    with torch.no_grad():  # the decoder's last station goes through the output layer
        found = model.decoder.output_layer(torch.tensor(unpacked(decoder["layer 2, feed-forward"]), dtype=torch.float))
    torch.testing.assert_close(found.double(), scores, atol=0.01, rtol=0)
    assert near(data["attention"]["cross"]["weights"], view.trace.maps.cross)
    assert (
        np.array(data["attention"]["decoder"]["mask"]).tolist()
        == torch.ones(len(tgt[0]), len(tgt[0])).triu(1).int().tolist()
    )
    assert len(data["scores"]) == len(data["chosen"]) == scores.size(0)
    for step, shown in zip(scores, data["scores"], strict=True):
        for temperature, total in zip(TEMPERATURES, shown["sums"], strict=True):
            expected = (step / temperature).softmax(dim=0).topk(len(shown["scores"])).values
            got = np.exp(np.array(shown["scores"]) / temperature - total)
            np.testing.assert_allclose(got, expected.numpy(), atol=2e-3)
    assert [shown["pieces"][0] for shown in data["scores"]] == data["chosen"]
    assert data["chosen"][-1] == "</s>"
    assert "dog" in data["texts"][-1]


def test_without_scripts_there_is_a_picture_with_words_and_a_table(view, page):
    class Tags(HTMLParser):
        def __init__(self, text):
            super().__init__()
            self.found = []
            self.feed(text)

        def handle_starttag(self, tag, attrs):
            self.found.append((tag, dict(attrs)))

    tags = Tags(page.partition('<div class="tc-still">')[2].partition("<script")[0]).found
    image, *others = [attributes for tag, attributes in tags if tag == "img"]  # for dark and for narrow pages
    assert {other["alt"] for other in others} == {image["alt"]}
    assert image["alt"].startswith("4 heatmaps of cross-attention weight")
    assert image["src"].startswith("data:image/png;base64,")
    assert sum(tag == "tr" for tag, _ in tags) == 1 + view.trace.steps
    assert not any(tag == "script" for tag, _ in tags)
    assert repr(view) == f"{SENTENCE} → {view.target.decode(view.trace.chosen)}"


def test_nothing_is_fetched(checkpoint, page):
    html = page.replace("http://www.w3.org/2000/svg", "")
    assert not re.findall(r"https?://|@import|fetch\(|XMLHttpRequest|import\(", html)
    assert html.count("<script") == html.count("</script>") == 2
    assert explore_attention(checkpoint, "</script>")._repr_html_().count("</script>") == 2


def test_only_attention_or_everything(checkpoint, data):
    assert data["sections"] == ["tokens", "attention", "stream", "scores"]
    assert explore_attention(checkpoint, SENTENCE).data()["sections"] == ("attention",)
    with pytest.raises(UserError, match="empty"):
        explore_attention(checkpoint, " ")
    with pytest.raises(UserError, match="takes at most 200"):
        explore_model(checkpoint.model, "Hund " * 300)


def test_a_model_whose_decoder_is_not_written_shows_its_encoder(checkpoint):
    stubs = load_modules(ROOT / "notebooks" / "transformer")
    model = load_modules().transformer.Transformer(4000, 4000, 2, 3, 12, 2, 1, 16, 30, 0.0)
    model.decoder = stubs.decoder.TransformerDecoder(1, 12, 16, 2, output_layer_size=4000)
    view = explore_model(model, SENTENCE)
    shown = view.data()
    assert list(shown["attention"]) == list(shown["streams"]) == ["encoder"]
    assert shown["scores"] == shown["chosen"] == []
    assert "not written yet" in repr(view)
    assert "encoder self-attention" in view.still()
    model.encoder = stubs.encoder.TransformerEncoder(1, 12, 16, 2)
    with pytest.raises(NotImplementedError):
        explore_model(model, SENTENCE)


def test_a_mask_that_does_not_hide_the_future_is_seen():
    torch.manual_seed(2)
    model = load_modules().transformer.Transformer(20, 20, 2, 3, 12, 2, 1, 16, 30, 0.1)
    for layer in model.decoder.layers:
        layer.self_attn.register_forward_pre_hook(lambda module, args: args[:4])
    traced = trace(model, [2, 5, 6, 3])
    assert model.training  # as it was
    assert traced.steps > 1
    assert traced.maps.decoder is not None
    assert traced.maps.decoder.triu(1).max() > 0.01


def test_another_sentence_takes_the_place_of_the_first(view, monkeypatch):
    """The box that a notebook shows above the view."""
    import IPython.display
    import ipywidgets

    monkeypatch.setattr(LiveView, "still", lambda self: "")  # drawing the heatmaps takes longest
    boxes, labels, shown = [], [], []

    class Handle:
        def update(self, data, raw):
            shown.append(data["text/plain"])

    class Box(ipywidgets.Text):  # type: ignore[misc]
        def __init__(self, **settings):
            super().__init__(**settings)
            boxes.append(self)

    class Said(ipywidgets.Label):  # type: ignore[misc]
        def __init__(self):
            super().__init__()
            labels.append(self)

    monkeypatch.setattr(ipywidgets, "Text", Box)
    monkeypatch.setattr(ipywidgets, "Label", Said)
    monkeypatch.setattr(IPython.display, "display", lambda data, raw, display_id=None: Handle())
    show_with_box(view, view.look_at)
    (box,), (said,) = boxes, labels
    assert box.value == SENTENCE
    box.value = "Der Hund schläft unter dem Tisch."
    assert shown == ["Der Hund schläft unter dem Tisch. → The dog is sleeping under the table."]
    box.value = "Hund " * 300
    assert "the model takes at most" in said.value
    box.value = SENTENCE
    assert said.value == ""
    assert shown[1:] == [repr(view)]
