"""The trained recurrent translator, for testing whole models."""

from typing import Any

from autograder.grading.graded_case import StageTestCase
from autograder.grading.stored_tensors import read_tensors
from autograder.sandbox.remote_modules import Student
from course.config import CONFIG, WEIGHTS
from course.location import checkpoints
from course.recurrent import RecurrentConfig

CHECKPOINT = "gru-de-en"
# A model small enough that its decoding can be traced and repeated.
TINY = {"src_vocab_size": 11, "tgt_vocab_size": 17, "sos_idx": 2, "pad_idx": 1, "embed_size": 6, "hidden_size": 5}
TINY |= {"attention_size": 7}


class TrainedTestCase(StageTestCase):
    """A test of the student's Seq2Seq with the weights of the checkpoint."""

    def trained_config(self) -> RecurrentConfig:
        """The configuration of the checkpoint."""
        return RecurrentConfig.load(checkpoints() / CHECKPOINT / CONFIG)

    def trained_seq2seq(self, student: Student | None = None) -> Any:
        """The student's Seq2Seq with the weights of the checkpoint, created once for all tests of a stage."""
        student = student or self.student
        if CHECKPOINT not in student.kept:
            model = student.seq2seq.Seq2Seq(**vars(self.trained_config()))
            read_tensors(checkpoints() / CHECKPOINT / WEIGHTS)  # raises if anything is wrong with the file
            model.load_state({}, stored=CHECKPOINT)
            student.kept[CHECKPOINT] = model
        return student.kept[CHECKPOINT]
