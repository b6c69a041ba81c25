"""Read a submission: find a student's modules by name in a folder or a zip file, and read their source code."""

import contextlib
import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from autograder.manifest import Assignment
from autograder.submissions.loose_files import OTHER_ARCHIVES, is_module, not_read, without_number
from autograder.submissions.source_text import NOTEBOOK, is_notebook, source_text
from autograder.submissions.untrusted_files import (
    MAX_ARCHIVE,
    MAX_FILE,
    Archive,
    Folder,
    Listing,
    Tree,
    Unreadable,
    open_zip,
    printable,
    read_regular,
)
from course.errors import UserError

MAX_NOTEBOOK = 4_000_000  # bytes to read to recognise a notebook
MAX_TOTAL = 180_000  # bytes of all modules as JSON: with the stand-ins they must fit into a frame's header
MAX_NOTES = 8
HANDED_OUT = "a course file that was handed out"
ELSEWHERE = "a module, but a different file or folder counts"
IMPORTED = (".py", ".pyc", ".pyd", ".pth", ".so")  # files that Python would load by itself if they were on its path


@dataclass(frozen=True)
class Submission:
    """A student's submission."""

    name: str
    sources: dict[str, str]
    unreadable: dict[str, str] = field(default_factory=dict)  # module -> why it has no source code
    review: tuple[str, ...] = ()  # notes on the files for the instructor
    files: tuple[str, ...] = ()  # notes for the student: which files count, and which were not read
    left: tuple[tuple[str, str], ...] = ()  # (file that does not count, reason); a folder means all its files
    kept: dict[str, bytes] = field(default_factory=dict)  # name -> file as it was handed in; see `read_tree`

    @property
    def digest(self) -> str:
        """The SHA-256 hash of everything that affects the grade; it does not depend on the files' location."""
        content = json.dumps([sorted(self.sources.items()), sorted(self.unreadable.items())])
        return hashlib.sha256(content.encode()).hexdigest()


def read_submission(path: Path, assignment: Assignment) -> Submission:
    """Read the modules of an assignment from one student's folder or zip file; other files are not read.

    Raises:
        UserError: if it does not exist or has none of the modules.
    """
    if path.suffix.lower() == ".zip" and path.is_file():
        submission = read_zip(str(path), path, assignment)
    elif path.is_dir():
        submission = read_tree(str(path), Folder(path), assignment)
    else:
        raise UserError(f"there is no folder {path}")
    if not submission.sources and set(submission.unreadable.values()) == set(_missing(assignment).values()):
        raise UserError(f"{path} contains none of the modules {_names(assignment)}")
    return submission


def read_zip(name: str, path: Path, assignment: Assignment) -> Submission:
    """Read the modules from one student's zip file; if it is damaged, all modules count as unreadable."""
    try:
        archive = Archive.of_bytes(read_regular(path, MAX_ARCHIVE))
    except Unreadable as error:
        return nothing_readable(name, f"{printable(path.name)} {error}", assignment)
    return read_tree(name, archive, assignment)


def read_tree(name: str, tree: Tree, assignment: Assignment, keep: Collection[str] = ()) -> Submission:
    """Read the modules from a folder or an archive.

    The modules may be at the top level, in a folder named after the assignment, or in any other folder.

    A zip file is opened if there are no modules next to it. If a module exists only under resubmission names
    (`mha-1.py`, `mha (1).py`), the latest version counts.

    Args:
        keep: names of files to keep as they are, with the modules. If there are several, the one next to the modules
            counts, then the latest version.
    """
    allowed = {f"{module}.py": module for module in assignment.modules}
    listing = tree.listing()
    folders: dict[str, dict[str, str]] = {}  # folder -> module -> file name
    for file in sorted(map(PurePosixPath, listing.files), key=lambda file: without_number(file.name)[1]):
        plain, number = without_number(file.name)
        if plain in allowed:
            here = folders.setdefault(str(file.parent), {})
            if not number or here.get(allowed[plain]) != plain:
                here[allowed[plain]] = file.name
    if not folders:
        zips = [path for path in listing.files if path.lower().endswith(".zip")]
        if len(zips) == 1:
            try:
                inner = read_tree(name, open_zip(tree, zips[0]), assignment, keep)
            except Unreadable as error:
                left = ((zips[0], str(error)), *_left(listing, {zips[0]}, assignment))
                return replace(nothing_readable(name, f"{printable(zips[0])} {error}", assignment), left=left)
            in_zip = ((f"{zips[0]}/{path}", why) for path, why in inner.left)
            return replace(inner, left=(*_left(listing, {zips[0]}, assignment), *in_zip))
        unread = (*listing.for_student, *not_read(listing.files, (), assignment.modules))
        nothing = "none of the modules is among the files" if listing.files else "nothing was handed in"
        review = (nothing, *_notes(listing, set()))
        missing = _missing(assignment, listing.files)
        kept = _kept(tree, listing, keep, "", {})
        return Submission(name, {}, missing, review, unread, _left(listing, set(), assignment), kept)

    def rank(folder: str) -> tuple[bool, bool, int, bool]:
        named = PurePosixPath(folder).name == assignment.name
        return len(folders) == 1 or not untouched(folder), named, len(folders[folder]), folder == "."

    def untouched(folder: str) -> bool:
        """Whether a folder's modules are the course's own, unchanged; folders with changed modules take precedence."""
        try:
            texts = {module: _text(tree, str(PurePosixPath(folder, file))) for module, file in folders[folder].items()}
        except Unreadable:
            return False
        return any(
            all(text == text_of_course(home / f"{module}.py") for module, text in texts.items())
            for home in (assignment.released, assignment.standins)
        )

    best = max(map(rank, folders))
    chosen, *others = sorted(folder for folder in folders if rank(folder) == best)
    if others:
        where = ", ".join(map(printable, [chosen, *others][:4]))
        why = f"there are modules in several folders ({where}): hand in only one of them"
        return replace(nothing_readable(name, why, assignment), left=_left(listing, set(), assignment, why))

    sources: dict[str, str] = {}
    unreadable = _missing(assignment, listing.files)
    notes, failed = list(listing.for_student), dict[str, str]()  # failed: path -> why it has no source code
    for module, file_name in sorted(folders[chosen].items()):
        path = str(PurePosixPath(chosen, file_name))
        notes += [f"{module}.py was read from {printable(file_name)}"] if file_name not in allowed else []
        try:
            if why := listing.files[path]:
                raise Unreadable(why)
            sources[module] = _text(tree, path)
            del unreadable[module]
        except Unreadable as error:
            unreadable[module], failed[path] = f"{file_name} {error}", str(error)
    while len(json.dumps(sources)) > MAX_TOTAL:
        largest = max(sources, key=lambda module: len(json.dumps(sources[module])))
        why = f"is too large: all modules together may have at most {MAX_TOTAL:,} bytes"
        unreadable[largest], failed[str(PurePosixPath(chosen, folders[chosen][largest]))] = f"{largest}.py {why}", why
        del sources[largest]
    used = {str(PurePosixPath(chosen, file_name)) for file_name in folders[chosen].values()}
    order = [module for module in assignment.modules if module in sources]
    left = _left(listing, used, assignment)
    kept = _kept(tree, listing, keep, chosen, folders[chosen]) if keep else {}
    if PurePosixPath(chosen).parts[-2:] == ("notebooks", assignment.name):
        # A copy of the course: everything else was handed out, except modules that were moved elsewhere.
        root = chosen.removesuffix(f"notebooks/{assignment.name}")
        given = (f"{root}autograder/", f"{root}solutions/")

        def looked_at(path: str) -> bool:
            a_module = is_module(PurePosixPath(path).name, assignment.modules) and not path.startswith(given)
            return a_module or path.startswith(f"{chosen}/")

        listing.files = {path: why for path, why in listing.files.items() if looked_at(path)}
        left = _left_in_course(left, root, chosen, assignment)
    notes += not_read(listing.files, used, assignment.modules)
    sources = {module: sources[module] for module in order}
    reasons = "; ".join(unreadable[module] for module in sorted(folders[chosen]) if module in unreadable)
    review = _notes(listing, used)
    if not sources:
        review = (f"none of the modules can be read: {reasons}", *review)
    return Submission(name, sources, unreadable, review, tuple(notes), (*failed.items(), *left), kept)


def _kept(
    tree: Tree, listing: Listing, names: Collection[str], chosen: str, modules: dict[str, str]
) -> dict[str, bytes]:
    """Return the modules in the chosen folder, and the best file for each name, as they were handed in."""
    best: dict[str, tuple[tuple[bool, bool, int], str]] = {}
    for path in listing.files:
        place = PurePosixPath(path)
        name, number = without_number(place.name)
        if name in names and not listing.files[path]:
            candidate = (str(place.parent) == chosen, not number, number), path
            best[name] = max(best.get(name, candidate), candidate)
    places = {f"{module}.py": str(PurePosixPath(chosen, file)) for module, file in modules.items()}
    paths = {name: path for name, path in places.items() if not listing.files[path]}
    kept = {}
    for name, path in (paths | {name: path for name, (_, path) in best.items()}).items():
        with contextlib.suppress(Unreadable):
            kept[name] = tree.read(path, MAX_NOTEBOOK)
    return kept


def nothing_readable(name: str, why: str, assignment: Assignment) -> Submission:
    """Return a submission that contains only the reason why a student's modules cannot be read."""
    return Submission(name, {}, dict.fromkeys(assignment.modules, why), (why,), (why,))


def text_of_course(path: Path) -> str | None:
    """The text of one of the course's own modules, or None if there is no such file."""
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _left(
    listing: Listing, used: set[str], assignment: Assignment, why_modules: str = ELSEWHERE
) -> tuple[tuple[str, str], ...]:
    """Return every listed file that is not used, with the reason, so that no file is dropped silently."""

    def reason(path: str) -> str:
        if is_module(PurePosixPath(path).name, assignment.modules):
            return why_modules
        return f"not a module of {assignment.name}"

    rest = ((path, why or reason(path)) for path, why in listing.files.items() if path not in used)
    return (*rest, *listing.left.items())


def _left_in_course(
    left: Iterable[tuple[str, str]], root: str, chosen: str, assignment: Assignment
) -> tuple[tuple[str, str], ...]:
    """Summarise the ungraded files in a copy of the course by folder; mark files from the handout."""
    course = assignment.released.parent.parent
    reasons: dict[str, str] = {}
    for path, why in left:
        folder = _outermost(path, root, chosen) or path
        given, folder_given = ((course / place.removeprefix(root)).exists() for place in (path, folder))
        if given:
            reasons.setdefault(folder, HANDED_OUT)
        else:
            reasons[path if folder_given else folder] = why
    return tuple(reasons.items())


def _outermost(path: str, root: str, chosen: str) -> str:
    """Return the outermost folder (in a copy of the course) that contains the file but not the modules, or ""."""
    parts = path.split("/")
    folders = ("/".join(parts[:depth]) + "/" for depth in range(1, len(parts)))
    return next((folder for folder in folders if len(folder) > len(root) and not f"{chosen}/".startswith(folder)), "")


def _text(tree: Tree, path: str) -> str:
    try:
        return source_text(tree.read(path, MAX_FILE))
    except Unreadable as error:
        large = b""
        with contextlib.suppress(Unreadable):
            large = tree.read(path, MAX_NOTEBOOK)
        raise (Unreadable(NOTEBOOK) if is_notebook(large.decode(errors="replace")) else error) from None


def _names(assignment: Assignment) -> str:
    return ", ".join(f"{module}.py" for module in assignment.modules)


def _missing(assignment: Assignment, files: Iterable[str] = ()) -> dict[str, str]:
    """Return a message for each missing module, with a hint about names in the wrong case and unreadable archives."""
    names = [PurePosixPath(path).name for path in files]
    others = {name.lower(): name for name in names if name != name.lower()}
    packed = next((name for name in names if name.lower().endswith(OTHER_ARCHIVES)), "")
    reasons = {}
    for module in assignment.modules:
        reasons[module] = f"{module}.py is missing from the submission"
        if other := others.get(f"{module}.py"):
            reasons[module] += f" (there is {printable(other)}: the name must be in lower case)"
        elif packed:
            reasons[module] += f" ({printable(packed)} cannot be read: hand in the files, or a zip file)"
    return reasons


def _notes(listing: Listing, used: set[str]) -> tuple[str, ...]:
    """Return notes on ignored files; unusual files, and files that Python would import, are listed by name."""
    others = ((path, why) for path, why in listing.files.items() if path not in used)
    ignored = [path for path, why in others if why or path.lower().endswith(IMPORTED)]
    if not ignored:
        return tuple(listing.notes[:MAX_NOTES])
    more = f" and {len(ignored) - MAX_NOTES} more" if len(ignored) > MAX_NOTES else ""
    return (*listing.notes[:MAX_NOTES], f"ignored {', '.join(map(printable, ignored[:MAX_NOTES]))}{more}")
