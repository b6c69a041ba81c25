"""A kernel with a student's modules in its folder, as a notebook has one, and what its cells show."""

import os
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOLUTION = ROOT / "solutions" / "transformer"
STUBS = ROOT / "notebooks" / "transformer"
RIGHT, WRONG = "key_padding_mask[:, None, None, :] != 0", "key_padding_mask[:, None, None, :] == 0"
IMPORTS = "import sys; from pathlib import Path; from course import *"


@dataclass
class Output:
    """What a cell gave."""

    html: str = ""
    text: str = ""  # of displayed objects
    printed: str = ""
    stderr: str = ""
    result: str = ""
    error: list[str] = field(default_factory=list)  # the lines that are shown


class Notebook:
    """A kernel whose folder holds a student's modules."""

    def __init__(self, folder: Path) -> None:
        from jupyter_client.manager import start_new_kernel

        self.folder = folder
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.manager, self.client = start_new_kernel(cwd=str(folder), env=environment)

    def run(self, code: str) -> Output:
        output = Output()

        def take(message):
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                name = "stderr" if content["name"] == "stderr" else "printed"
                setattr(output, name, getattr(output, name) + content["text"])
            elif kind == "display_data":
                output.html += content["data"].get("text/html", "")
                output.text += content["data"].get("text/plain", "")
            elif kind == "update_display_data":
                output.html = content["data"].get("text/html", "")
                output.text = content["data"].get("text/plain", "")
            elif kind == "execute_result":
                output.result = content["data"]["text/plain"]
                output.html += content["data"].get("text/html", "")
            elif kind == "error":
                output.error = content["traceback"]

        self.client.execute_interactive(code, output_hook=take, timeout=120)
        return output

    def fill(self, source: Path, old: str = "", new: str = "", module: str = "mha") -> None:
        """Put modules into the folder, one of them with a change."""
        for path in source.glob("*.py"):
            text = path.read_text(encoding="utf-8")
            if path.stem == module and old:
                assert old in text
                text = text.replace(old, new)
            (self.folder / path.name).write_text(text, encoding="utf-8")

    def put(self, *modules: str, old: str = "", new: str = "") -> None:
        """The stubs, which are graded in no time; but these modules as in the solution, the first with a change."""
        self.fill(STUBS)
        for module in modules:
            text = (SOLUTION / f"{module}.py").read_text(encoding="utf-8")
            if module == modules[0] and old:
                assert old in text
                text = text.replace(old, new)
            (self.folder / f"{module}.py").write_text(text, encoding="utf-8")


class Page(HTMLParser):
    """The tags of a piece of HTML; fails where they do not fit together."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]
