"""What a student reads when a file is none that Python can run, prints without end, or cannot be shown."""

import os
import subprocess
import sys

import pytest

from autograder.grading.grade_submission import grade
from autograder.manifest import assignment
from autograder.sandbox.limits import KEPT_OUTPUT
from autograder.sandbox.student_faults import fault_of, other_weights
from autograder.sandbox.worker_processes import Printed
from autograder.submissions.read_submission import Submission, read_submission
from autograder.submissions.source_text import source_text
from autograder.submissions.untrusted_files import Unreadable
from autograder.worker.exception_report import syntax_words

ASSIGNMENT = assignment("transformer")
SOURCES = read_submission(ASSIGNMENT.solution, ASSIGNMENT).sources
NOTEBOOK = (ASSIGNMENT.solution / "2_pe.ipynb").read_text(encoding="utf-8")

WORDS = {
    "Chinese": "位置编码,余弦和正弦的表",
    "Japanese": "これは位置エンコーディングの表です",
    "Korean": "위치 인코딩의 표를 만든다",
    "German": "die größte Länge für Überschriften",
    "French": "la longueur créée à l'été",
    "Russian": "таблица синусов и косинусов",
    "Greek": "πίνακας ημιτόνων",
}
ONE_BYTE = "one byte per character"
ENCODED = [
    *((words, encoding, "UTF-16") for words in WORDS for encoding in ("utf-16", "utf-16-le", "utf-16-be")),
    *((words, "utf-32", "UTF-32") for words in WORDS),
    *(("Chinese", encoding, "GBK") for encoding in ("gb2312", "gbk", "gb18030")),
    *(("Japanese", "cp932", "Shift JIS"), ("Korean", "euc-kr", "EUC-KR"), ("Korean", "cp949", "EUC-KR")),
    *(("German", encoding, ONE_BYTE) for encoding in ("latin-1", "cp1252", "mac-roman", "cp850")),
    *(("French", "latin-1", ONE_BYTE), ("Russian", "cp1251", ONE_BYTE), ("Russian", "koi8-r", ONE_BYTE)),
    ("Greek", "cp1253", ONE_BYTE),
]


def why_unreadable(data: bytes) -> str:
    with pytest.raises(Unreadable) as refused:
        source_text(data)
    return str(refused.value)


@pytest.mark.parametrize(("words", "encoding", "name"), ENCODED)
@pytest.mark.parametrize("module", ["pe", "mha"])
def test_another_encoding_is_named(module, words, encoding, name):
    text = f"# {WORDS[words]}\n{SOURCES[module]}"
    said = why_unreadable(text.encode(encoding, errors="ignore"))
    assert name in said
    assert said.endswith("save it as UTF-8")
    assert source_text(text.encode("utf-8-sig")) == text


def test_a_file_in_the_encoding_that_it_declares_is_read():
    for coding in ("latin-1", "iso-8859-15", "cp1250", "big5", "euc-jp"):
        text = f"#!/usr/bin/python\n# -*- coding: {coding} -*-\nx = 1  # "
        data = text.encode() + {"big5": "表", "euc-jp": "の"}.get(coding, "ü").encode(coding)
        assert source_text(data) == data.decode(coding)
    for coding in ("utf-8", "nosuch", "hex", "zip"):  # it is not in that one
        assert ONE_BYTE in why_unreadable(f"# coding: {coding}\n# ".encode() + b"\xfc\n")


OTHERS = {
    b"": "is empty",
    b"\xef\xbb\xbf \r\n\n": "is empty",
    NOTEBOOK.encode(): "is a notebook",
    b'\n{"cells": [], "nbformat": 4}': "is a notebook",
    b"<!DOCTYPE html>\n<html>": "is a web page",
    b"\n\n<html lang='en'>": "is a web page",
    b"PK\x03\x04": "is a zip archive",
    b"%PDF-1.7": "is a PDF",
    b"{\\rtf1\\ansi": "(RTF)",
    b"\x89PNG\r\n": "is a picture",
}


@pytest.mark.parametrize("data", OTHERS)
def test_another_kind_of_file_is_named(data):
    assert OTHERS[data] in why_unreadable(data)


def test_a_large_notebook_is_named_as_well(tmp_path):
    (tmp_path / "pe.py").write_text(NOTEBOOK.replace('"cells"', f'"x": "{"x" * 500_000}", "cells"', 1))
    (tmp_path / "mha.py").write_text("#" * 500_000, encoding="utf-8")
    unreadable = read_submission(tmp_path, ASSIGNMENT).unreadable
    assert unreadable["pe"].startswith("pe.py is a notebook")
    assert unreadable["mha"] == "mha.py is larger than 100,000 bytes"


def test_what_is_python_is_read():
    for text in ("{}", '{"nbformat": 4', "# <html>\n", "x = '<html>'\n", "{1: 2}\n", "#\ufffd\n", "pass"):
        assert source_text(text.encode()) == text


LATER = {  # version -> syntax that an earlier one does not know
    (3, 12): [
        "type X = int",
        "type X[T] = list[T]",
        "def f[T](x): pass",
        "async def f[T](x): pass",
        "class A[T]: pass",
    ],
    (3, 14): ["try: pass\nexcept ValueError, TypeError: pass", "x = t'a'"],
}
LATER[3, 12] += ["x = f'{a['b']}'", "x = f\"{'\\n'.join(a)}\""]
PLAIN = ["x = (1", "def f(:\n    pass", "if x\n    pass", "x = = 1", "class A\n    pass", "don't", "x = 't", "a b"]


def said_of(text: str) -> str:
    import linecache

    linecache.cache["pe.py"] = (len(text), None, text.splitlines(keepends=True), "pe.py")
    try:
        compile(text, "pe.py", "exec")
    except SyntaxError as error:
        return syntax_words(error)
    finally:
        del linecache.cache["pe.py"]
    return ""


def test_syntax_of_a_later_python_is_told():
    here = f"the grader runs Python {sys.version_info[0]}.{sys.version_info[1]}"
    for version, texts in LATER.items():
        for text in texts:
            if sys.version_info < version:
                assert said_of(text).endswith(f": {here}, and this may need Python {version[0]}.{version[1]}"), text
            else:
                assert said_of(text) == ""
    for text in PLAIN:
        assert said_of(text)
        assert here not in said_of(text)


def test_a_merge_conflict_is_told():
    text = "def f():\n<<<<<<< HEAD\n    return 1\n=======\n    return 2\n>>>>>>> other\n"
    for conflict in (text, text.replace("=======", "||||||| base\n    return 0\n======="), "x = 1\n" + text):
        first = conflict.count("\n", 0, conflict.index("<<<")) + 1
        assert (
            said_of(conflict).startswith(f"git has left a merge conflict in lines {first} to {first + 4}")
            or "base" in conflict
        )
        assert "merge conflict" in said_of(conflict)
    assert said_of('x = """\n<<<<<<< a\n=======\n>>>>>>> b\n"""\n') == ""
    assert "merge" not in said_of("x = 1 <<<<<<< 2\n")
    assert "are for notebooks" in said_of("import math\n%matplotlib inline\n")
    assert "are for notebooks" in said_of("!pip install torch\n")


# Constructors

MISSING = 'Error(s) in loading state_dict for M:\n\tMissing key(s) in state_dict: "a.b", "c". '
UNEXPECTED = '\n\tUnexpected key(s) in state_dict: "d.weight". '
SIZES = (
    "\n\tsize mismatch for e: copying a param with shape torch.Size([60, 60]) from checkpoint, "
    "the shape in current model is torch.Size([120, 60])."
)


def test_a_changed_constructor_is_told():
    fault = fault_of({"kind": "RuntimeError", "message": MISSING + UNEXPECTED + SIZES, "where": []}, "")
    assert other_weights(fault.message, given=True) == (
        "M has an extra parameter or buffer: a.b, c. M lacks d.weight. "
        "e has the shape (120, 60) instead of (60, 60). The constructors are given: do not change them"
    )
    assert other_weights(fault.message, given=False).endswith("instead of (60, 60)")
    assert other_weights("RuntimeError: other", given=True) == "RuntimeError: other"


def test_an_extra_buffer_is_named(workers):
    changed = SOURCES["mha"].replace(
        "super().__init__()", "super().__init__()\n        self.register_buffer('cache', torch.zeros(3))", 1
    )
    report = grade(Submission("", {**SOURCES, "mha": changed}), ASSIGNMENT, workers, [ASSIGNMENT.stage("mha")])
    messages = [test.message for test in report.tests if "extra parameter or buffer: " in test.message]
    assert messages
    assert all("constructors are given" in message for message in messages)


# Printing

ENDLESS = "while True:\n            print('x' * 10_000)\n        "
MUCH = "print('y' * 1_000_000)\n        "


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limit")
def test_printing_without_end_costs_the_tests_that_print(workers):
    """The stage's other tests keep their points, although they also print."""
    projections, attention = "return split_heads(self.W_q(Q))", "scores = query @"
    text = SOURCES["mha"].replace(projections, MUCH + projections).replace(attention, ENDLESS + attention)
    assert text.count("print(") == 2
    report = grade(Submission("", {**SOURCES, "mha": text}), ASSIGNMENT, workers, [ASSIGNMENT.stage("mha")])
    parts = {part.name: part.status for test in report.tests for part in test.parts}
    assert parts["projections"] == "passed"
    ended = [test for test in report.tests if test.status == "error"]
    assert len(ended) == len(report.tests)
    for test in ended:
        assert test.message.startswith("the code printed more than 16 MiB")
        assert any("print('x' * 10_000)" in line for line in test.details)
        assert test.printed


def test_the_limit_is_one_for_each_test():
    printed = Printed()
    try:
        for text in (b"a" * 100_000, b"b"):
            os.write(printed.descriptor, text)
            assert printed.take() == text[-KEPT_OUTPUT:].decode()
            assert os.fstat(printed.descriptor).st_size == 0
    finally:
        printed.close()


# Consoles


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp932", "utf-8"])
def test_what_a_console_cannot_show_is_replaced(encoding):
    code = (
        "import sys\n"
        "from course.errors import UserError, run_command\n"
        "def main():\n"
        "    print('维度 ≠ 2 → ü \\ud800 ✓', flush=True)\n"
        "    raise UserError('维度 ✓ \\ud800')\n"
        "sys.exit(run_command(main))"
    )
    environment = {**os.environ, "PYTHONIOENCODING": f"{encoding}:strict"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert done.returncode == 2
    assert b" 2 " in done.stdout
    assert done.stderr.startswith(b"error: ")
    assert b"Traceback" not in done.stderr
