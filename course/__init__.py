"""The library that students import: `from course import check, load, exploring, trained, show_attention, ...`.

The names below are for the notebooks. Each name is imported on first use, so that `import course` itself takes almost
no time.
"""

import importlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from course.heatmaps import show_attention, show_heatmaps
    from course.notebook.check import check, overview, show_errors
    from course.notebook.display import Table, show
    from course.notebook.explore import explore_attention, explore_model
    from course.notebook.load import exploring, load, own_modules, trained, working_on
    from course.notebook.own_code import ask_about
    from course.notebook.plots import Curves, show_clocks, show_curves, show_words
    from course.notebook.prediction import predict
    from course.notebook.quiz import ask
    from course.notebook.try_model import try_model
    from course.read_attention import attention_maps, attention_weights
    from course.text import edit_distance, pad

HOMES = MappingProxyType(
    {
        "attention_maps": "course.read_attention",
        "attention_weights": "course.read_attention",
        "show_attention": "course.heatmaps",
        "show_heatmaps": "course.heatmaps",
        "check": "course.notebook.check",
        "overview": "course.notebook.check",
        "show_errors": "course.notebook.check",
        "Table": "course.notebook.display",
        "show": "course.notebook.display",
        "explore_attention": "course.notebook.explore",
        "explore_model": "course.notebook.explore",
        "exploring": "course.notebook.load",
        "load": "course.notebook.load",
        "own_modules": "course.notebook.load",
        "trained": "course.notebook.load",
        "working_on": "course.notebook.load",
        "ask_about": "course.notebook.own_code",
        "Curves": "course.notebook.plots",
        "show_clocks": "course.notebook.plots",
        "show_curves": "course.notebook.plots",
        "show_words": "course.notebook.plots",
        "predict": "course.notebook.prediction",
        "ask": "course.notebook.quiz",
        "try_model": "course.notebook.try_model",
        "edit_distance": "course.text",
        "pad": "course.text",
    }
)
__all__ = [
    "Curves",
    "Table",
    "ask",
    "ask_about",
    "attention_maps",
    "attention_weights",
    "check",
    "edit_distance",
    "explore_attention",
    "explore_model",
    "exploring",
    "load",
    "overview",
    "own_modules",
    "pad",
    "predict",
    "show",
    "show_attention",
    "show_clocks",
    "show_curves",
    "show_errors",
    "show_heatmaps",
    "show_words",
    "trained",
    "try_model",
    "working_on",
]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(HOMES[name]), name)
