"""requests.csv: the students' requests for regrading, and the staff's answers.

Columns: student, test, request, asked, answer, who, when. The list may come from a form or from emails; the review page
shows it and records the answers. The student reads the answer on the feedback page. Points are changed in review.csv.
"""

from dataclasses import dataclass
from pathlib import Path

from autograder.reports.csv_sheet import Sheet
from course.errors import UserError

NAME = "requests.csv"
REQUIRED = ("student", "request")
COLUMNS = ("student", "test", "request", "asked", "answer", "who", "when")


@dataclass(frozen=True)
class Request:
    """A row of requests.csv."""

    student: str
    test: str
    request: str
    asked: str  # when
    answer: str
    who: str  # who answered
    when: str
    row: int = 0  # in the file

    def told(self) -> str:
        """The request and its answer, in words."""
        about = f" about {self.test}" if self.test else ""
        return f"You asked{about}: {self.request.rstrip('.')}. Answer: {self.answer}"


def read_requests(folder: Path) -> list[Request]:
    """All requests in order; empty if there is no requests.csv.

    Raises:
        UserError: if a row is wrong.
    """
    path = folder / NAME
    return parse_requests(Sheet.read(path)) if path.exists() else []


def parse_requests(sheet: Sheet) -> list[Request]:
    """The requests in a file.

    Raises:
        UserError: if a row is wrong.
    """
    found = []
    for row, cells in sheet.records(REQUIRED, COLUMNS):
        student = cells["student"].removeprefix("'")
        if not student or not cells["request"]:
            raise UserError(f"{sheet.path}, row {row} needs a student and a request")
        found.append(Request(**{**cells, "student": student}, row=row))
    return found


def still_open(requests: list[Request]) -> list[Request]:
    """The requests without an answer."""
    return [request for request in requests if not request.answer]
