"""Attacks by what is handed in: zip files with names that lead out, bombs, files that Python or torch would load."""

import io
import pickle
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.attacks.attack import pe
from tests.attacks.world import ROOT

HONEST = (ROOT / "solutions" / "transformer" / "pe.py").read_text(encoding="utf-8")
WRONG = "import torch\nfrom torch import nn\n" + pe()


@dataclass(frozen=True)
class ArchiveAttack:
    """A hostile zip file, and what must become of it. `MARK` in it is a path that no grading may create."""

    number: int
    name: str
    make: Callable[[zipfile.ZipFile, str], None]
    earned: bool  # whether the positional encoding gets its points
    says: str  # in the message of the test, or for full points in the notes of the instructor
    change: Callable[[bytes], bytes] = bytes

    def __str__(self) -> str:
        return f"{self.number} {self.name}"

    def write(self, path: Path, mark: str) -> None:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            self.make(archive, mark)
        path.write_bytes(self.change(buffer.getvalue()))


def files(*names: str, text: str = HONEST) -> Callable[[zipfile.ZipFile, str], None]:
    """A zip file with members of the same text."""

    def make(archive: zipfile.ZipFile, mark: str) -> None:
        for name in names:
            archive.writestr(name.replace("MARK", mark), text)

    return make


def beside(*names: str, text: str = "open({mark!r}, 'w')") -> Callable[[zipfile.ZipFile, str], None]:
    """An honest module, and beside it files that leave a mark when something loads them."""

    def make(archive: zipfile.ZipFile, mark: str) -> None:
        archive.writestr("pe.py", HONEST)
        for name in names:
            archive.writestr(name, text.format(mark=mark))

    return make


def link(archive: zipfile.ZipFile, mark: str) -> None:
    member = zipfile.ZipInfo("pe.py")
    member.create_system, member.external_attr = 3, 0o120777 << 16
    archive.writestr(member, str(ROOT / "solutions" / "transformer" / "pe.py"))


def linked_folder(archive: zipfile.ZipFile, mark: str) -> None:
    member = zipfile.ZipInfo("transformer")
    member.create_system, member.external_attr = 3, 0o120777 << 16
    archive.writestr(member, str(ROOT / "solutions" / "transformer"))
    archive.writestr("mha.py", "x = 1\n")


def bomb(archive: zipfile.ZipFile, mark: str) -> None:
    archive.writestr("pe.py", b" " * 200_000_000)


def many(archive: zipfile.ZipFile, mark: str) -> None:
    for number in range(10_000):
        archive.writestr(f"{number}.txt", "")
    archive.writestr("pe.py", HONEST)


def nested(archive: zipfile.ZipFile, mark: str) -> None:
    inner = b""
    for _ in range(6):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as layer:
            layer.writestr("inner.zip" if inner else "pe.py", inner or HONEST)
        inner = buffer.getvalue()
    archive.writestr("inner.zip", inner)


def overlapping(archive: zipfile.ZipFile, mark: str) -> None:
    """Thousands of names for one compressed text."""
    archive.writestr("pe.py", b"#" * 5_000_000)
    original = archive.filelist[0]
    for number in range(3000):
        member = zipfile.ZipInfo(f"{number}/pe.py")
        member.compress_size, member.file_size, member.CRC = original.compress_size, original.file_size, original.CRC
        member.header_offset, member.compress_type = original.header_offset, original.compress_type
        archive.filelist.append(member)


def claims(size: int) -> Callable[[bytes], bytes]:
    """Let both headers of the first member say another size than the truth."""

    def change(data: bytes) -> bytes:
        changed = bytearray(data)
        struct.pack_into("<I", changed, data.index(b"PK\x03\x04") + 22, size)
        struct.pack_into("<I", changed, data.index(b"PK\x01\x02") + 24, size)
        return bytes(changed)

    return change


def ends_early(data: bytes) -> bytes:
    """Put a NUL character into a name, which `zipfile` would not write."""
    return data.replace(b"pe.py@.txt", b"pe.py\0.txt")


class Bomb:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return open, (self.mark, "w")


def pickles(archive: zipfile.ZipFile, mark: str) -> None:
    archive.writestr("pe.py", HONEST)
    for name in ("model.pt", "weights.pth", "de-en/model.pt", "data.pkl", "pe.pt", "checkpoint.bin"):
        archive.writestr(name, pickle.dumps(Bomb(mark)))


def loads_pickle(archive: zipfile.ZipFile, mark: str) -> None:
    text = f"import io\nclass Bomb:\n    def __reduce__(self): return open, ({mark!r}, 'w')\n"
    text += "file = io.BytesIO()\ntorch.save(Bomb(), file)\nfile.seek(0)\ntorch.load(file, weights_only=False)\n"
    archive.writestr("pe.py", "import torch\n" + text + WRONG)


def twice(archive: zipfile.ZipFile, mark: str) -> None:
    archive.writestr("pe.py", WRONG)
    archive.writestr("pe.py", HONEST)


LOADED = ("torch.py", "numpy.py", "safetensors.py", "conftest.py", "sitecustomize.py", "usercustomize.py", "evil.pth")
ATTACKS = [
    ArchiveAttack(47, "a path that leads out", files("../../MARK", "../pe.py", "a/../../pe.py"), False, "missing"),
    ArchiveAttack(47, "a path of Windows that leads out", files("..\\pe.py", "C:\\pe.py", "C:pe.py"), False, "missing"),
    ArchiveAttack(47, "an absolute path", files("MARK", "/pe.py", "//host/pe.py"), False, "missing"),
    ArchiveAttack(
        47, "a name that ends early", files("pe.py@.txt", "pe.py\n", "\x1b[2Jpe.py"), False, "missing", ends_early
    ),
    ArchiveAttack(47, "a link", link, False, "symbolic link"),
    ArchiveAttack(47, "a linked folder", linked_folder, False, "missing"),
    ArchiveAttack(48, "a bomb", bomb, False, "larger than"),
    ArchiveAttack(48, "a size that lies: small", files("pe.py", text=HONEST + "#" * 90_000), False, "", claims(10)),
    ArchiveAttack(48, "a size that lies: large", files("pe.py"), True, "", claims(2**32 - 2)),
    ArchiveAttack(48, "10,000 members", many, False, "10,001 files"),
    ArchiveAttack(48, "zip files in zip files", nested, False, "zip file in a zip file"),
    ArchiveAttack(48, "many names for one text", overlapping, False, ""),
    ArchiveAttack(49, "files that Python loads by itself", beside(*LOADED), True, "ignored"),
    ArchiveAttack(49, "the same in folders", beside("torch/__init__.py", "autograder/manifest.py"), True, "ignored"),
    ArchiveAttack(49, "a name that stands twice", twice, False, "more than once"),
    ArchiveAttack(49, "another spelling of the same name", files("PE.py", "pe.PY", "pe.py/pe.txt"), False, "missing"),
    ArchiveAttack(49, "no archive at all", files("pe.py"), False, "damaged", lambda data: data[:60]),
    ArchiveAttack(50, "malicious .pt files", pickles, True, ""),
    ArchiveAttack(50, "a module that loads one", loads_pickle, False, ""),
]
