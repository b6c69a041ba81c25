"""Import a submission's modules early, before its code runs, since a worker cannot read files afterwards."""

import contextlib
import importlib
import re
import sys
from collections.abc import Iterable, Iterator

from autograder.worker.allowed_modules import is_kept
from autograder.worker.available_libraries import is_available

# "import a.b as c, d" and "from a import (b, c)", also after a semicolon or a colon.
IMPORT = re.compile(
    r"(?:^|[;:])[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n;#]*)|import[ \t]+([^\n;#]*))", re.MULTILINE
)
DRAWS = re.compile(r"savefig|draw|show|layout|canvas|extent")  # uses of matplotlib that need fonts
MOST = 200


def imported(text: str) -> Iterator[str]:
    """Yield the modules that source code seems to import; for `from a import b`, yield "a.b" as well."""
    for package, names, modules in IMPORT.findall(text):
        items = [part.split()[0] for part in (names or modules).strip("()").split(",") if part.split()]
        if package:
            yield package
        yield from (f"{package}.{name}" for name in items) if package else items


def import_all(texts: Iterable[str], modules: Iterable[str]) -> None:
    """Import the installed modules that this source code imports; `modules` names the submission's modules."""
    texts = list(texts)
    wanted = dict.fromkeys(name for text in texts for name in imported(text))
    for name in list(wanted)[:MOST]:
        package, _, attribute = name.rpartition(".")
        known = name in sys.modules or hasattr(sys.modules.get(package), attribute)
        if known or name.partition(".")[0] in modules or not is_kept(name) or not is_available(name):
            continue
        try:
            importlib.import_module(name)
        except BaseException:  # the student's own import will report it
            continue
    if "matplotlib.pyplot" in sys.modules and any(DRAWS.search(text) for text in texts):
        with contextlib.suppress(Exception):
            read_fonts()


def read_fonts() -> None:
    """Make matplotlib open its default fonts in this fork, which has closed all files that were open before."""
    from matplotlib.backends import backend_agg
    from matplotlib.font_manager import FontProperties

    renderer = vars(backend_agg)["RendererAgg"](1, 1, 72)
    for style in ("normal", "italic"):
        for weight in ("normal", "bold"):
            renderer.get_text_width_height_descent("x", FontProperties(style=style, weight=weight), False)
    renderer.get_text_width_height_descent(r"$x_1\alpha$", FontProperties(), True)
