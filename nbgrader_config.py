"""nbgrader for this course: solutions/ is released as notebooks/. Run nbgrader in this folder."""

import glob
import os
import sys
from pathlib import Path

from nbgrader.converters import Autograde, GenerateAssignment, GenerateFeedback
from nbgrader.preprocessors import ClearHiddenTests, SaveAutoGrades

# Where everybody's Python imports the handout, as on a shared server, this project goes before it; in kernels too.
root = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, root)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))

from autograder.authoring.nbgrader_collect import STUDENT_FILE, StudentFiles
from autograder.authoring.nbgrader_plugin import (
    AnyNotebook,
    IsolateGrading,
    RefuseFaults,
    StripModules,
    warn_of_skipped,
)
from autograder.authoring.release import RELEASE, SOURCE
from autograder.manifest import assignments
from course.location import MARK, VARIABLE, course_folder

# In the kernels too, whatever the student has handed in there.
os.environ[VARIABLE] = root if os.path.isfile(os.path.join(root, MARK)) else str(course_folder())

c = get_config()  # type: ignore[name-defined]  # noqa: F821  (traitlets defines it)

c.CourseDirectory.root = root
c.CourseDirectory.source_directory = SOURCE
c.CourseDirectory.release_directory = RELEASE
# The gradebook is the file gradebook.db, unless NBGRADER_DB names a database that the staff of a course share, for
# instance postgresql+psycopg://user:password@host/gradebook (pip install -e ".[postgres]").
if database := os.environ.get("NBGRADER_DB"):
    c.CourseDirectory.db_url = database
    c.CourseDirectory.course_id = "default_course"  # nbgrader's own default; PostgreSQL insists that there is one

# nbgrader copies the files beside the source notebooks as they are: into the release before it runs a preprocessor,
# and over the student's files before it grades. Nothing of solutions/ but notebooks may be copied at any time, not
# even for a moment. (nbgrader's own spelling of the path has the "." of a missing student name.)
source_files = os.path.join(glob.escape(root), SOURCE, ".", "*", "*")
c.CourseDirectory.ignore = [".ipynb_checkpoints", "__pycache__", "*.pyc", "feedback", source_files]
c.Autograde.exclude_overwriting = {
    name: [f"{module}.py" for module in assignment.modules] for name, assignment in assignments().items()
}

c.GenerateAssignment.preprocessors = [StripModules, *GenerateAssignment().preprocessors]
c.ClearSolutions.code_stub = {"python": 'raise NotImplementedError("This cell is not written yet")'}
c.ClearSolutions.text_stub = "*Write your answer here.*"

# The modules are graded, not the notebook: the released notebook is run, with the texts of the submitted one in it.
c.Autograde.exporter_class = AnyNotebook
c.Autograde.sanitize_preprocessors = [IsolateGrading, *Autograde().sanitize_preprocessors]
run = list(Autograde().autograde_preprocessors)
run.insert(run.index(SaveAutoGrades), RefuseFaults)
c.Autograde.autograde_preprocessors = run
# A grade cell runs all tests of its stage, possibly on a busy machine. nbgrader's default is 30 seconds.
c.Execute.timeout = 300
# A kernel warns in each notebook that others on this machine could listen to it. Its folder has the student's modules,
# so it must not import from there.
c.Execute.extra_arguments = ["--IPKernelApp.log_level=40", "--IPKernelApp.ignore_cwd=True"]
warn_of_skipped(sys.argv[1:], Path(root, "submitted"), assignments())

# Without this the feedback would show hidden tests to students.
c.GenerateFeedback.preprocessors = [ClearHiddenTests, *GenerateFeedback().preprocessors]

# zip_collect: archives that are named after the student, or one with a folder or an archive for each student.
c.ZipCollectApp.extractor_plugin = StudentFiles
c.FileNameCollectorPlugin.valid_ext = [".py", ".ipynb"]
c.FileNameCollectorPlugin.named_regexp = STUDENT_FILE
