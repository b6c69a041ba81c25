"""Importing the five modules from a folder."""

import shutil
import sys

import pytest

from course.errors import UserError
from course.modules import MODULE_NAMES, default_folder, load_modules


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(default_folder(), tmp_path / "mine", ignore=shutil.ignore_patterns("*.ipynb", "__pycache__"))


def test_two_folders_stand_side_by_side(folder):
    reference, mine = load_modules(), load_modules(folder)
    for name in MODULE_NAMES:
        assert getattr(mine, name).__file__ == str(folder / f"{name}.py")
        assert getattr(reference, name) is not getattr(mine, name)
    assert mine.encoder.MultiHeadAttention is mine.mha.MultiHeadAttention
    assert reference.encoder.MultiHeadAttention is reference.mha.MultiHeadAttention


def test_nothing_is_left_behind(folder):
    path = list(sys.path)
    load_modules(folder)
    assert not set(MODULE_NAMES) & set(sys.modules)
    assert sys.path == path
    assert not (folder / "__pycache__").exists()


def test_a_module_of_the_same_name_elsewhere_is_kept(folder, monkeypatch):
    other = object()
    monkeypatch.setitem(sys.modules, "encoder", other)
    assert load_modules(folder).encoder is not other
    assert sys.modules["encoder"] is other


def test_an_edit_is_seen_at_once(folder, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for value in "123":  # same size and, most likely, the same second
        (folder / "pe.py").write_text(f"VALUE = {value}\nclass PositionalEncoding: pass\n", encoding="utf-8")
        assert str(load_modules(folder).pe.VALUE) == value


def test_a_failed_import_leaves_nothing_behind(folder):
    (folder / "decoder.py").write_text("import encoder\nraise ValueError('half done')\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"^decoder.py cannot be imported: decoder.py, line 2, .* half done$"):
        load_modules(folder)
    assert not set(MODULE_NAMES) & set(sys.modules)
    assert str(folder) not in sys.path


def test_missing_modules_are_named(folder):
    (folder / "mha.py").unlink()
    (folder / "pe.py").unlink()
    with pytest.raises(UserError, match=r"lacks mha\.py, pe\.py"):
        load_modules(folder)
