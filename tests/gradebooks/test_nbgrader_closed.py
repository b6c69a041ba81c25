"""nbgrader fails closed: no edit of a notebook brings points, and a grade cell without points is not graded."""

import copy
import json
import queue
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bleach
import nbformat
import pytest
from nbconvert.filters.markdown_mistune import markdown2html_mistune
from nbformat import NotebookNode
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder.authoring import submitted_notebook
from autograder.authoring.nbgrader_plugin import without_points
from autograder.authoring.submitted_notebook import SKIP, UNREADABLE, harmless, html_of, read_cells, readable, rebuilt
from tests.support.nbgrading import ASSIGNMENT, NAME, ROOT
from tests.support.notebook_edits import edited
from tests.support.quick import some

RELEASE = ROOT / "notebooks" / NAME
PE = RELEASE / "2_pe.ipynb"
MOST = ASSIGNMENT.stage("pe").max_points


def release_with(*names: str) -> Any:
    """The released notebook, with so many grade cells in it."""
    notebook = json.loads(PE.read_text(encoding="utf-8"))
    (cell,) = [cell for cell in notebook["cells"] if "nbgrader" in cell["metadata"]]
    notebook["cells"] = notebook["cells"][::6]  # enough of the others
    for number, name in enumerate(names):
        metadata = {**cell["metadata"], "nbgrader": {**cell["metadata"]["nbgrader"], "grade_id": name}}
        notebook["cells"].insert(2 * number, {**cell, "id": name, "metadata": metadata, "source": f"check({name!r})"})
    return notebook


def executed(notebook: Any) -> list[Any]:
    """The cells that nbclient runs."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    return [cell for cell in code if SKIP not in cell.metadata.get("tags", [])]


def handed_in(text: str, path: Path) -> list[Any]:
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    with path.open(encoding="utf-8") as file:
        try:
            return read_cells(file)
        except Exception:  # what the exporter does then
            return [nbformat.v4.new_markdown_cell(UNREADABLE)]


@pytest.mark.filterwarnings("ignore")  # nbformat warns of what it repairs
@pytest.mark.parametrize("seed", some(range(40), every=20))
def test_only_released_cells_run_as_they_were_released(seed, tmp_path):
    dice, unreadable = random.Random(seed), 0
    for graded in (("one",), ("one", "two", "three")):
        release = release_with(*graded)
        ours = nbformat.reads(json.dumps(release), as_version=4)
        expected = [cell for cell in ours.cells if "nbgrader" in cell.metadata]
        for _ in range(20):
            cells = handed_in(edited(release, dice), tmp_path / "x.ipynb")
            unreadable += len(cells) == 1 and UNREADABLE in cells[0].source
            notebook = rebuilt(ours, cells)
            nbformat.validate(notebook)
            assert executed(notebook) == expected
            assert notebook.metadata == ours.metadata
            for cell in notebook.cells:
                if cell not in expected:
                    assert cell.metadata == ({"tags": [SKIP]} if cell.cell_type == "code" else {})
                    assert cell.cell_type == "markdown" or not cell.outputs
                    assert "attachments" not in cell
    assert unreadable < 20  # else the edits would test nothing but this


def test_the_text_of_an_answer_that_people_grade_is_the_students():
    release = nbformat.v4.new_notebook()
    answer = {"grade_id": "answer", "grade": True, "solution": True, "points": 1, "locked": False, "schema_version": 3}
    release.cells = [nbformat.v4.new_markdown_cell("*Write your answer here.*", metadata={"nbgrader": answer})]
    own = nbformat.v4.new_markdown_cell("Since **d_k**.", metadata={"nbgrader": {"grade_id": "answer"}, "tags": ["x"]})
    (cell,) = rebuilt(release, [own]).cells
    assert "Since <strong>d_k</strong>." in cell.source
    assert cell.metadata == {"nbgrader": answer}
    (cell,) = rebuilt(release, [nbformat.v4.new_code_cell("x", metadata=own.metadata)]).cells
    assert (cell.cell_type, cell.source) == ("markdown", "x")
    assert rebuilt(release, release.cells).cells[0].source == "*Write your answer here.*"


def test_half_a_character_becomes_a_replacement_character(tmp_path):
    """JSON can name half a surrogate pair, which no file can contain; two halves that meet are whole."""
    notebook = nbformat.v4.new_notebook()
    for new in (nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell, nbformat.v4.new_raw_cell):
        notebook.cells.append(new("cut \ud83d, whole \ud83d\ude00, \ude00"))
    cells = handed_in(json.dumps(notebook), tmp_path / "x.ipynb")
    assert [cell.source for cell in cells] == ["cut \ufffd, whole \N{GRINNING FACE}, \ufffd"] * 3


# What a reader's browser gets

ADDRESSES = [
    *(
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java\nscript:alert(1)",
        "&#106;avascript:alert(1)",
        "javascript:1",
    ),
    *("javascript&colon;alert(1)", "\x01javascript:alert(1)", "vbscript:x", "data:text/html;base64,AAAA", "blob:x"),
    *("file:///etc/passwd", "mailto:a@b.org", "data:image/svg+xml,<svg onload=alert(1)>", "jar:x!/", "x:y", "\tfeed:x"),
    *("//elsewhere.org", "https://a.org/b?c=d:e", "HTTP://a.org", "../other.ipynb#a:b", "#top", "a/b:c", "?x:y"),
]
LINKS = [
    *("[t](ADDRESS)", "[t](<ADDRESS>)", '[t](ADDRESS "title")', "![t](ADDRESS)", "<ADDRESS>", "ADDRESS"),
    *("[t][r]\n\n[r]: ADDRESS", "[r]\n\n[r]: <ADDRESS>", "![t][r]\n\n[r]: ADDRESS", "<a href='ADDRESS'>t</a>"),
    *('<img src="ADDRESS" onerror="alert(1)">', "<a href=ADDRESS>t</a>", "<iframe src='ADDRESS'></iframe>"),
    *("<svg><a xlink:href='ADDRESS'>t</a></svg>", "<form action='ADDRESS'><button>t</button></form>"),
    *("<p style='background:url(ADDRESS)'>t</p>", "<details open ontoggle=alert(1)>[t](ADDRESS)"),
    *(
        "| a |\n|---|\n| [t](ADDRESS) |",
        "`[t](ADDRESS)`",
        "```python\n[t](ADDRESS)\n```",
        "```mermaid\n<b>ADDRESS\n```",
    ),
    *("\\[t\\](ADDRESS)", "$$\n[t](ADDRESS)\n\n<script>\n$$", "<!-- -->[t](ADDRESS)<!--", "<script>\n\n[t](ADDRESS)"),
    *(
        "- [ ] [t](ADDRESS)",
        "> # [t](ADDRESS)",
        "</div></div>[t](ADDRESS)",
        "<pre>\n\n[t](ADDRESS)",
        "~~[t](ADDRESS)~~",
    ),
]


def addresses_in(html: str) -> tuple[set[str], set[str]]:
    """The names of all attributes in a page, and the values of those that are addresses, as a browser reads them."""
    from html.parser import HTMLParser

    names: set[str] = set()
    values: set[str] = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert tag not in ("script", "style", "iframe", "svg", "form", "button", "input", "object", "meta", "base")
            names.update(name for name, _ in attrs)
            values.update(value or "" for name, value in attrs if name in ("href", "src"))

    Reader().feed(html)
    return names, values


def is_harmless(address: str) -> bool:
    """Judged by bleach, and by hand what bleach takes for a port."""
    address = "".join(char for char in address if char > " ")
    scheme = address.partition(":")[0] if ":" in address else ""
    return scheme.lower() in ("", "http", "https") or any(char in scheme for char in "/?#")


@pytest.mark.parametrize("rest", some(range(5), every=5))
def test_links_keep_http_https_and_relative_addresses(rest):
    for number, link in enumerate(LINKS):
        for address in ADDRESSES[(number + rest) % 5 :: 5]:
            stored = harmless(html_of(link.replace("ADDRESS", address)))
            page = markdown2html_mistune(stored)
            assert page.rstrip("\n") == stored, "formatting it again has changed it"
            names, values = addresses_in(page)
            assert names <= {"href", "src", "alt", "title"}
            assert all(map(is_harmless, values)), (link, address, values)
    for address in ("//elsewhere.org", "https://a.org/b?c=d:e", "HTTP://a.org", "../other.ipynb#a:b", "#top", "?x:y"):
        assert addresses_in(harmless(html_of(f"[t]({address})")))[1] == {address}


@pytest.mark.parametrize("seed", some(range(10), every=10))
def test_random_texts_are_one_block_that_is_not_formatted_again(seed):
    dice = random.Random(seed)
    pieces = [
        *"\n\n\t *_`~$\\<>[]()!#|-+=&;:\"'{}",
        *LINKS,
        *ADDRESSES,
        "<div>",
        "</div>",
        "\u2028",
        "\x0b",
        "\\begin{a}",
    ]
    pieces += ["\\end{a}", "<pre>", "<td>", "<title>", "<textarea>", "<!--", "]]>", "<![CDATA[", "text", "1. ", "\r\n"]
    for _ in range(100):
        text = "".join(dice.choices(pieces, k=dice.randint(1, 12))).replace("ADDRESS", "javascript:alert(1)")
        stored = harmless(html_of(text))
        assert "\n" not in stored
        page = markdown2html_mistune(stored)
        assert page.rstrip("\n") == stored
        assert all(map(is_harmless, addresses_in(page)[1]))
        assert bleach.clean(page, tags=set()).count("<") == 0


def test_honest_texts_look_as_before():
    text = "# Why\n\nSince $\\sqrt{d_k}$ **grows**:\n\n| a | b |\n|---|--:|\n| 1 | `x < y` |\n\n- see [this](https://a.org)\n"
    html = harmless(html_of(text)).replace("&#36;", "$").replace("&#92;", "\\").replace("&#10;", "\n")
    for part in ("<h1>Why</h1>", "$\\sqrt{d_k}$ <strong>grows</strong>", "<td>1</td>", "<code>x &lt; y</code>"):
        assert part in html
    assert '<a href="https://a.org">this</a>' in html


def test_what_would_take_long_is_shown_as_it_was_typed(monkeypatch):
    monkeypatch.setattr(submitted_notebook, "MAX_FORMATTED", 100)
    monkeypatch.setattr(submitted_notebook, "MAX_ALL_FORMATTED", 2000)
    texts = ["**b**", "**" * 51, *["**b** " * 16] * 9]
    shown = [cell.source for cell in readable(map(nbformat.v4.new_markdown_cell, texts), set())]
    assert ["<strong>" in source for source in shown] == [True, False, *[True] * 6, *[False] * 3]
    assert texts[1] in shown[1]
    (raw,) = readable([nbformat.v4.new_raw_cell("<b>\n\n[x](y)")], set())
    assert (raw.cell_type, raw.source) == ("markdown", "<div><pre>&lt;b&gt;&#10;&#10;[x](y)</pre></div>")


def test_tables_take_little_time_although_their_html_is_long():
    tables = [nbformat.v4.new_markdown_cell(("a|\n-|\n" * 2000)[: 9990 + n]) for n in range(6)]
    before = time.process_time()
    shown = [len(cell.source) for cell in readable(tables, set())]
    assert max(shown) < 2 * submitted_notebook.MAX_ALL_FORMATTED
    assert time.process_time() - before < 2.5  # 9 seconds if all were formatted


# Without points


def output(kind: str, **fields: Any) -> NotebookNode:
    return nbformat.v4.new_output(kind, **fields)


def result(text: str | None) -> NotebookNode:
    return output("execute_result", data={"text/plain": text} if text is not None else {"text/html": "x"})


STDERR = output("stream", name="stderr", text="a warning")
ERROR = output("error", ename="RuntimeError", evalue="the grader failed", traceback=[])
NO_MODULE = output("error", ename="UserError", evalue="none of the modules", traceback=[])
SHOWN = output("display_data", data={"text/plain": "30.0"})


@pytest.mark.parametrize("points", ["0.0", "2.5", f"{MOST:.1f}"])
def test_points_are_a_result(points):
    cell = nbformat.v4.new_code_cell("", metadata={"nbgrader": {"points": MOST}}, outputs=[SHOWN, result(points)])
    assert without_points(cell, no_module=False) == ""


REFUSED: dict[str, list[Any]] = {
    "nothing": [],
    "no result": [SHOWN],
    "None": [result("None")],
    "words": [result("'full marks'")],
    "NaN": [result("nan")],
    "infinite": [result("inf")],
    "negative": [result("-1.0")],
    "too many": [result("1000.0")],
    "tensor": [result("tensor(5.)")],
    "other kinds only": [result(None)],
    "two results": [result("1.0"), result("2.0")],
    "error": [ERROR],
    "error after a result": [result("5.0"), ERROR],
    "a module is there": [NO_MODULE],
    "stderr": [STDERR, result("5.0")],
}


@pytest.mark.parametrize("name", REFUSED)
def test_everything_else_is_refused(name):
    cell = nbformat.v4.new_code_cell("", metadata={"nbgrader": {"points": MOST}}, outputs=REFUSED[name])
    assert without_points(cell, no_module=False)
    assert without_points(None, no_module=False)
    text = nbformat.v4.new_markdown_cell("", metadata={"nbgrader": {"points": MOST}})
    assert without_points(text, no_module=True)
    no_module = nbformat.v4.new_code_cell("", metadata=cell.metadata, outputs=[NO_MODULE])
    assert without_points(no_module, no_module=True) == ""


# Everything of nbgrader and nbclient but the kernel


class Kernel:
    """What a kernel answers to each piece of code: a manager and its client in one, in the place of a process."""

    def __init__(self, outputs: list[Any] | None, released: str) -> None:
        self.outputs, self.released = outputs, released  # None: it dies
        self.shell: list[Any] = []
        self.published: list[Any] = []
        self.ran: list[str] = []

    has_kernel = ipykernel = allow_stdin = False
    shell_channel = property(lambda self: Channel(self.shell))
    iopub_channel = property(lambda self: Channel(self.published))

    def is_alive(self) -> bool:
        return self.outputs is not None

    def client(self) -> "Kernel":
        return self

    def kernel_info(self) -> str:
        self.shell.append(message("info", "kernel_info_reply", language_info={"name": "python"}))
        return "info"

    def execute(self, code: str, **_: Any) -> str:
        self.ran.append(code)
        key = f"cell {len(self.ran)}"
        outputs = self.outputs if code == self.released else [result(f"{MOST:.1f}")]
        for content in outputs or []:
            fields = {name: value for name, value in content.items() if name != "output_type"}
            self.published.append(message(key, content.output_type, **fields))
        if self.outputs is not None:
            self.published.append(message(key, "status", execution_state="idle"))
            self.shell.append(message(key, "execute_reply", status="ok"))
        return key

    def nothing(self, *_: Any, **__: Any) -> None:
        pass

    start_kernel = start_channels = wait_for_ready = stop_channels = shutdown_kernel = cleanup_resources = nothing
    interrupt_kernel = nothing


class Channel:
    def __init__(self, messages: list[Any]) -> None:
        self.messages = messages

    async def get_msg(self, timeout: float | None = None) -> Any:
        if not self.messages:
            raise queue.Empty
        return self.messages.pop(0)


def message(key: str, kind: str, **content: Any) -> dict[str, Any]:
    return {"msg_type": kind, "header": {"msg_type": kind}, "parent_header": {"msg_id": key}, "content": content}


@pytest.fixture(scope="module")
def config() -> Iterator[Config]:
    with pytest.MonkeyPatch.context() as patch:  # the file changes both
        patch.setenv("PYTHONPATH", "")
        patch.syspath_prepend(str(ROOT))
        patch.delenv("NBGRADER_DB", raising=False)
        yield PyFileConfigLoader("nbgrader_config.py", path=str(ROOT)).load_config()


class Class:
    """Students whose notebooks the real nbgrader grades, in this process."""

    def __init__(self, folder: Path, config: Config, patch: pytest.MonkeyPatch) -> None:
        from nbgrader.api import Base, Gradebook
        from nbgrader.preprocessors import SaveCells
        from sqlalchemy import create_engine

        self.folder, self.patch, self.database = folder, patch, f"sqlite:///{(folder / 'gradebook.db').as_posix()}"
        self.config = copy.deepcopy(config)
        self.config.CourseDirectory.update({"root": str(folder), "assignment_id": NAME, "db_url": self.database})
        (folder / "notebooks" / NAME).mkdir(parents=True)
        shutil.copy(PE, folder / "notebooks" / NAME)
        self.release = json.loads(PE.read_text(encoding="utf-8"))
        engine = create_engine(self.database)
        Base.metadata.create_all(engine)
        engine.dispose()
        with Gradebook(self.database) as gradebook:
            gradebook.add_assignment(NAME, course_id="default_course")
        names = {"notebook": "2_pe", "assignment": NAME, "db_url": self.database}
        SaveCells().preprocess(nbformat.read(PE, as_version=4), {"nbgrader": names})

    def hand_in(self, student: str, text: str) -> None:
        folder = self.folder / "submitted" / student / NAME
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "2_pe.ipynb").write_text(text, encoding="utf-8", errors="surrogatepass")
        shutil.copy(RELEASE / "pe.py", folder)

    def autograde(self, outputs: list[Any] | None, student: str = "*", fails: bool = False) -> list[Kernel]:
        """Grade, with a kernel that answers so to the released cell, and with all points to every other."""
        from nbgrader.converters import Autograde
        from nbgrader.converters.base import NbGraderException
        from nbgrader.coursedir import CourseDirectory
        from nbgrader.preprocessors import Execute

        (released,) = [cell for cell in self.release["cells"] if "nbgrader" in cell["metadata"]]
        kernels: list[Kernel] = []

        def start(execute: Any) -> Kernel:
            kernels.append(Kernel(outputs, "".join(released["source"])))
            execute.km = kernels[-1]
            return kernels[-1]

        self.patch.setattr(Execute, "create_kernel_manager", start)
        self.config.CourseDirectory.student_id = student
        grading = Autograde(coursedir=CourseDirectory(config=self.config), config=self.config, force=True)
        if fails:
            with pytest.raises(NbGraderException):
                grading.start()
        else:
            grading.start()
        return kernels

    def scores(self) -> dict[str, tuple[float | None, bool]]:
        from nbgrader.api import Gradebook

        with Gradebook(self.database) as gradebook:
            submissions = gradebook.assignment_submissions(NAME)
            grades = {one.student.id: one.notebooks[0].grades[0] for one in submissions}
            return {student: (grade.auto_score, grade.needs_manual_grade) for student, grade in grades.items()}


@pytest.fixture
def students(tmp_path, config, monkeypatch) -> Class:
    return Class(tmp_path, config, monkeypatch)


def compare(students: Class, seed: int, number: int) -> None:
    """No edit changes the points, which are 2.0 here."""
    dice = random.Random(seed)
    names = [f"s{number:03}" for number in range(number)]
    for name in names:
        students.hand_in(name, edited(students.release, dice, 4))
    kernels = students.autograde([SHOWN, result("2.0")])
    assert students.scores() == dict.fromkeys(names, (2.0, False))
    assert all(len(kernel.ran) == 1 and kernel.ran[0] == kernel.released for kernel in kernels)


@pytest.mark.filterwarnings("ignore")
def test_no_edit_of_a_notebook_changes_the_points(students):
    compare(students, 1, 8)


@pytest.mark.filterwarnings("ignore")
def test_half_a_character_anywhere_in_a_notebook_stops_nobody(students):
    for kind in ("code", "markdown", "graded"):
        notebook = copy.deepcopy(students.release)
        cells = [cell for cell in notebook["cells"] if (kind == "graded") == ("nbgrader" in cell["metadata"])]
        cell = next(cell for cell in cells if cell["cell_type"] == ("markdown" if kind == "markdown" else "code"))
        cell |= {"source": "cut \ud83d", "id": "\ud83d"}
        cell["metadata"]["\ud83d"] = notebook["metadata"]["\ud83d"] = "\ud83d"
        students.hand_in(kind, json.dumps(notebook))
    students.autograde([result("2.0")])
    assert students.scores() == dict.fromkeys(("code", "markdown", "graded"), (2.0, False))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(2, 12))
def test_no_edit_of_a_notebook_changes_the_points_of_a_large_class(students, seed):
    compare(students, seed, 100)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", some([*REFUSED, "dies"], every=15))
def test_who_is_not_graded_has_no_points(students, name):
    """Nor those of an earlier submission, whatever goes wrong."""
    students.hand_in("anna", json.dumps(students.release))
    students.autograde([result("5.0")])
    assert students.scores() == {"anna": (5.0, False)}
    students.autograde(REFUSED.get(name), fails=True)
    assert students.scores() == {"anna": (None, True)}


@pytest.mark.filterwarnings("ignore")
def test_a_cell_that_is_not_in_the_release_is_not_graded(students):
    """The release is another one than that of the gradebook."""
    students.hand_in("anna", json.dumps(students.release))
    without = {**students.release, "cells": students.release["cells"][:3]}
    path = students.folder / "notebooks" / NAME / "2_pe.ipynb"
    path.write_text(json.dumps(without), encoding="utf-8")
    students.autograde([result("5.0")], fails=True)
    assert students.scores() == {"anna": (None, True)}
    path.unlink()
    students.autograde([result("5.0")], fails=True)
    assert students.scores() == {"anna": (None, True)}
