"""For the notebooks: try the modules out as they are saved now (`load`, `exploring`); the trained model (`trained`).

Nobody is stuck: where a stage that the notebook builds on is missing or wrong, a stand-in helps out (`working_on`).
"""

import contextlib
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

from autograder.manifest import Assignment, assignments
from course.config import CHECKPOINTS
from course.errors import UserError
from course.modules import MODULE_NAMES, NOTHING, Replaced, describe, load_module, load_modules, place_of

if TYPE_CHECKING:
    from course.checkpoint import Checkpoint


def working_on(stage: str | None, own_only: bool = False) -> None:
    """Say which stage the notebook is about: for the stages that it builds on, stand-ins help out where it is needed.

    `load`, `own_modules` and `trained(own=True)` then take a stand-in for each of these stages that is not written or
    does not pass its tests, and say so. What the stage itself writes is never replaced.

    Args:
        stage: its name; None for no stage, and no stand-ins.
        own_only: no stand-ins: only what the student wrote.

    Raises:
        UserError: if there is no such stage.
    """
    global _stage, _alone
    if stage is not None and stage not in {known.name for one in assignments().values() for known in one.stages}:
        names = ", ".join(known.name for one in assignments().values() for known in one.stages)
        raise UserError(f"there is no stage {stage!r}; the stages are {names}")
    _stage, _alone = (None if own_only else stage), stage is None


_stage: str | None = None  # a notebook is about one stage
_alone = False  # whether it has said that it is about none
_said: tuple[int, str] = (0, "")  # the last notice of stand-ins, and the number of its cell


def load(module: str, folder: str | Path = ".") -> ModuleType:
    """The student's module as it is saved now, read anew with all modules that it imports.

    Args:
        module: its name, for instance "mha" or "pooling".
        folder: where the modules are.

    Raises:
        UserError: if it cannot be imported; the message says why, and in which line.
    """
    return load_module(module, Path(folder), _standins(Path(folder)))


def own_modules(folder: str | Path = ".") -> SimpleNamespace:
    """The student's modules as they are saved now: all of the assignment that the notebook's stage belongs to.

    Without a stage (`working_on`) these are the five modules of the Transformer.

    Raises:
        UserError: if one is missing.
    """
    names = MODULE_NAMES if _stage is None else tuple(_assignment(_stage).modules)
    return load_modules(Path(folder), names, _standins(Path(folder)))


def _assignment(stage: str) -> Assignment:
    """The assignment that a stage belongs to."""
    return next(one for one in assignments().values() if any(known.name == stage for known in one.stages))


def _standins(folder: Path) -> Replaced:
    """What stand-ins replace in the notebook's stage; a printed sentence says it."""
    if _stage is None:
        return NOTHING
    from course.notebook.standing import standings

    assignment = _assignment(_stage)
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
    """Say once in a cell what stand-ins replace."""
    global _said
    from IPython import get_ipython

    shell = get_ipython()
    cell = shell.execution_count if shell is not None else 0
    if shell is None or _said != (cell, replaced):
        print(f"Not all of this is your code: stand-ins take the place of {replaced}.")
    _said = (cell, replaced)


@contextlib.contextmanager
def exploring() -> Iterator[None]:
    """Run cells that call the student's code: what is not written yet, fails, or is wrong becomes a sentence.

    `with exploring(): ...` skips the rest of its body in that case, and the cells below can still be run. What is wrong
    is what an `assert` of the cell says, or that the cell cannot go on with what the student's code returned. Any other
    error of the cell itself is raised as usual.
    """
    try:
        yield
    except UserError as error:
        print(f"This needs your code, which cannot be used yet: {error}")
    except Exception as error:
        place = place_of(error)
        if place is None and isinstance(error, AssertionError) and error.args:
            print(f"Not right yet: {error}.")
            return
        if place is None:
            if not (reason := _unusable(error)):
                raise
            print(reason)
            return
        if isinstance(error, NotImplementedError) and (place.line or "").startswith("raise"):
            print(f"Not started: {error}. Run this cell again when it is.")
            if _alone:
                last = next(iter(assignments().values())).stages[-1].name
                print(f'Or change working_on(None) in the first cell to working_on("{last}"): ', end="")
                print("stand-ins then take the place of what is missing.")
        else:
            print(f"Your code raised an exception: {describe(error)}")


def _unusable(error: Exception) -> str:
    """Why a cell cannot go on with what the student's code returned, or "" if the error may be of another kind."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    line = f"\n  {frames[0].line}\n{describe(error)}" if frames else ""
    if isinstance(error, (TypeError, AttributeError)) and "NoneType" in str(error):
        return f"Your code returns nothing (None) where this line needs its result: is there a `return`?{line}"
    if isinstance(error, ValueError) and "values to unpack" in str(error):
        return f"Your code returns another number of values than this line takes:{line}"
    if type(error) in (RuntimeError, IndexError):  # above all shapes that do not fit
        return f"This line cannot go on with what your code returned:{line}"
    return ""


def trained(own: bool = False, folder: str | Path = ".", checkpoint: str = "de-en") -> "Checkpoint":
    """A trained German-English model with its tokenizers.

    Args:
        own: in the student's modules of `folder`; otherwise in ready-made ones, the stand-ins. (Those of the
            Transformer know everything but `inference`.)
        checkpoint: the folder of the model in `checkpoints`: "de-en", the Transformer, or "gru-de-en", the recurrent
            one.

    Raises:
        UserError: if a file of the model is missing or damaged, or it does not fit the modules.
    """
    from course.kinds import kind_of_checkpoint

    place = CHECKPOINTS / checkpoint
    kind = kind_of_checkpoint(place)
    if not own:
        return kind.load(place, kind.load_modules(kind.standins))
    return kind.load(place, load_modules(Path(folder), kind.modules, _standins(Path(folder))))
