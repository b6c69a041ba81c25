"""The parts of `course.train`: settings, data, the step, processes, the loop, validation and its curves."""
