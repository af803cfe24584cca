"""Problems of rows and files: their place, reason and remedy."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from icaps.errors import DataError

LISTED = 5  # problems of each kind that are stored at most; all are counted


@dataclass(frozen=True)
class Problem:
    """A problem of a row, or of a whole file.

    Attributes:
        kind: Kind of problem, such as "ragged row".
        file: The file.
        line: Line of the file from 1, or row if a format has no lines; None for the whole file.
        column: Character in the line from 1, or name of the table's column.
        reason: The reason, and what to do about it.
        unit: What `line` counts: "line" or "row".
    """

    kind: str
    file: str
    line: int | None
    column: int | str | None
    reason: str
    unit: str = "line"

    def __str__(self) -> str:
        place = self.file
        if self.line is not None:
            place += f", {self.unit} {self.line}"
        if self.column is not None:
            place += f", column {self.column!r}"
        return f"{place}: {self.reason}"


class FileError(DataError):
    """Raised if a file cannot be read, or not to its end; `problem` says where and why."""

    def __init__(
        self,
        kind: str,
        file: str,
        reason: str,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.problem = Problem(kind, file, line, column, reason)
        super().__init__(str(self.problem))

    @classmethod
    def of(cls, problem: Problem) -> FileError:
        """The error of a bad row that stops the reading."""
        error = cls(problem.kind, problem.file, problem.reason)
        error.problem = problem
        error.args = (str(problem),)
        return error


@dataclass
class Problems:
    """The bad rows of one pass over a source: the count of each kind, and the first ones."""

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, list[Problem]] = field(default_factory=dict)

    def add(self, problem: Problem) -> None:
        """Counts a problem, and stores it if it is one of the first of its kind."""
        self.counts[problem.kind] += 1
        listed = self.first.setdefault(problem.kind, [])
        if len(listed) < LISTED:
            listed.append(problem)

    @property
    def total(self) -> int:
        """The number of bad rows."""
        return self.counts.total()

    def __bool__(self) -> bool:
        return bool(self.counts)

    def summary(self) -> str:
        """The kinds with their counts, such as "2 ragged row, 1 missing label"."""
        return ", ".join(f"{count:,} {kind}" for kind, count in self.counts.most_common())

    def error(self, good: int) -> DataError:
        """The error for these rows, among `good` others."""
        problem = next(iter(self.first.values()))[0]
        rows = self.total + good
        return DataError(
            f"{problem} {self.total:,} of {rows:,} rows cannot be read ({self.summary()}). Fix "
            "them, or leave them out with --on-bad-rows skip (on_bad_rows='skip')."
        )
