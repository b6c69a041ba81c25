"""Archives to hand on: the autograder for Gradescope, the course for students."""
