"""Read files from untrusted folders and zip archives by name, within size limits, without extracting anything."""

import io
import os
import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Protocol

MAX_FILE = 100_000  # bytes of a module; the longest honest modules are a third of that size
MAX_ARCHIVE = 64 * 1024 * 1024  # bytes of a student's zip file, which is read into memory
MAX_MEMBERS = 4_000  # files per student
MAX_FOLDERS = 1_000  # folders per student, so that a search of a home folder ends
MAX_CLASS_MEMBERS = 500_000  # files in a download of a whole class
MAX_DEPTH = 5  # folders above a file
MAX_NAME = 300  # characters in a path
MAX_NESTING = 2  # levels of zip files
MAX_RATIO = 100  # uncompressed bytes per compressed byte, above FREE_SIZE
FREE_SIZE = 64 * 1024
# Files and folders added by systems and programs: ignored by name, wherever they are.
ADDED = {
    **dict.fromkeys(("__MACOSX", ".DS_Store"), "macOS adds it"),
    **dict.fromkeys(("Thumbs.db", "desktop.ini"), "Windows adds it"),
    **dict.fromkeys(("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".venv"), "Python tools add it"),
    ".ipynb_checkpoints": "Jupyter adds it",
    **dict.fromkeys((".git", ".gitignore", ".gitattributes", ".gitkeep", ".github"), "it is there for git"),
    **dict.fromkeys((".vscode", ".idea"), "an editor adds it"),
}
HIDDEN = "its name begins with a dot"
TOO_DEEP = f"is more than {MAX_DEPTH} folders deep"
MORE = f"more than {MAX_MEMBERS:,} files or {MAX_FOLDERS:,} folders: the others were not examined"
UTF8_FLAG = 0x800  # bit 11: the name is UTF-8 (APPNOTE.TXT, 4.4.4)
CENTRAL_HEADER = b"PK\x01\x02"  # starts the entry of each member in a zip file's directory (APPNOTE.TXT, 4.3.12)

# Exceptions that `zipfile` raises for damaged archives; BadZipFile is not the only one.
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class Unreadable(Exception):
    """A file or archive was not read; the message tells the student the reason."""


@dataclass
class Listing:
    """The contents of a folder or an archive."""

    files: dict[str, str] = field(default_factory=dict)  # path, with slashes -> why it must not be read, or ""
    left: dict[str, str] = field(default_factory=dict)  # other files and whole folders -> why they are left out
    notes: list[str] = field(default_factory=list)  # notes on files that were left out
    for_student: list[str] = field(default_factory=list)  # notes for the student


class Tree(Protocol):
    """A student's folder or archive."""

    @property
    def nesting(self) -> int:
        """The number of zip files in which the tree is nested."""

    def listing(self) -> Listing:
        """Return the files, keyed by path."""

    def read(self, path: str, limit: int) -> bytes:
        """Return the content of a file up to the size limit.

        Raises:
            Unreadable: if it cannot be read, is larger, or is not an ordinary file.
        """


def _not_all(found: Listing) -> None:
    found.notes.append(MORE)
    found.left["..."] = MORE


def added(name: str) -> str:
    """Return the reason why files with this name are ignored, such as "macOS adds it", or "" if they are not."""
    return ADDED["__MACOSX"] if name.startswith("._") else ADDED.get(name, "")


def in_names(char: str) -> bool:
    """Whether a character may appear in a name: printable characters, spaces and some scripts' joiners are allowed."""
    return char.isprintable() or char in "\u200c\u200d" or unicodedata.category(char) == "Zs"


def printable(name: str) -> str:
    """Make an external name safe for messages: no control characters, no lone surrogates, not too long."""
    shown = "".join(char if in_names(char) else "\N{REPLACEMENT CHARACTER}" for char in name)
    return shown if len(shown) <= 80 else shown[:60] + "..." + shown[-17:]


def read_regular(path: Path, limit: int) -> bytes:
    """Read an ordinary file completely. Links are not followed, and pipes and devices do not block.

    Raises:
        Unreadable: if it cannot be read, is larger than the limit, or is not an ordinary file.
    """
    try:
        if path.is_symlink():  # the only check on systems without O_NOFOLLOW
            raise Unreadable("is a symbolic link, which is not followed")
        flags = (getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"))
        with open(os.open(path, os.O_RDONLY | sum(flags)), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise Unreadable("is not an ordinary file")
            data = file.read(min(status.st_size, limit) + 1)
    except (OSError, ValueError) as error:
        raise Unreadable(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > limit:
        raise Unreadable(f"is larger than {limit:,} bytes")
    return data


class Folder:
    """A folder on disk."""

    nesting = 0

    def __init__(self, path: Path) -> None:
        self.path = path

    def listing(self) -> Listing:
        found = Listing()
        for number, (path, entry) in enumerate(self._walk(found)):
            if number >= MAX_MEMBERS:
                _not_all(found)
                break
            if entry.is_symlink():
                found.files[path] = "is a symbolic link, which is not followed"
            else:
                found.files[path] = "" if entry.is_file(follow_symlinks=False) else "is not an ordinary file"
        return found

    def _walk(self, found: Listing) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
        """Yield all files, starting with those near the top. Links to folders are not followed."""
        prefixes, listed = deque([""]), list["os.DirEntry[str]"]()
        for _ in range(MAX_FOLDERS):
            if not prefixes:
                return
            prefix = prefixes.popleft()
            try:
                with os.scandir(self.path / prefix) as entries:
                    # At most the limit, since sorting needs all entries in memory.
                    listed = sorted(islice(entries, MAX_MEMBERS + 1), key=lambda entry: entry.name)
            except OSError as error:
                found.left[prefix] = f"the folder cannot be read: {error.strerror}"
                found.notes.append(f"the folder {printable(prefix) or '.'} cannot be read: {error.strerror}")
                continue
            for entry in listed:
                path, is_folder = prefix + entry.name, entry.is_dir(follow_symlinks=False)
                why = added(entry.name)
                if is_folder and not why:
                    why = HIDDEN if entry.name.startswith(".") else TOO_DEEP if path.count("/") >= MAX_DEPTH else ""
                if why:
                    found.left[f"{path}/" if is_folder else path] = why
                elif is_folder:
                    prefixes.append(f"{path}/")
                else:
                    yield path, entry
            if len(listed) > MAX_MEMBERS:
                break
        if prefixes or len(listed) > MAX_MEMBERS:
            _not_all(found)

    def read(self, path: str, limit: int) -> bytes:
        return read_regular(self.path / path, limit)


class Archive:
    """A zip archive, or a folder in a zip archive."""

    def __init__(self, archive: zipfile.ZipFile, members: "Iterable[Member]", nesting: int) -> None:
        self.archive, self.members, self.nesting = archive, list(members), nesting

    @classmethod
    def of_bytes(cls, data: bytes, nesting: int = 1) -> "Archive":
        """Open a student's archive from the bytes of the zip file.

        Raises:
            Unreadable: if it is damaged or has too many members.
        """
        # Counted before `zipfile` creates an object for each.
        if (count := data.count(CENTRAL_HEADER)) > MAX_MEMBERS:
            raise Unreadable(f"contains {count:,} files, more than {MAX_MEMBERS:,}")
        try:
            archive = zipfile.ZipFile(io.BytesIO(data))
            return cls(archive, members(archive), nesting)
        except DAMAGED as error:
            raise Unreadable(f"is not a zip file or is damaged ({printable(str(error))})") from error

    def listing(self) -> Listing:
        found = Listing()
        taken: dict[str, str] = {}  # names as seen by case-insensitive file systems
        for number, member in enumerate(self.members):
            if number >= MAX_MEMBERS:
                _not_all(found)
                break
            if member.refused:
                found.left[member.path] = member.refused
                if member.refused != TOO_DEEP:
                    found.notes.append(f"ignored {printable(member.path)}: {member.refused}")
            elif member.ignored[0]:
                found.left.setdefault(*member.ignored)
            else:
                if member.path in found.files:
                    found.files[member.path] = "is in the archive more than once"
                    found.notes.append(f"{printable(member.path)} is in the archive more than once")
                    continue
                found.files[member.path] = _forbidden(member.info)
                other = taken.setdefault(member.path.casefold(), member.path)
                if other != member.path:
                    names = f"{printable(other)} and {printable(member.path)}"
                    found.notes.append(f"{names} differ only in upper and lower case")
        return found

    def read(self, path: str, limit: int) -> bytes:
        info = next(member.info for member in self.members if member.path == path and not member.refused)
        allowed = min(limit, max(FREE_SIZE, MAX_RATIO * info.compress_size))
        try:
            with self.archive.open(info) as file:
                data = file.read(allowed + 1)  # counts the actual bytes, whatever the archive claims
        except DAMAGED as error:
            raise Unreadable(f"cannot be read from the archive ({printable(str(error))})") from error
        if len(data) > allowed:
            why = f"larger than {limit:,} bytes" if allowed == limit else f"compressed more than {MAX_RATIO}-fold"
            raise Unreadable(f"is {why}")
        return data


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive."""

    path: str  # without "." and with slashes
    info: zipfile.ZipInfo
    refused: str = ""  # why its name is not accepted

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.path.split("/"))

    @property
    def ignored(self) -> tuple[str, str]:
        """The path of the ignored file or outermost ignored folder, and the reason; empty strings if not ignored."""
        parts = self.parts
        for depth, part in enumerate(parts, 1):
            in_folder = depth < len(parts)
            if why := added(part) or (HIDDEN if in_folder and part.startswith(".") else ""):
                return "/".join(parts[:depth]) + "/" * in_folder, why
        return "", ""

    def below(self, folder: tuple[str, ...]) -> "Member":
        """Return the same file, with its path relative to a folder in the archive."""
        return Member("/".join(self.parts[len(folder) :]), self.info, self.refused)


def members(archive: zipfile.ZipFile) -> Iterator[Member]:
    """Yield the files in an archive; files with unsafe names are marked as refused."""
    for info in archive.infolist():
        raw = name_of(info)
        parts = [part for part in raw.replace("\\", "/").split("/") if part != "."]
        if parts[-1:] == [""]:
            continue  # a folder
        refused = ""
        if not all(map(in_names, raw)):
            refused = "its name contains control characters"
        elif len(raw) > MAX_NAME:
            refused = f"its name has more than {MAX_NAME} characters"
        elif ".." in parts:
            refused = "its name leads out of the archive"
        elif "" in parts or not parts or re.match("[A-Za-z]:", parts[0]):
            refused = "its name is absolute"
        elif len(parts) > MAX_DEPTH + 1:
            refused = TOO_DEEP
        yield Member("/".join(parts), info, refused)


def name_of(info: zipfile.ZipInfo) -> str:
    """Return the name of a file in an archive.

    Without the UTF-8 flag, the standard requires code page 437, but macOS and some programs on Linux write UTF-8
    without it. Text in that code page is almost never valid UTF-8.
    """
    # `filename` ends at a NUL character and is changed on Windows; this is the name stored in the archive.
    raw = info.orig_filename
    if info.flag_bits & UTF8_FLAG or raw.isascii():
        return raw
    try:
        return raw.encode("cp437").decode("utf-8")
    except UnicodeError:
        return raw


def _forbidden(info: zipfile.ZipInfo) -> str:
    """Return the reason why a member of an archive must not be read, or "" if it may be read."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "is a symbolic link, which is not followed"
    if kind not in (0, stat.S_IFREG):
        return "is not an ordinary file"
    if info.flag_bits & 0x41:  # bit 0: encrypted, bit 6: strongly encrypted (APPNOTE.TXT, 4.4.4)
        return "is encrypted"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is compressed with an unusual method"
    return ""


def open_zip(tree: Tree, path: str) -> Archive:
    """Open a zip file inside a folder or an archive.

    Raises:
        Unreadable: if it cannot be read or is nested too deeply.
    """
    if tree.nesting >= MAX_NESTING:
        raise Unreadable("is in a zip file in a zip file")
    return Archive.of_bytes(tree.read(path, MAX_ARCHIVE), tree.nesting + 1)
