"""Stage 6: low-bit weights."""

from typing import Any

from autograder.assignments.llm.visible.checks import CheckingTestCase

CASES: dict[str, list[dict[str, int]]] = {
    "rounding": [{"bits": 4, "group": 3}, {"bits": 8, "group": 12}, {"bits": 2, "group": 4}],
    "ties": [{"bits": 4, "group": 6}],
    "zeros": [{"bits": 4, "group": 3}],
}
LINEAR: dict[str, Any] = {"in_features": 12, "out_features": 5, "group": 3}


class TestFewBits(CheckingTestCase):
    def test_quantise(self):
        """Round weights to 8, 4 and 2 bits in groups of several sizes, including ties and groups of zeros."""
        for part, cases in CASES.items():
            with self.part(part):
                stored = self.stored(part)
                for number, options in enumerate(cases):
                    numbers, scales = self.items(self.student.quantise.quantise(stored["W"], **options), 2, "quantise")
                    self.assert_tensor(scales, stored[f"scales.{number}"], "scales", "out groups")
                    self.assert_bytes(numbers, stored[f"numbers.{number}"], "numbers", "out in")
        self.warn_of_changes(self.student.quantise.quantise, {"W": self.stored("rounding")["W"], "bits": 4, "group": 3})

    def test_dequantise(self):
        """Turn whole numbers back into weights, with four scales per row."""
        stored = self.stored("given")
        weights = self.student.quantise.dequantise(stored["numbers"], stored["scales"])
        self.assert_tensor(weights, stored["weights"], "the weights", "out in")
        arguments = {name: stored[name] for name in ("numbers", "scales")}
        self.warn_of_changes(self.student.quantise.dequantise, arguments)

    def test_pack(self):
        """Pack two numbers from -8 to 7 into each byte."""
        stored = self.stored("given")
        self.assert_bytes(self.student.quantise.pack(stored["numbers"]), stored["packed"], "packed", "out bytes")
        self.warn_of_changes(self.student.quantise.pack, {"numbers": stored["numbers"]})

    def test_unpack(self):
        """Unpack the numbers from the bytes."""
        stored = self.stored("given")
        self.assert_bytes(self.student.quantise.unpack(stored["packed"]), stored["numbers"], "numbers", "out in")
        self.warn_of_changes(self.student.quantise.unpack, {"packed": stored["packed"]})

    def test_linear(self):
        """Apply a linear map from 12 to 5 features with packed weights."""
        given, stored = self.stored("given"), self.stored("linear")
        linear = self.student.quantise.PackedLinear(**LINEAR)
        linear.load_state({name: given[name] for name in ("packed", "scales")})
        self.assert_tensor(linear(stored["x"]), stored["y"], "y", "B T out")
        self.warn_of_side_effects(linear, {"x": stored["x"]})
