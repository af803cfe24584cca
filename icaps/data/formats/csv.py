"""CSV, TSV and other delimited text: detection of the dialect, and rows with line numbers."""

from __future__ import annotations

import csv
import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from operator import itemgetter
from typing import Any

from icaps.data.columns import LABEL_COLUMNS, TEXT_COLUMNS
from icaps.data.encoding import LONGEST, damage, lines, text_blocks
from icaps.data.problems import FileError, Problem
from icaps.data.raw_table import ABSENT, FileDescription, Row
from icaps.data.streams import DataFile

DELIMITERS = (",", "\t", ";", "|")
_USUAL_NAMES = {*TEXT_COLUMNS, *LABEL_COLUMNS}
_SAMPLE = 1 << 20  # characters that determine quotes and header
_START = 1 << 16  # the first of these determine the delimiter
_SAMPLE_ROWS = 20_000  # at most
_LONGEST_NAME = 64  # characters of a column's name
_NULL = r"\N"  # a missing value in exports of databases
_SEPARATOR = re.compile(r'"?sep=(.)"?\r?\n?', re.IGNORECASE)  # a mark for spreadsheets
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0"}
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
            notes=self._dialect.notes,
        )

    def rows(self, columns: Sequence[str]) -> Iterator[Row | Problem]:
        """Yields the values of `columns` per row in order, or the problem of a bad row.

        Raises:
            FileError: The rest of the file cannot be read.
        """
        name, dialect = self._name, self._dialect
        pick = _picker([dialect.names.index(column) for column in columns])
        width = len(dialect.names)
        text = lines(text_blocks(self._file, self._encoding), name)
        first = next(text, "")
        marked = _separator_mark(first) is not None
        text = text if marked else chain([first], text)
        reader: CsvRows = (EscapedRows if dialect.escaped else CsvRows)(
            text, name, dialect.delimiter, dialect.quoted, 2 if marked else 1
        )
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
                if any(row):
                    yield name, number, [ABSENT if v == _NULL else v for v in pick(row)]
            elif any(row):
                yield reader.ragged(row, width)

    def class_names(self, column: str) -> None:
        """None: such a file has no names for numbers."""


def _picker(places: list[int]) -> Any:
    if len(places) > 1:
        return itemgetter(*places)
    return lambda row: (row[places[0]],)


@dataclass(frozen=True)
class Dialect:
    """The dialect of a delimited file; for other attributes see `FileDescription`.

    Attributes:
        names: A name for each field of a row; that of a field without one is its number.
        empty: Those that have neither a name nor values, as spreadsheets leave them.
        escaped: Whether a backslash hides delimiters and line ends, as in exports of databases.
    """

    delimiter: str
    quoted: bool
    header: bool
    class_first: bool
    names: tuple[str, ...]
    empty: frozenset[str] = frozenset()
    escaped: bool = False
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that have a name or values."""
        return tuple(name for name in self.names if name not in self.empty)


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
    first, end, rest = sample.partition("\n")
    mark = _separator_mark(first + end)
    if mark is not None:
        sample, delimiter = rest, delimiter or mark
    candidates = (delimiter,) if delimiter else DELIMITERS
    names = _USUAL_NAMES | {column.lower() for column in wanted}
    best = _best_reading(sample, whole, candidates, names, preferred)
    if best is None and not delimiter and sample.startswith('"'):
        best = _best_reading(sample, whole, (" ",), names, " ")  # as R's write.table
        best = best if best and _fits_below_header(best) else None
    if best is None:
        raise FileError(
            "unknown format",
            name,
            "it is in none of the supported formats, and no delimiter of "
            f"{', '.join(map(repr, candidates))} splits it into columns. Give its delimiter with "
            "--delimiter (delimiter=...), or save it as CSV with a text and a label column.",
        )
    if escaped := _escaped_reading(sample, whole, best):
        best = escaped
    best, notes = _aligned(best)
    header = _has_header(best.rows, wanted, name)
    cells = [cell.strip() for cell in best.rows[0]] if header else [""] * best.width
    columns = [cell or str(n) for n, cell in enumerate(cells, 1)]
    rows = best.rows[1:] if header else best.rows
    filled = [any(row[n : n + 1] not in ([], [""]) for row in rows) for n in range(len(cells))]
    empty = {columns[n] for n, cell in enumerate(cells) if header and not (cell or filled[n])}
    class_first = not header and best.class_first
    return Dialect(
        best.delimiter,
        best.quoted,
        header,
        class_first,
        tuple(columns),
        frozenset(empty),
        bool(escaped),
        notes,
    )


def _fits_below_header(reading: _Reading) -> bool:
    return not reading.broken and all(len(row) == reading.width for row in reading.rows[1:])


def _separator_mark(line: str) -> str | None:
    """The delimiter that a first line such as `sep=;` names for a spreadsheet; else None."""
    match = _SEPARATOR.fullmatch(line)
    return match[1] if match else None


def _aligned(reading: _Reading) -> tuple[_Reading, tuple[str, ...]]:
    """The reading with a name for each field, if its first line has a field less than the rows.

    Then rows end in a delimiter, or start with a name of theirs, as R and pandas write them.
    """
    first, rows = reading.rows[0], reading.rows[1:]
    whole = [row for row in rows if len(row) == reading.width]
    if len(first) != reading.width - 1 or len(whole) < max(1, len(rows) - len(rows) // 20):
        return reading, ()
    if all(not row[-1] for row in whole):
        return replace(reading, rows=[[*first, ""], *rows]), ()
    starts = [row[0] for row in whole]
    if len(set(starts)) == len(starts) and all(map(_may_be_name, first)):
        note = f"the rows have {reading.width} fields, the header {len(first)}: the first is taken "
        note += "as the name of the row."
        return replace(reading, rows=[["", *first], *rows]), (note,)
    return reading, ()


def _escaped_reading(sample: str, whole: bool, best: _Reading) -> _Reading | None:
    """The sample with escaped line ends, if rows end in a backslash and that makes all fit."""
    if "\\\n" not in sample.replace("\r\n", "\n") or (best.quoted and best.escaped):
        return None
    escaped = _parse(sample, whole, best.delimiter, quoted=False, rows_of=EscapedRows)
    return escaped if escaped.fitting == 1 and escaped.width > 1 else None


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

    @property
    def fitting(self) -> float:
        """The share of rows with as many fields as most."""
        fitting = sum(len(row) == self.width for row in self.rows)
        return fitting / (len(self.rows) + self.broken)

    def score(self, names: set[str], preferred: str) -> tuple[int, float, bool, bool, int]:
        """A sort key: the likelihood of the delimiter, the strongest criterion first."""
        known = len(names & {cell.strip().lower() for cell in self.rows[0]})
        share = round(self.fitting, 2)
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


def _parse(
    sample: str, whole: bool, delimiter: str, quoted: bool, rows_of: type[CsvRows] | None = None
) -> _Reading:
    rows: list[list[str]] = []
    broken = escaped = 0
    reader = (rows_of or CsvRows)(lines([sample], ""), "", delimiter, quoted)
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
    cells = [cell.strip() for cell in rows[0]]
    table = list(zip(*(row for row in rows[1:] if len(row) == len(cells)), strict=True))
    # Fields without a name and without values are those of empty columns of a spreadsheet, and a
    # first one without a name has the names or the numbers of the rows.
    kept = [
        n
        for n, cell in enumerate(cells)
        if cell or (table and any(table[n]) and not (n == 0 and _row_names(table[0])))
    ]
    if len(kept) < 2:
        kept = list(range(len(cells)))
    first = [cells[n] for n in kept]
    columns = [table[n] for n in kept] if table else [()] * len(first)
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


def _row_names(values: Sequence[str]) -> bool:
    return len(set(values)) == len(values) and all(values)


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

    Args:
        lines: The lines with their ends.
        name: Name of the file.
        delimiter: Character between fields.
        quoted: Whether fields may be quoted.
        first: Number of the first line.
    """

    def __init__(
        self, lines: Iterable[str], name: str, delimiter: str, quoted: bool, first: int = 1
    ) -> None:
        self.raw: list[str] = []
        self._lines = iter(lines)
        self._again: deque[str] = deque()  # lines that a broken row swallowed, to be read again
        self._name = name
        self._delimiter = delimiter
        self._quoted = quoted
        self._number = first
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


class EscapedRows(CsvRows):
    """Rows of text without quotes, in which a backslash hides a delimiter or a line end."""

    def __iter__(self) -> Iterator[tuple[int, list[str]] | Problem]:
        """Yields each row with the number of its first line, from 1, or its problem."""
        split = re.compile(rf"(?:[^\\{re.escape(self._delimiter)}]|\\.)*", re.DOTALL)
        for line in self._lines:
            self.raw.append(line)
            text = line.rstrip("\r\n")
            if (len(text) - len(text.rstrip("\\"))) % 2:
                continue  # its line end is escaped
            problem = self._damaged()
            whole = "".join(self.raw).removesuffix("\n").removesuffix("\r")
            fields, place = [], 0
            while place <= len(whole):
                match = split.match(whole, place)
                end = match.end() if match else len(whole)
                fields.append(whole[place:end])
                place = end + 1
            if problem:
                yield problem
            elif whole.strip():
                yield self._number, [f if f == _NULL else _unescaped(f) for f in fields]
            self._number += len(self.raw)
            self.raw.clear()
        if self.raw:
            reason = "the last line ends in a backslash, so that a line after it is missing."
            yield Problem("cut off", self._name, self._number, None, reason)


def _unescaped(field: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), field)
