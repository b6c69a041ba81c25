"""The drawings of the notebooks, made by our own code: `python -m course.figures` (`make figures`)."""
