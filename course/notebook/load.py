"""For the notebooks: try out the saved modules (`load`, `exploring`), and load trained models (`trained`).

Nobody gets stuck: if a stage that the notebook builds on is missing or wrong, a stand-in replaces it (`working_on`).
"""

import contextlib
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

from autograder.manifest import Assignment, assignments
from autograder.submissions.which_assignment import which_assignment
from course.errors import UserError
from course.location import checkpoints
from course.modules import MODULE_NAMES, NOTHING, Replaced, describe, load_module, load_modules, place_of

if TYPE_CHECKING:
    from course.checkpoint import Checkpoint


def working_on(stage: str | None, own_only: bool = False) -> None:
    """Set the stage of the notebook: stand-ins then replace unfinished stages that it builds on.

    `load`, `own_modules` and `trained(own=True)` use a stand-in for each of these stages that is not written or does
    not pass its tests, and print a notice. The code of the stage itself is never replaced.

    Args:
        stage: its name; None for no stage, and no stand-ins.
        own_only: use only the student's code, without stand-ins.

    Raises:
        UserError: if there is no such stage.
    """
    global _stage, _alone
    if stage is not None and stage not in {known.name for one in assignments().values() for known in one.stages}:
        names = ", ".join(known.name for one in assignments().values() for known in one.stages)
        raise UserError(f"there is no stage {stage!r}; the stages are {names}")
    _stage, _alone = (None if own_only else stage), stage is None


_stage: str | None = None  # the stage of this notebook
_alone = False  # whether the notebook has declared that it has no stage
_said: tuple[int, str] = (0, "")  # the cell number and text of the last notice about stand-ins


def load(module: str, folder: str | Path = ".") -> ModuleType:
    """Load the student's saved module, re-reading it and all modules that it imports.

    Args:
        module: its name, for instance "mha" or "pooling".
        folder: the folder of the modules.

    Raises:
        UserError: if it cannot be imported; the message says why, and on which line.
    """
    return load_module(module, Path(folder), _standins(Path(folder)))


def own_modules(folder: str | Path = ".") -> SimpleNamespace:
    """Load the student's saved modules: all modules of the assignment to which the notebook's stage belongs.

    Without a stage (`working_on`), these are the five modules of the Transformer.

    Raises:
        UserError: if one is missing.
    """
    names = MODULE_NAMES if _stage is None else tuple(_assignment(_stage, Path(folder)).modules)
    return load_modules(Path(folder), names, _standins(Path(folder)))


def _assignment(stage: str, folder: Path) -> Assignment:
    """Return the assignment of a stage.

    If several assignments have a stage with this name, the folder determines the assignment.
    """
    having = [each for each in assignments().values() if any(known.name == stage for known in each.stages)]
    with contextlib.suppress(UserError):
        if len(having) > 1 and (chosen := which_assignment(None, folder)) in having:
            return chosen
    return having[0]


def _standins(folder: Path) -> Replaced:
    """Return the parts that stand-ins replace in the notebook's stage, and print a notice."""
    if _stage is None:
        return NOTHING
    from course.notebook.standing import standings

    assignment = _assignment(_stage, folder)
    wanting = [(stage, why) for stage, why in standings(assignment, _stage, folder) if why]
    if not wanting:
        return NOTHING
    _say_once(" and ".join(f"stage {stage.number} ({stage.title}: {why})" for stage, why in wanting))
    stages = [stage for stage, _ in wanting]
    written = [path for stage in stages for path in stage.writes]
    modules = {module for stage in stages for module in stage.modules}
    others = {module for stage in assignment.stages if stage not in stages for module in stage.modules}
    return Replaced(
        assignment.standins,
        modules=tuple(sorted(modules - others)),
        methods=tuple(path for path in written if path.split(".")[0] in others),
    )


def _say_once(replaced: str) -> None:
    """Print the notice about stand-ins once per cell."""
    global _said
    from IPython import get_ipython

    shell = get_ipython()
    cell = shell.execution_count if shell is not None else 0
    if shell is None or _said != (cell, replaced):
        print(f"Not all of this is your code: stand-ins replace {replaced}.")
    _said = (cell, replaced)


@contextlib.contextmanager
def exploring() -> Iterator[None]:
    """Run code that calls the student's modules; if they are unwritten or wrong, or if they fail, print a message.

    The rest of the `with exploring():` block is then skipped, and the cells below can still run. Code counts as wrong
    if an `assert` in the cell fails, or if the cell cannot continue with the returned value. Any other error in the
    cell itself is raised as usual.
    """
    try:
        yield
    except UserError as error:
        print(f"This needs your code, which cannot be used yet: {error}")
    except Exception as error:
        place = place_of(error)
        if place is None and isinstance(error, AssertionError) and error.args:
            print(f"Not right yet: {error}{'' if str(error).endswith('?') else '.'}")
            return
        if place is None:
            if not (reason := _unusable(error)):
                raise
            print(reason)
            return
        if isinstance(error, NotImplementedError) and (place.line or "").startswith("raise"):
            print(f"Not started: {error}. Run this cell again when it is written.")
            if _alone:
                last = next(iter(assignments().values())).stages[-1].name
                print(f'Or change working_on(None) in the first cell to working_on("{last}"): ', end="")
                print("stand-ins then replace what is missing.")
        else:
            print(f"Your code raised an exception: {describe(error)}")


def _unusable(error: Exception) -> str:
    """Explain why a cell cannot continue with a value from student code; "" for other kinds of errors."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    line = f"\n  {frames[0].line}\n{describe(error)}" if frames else ""
    if isinstance(error, (TypeError, AttributeError)) and "NoneType" in str(error):
        return f"Your code returns nothing (None) where this line needs its result: is there a `return`?{line}"
    if isinstance(error, ValueError) and "values to unpack" in str(error):
        return f"Your code returns a different number of values from what this line expects:{line}"
    if type(error) in (RuntimeError, IndexError):  # these usually mean that shapes do not fit
        return f"This line cannot continue with the value that your code returned:{line}"
    return ""


def trained(own: bool = False, folder: str | Path = ".", checkpoint: str = "de-en") -> "Checkpoint":
    """Load a trained German-English model with its tokenizers.

    Args:
        own: load it into the student's modules in `folder`; otherwise into the ready-made stand-ins. (Those of the
            Transformer support everything but `inference`.)
        checkpoint: the folder of the model in `checkpoints`: "de-en", the Transformer, or "gru-de-en", the recurrent
            model.

    Raises:
        UserError: if a file of the model is missing or damaged, or it does not fit the modules.
    """
    from course.kinds import kind_of_checkpoint

    place = checkpoints() / checkpoint
    kind = kind_of_checkpoint(place)
    if not own:
        return kind.load(place, kind.load_modules(kind.standins))
    return kind.load(place, load_modules(Path(folder), kind.modules, _standins(Path(folder))))
