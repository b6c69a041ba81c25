"""Archives for others: the autograder for Gradescope, the course for students."""
