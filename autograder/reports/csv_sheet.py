"""A CSV file from another program: every cell that we do not fill keeps its text and position."""

import codecs
import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from course.errors import UserError

SEPARATOR = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)  # a first line that tells Excel the delimiter


@dataclass
class Sheet:
    """The rows of a CSV file, header first, and its format."""

    path: Path
    rows: list[list[str]]
    delimiter: str = ","
    line_end: str = "\r\n"
    encoding: str = "utf-8"
    separator: str = ""  # the line "sep=;" before the header, if there is one

    @classmethod
    def read(cls, path: Path) -> "Sheet":
        """Read a CSV file as spreadsheets save it: UTF-8 or UTF-16, with commas, semicolons or tabs.

        Raises:
            UserError: if it is not a CSV file, or a row has more cells than the header, since a comma without quotes
                would shift all later cells.
        """
        try:
            data = path.read_bytes()
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror}") from error
        encoding = encoding_of(data)
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError as error:
            raise UserError(f"{path} is not UTF-8: export it again, or save it as 'CSV UTF-8'") from error
        declared = SEPARATOR.match(text)
        separator = declared[0] if declared else ""
        text = text[len(separator) :]
        delimiter = declared[1] if declared else max(",;\t", key=text.partition("\n")[0].count)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        try:
            numbered = [(reader.line_num + bool(separator), row) for row in reader]
        except csv.Error as error:
            line = reader.line_num + bool(separator)
            raise UserError(f"{path}, line {line}: {error}: export it again") from error
        rows = [row for _, row in numbered]
        if not rows or not any(rows[0]):
            raise UserError(f"{path} is empty: export it again")
        width = max((at for at, cell in enumerate(rows[0], start=1) if cell.strip()), default=0)
        for line, row in numbered:
            if any(cell.strip() for cell in row[width:]):
                raise UserError(
                    f"{path}, line {line} has more cells than the header: put a cell that contains {delimiter!r} in "
                    "quotes, or name the column"
                )
        line_end = "\r\n" if "\r\n" in text else "\n"
        return cls(path, rows, delimiter, line_end, encoding, separator)

    @property
    def header(self) -> list[str]:
        return self.rows[0]

    def column(self, *names: str) -> int:
        """The index of the first of these columns that exists.

        Raises:
            UserError: if none exists, or if it occurs twice.
        """
        cells = [cell.strip() for cell in self.header]
        for name in names:
            if name in cells:
                return self._only(name, cells)
        raise UserError(f"{self.path} has no column {names[0]!r}; its columns are: {', '.join(cells)}")

    def _only(self, name: str, cells: list[str]) -> int:
        """The index of a name in the header.

        Raises:
            UserError: if it occurs twice.
        """
        if (times := cells.count(name)) > 1:
            raise UserError(f"{self.path} has the column {name!r} {times} times: keep one")
        return cells.index(name)

    def has(self, name: str) -> bool:
        """Whether there is a column with this name."""
        return name in [cell.strip() for cell in self.header]

    def row_in_file(self, row: int) -> int:
        """The number of a row in a spreadsheet."""
        return row + 1 + bool(self.separator)

    def records(self, required: Sequence[str], columns: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
        """The non-empty rows as dictionaries by column name, each with its row number in a spreadsheet.

        Raises:
            UserError: if a required column is missing, or a column occurs twice.
        """
        header = [cell.strip().lower() for cell in self.header]
        at = {name: self._only(name, header) for name in columns if name in header}
        if missing := [name for name in required if name not in at]:
            raise UserError(f"{self.path} lacks the column {', '.join(missing)}; its columns are {', '.join(columns)}")
        rows = [
            (self.row_in_file(row), {name: self.cell(row, at[name]) if name in at else "" for name in columns})
            for row in range(1, len(self.rows))
        ]
        return [(row, cells) for row, cells in rows if any(cells.values())]

    def cell(self, row: int, column: int) -> str:
        """The text of a cell; rows may be shorter than the header."""
        cells = self.rows[row]
        return cells[column].strip() if column < len(cells) else ""

    def fill(self, row: int, column: int, text: str) -> None:
        """Write a cell."""
        cells = self.rows[row]
        cells += [""] * (column + 1 - len(cells))
        cells[column] = text

    def keep(self, columns: set[int]) -> None:
        """Remove all other columns."""
        self.rows = [[cell for at, cell in enumerate(row) if at in columns] for row in self.rows]

    def data(self) -> bytes:
        """The bytes of the file."""
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=self.delimiter, lineterminator=self.line_end).writerows(self.rows)
        return (self.separator + text.getvalue()).encode(self.encoding)


def encoding_of(data: bytes) -> str:
    """A file's encoding according to its byte order mark, or UTF-8 if there is none."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"
