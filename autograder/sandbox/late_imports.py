"""Import what the texts of a submission import, before any of it runs: afterwards a worker reads no file any more."""

import importlib
import re
import sys
from collections.abc import Iterable, Iterator

from autograder.sandbox.available_libraries import is_available

# "import a.b as c, d" and "from a import (b, c)", also behind a semicolon or a colon.
IMPORT = re.compile(
    r"(?:^|[;:])[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n;#]*)|import[ \t]+([^\n;#]*))", re.MULTILINE
)
# Parts of torch that are not loaded with it and hold ready-made parts or lead to files; nobody needs them here.
NOT_OF_TORCH = re.compile(
    r"torch\.(_\w+|onnx|ao|quantization|testing|distributed|export|package|hub|utils\.cpp_extension|nn\.attention)\b"
)
MOST = 200


def imported(text: str) -> Iterator[str]:
    """The modules that a text imports, as far as its form tells; of `from a import b` also "a.b"."""
    for package, names, modules in IMPORT.findall(text):
        found = [part.split()[0] for part in (names or modules).strip("()").split(",") if part.split()]
        if package:
            yield package
        yield from (f"{package}.{name}" for name in found) if package else found


def import_all(texts: Iterable[str], own: Iterable[str]) -> None:
    """Import what these texts do and what is installed; `own` names are those of the submission."""
    wanted = dict.fromkeys(name for text in texts for name in imported(text))
    for name in list(wanted)[:MOST]:
        package, _, attribute = name.rpartition(".")
        known = name in sys.modules or hasattr(sys.modules.get(package), attribute)
        if known or name.partition(".")[0] in own or NOT_OF_TORCH.match(name) or not is_available(name):
            continue
        try:
            importlib.import_module(name)
        except BaseException:  # the student's own import says what is wrong
            continue
