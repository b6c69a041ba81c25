"""Check the built pages for broken links, network requests and lines of the solution."""

import html
import re
from collections.abc import Iterator, Sequence
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from autograder.authoring.release import TRIVIAL, secret_lines
from autograder.manifest import Assignment

# Elements that a browser loads by itself, with the attribute for the address.
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}
NOT_LOADED = ("canonical", "search", "index", "next", "prev", "author", "license", "genindex")
SECRET_FILES = (".html", ".js", ".txt")


class Page(HTMLParser):
    """The links, loaded files and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors.update(filter(None, (given.get("id"), given.get("name") if tag == "a" else "")))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and given.get(LOADED[tag]) and given.get("rel") not in NOT_LOADED:
            self.loads.append(given[LOADED[tag]])


def broken_links(site: Path) -> Iterator[str]:
    """Yield links within the site that lead to a missing file or anchor, and files loaded from other sites."""

    @cache
    def page(path: Path) -> Page:
        return Page(path.read_text(encoding="utf-8"))

    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site).as_posix()
        if name.startswith("_static/"):
            continue
        for address in page(path).loads:
            if urlsplit(address).netloc:
                yield f"{name} would load {address}"
        for address in [*page(path).links, *page(path).loads]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                yield f"{name} links to {address}, which does not exist"
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in page(target).anchors:
                yield f"{name} links to {address}, but that page has no such anchor"


def solution_lines(site: Path, chosen: Sequence[Assignment]) -> Iterator[str]:
    """Yield lines of the solutions that occur in the pages, their scripts or the search index."""
    secrets = {
        line
        for assignment in chosen
        for line in secret_lines(assignment.solution, assignment)
        if not TRIVIAL.fullmatch(line)
    }
    for path in sorted(path for path in site.rglob("*") if path.suffix in SECRET_FILES):
        text = path.read_text(encoding="utf-8", errors="replace")
        searched = (
            f"{text}\n{html.unescape(re.sub('<[^>]*>', '', text))}"  # syntax highlighting splits code into elements
        )
        for line in sorted(secrets):
            if line in searched:
                yield f"{path.relative_to(site).as_posix()} contains a line of the solution: {line}"


def external_links(site: Path) -> list[str]:
    """Return all addresses outside the site that its pages link to."""
    pages = (Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html"))
    return sorted({link for page in pages for link in page.links if urlsplit(link).netloc})
