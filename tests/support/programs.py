"""Correct programs that others wrote, as files."""

from pathlib import Path

from autograder.authoring.formulations import correct_submissions
from autograder.manifest import assignment


def write_program(folder: Path, name: str, of: str = "transformer") -> Path:
    """Write the modules of a correct program, or of the solution, into a folder that is there; returns the folder."""
    chosen = assignment(of)
    if name == "solution":
        texts = {module: (chosen.solution / f"{module}.py").read_text(encoding="utf-8") for module in chosen.modules}
    else:
        texts = correct_submissions(chosen)[name][0].sources
    for module, text in texts.items():
        (folder / f"{module}.py").write_text(text, encoding="utf-8")
    return folder
