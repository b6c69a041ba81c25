"""What the notebooks of the assignment `llm` use beside the student's modules."""
