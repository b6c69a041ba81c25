"""`predict`: a choice before an experiment, kept beside the notebook; nothing waits for it."""

import json

import pytest

from course import predict
from course.notebook.prediction import KEPT, Prediction

QUESTION = "Which weight is the largest?"


def buttons(prediction: Prediction) -> list:
    panel = prediction._panel()
    return [child for box in panel.children for child in getattr(box, "children", ()) if hasattr(child, "click")]


def test_a_choice_is_kept_and_can_be_changed(tmp_path):
    asked = predict(QUESTION, ["the first", "the <last>"], tmp_path)
    assert asked.kept is None
    for button, answer in zip(buttons(asked), ["the first", "the <last>"], strict=True):
        button.click()
        assert predict(QUESTION, ["the first", "the <last>"], tmp_path).kept == answer
    predict("Another?", ["yes"], tmp_path).keep("yes")
    assert json.loads((tmp_path / KEPT).read_text(encoding="utf-8")) == {QUESTION: "the <last>", "Another?": "yes"}
    assert "Your prediction: <b>the &lt;last&gt;</b>" in predict(QUESTION, [], tmp_path)._repr_html_()


def test_without_options_a_text_is_typed(tmp_path):
    panel = predict(QUESTION, folder=tmp_path)._panel()
    (field,) = (child for child in panel.children if type(child).__name__ == "Text")
    field.value = "  "
    assert predict(QUESTION, folder=tmp_path).kept is None
    field.value = "the last one"
    assert predict(QUESTION, folder=tmp_path).kept == "the last one"


@pytest.mark.parametrize("text", ["", "[1, 2]", "{damaged"])
def test_a_damaged_file_is_as_none(tmp_path, text):
    (tmp_path / KEPT).write_text(text, encoding="utf-8")
    asked = predict(QUESTION, ["yes"], tmp_path)
    assert asked.kept is None
    asked.keep("yes")
    assert asked.kept == "yes"


def test_outside_a_notebook_it_is_text_and_nothing_waits(tmp_path):
    predict(QUESTION, ["yes", "no"], tmp_path)._ipython_display_()
    assert repr(predict(QUESTION, ["yes", "no"], tmp_path)) == f"Predict first. {QUESTION}\n- yes\n- no"
    assert not (tmp_path / KEPT).exists()


def test_in_a_kernel_it_is_a_widget_with_words_for_exported_pages(kernel):
    output = kernel.run(f"from course import predict\npredict({QUESTION!r}, ['yes', 'no'])")
    assert output.error == []
    assert QUESTION in output.html
    assert "<li>yes</li>" in output.html
