"""What a program imports only when it needs it: a student waits for every import."""

import subprocess
import sys

from tests.support.programs import write_program


def run(code, *args):
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_graders_side_does_not_import_torch():
    modules = ["grading.grade_submission", "localization", "classroom.batch", "gradebooks.canvas", "questions.answers"]
    code = "import importlib, sys\nfor module in sys.argv[1:]:\n    importlib.import_module(f'autograder.{module}')\n"
    assert run(code + "    print(module, 'torch' in sys.modules)", *modules) == [f"{name} False" for name in modules]


# Grades with the arguments that follow, and tells whether the output has a line of pe.py in it.
GRADE = """
import contextlib, io, sys
from autograder.__main__ import main
with contextlib.redirect_stdout(io.StringIO()) as printed:
    main(sys.argv[1:])
print(f"a line: {'pe.py:' in printed.getvalue()}, torch: {'torch' in sys.modules}")
"""


def test_a_verdict_on_a_line_does_not_import_torch(tmp_path):
    program = write_program(tmp_path, "solution")
    text = (program / "pe.py").read_text(encoding="utf-8")
    (program / "pe.py").write_text(text.replace("torch.sin(", "torch.cos("), encoding="utf-8")
    assert run(GRADE, "--submission", str(program), "pe") == ["a line: True, torch: False"]
