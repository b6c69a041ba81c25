"""The trusted side: tests, workers that run the students' code, comparison, reports."""
