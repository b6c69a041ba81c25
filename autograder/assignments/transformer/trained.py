"""The trained German-English model, for the tests of whole models."""

from typing import Any

from autograder.grading.graded_case import StageTestCase, read_tensors
from autograder.sandbox.proxy import Student
from course.config import CHECKPOINTS, CONFIG, WEIGHTS, ModelConfig

CHECKPOINT = "de-en"
ENCODING_LIMIT = 1e-3  # where the student's own table of positions is used, which may be computed in float32


class TrainedTestCase(StageTestCase):
    """A test of the student's Transformer with the weights of the checkpoint."""

    def trained_config(self) -> ModelConfig:
        """The configuration of the checkpoint."""
        return ModelConfig.load(CHECKPOINTS / CHECKPOINT / CONFIG)

    def trained_transformer(self, student: Student | None = None) -> Any:
        """The student's Transformer with the weights of the checkpoint, made once for all tests of a stage."""
        student = student or self.student
        if CHECKPOINT not in student.kept:
            model = student.transformer.Transformer(**vars(self.trained_config()))
            read_tensors(CHECKPOINTS / CHECKPOINT / WEIGHTS)  # raises what is wrong with the file
            model.load_state({}, stored=CHECKPOINT)
            student.kept[CHECKPOINT] = model
        return student.kept[CHECKPOINT]
