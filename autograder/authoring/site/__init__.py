"""Build the course as a static site: `python -m autograder site`, `make site`."""
