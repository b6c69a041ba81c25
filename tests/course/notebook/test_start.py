"""What a start page shows: the trained model in a sentence box, and the picture in which finished stages light up."""

import re
import xml.etree.ElementTree as ET

import pytest

from autograder.manifest import every_assignment
from course import try_model
from course.errors import UserError
from course.figures.progress import stage_picture
from course.notebook.check import overview
from course.notebook.display import Overview
from course.notebook.try_model import SentenceBox

CHOSEN = pytest.mark.parametrize("chosen", every_assignment(), ids=lambda chosen: chosen.name)


@CHOSEN
def test_each_stage_lights_up(chosen):
    titles = {stage.name: stage.title for stage in chosen.stages}
    dark = stage_picture(chosen.name, titles, ()).svg()
    assert "lit up: none yet" in dark
    for stage in chosen.stages:
        lit = stage_picture(chosen.name, titles, {stage.name}).svg()
        assert lit.count('class="box new"') > 1
        assert f"lit up: {stage.title}." in (ET.fromstring(lit)[1].text or "")
    # Only the legend shows the colour of what is not finished, and before the first stage only that of what is.
    assert stage_picture(chosen.name, titles, titles).svg().count('class="box kept"') == 1
    assert dark.count('class="box new"') == 1
    assert not re.search(r'class="box (token|norm|attention|linear)?"', dark)


def test_the_overview_of_stubs_shows_a_picture_with_words(chosen_folder):
    shown = overview(chosen_folder)
    assert isinstance(shown, Overview)
    (alt,) = re.findall(r'<img alt="([^"]*)"', shown._repr_html_())
    assert "Finished stages, which are lit up: none yet." in alt
    assert "Multi-head attention" in repr(shown)


@pytest.fixture
def chosen_folder(tmp_path):
    (tmp_path / "mha.py").write_text("", encoding="utf-8")
    return tmp_path


def test_the_box_translates_and_says_what_is_wrong():
    box = try_model("de-en")
    assert repr(box).endswith("Meine Schwester liest ein altes Buch. → My sister reads an old book.")
    panel = box._panel()
    field, shown = panel.children[1:]
    field.value = "Der Hund schläft."
    assert "The dog" in shown.value
    for wrong in ("", "Hund " * 300):
        field.value = wrong
        assert "enter one German sentence" in shown.value


def test_a_weak_model_says_first_what_to_expect():
    box = SentenceBox(str.upper, "x", "Type", "It is weak.")
    assert repr(box).startswith("It is weak.")
    assert "It is weak." in box._panel().children[0].value


def test_what_a_model_says_is_text():
    panel = SentenceBox(lambda text: f"<b>{text}", "x", "Type")._panel()
    assert "&lt;b&gt;x" in panel.children[2].value


def test_a_model_that_is_not_there_is_a_plain_error():
    with pytest.raises(UserError):
        try_model("nothing")
