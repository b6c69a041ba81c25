"""The course's assignments, one package each: tests, stand-ins, known mistakes, stored tensors.

The engine finds each assignment by its folder. `autograder.assignments.NAME` is the folder NAME in the course's
assignments folder, wherever that folder is.
"""

from autograder.manifest.course_config import course_config, courses_of_packages

_config = course_config()
__path__ = [str(course.assignments) for course in (_config, *courses_of_packages(_config.packages))]
