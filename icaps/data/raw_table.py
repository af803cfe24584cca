"""The interface of all file formats: rows with named columns, before text and label are chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from icaps.data.problems import Problem

ABSENT = object()  # the value of a field that a row lacks

# The file, its line or row from 1, and the values of the requested columns, in their order.
Row = tuple[str, int, Sequence[Any]]


@dataclass(frozen=True)
class FileDescription:
    """Format and columns of a file, a folder of texts or data in memory.

    Attributes:
        file: Its path; in brackets for data in memory.
        format: "CSV", "JSON Lines", "Parquet" and so on.
        columns: The names of its columns; "1", "2" and so on if a file has no header.
        unit: The unit of row numbers: "line" or "row".
        compression: "gzip", "bzip2", "xz", "zstd" or "zip".
        encoding: Encoding of its text; None if the format has its own.
        delimiter: Character between the fields of a line.
        quoted: Whether a quote around a field hides delimiters and line ends.
        header: Whether the first line names the columns.
        class_first: Whether it has Zhang et al.'s layout: no header, the number of the class, then
            texts whose line ends are written as a backslash and an n.
        text: The text columns, which are joined by a space.
        label: The column of the class; empty if each class has one.
        label_columns: The columns of 0 or 1 per text, if each class has one.
        multilabel: Whether a text may have any number of classes; see `icaps.data.label_sets`.
        separator: What is between the labels in a cell.
        classes: Class names, if labels are their numbers.
        notes: What a user should know about how the file is read, as sentences.
    """

    file: str
    format: str
    columns: tuple[str, ...]
    unit: str = "line"
    compression: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    quoted: bool | None = None
    header: bool | None = None
    class_first: bool = False
    text: tuple[str, ...] = ()
    label: str = ""
    label_columns: tuple[str, ...] = ()
    multilabel: bool = False
    separator: str | None = None
    classes: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()


class RawTable(Protocol):
    """Rows with named columns, streamed from a file or from memory."""

    @property
    def about(self) -> FileDescription:
        """What is known before the text and label columns are chosen."""

    def rows(self, columns: Sequence[str]) -> Iterator[Row | Problem]:
        """Yields the values of `columns` per row in order, or the problem of a bad row.

        Raises:
            FileError: The rest of the file cannot be read.
        """

    def class_names(self, column: str) -> tuple[str, ...] | None:
        """The names of the numbers in a column, from 0, if the table itself has them."""
