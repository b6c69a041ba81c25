"""Check a stage from a notebook: `check("mha")` grades the modules beside the notebook and gives back the points."""

from pathlib import Path


def check(stage: str, folder: str | Path = ".") -> float:
    """Grade one stage in a worker process and print the verdict.

    Nothing of the student's code is imported into the notebook's kernel, so the verdict is always about the files as
    they are saved now.

    Args:
        stage: the name of the stage, for instance "mha".
        folder: where the modules are.

    Returns:
        The points, as a plain float: nbgrader takes the value of a cell as its points.

    Raises:
        RuntimeError: if the grader itself fails; that says nothing about the modules.
    """
    from rich.console import Console

    from autograder.console import print_stage
    from autograder.grading import grade
    from autograder.manifest import assignment
    from autograder.process import make_workers
    from autograder.submission import read_submission

    chosen = assignment()
    workers = make_workers()
    try:
        submission = read_submission(Path(folder), chosen)
        report = grade(submission, chosen, workers, [chosen.stage(stage)])
    finally:
        workers.close()
    # Plain text also in a notebook, where rich would make a block of HTML of every line.
    print_stage(Console(highlight=False, emoji=False, markup=False, width=100, force_jupyter=False), report.stages[0])
    if report.faulty:
        raise RuntimeError(f"the grader failed: {report.tests[0].message}")
    return float(min(max(report.points, 0.0), report.max_points))
