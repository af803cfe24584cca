"""What every format is turned into: named columns, and rows that can be read again and again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from icaps.data.problems import Problem

ABSENT = object()  # the value of a field that a row doesn't have at all

# The file, its line or row from 1, and the values of the columns asked for, in their order.
Row = tuple[str, int, Sequence[Any]]


@dataclass(frozen=True)
class FileDescription:
    """What was found out about a file, a folder of texts or data in memory.

    Attributes:
        file: Its path, or in brackets what is in memory.
        format: "CSV", "JSON Lines", "Parquet" and so on.
        columns: The names of its columns; "1", "2" and so on where a file has no header.
        unit: What its rows are counted in: "line" or "row".
        compression: "gzip", "bzip2", "xz", "zstd" or "zip".
        encoding: Of its text; None where the format has its own.
        delimiter: Between the fields of a line.
        quoted: Whether a quote around a field hides delimiters and line ends.
        header: Whether the first line names the columns.
        class_first: Whether it has Zhang et al.'s layout: no header, the number of the class, then
            texts whose line ends are written as a backslash and an n.
        text: The columns whose texts are taken, joined by a space.
        label: The column of the class.
        classes: Names of the classes, where labels are their numbers.
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
    classes: tuple[str, ...] | None = None


class Table(Protocol):
    """Rows with named columns, streamed from a file or from memory."""

    @property
    def about(self) -> FileDescription:
        """What is known before the text and label columns are chosen."""

    def rows(self, columns: Sequence[str]) -> Iterator[Row | Problem]:
        """The rows in order, each with the values of `columns`, and a problem for each bad one.

        Raises:
            FileError: The rest of the file can't be read.
        """

    def class_names(self, column: str) -> tuple[str, ...] | None:
        """Names of the numbers in a column, from 0, where the table itself holds them."""
