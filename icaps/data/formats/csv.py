"""CSV, TSV and other delimited text: detection of the dialect, and rows with line numbers."""

from __future__ import annotations

import csv
import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter
from typing import Any

from icaps.data.columns import LABEL_COLUMNS, TEXT_COLUMNS
from icaps.data.encoding import LONGEST, damage, lines, text_blocks
from icaps.data.problems import FileError, Problem
from icaps.data.raw_table import FileDescription, Row
from icaps.data.streams import DataFile

DELIMITERS = (",", "\t", ";", "|")
_USUAL_NAMES = {*TEXT_COLUMNS, *LABEL_COLUMNS}
_SAMPLE = 1 << 20  # characters that determine quotes and header
_START = 1 << 16  # the first of these determine the delimiter
_SAMPLE_ROWS = 20_000  # at most
_LONGEST_NAME = 64  # characters of a column's name
_CLOSED = re.compile(r'"[^"]*(?:""[^"]*)*"')  # a quoted field


class CsvTable:
    """A file of delimited lines, with or without a header.

    Args:
        file: The file.
        encoding: Encoding of its text.
        delimiter: Character between fields; None to detect it.
        wanted: Columns that the user named.

    Raises:
        FileError: It is empty, or its dialect is unclear: see `detect_dialect`.
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
        """Yields the values of `columns` per row in order, or the problem of a bad row.

        Raises:
            FileError: The rest of the file cannot be read.
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
        """None: such a file has no names for numbers."""


def _picker(places: list[int]) -> Any:
    if len(places) > 1:
        return itemgetter(*places)
    return lambda row: (row[places[0]],)


@dataclass(frozen=True)
class Dialect:
    """The dialect of a delimited file; for the attributes see `FileDescription`."""

    delimiter: str
    quoted: bool
    header: bool
    class_first: bool
    columns: tuple[str, ...]


def detect_dialect(
    blocks: Iterable[str], name: str, delimiter: str | None, wanted: Sequence[str], preferred: str
) -> Dialect:
    """Detects delimiter, quotes and header from the start of a file.

    Args:
        blocks: The text.
        name: Name of the file, for errors.
        delimiter: Character between the fields; None to detect it.
        wanted: Columns that the user named: names in the header, or numbers if there is none.
        preferred: The delimiter that is chosen if several fit.

    Raises:
        FileError: There is no text, no delimiter splits it into columns, or it is unclear whether
            the first line is a header.
    """
    sample, whole = _sample(blocks, _SAMPLE)
    if not sample.strip():
        raise FileError("empty file", name, "it is empty; add texts with labels.")
    candidates = (delimiter,) if delimiter else DELIMITERS
    names = _USUAL_NAMES | {column.lower() for column in wanted}
    best = _best_reading(sample, whole, candidates, names, preferred)
    if best is None:
        raise FileError(
            "unknown format",
            name,
            "it is in none of the supported formats, and no delimiter of "
            f"{', '.join(map(repr, candidates))} splits it into columns. Give its delimiter with "
            "--delimiter (delimiter=...), or save it as CSV with a text and a label column.",
        )
    header = _has_header(best.rows, wanted, name)
    columns = [cell.strip() for cell in best.rows[0]]
    if not header:
        columns = [str(n + 1) for n in range(best.width)]
    class_first = not header and best.class_first
    return Dialect(best.delimiter, best.quoted, header, class_first, tuple(columns))


@dataclass(frozen=True)
class _Reading:
    """The sample, parsed with one delimiter."""

    delimiter: str
    quoted: bool
    rows: list[list[str]]
    broken: int  # rows with wrong quotes
    escaped: int  # rows with a quoted field
    width: int  # fields of most rows

    @property
    def class_first(self) -> bool:
        """Whether the first column is a small whole number in all rows."""
        firsts = {row[0] for row in self.rows if len(row) == self.width}
        return all(cell.isascii() and cell.isdecimal() and len(cell) < 5 for cell in firsts)

    def score(self, names: set[str], preferred: str) -> tuple[int, float, bool, bool, int]:
        """A sort key: the likelihood of the delimiter, the strongest criterion first."""
        known = len(names & {cell.strip().lower() for cell in self.rows[0]})
        fitting = sum(len(row) == self.width for row in self.rows)
        share = round(fitting / (len(self.rows) + self.broken), 2)
        order = -DELIMITERS.index(self.delimiter) if self.delimiter in DELIMITERS else 0
        return known, share, self.class_first, self.delimiter == preferred, order


def _best_reading(
    sample: str, whole: bool, candidates: Sequence[str], names: set[str], preferred: str
) -> _Reading | None:
    """Parses the sample with the delimiter that fits its start; None if none makes columns."""
    start, is_all = _sample([sample], _START)
    readings = [_read_sample(start, is_all and whole, candidate) for candidate in candidates]
    readings = [reading for reading in readings if reading.width > 1]
    if not readings:
        return None
    best = max(readings, key=lambda reading: reading.score(names, preferred))
    return best if is_all else _read_sample(sample, whole, best.delimiter)


def _sample(blocks: Iterable[str], size: int) -> tuple[str, bool]:
    """About `size` characters, up to the end of a line, and whether that is all."""
    sample = ""
    for block in blocks:
        sample += block
        if len(sample) > size:
            end = max(sample.rfind("\n", 0, size), sample.rfind("\r", 0, size - 1)) + 1
            return sample[:end] or sample, False
    return sample, True


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
            if rows and not whole and item.kind == "unclosed quote":
                break  # the sample may end within a field
            broken += 1
            continue
        rows.append(item[1])
        escaped += "".join(reader.raw).rstrip("\r\n") != delimiter.join(item[1])
        if len(rows) == _SAMPLE_ROWS:
            break
    widths = Counter(map(len, rows)).most_common(1)
    return _Reading(delimiter, quoted, rows, broken, escaped, widths[0][0] if widths else 0)


def _has_header(rows: list[list[str]], wanted: Sequence[str], name: str) -> bool:
    first = [cell.strip() for cell in rows[0]]
    columns = list(zip(*(row for row in rows[1:] if len(row) == len(first)), strict=True))
    columns = columns or [()] * len(first)
    named = [column for column in wanted if not column.isdecimal()]
    for cell, column in zip(first, columns, strict=True):
        if (cell in named or cell.lower() in _USUAL_NAMES) and cell not in column:
            return True
    if wanted and not named:
        return False  # columns of a file without a header are named by number
    if not all(map(_may_be_name, first)) or len(set(first)) < len(first):
        return False
    if any(cell in column for cell, column in zip(first, columns, strict=True)):
        return False
    if any(len(set(column)) * 2 <= len(column) for column in columns if column):
        return True  # a column repeats its values, and the first line has another one there
    raise FileError(
        "unclear header",
        name,
        f"it is unclear whether its first line ({', '.join(first)}) names the columns. Name them "
        "with --text and --label (text=..., label=...): as that line does, or 1, 2, ... if it is "
        "data.",
    )


def _may_be_name(cell: str) -> bool:
    """Whether it could name a column; numbers and sentences are data."""
    try:
        float(cell)
    except ValueError:
        return 0 < len(cell) <= _LONGEST_NAME and len(cell.split()) <= 4 and cell.isprintable()
    return False


def allow_long_fields() -> None:
    """Lets the csv module read fields of LONGEST characters."""
    # The module has one limit for the whole process: it is never lowered for other users.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST))


class CsvRows:
    """Iterates over the rows of delimited text; lines of spaces alone are skipped.

    After a quote that is not closed, or is followed by more text, only the line on which it opens
    is skipped: reading continues on the next line, so that no good row is lost.

    Attributes:
        raw: The lines of the current row, with their ends.
    """

    def __init__(self, lines: Iterable[str], name: str, delimiter: str, quoted: bool) -> None:
        self.raw: list[str] = []
        self._lines = iter(lines)
        self._again: deque[str] = deque()  # lines that a broken row swallowed, to be read again
        self._name = name
        self._delimiter = delimiter
        self._quoted = quoted
        self._number = 1
        allow_long_fields()

    def __iter__(self) -> Iterator[tuple[int, list[str]] | Problem]:
        """Yields each row with the number of its first line, from 1, or its problem."""
        while True:
            rows = csv.reader(
                self._read_lines(),
                delimiter=self._delimiter,
                quoting=csv.QUOTE_MINIMAL if self._quoted else csv.QUOTE_NONE,
                strict=True,
            )
            try:
                yield from self._parsed(rows)
            except csv.Error as error:
                yield self._broken(str(error))
            else:
                return

    def _parsed(self, rows: Iterator[list[str]]) -> Iterator[tuple[int, list[str]] | Problem]:
        raw = self.raw
        for row in rows:
            if "\0" in raw[0] or len(raw) > 1 or not raw[0].isascii():
                problem = self._damaged()
                if problem:
                    row = []
                    yield problem
            if len(row) > 1 or (row and row[0].strip()):
                yield self._number, row
            self._number += len(raw)
            raw.clear()

    def _read_lines(self) -> Iterator[str]:
        raw, size = self.raw, 0
        while self._again:
            raw.append(self._again.popleft())
            yield raw[-1]
        for line in self._lines:
            size = size + len(line) if raw else len(line)
            raw.append(line)
            if size > LONGEST:
                raise csv.Error("field larger than field limit")
            yield line

    def ragged(self, row: list[str], width: int) -> Problem:
        """The problem of the last row, which does not have `width` fields."""
        text = "".join(self.raw)
        starts = self._field_starts(text)
        place = starts[width] if len(starts) > width else len(text.rstrip("\r\n"))
        line, column = self._place(place)
        few = "missing" if len(row) < width else "too many"
        return Problem(
            "ragged row",
            self._name,
            line,
            column,
            f"the row has {len(row)} fields, not {width}: some are {few}. Put a field that holds "
            f"{self._delimiter!r} or a line end in double quotes, or add what is missing.",
        )

    def _broken(self, error: str) -> Problem:
        """The problem of a row that cannot be parsed; its later lines are read again."""
        # Python 3.10 cannot parse a NUL; later versions can, and it is detected in the parsed row.
        problem = self._damaged() if "NUL" in error else None
        problem = problem or self._bad_quote(error)
        passed = (problem.line or 0) - self._number + 1
        self._again.extendleft(reversed(self.raw[passed:]))
        self._number += passed
        self.raw.clear()
        return problem

    def _bad_quote(self, error: str) -> Problem:
        line, column = self._place(self._open_quote("".join(self.raw)))
        kind, what = "stray quote", "is followed by more text than a delimiter"
        if error.startswith(("unexpected end", "field larger")):
            kind, what = "unclosed quote", "is never closed"
        return Problem(
            kind,
            self._name,
            line,
            column,
            f"the quote that opens here {what}. Close it, or write a quote inside a quoted field "
            'twice ("").',
        )

    def _damaged(self) -> Problem | None:
        for number, line in enumerate(self.raw, self._number):
            if problem := damage(line, self._name, number):
                return problem
        return None

    def _place(self, offset: int) -> tuple[int, int]:
        """The line and the column of an offset in the current row."""
        ends = list(accumulate(map(len, self.raw)))
        line = min(bisect_right(ends, offset), len(ends) - 1)
        return self._number + line, offset - (ends[line - 1] if line else 0) + 1

    def _field_starts(self, text: str) -> list[int]:
        starts, place = [0], 0
        while True:
            closed = _CLOSED.match(text, place) if self._quoted else None
            place = text.find(self._delimiter, closed.end() if closed else place) + 1
            if not place:
                return starts
            starts.append(place)

    def _open_quote(self, text: str) -> int:
        """The start of the first quoted field that is not closed before a delimiter."""
        ends = (self._delimiter, "\r", "\n", "")
        for start in self._field_starts(text):
            closed = _CLOSED.match(text, start)
            if text.startswith('"', start) and not (
                closed and text[closed.end() : closed.end() + 1] in ends
            ):
                return start
        return 0
