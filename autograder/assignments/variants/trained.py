"""The trained language model, for testing a whole model."""

import json
from typing import Any

from autograder.grading.graded_case import StageTestCase
from autograder.grading.stored_tensors import read_tensors
from autograder.sandbox.remote_modules import Student
from course.config import CONFIG, WEIGHTS
from course.location import checkpoints

CHECKPOINT = "grimm-lm"


def trained_sizes() -> dict[str, Any]:
    """The constructor arguments of the trained model."""
    sizes: dict[str, Any] = json.loads((checkpoints() / CHECKPOINT / CONFIG).read_text(encoding="utf-8"))
    return {name: size for name, size in sizes.items() if name != "model"}


class TrainedTestCase(StageTestCase):
    """A test of the student's language model with the weights of the checkpoint."""

    def trained_language_model(self, student: Student | None = None) -> Any:
        """The student's model with the weights of the checkpoint, created once for all tests of a stage."""
        student = student or self.student
        if CHECKPOINT not in student.kept:
            model = student.language_model.DecoderTransformer(**trained_sizes())
            read_tensors(checkpoints() / CHECKPOINT / WEIGHTS)  # raises if anything is wrong with the file
            model.load_state({}, stored=CHECKPOINT)
            student.kept[CHECKPOINT] = model
        return student.kept[CHECKPOINT]
