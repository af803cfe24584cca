"""Problems of rows and files: their place, reason and remedy."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

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


class ColumnPair(NamedTuple):
    """A choice of the text columns and the label column, or of several with a class each."""

    text: tuple[str, ...]
    label: str | tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The label columns; none if the labels are not read."""
        if isinstance(self.label, tuple):
            return self.label
        return (self.label,) if self.label else ()

    def flags(self) -> str:
        """The choice as options of the command line."""
        options = [("text", name) for name in self.text]
        options += [("label", name) for name in self.labels]
        return " ".join(f"--{option} {shlex.quote(name)}" for option, name in options)

    def keywords(self) -> str:
        """The choice as keyword arguments."""
        return ", ".join(
            f"{name}={(columns[0] if len(columns) == 1 else list(columns))!r}"
            for name, columns in (("text", self.text), ("label", self.labels))
            if columns
        )


class UnclearColumnsError(FileError):
    """The text and the label columns cannot be told with certainty, so that a user must choose.

    Attributes:
        columns: All columns of the file.
        text_candidates: The columns that may hold the texts, the likeliest first.
        label_candidates: The columns that may hold the labels, the likeliest first.
        choices: The likeliest choices of both, at most two.
        samples: The first values of each column, as strings.
    """

    def __init__(
        self,
        file: str,
        reason: str,
        columns: Sequence[str],
        text_candidates: Sequence[str] = (),
        label_candidates: Sequence[str] = (),
        choices: Sequence[ColumnPair] = (),
        samples: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        super().__init__("unclear columns", file, reason)
        self.columns = tuple(columns)
        self.text_candidates = tuple(text_candidates)
        self.label_candidates = tuple(label_candidates)
        self.choices = tuple(choices)
        self.samples = dict(samples or {})


class NoLabelsError(FileError):
    """The file has texts but no labels: it is for prediction, not for training or scores."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__("no labels", file, reason)


class EncodingCandidate(NamedTuple):
    """An encoding that fits the bytes of a file, and a line of the file decoded with it."""

    encoding: str
    sample: str


class UnclearEncodingError(FileError):
    """The bytes of a file fit several encodings, so that a user must choose.

    Attributes:
        candidates: The likeliest encodings, with a sample line of each, the likeliest first.
    """

    def __init__(self, file: str, reason: str, candidates: Sequence[EncodingCandidate]) -> None:
        super().__init__("unknown encoding", file, reason)
        self.candidates = tuple(candidates)


class SeparatorCandidate(NamedTuple):
    """A separator that may be between the labels of a text, a cell with it, and its classes."""

    separator: str
    sample: str
    classes: tuple[str, ...]


class UnclearLabelsError(FileError):
    """The labels may be several per text with a separator between them; a user must say which.

    Attributes:
        column: The column of the labels.
        candidates: The likeliest separators.
    """

    def __init__(
        self, file: str, reason: str, column: str, candidates: Sequence[SeparatorCandidate]
    ) -> None:
        super().__init__("unclear labels", file, reason)
        self.column = column
        self.candidates = tuple(candidates)


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
