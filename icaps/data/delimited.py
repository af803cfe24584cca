"""CSV, TSV and the like: the delimiter and the header told by content, rows streamed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from icaps.data.columns import LABEL_COLUMNS, TEXT_COLUMNS
from icaps.data.csv_rows import CsvRows
from icaps.data.encodings import lines, text_blocks
from icaps.data.problems import FileError, Problem
from icaps.data.streams import DataFile
from icaps.data.table import FileDescription, Row

DELIMITERS = (",", "\t", ";", "|")
_SAMPLE = 1 << 20  # characters that tell the delimiter and the header
_LONGEST_NAME = 64  # characters of a column's name


@dataclass(frozen=True)
class _Reading:
    """The sample as one delimiter reads it."""

    delimiter: str
    quoted: bool
    rows: list[list[str]]
    broken: int  # rows whose quotes are wrong
    escaped: int  # rows with a quoted field
    width: int  # fields of most rows

    @property
    def class_first(self) -> bool:
        """Whether the first column is small whole numbers, in all rows."""
        firsts = {row[0] for row in self.rows if len(row) == self.width}
        return all(cell.isascii() and cell.isdecimal() and len(cell) < 5 for cell in firsts)

    def score(self, wanted: set[str], preferred: str) -> tuple[int, float, bool, bool, int]:
        """What makes one delimiter likelier than another, the weightiest first."""
        names = {cell.strip().lower() for cell in self.rows[0]} if self.rows else set()
        fitting = sum(len(row) == self.width for row in self.rows)
        share = fitting / (len(self.rows) + self.broken) if self.rows else 0.0
        order = -DELIMITERS.index(self.delimiter) if self.delimiter in DELIMITERS else 0
        preference = self.delimiter == preferred
        return len(names & wanted), round(share, 2), self.class_first, preference, order


class DelimitedTable:
    """A file of delimited lines, with or without a header.

    Args:
        file: It.
        encoding: Of its text.
        delimiter: Between fields; None finds it out.
        wanted: Names of columns that the user gave, which a header must hold.

    Raises:
        FileError: It holds nothing, no delimiter makes columns, or nothing tells whether its first
            line is a header.
    """

    def __init__(
        self, file: DataFile, encoding: str, delimiter: str | None, wanted: Sequence[str]
    ) -> None:
        self._file = file
        self._encoding = encoding
        self._name = str(file.path)
        reading = self._best_reading(delimiter, wanted)
        header = self._has_header(reading, wanted)
        columns = [str(n + 1) for n in range(reading.width)]
        if header:
            columns = [cell.strip() for cell in reading.rows[0]]
        self.about = FileDescription(
            self._name,
            "TSV" if reading.delimiter == "\t" else "CSV",
            tuple(columns),
            compression=file.compression,
            encoding=encoding,
            delimiter=reading.delimiter,
            quoted=reading.quoted,
            header=header,
            class_first=not header and reading.class_first,
        )

    def rows(self, columns: Sequence[str]) -> Iterator[Row | Problem]:
        """The rows in order, each with the values of `columns`, and a problem for each bad one.

        Raises:
            FileError: The rest of the file can't be read.
        """
        about, name = self.about, self._name
        pick = _picker([about.columns.index(column) for column in columns])
        width = len(about.columns)
        reader = CsvRows(self._lines(), name, about.delimiter or "", bool(about.quoted))
        rows = iter(reader)
        if about.header:
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

    def _lines(self) -> Iterator[str]:
        return lines(text_blocks(self._file, self._encoding), self._name)

    def _best_reading(self, delimiter: str | None, wanted: Sequence[str]) -> _Reading:
        sample, whole = self._sample()
        if not sample.strip():
            raise FileError("empty file", self._name, "it holds nothing; put texts with labels in.")
        readings = [
            reading
            for candidate in ([delimiter] if delimiter else DELIMITERS)
            if (reading := _read_sample(sample, whole, candidate)).width > 1
        ]
        if not readings:
            looked = repr(delimiter) if delimiter else ", ".join(map(repr, DELIMITERS))
            raise FileError(
                "unknown format",
                self._name,
                f"it is none of the formats that are read, and no delimiter of {looked} makes "
                "columns of it. Give its delimiter with --delimiter (delimiter=...), or save it as "
                "CSV with a text and a label column.",
            )
        names = {*TEXT_COLUMNS, *LABEL_COLUMNS, *(name.lower() for name in wanted)}
        preferred = "\t" if self._file.suffix in (".tsv", ".tab") else ","
        return max(readings, key=lambda reading: reading.score(names, preferred))

    def _sample(self) -> tuple[str, bool]:
        """The start of the text up to a line's end, and whether that is all of it."""
        sample = ""
        for block in text_blocks(self._file, self._encoding):
            sample += block
            if len(sample) > _SAMPLE:
                end = max(sample.rfind("\n"), sample.rfind("\r", 0, -1)) + 1
                return sample[:end] or sample, False
        return sample, True

    def _has_header(self, reading: _Reading, wanted: Sequence[str]) -> bool:
        first = [cell.strip() for cell in reading.rows[0]]
        columns = list(zip(*(r for r in reading.rows[1:] if len(r) == len(first)), strict=True))
        columns = columns or [()] * len(first)
        if wanted and all(name.isdecimal() for name in wanted):
            return False  # columns of a file without a header go by number
        known = {*TEXT_COLUMNS, *LABEL_COLUMNS}
        for name, column in zip(first, columns, strict=True):
            if (name in wanted or name.lower() in known) and name not in column:
                return True
        if not all(map(_may_be_name, first)) or len(set(first)) < len(first):
            return False
        if any(name in column for name, column in zip(first, columns, strict=True)):
            return False
        if any(len(set(column)) * 2 <= len(column) for column in columns if column):
            return True  # a column repeats its values, and the first line has another one there
        raise FileError(
            "unclear header",
            self._name,
            f"nothing tells whether its first line ({', '.join(first)}) names the columns. Name "
            "them with --text and --label (text=..., label=...): as that line does, or 1, 2, ... "
            "where it is data.",
        )


def _picker(places: list[int]) -> Any:
    if len(places) > 1:
        return itemgetter(*places)
    return lambda row: (row[places[0]],)


def _may_be_name(cell: str) -> bool:
    """Whether it could name a column; numbers and sentences are data."""
    try:
        float(cell)
    except ValueError:
        return 0 < len(cell) <= _LONGEST_NAME and len(cell.split()) <= 4 and cell.isprintable()
    return False


def _read_sample(sample: str, whole: bool, delimiter: str) -> _Reading:
    quoted = _parse(sample, whole, delimiter, quoted=True)
    # Texts of TSV files are often unquoted, and quotes in them mean nothing.
    if delimiter == "\t" and quoted.broken > quoted.escaped:
        return _parse(sample, whole, delimiter, quoted=False)
    return quoted


def _parse(sample: str, whole: bool, delimiter: str, quoted: bool) -> _Reading:
    rows: list[list[str]] = []
    broken = escaped = 0
    reader = CsvRows(lines([sample], ""), "", delimiter, quoted)
    for item in reader:
        if isinstance(item, Problem):
            if item.kind == "unclosed quote" and not whole:
                break  # the sample may end within a field
            broken += 1
        else:
            rows.append(item[1])
            escaped += "".join(reader.raw).rstrip("\r\n") != delimiter.join(item[1])
    widths = Counter(map(len, rows)).most_common(1)
    return _Reading(delimiter, quoted, rows, broken, escaped, widths[0][0] if widths else 0)
