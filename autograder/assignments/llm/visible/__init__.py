"""The graded tests that students see, with stored inputs and expected tensors."""
