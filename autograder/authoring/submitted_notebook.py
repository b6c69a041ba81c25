"""Rebuild a submitted notebook for nbgrader: the released graded cells, and the text of the student's cells."""

import copy
import re
from collections import defaultdict
from collections.abc import Iterable
from html import escape, unescape
from typing import Any, TextIO

import bleach
import nbformat
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath, import_plugin  # type: ignore[attr-defined]
from nbgrader.utils import is_solution

SKIP = "skip-execution"  # nbclient does not execute cells with this tag
UNREADABLE = "*The notebook that was handed in cannot be read. Only the modules are graded.*"
MAX_NOTEBOOK = 32_000_000  # characters; honest students' notebooks are large only if they contain pictures
# Formatting time can grow with the square of the length. Longer texts are shown unformatted.
MAX_FORMATTED = 10_000  # characters per cell
MAX_ALL_FORMATTED = 60_000  # characters of HTML per notebook; a table has twelve for each of its own

TAGS = {
    *(f"h{level}" for level in range(1, 7)),
    *("a", "abbr", "b", "blockquote", "br", "code", "dd", "del", "details", "div", "dl", "dt", "em", "hr", "i", "img"),
    *("kbd", "li", "ol", "p", "pre", "s", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "th"),
    *("thead", "tr", "u", "ul"),
}
ATTRIBUTES = {"a": {"href", "title"}, "img": {"src", "alt", "title"}}
HARMLESS = re.compile(r"https?:|[^:]*([/?#]|$)", re.IGNORECASE)


def rebuilt(release: Any, submitted: list[Any]) -> Any:
    """Insert a student's cells between the graded cells of the released notebook, as text that is never run.

    The release determines everything about the graded cells: source, type, id, all metadata, and their order. It also
    determines the metadata of the notebook, which names the kernel. A manually graded cell contains the student's text.

    Args:
        release: the notebook as released.
        submitted: the student's cells. If a graded cell occurs more than once, the last one counts.
    """
    graded = {cell.metadata.nbgrader.grade_id: cell for cell in release.cells if "nbgrader" in cell.metadata}
    texts = list(readable(submitted, {cell.source for cell in release.cells}))
    places = {name: index for index, cell in enumerate(submitted) if (name := grade_id(cell)) in graded}
    after = defaultdict(list)  # position -> the graded cells that follow it
    place = -1
    for name, cell in graded.items():
        place = max(place, places.get(name, len(submitted) - 1))
        after[place].append(cell := copy.deepcopy(cell))
        if is_solution(cell) and name in places:
            text = texts[places[name]]
            cell.source = text.source if text.cell_type == cell.cell_type else submitted[places[name]].source
    cells = after[-1]
    for index, text in enumerate(texts):
        cells += [text] * (index not in places.values()) + after[index]
    return nbformat.v4.new_notebook(metadata=copy.deepcopy(release.metadata), cells=cells)


def read_cells(file: TextIO) -> list[Any]:
    """Read the cells of a submitted notebook, in any version of the format.

    Raises:
        Exception: of any kind, if it cannot be read.
    """
    text = file.read(MAX_NOTEBOOK + 1)
    if len(text) > MAX_NOTEBOOK:
        raise ValueError(f"it has more than {MAX_NOTEBOOK:,} characters")
    cells = list(nbformat.reads(text.removeprefix("\ufeff"), as_version=4).cells)
    for number, cell in enumerate(cells):
        if cell.cell_type not in ("code", "markdown", "raw") or not isinstance(cell.source, str):
            raise ValueError(f"its cell {number} has an unknown type")
        # JSON can name half of a surrogate pair, which no file can contain.
        cell.source = cell.source.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return cells


def grade_id(cell: Any) -> str:
    """Return nbgrader's id of a cell, or "". The metadata may be damaged or forged."""
    metadata = cell.get("metadata")
    given = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    name = given.get("grade_id") if isinstance(given, dict) else None
    return name if isinstance(name, str) else ""


def readable(cells: Iterable[Any], ours: set[str]) -> Iterable[Any]:
    """Yield new cells that contain only the text of a student's cells.

    Args:
        cells: the student's cells.
        ours: the texts in the release, which are kept unchanged.
    """
    left = MAX_ALL_FORMATTED
    for cell in cells:
        if cell.cell_type == "code":
            yield nbformat.v4.new_code_cell(cell.source, metadata={"tags": [SKIP]})
        elif cell.cell_type == "markdown" and cell.source in ours:
            yield nbformat.v4.new_markdown_cell(cell.source)
        elif (
            cell.cell_type == "markdown"
            and len(cell.source) <= min(MAX_FORMATTED, left)
            and len(html := html_of(cell.source)) <= left
        ):
            left -= len(html)
            yield nbformat.v4.new_markdown_cell(harmless(html))
        else:
            yield nbformat.v4.new_markdown_cell(in_a_line(f"<pre>{escape(cell.source)}</pre>"))


def html_of(text: str) -> str:
    """Convert Markdown to HTML."""
    plugins = [import_plugin(name) for name in MarkdownWithMath.DEFAULT_PLUGINS if name != "task_lists"]
    renderer = IPythonRenderer(escape=False, exclude_anchor_links=True)
    try:
        return str(MarkdownWithMath(renderer=renderer, plugins=plugins).render(text))
    except Exception:  # for instance a picture pasted into the cell, which is dropped
        return f"<pre>{escape(text)}</pre>"


def harmless(html: str) -> str:
    """Make HTML safe to show in a reader's browser.

    Only links to http, https and relative addresses are kept. Tags that are not allowed are shown as text.
    """
    return in_a_line(bleach.clean(html, tags=TAGS, attributes=allowed, protocols={"http", "https"}))


def allowed(tag: str, name: str, value: str) -> bool:
    """Whether to keep an attribute. bleach checks addresses too, but mistakes "javascript:1" for a host and a port."""
    if name not in ATTRIBUTES.get(tag, ()):
        return False
    address = re.sub(r"[\s\x00-\x20]", "", unescape(value))  # as browsers interpret it
    return name not in ("href", "src") or HARMLESS.match(address) is not None


def in_a_line(html: str) -> str:
    """Wrap HTML for a Markdown cell: one line in one block, with nothing that a Markdown renderer would format."""
    for character in "\\$\r\n":
        html = html.replace(character, f"&#{ord(character)};")
    return f"<div>{html}</div>"
