"""The drawings of the notebooks: committed as they are made, complete in themselves, with words."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from course.figures.__main__ import main
from course.figures.architecture import architecture
from course.figures.attention_drawings import ATTENTION
from course.figures.drawing import STYLE
from course.figures.notebook_drawings import ALL
from course.figures.variants_drawings import VARIANTS
from course.page_style import SMALLEST

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"
DRAWN = {**ALL, **ATTENTION, **VARIANTS, "architecture": architecture}
DRAWINGS = pytest.mark.parametrize("name", DRAWN)


def test_the_committed_drawings_are_those_that_make_figures_draws(tmp_path, capsys):
    assert main(["--out", str(tmp_path / "img"), "--docs", str(tmp_path / "docs")]) == 0
    made = {path.name: path.read_bytes() for path in (tmp_path / "img").iterdir()}
    assert made == {path.name: path.read_bytes() for path in (ROOT / "img").glob("*.svg")}
    assert (tmp_path / "docs" / "architecture.svg").read_bytes() == (ROOT / "docs" / "architecture.svg").read_bytes()


@DRAWINGS
def test_a_drawing_says_what_it_shows_and_needs_nothing_else(name):
    text = DRAWN[name]().svg()
    root = ET.fromstring(text)
    assert root.get("role") == "img"
    assert root.findtext(f"{SVG}title")
    assert len(root.findtext(f"{SVG}desc") or "") > 100
    assert "href" not in text
    assert "url(" not in text


@DRAWINGS
def test_everything_stands_inside_the_drawing_and_has_a_style(name):
    root = ET.fromstring(DRAWN[name]().svg())
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    styled = set(re.findall(r"\.([a-z]+)", STYLE))
    for element in root.iter():
        assert set((element.get("class") or "").split()) <= styled
        if element.tag == f"{SVG}rect":
            x, y = float(element.get("x", 0)), float(element.get("y", 0))
            assert 0 <= x <= x + float(element.get("width", 0)) <= width
            assert 0 <= y <= y + float(element.get("height", 0)) <= height
        if element.tag == f"{SVG}text":
            left, right = extent(element)
            assert left >= 0, "".join(element.itertext())
            assert right <= width, "".join(element.itertext())
            assert 10 <= float(element.get("y", 0)) <= height - 5


def extent(text: ET.Element) -> tuple[float, float]:
    """About where a line of text begins and ends: letters are 8.2 px wide, small ones 7.2, strong ones 9.3."""
    width = len("".join(text.itertext())) * {"small": 7.2, "strong": 9.3}.get(text.get("class") or "", 8.2)
    x = float(text.get("x", 0))
    left = x - width * {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor") or ""]
    return left, left + width


@DRAWINGS
def test_no_arrow_ends_in_a_text(name):
    root = ET.fromstring(DRAWN[name]().svg())
    heads = [element.get("d", "") for element in root.iter(f"{SVG}path") if element.get("class") == "head"]
    tips = [tuple(float(number) for number in re.findall(r"[-\d.]+", head)[:2]) for head in heads]
    assert tips
    for text in root.iter(f"{SVG}text"):
        (left, right), y = extent(text), float(text.get("y", 0))
        for tip_x, tip_y in tips:
            # A head is 8 px high; letters reach from 11 px above the line to 4 below.
            assert not (left < tip_x < right and y - 15 < tip_y < y + 8), "".join(text.itertext())


@DRAWINGS
def test_an_index_has_its_size_in_pixels(name):
    """Some programs take a share of the letter size for a share of something larger, and draw giants."""
    sizes = re.findall(r'font-size="([^"]*)"', DRAWN[name]().svg())
    assert set(sizes) <= {"11"}
    assert sizes or name not in ("attention", "multihead", "encoder", "encoder_decoder")


@pytest.mark.parametrize(("name", "sublayers"), [("encoder", 2), ("encoder_decoder", 5)])
def test_dropout_stands_where_the_formula_has_it(name, sublayers):
    """After each sub-layer, before the sum; and once on each sum of embedding and position."""
    texts = ["".join(text.itertext()) for text in ET.fromstring(ALL[name]().svg()).iter(f"{SVG}text")]
    assert texts.count("layer norm") == sublayers
    assert texts.count("dropout") == sublayers + texts.count("embedding")


@pytest.mark.parametrize("name", ["encoder", "encoder_decoder"])
def test_on_a_page_of_700_pixels_all_text_has_11(name):
    root = ET.fromstring(ALL[name]().svg())
    sizes = [float(size) for size in re.findall(r"(?:font: |font-size[:=] ?\"?)(\d+)", ET.tostring(root, "unicode"))]
    assert min(sizes) * min(1, 700 / float(root.get("width", 0))) >= SMALLEST


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read_on_every_colour(dark):
    light, _, night = STYLE.partition("@media")
    fills = dict(re.findall(r"(?:^|\s)\.?([a-z]+) \{[^}]*?fill: (#[0-9a-f]{6})", light))
    if dark:
        fills |= dict(re.findall(r"\.?([a-z]+) \{[^}]*?fill: (#[0-9a-f]{6})", night))
    for ground in ("ground", "box", "attention", "network", "norm", "linear", "token", "kept", "new"):
        assert contrast(fills["text"], fills[ground]) >= 4.5
    for ground in ("ground", "box"):
        assert contrast(fills["small"], fills[ground]) >= 4.5


def test_a_folder_that_cannot_be_written_is_a_plain_error(tmp_path):
    from course.errors import UserError

    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot write into"):
        main(["--out", str(tmp_path / "file")])
