"""Close two parts of the standard library that evaluate strings, or paste them into code, without naming `eval`.

The source search cannot see what such strings contain. Code that is graded needs neither part.
"""

import dataclasses
import inspect
from typing import Any, NoReturn


def refuse_evaluation() -> None:
    """Let `inspect` evaluate no annotations (`eval_str`), and `dataclass` use no field that was renamed."""
    vars(inspect)["eval"] = _refuse  # hides the built-in function in this module only
    make = vars(dataclasses)["_process_class"]

    def checked(cls: type, *args: Any, **kwargs: Any) -> Any:
        for base in cls.__mro__:
            for name, field in getattr(base, "__dataclass_fields__", {}).items():
                if type(field.name) is not str or field.name != name:
                    raise RuntimeError(f"the field {name} of a dataclass was renamed, which graded code cannot do")
        return make(cls, *args, **kwargs)

    vars(dataclasses)["_process_class"] = checked


def _refuse(*_: Any) -> NoReturn:
    raise RuntimeError("graded code cannot evaluate annotations")
