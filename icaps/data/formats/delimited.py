"""CSV, TSV and the like as a table whose rows are streamed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

from icaps.data.encoding import lines, text_blocks
from icaps.data.formats.csv_rows import CsvRows
from icaps.data.formats.dialect import detect_dialect
from icaps.data.problems import Problem
from icaps.data.streams import DataFile
from icaps.data.table import FileDescription, Row


class DelimitedTable:
    """A file of delimited lines, with or without a header.

    Args:
        file: It.
        encoding: Of its text.
        delimiter: Between fields; None finds it out.
        wanted: Columns that the user named.

    Raises:
        FileError: It holds nothing, or its dialect can't be told: see `detect_dialect`.
    """

    def __init__(
        self, file: DataFile, encoding: str, delimiter: str | None, wanted: Sequence[str]
    ) -> None:
        self._file = file
        self._encoding = encoding
        self._name = str(file.path)
        preferred = "\t" if file.suffix in (".tsv", ".tab") else ","
        blocks = text_blocks(file, encoding)
        self._dialect = detect_dialect(blocks, self._name, delimiter, wanted, preferred)
        self.about = FileDescription(
            self._name,
            "TSV" if self._dialect.delimiter == "\t" else "CSV",
            self._dialect.columns,
            compression=file.compression,
            encoding=encoding,
            delimiter=self._dialect.delimiter,
            quoted=self._dialect.quoted,
            header=self._dialect.header,
            class_first=self._dialect.class_first,
        )

    def rows(self, columns: Sequence[str]) -> Iterator[Row | Problem]:
        """The rows in order, each with the values of `columns`, and a problem for each bad one.

        Raises:
            FileError: The rest of the file can't be read.
        """
        name, dialect = self._name, self._dialect
        pick = _picker([dialect.columns.index(column) for column in columns])
        width = len(dialect.columns)
        text = lines(text_blocks(self._file, self._encoding), name)
        reader = CsvRows(text, name, dialect.delimiter, dialect.quoted)
        rows = iter(reader)
        if dialect.header:
            for item in rows:
                if not isinstance(item, Problem):
                    break
                yield item
        for item in rows:
            if isinstance(item, Problem):
                yield item
                continue
            number, row = item
            if len(row) == width:
                yield name, number, pick(row)
            else:
                yield reader.ragged(row, width)

    def class_names(self, column: str) -> None:
        """None: such a file holds no names of numbers."""


def _picker(places: list[int]) -> Any:
    if len(places) > 1:
        return itemgetter(*places)
    return lambda row: (row[places[0]],)
