"""The parts of `course.train`: settings, data, training steps, processes, the loop, validation and curves."""
