"""CSV, TSV and other delimited text: detection of the dialect, and the table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import itemgetter
from typing import Any

from icaps.data.columns import LABEL_COLUMNS, TEXT_COLUMNS
from icaps.data.encoding import lines, text_blocks
from icaps.data.formats.csv_rows import NULL, BackslashQuoteRows, CsvRows, EscapedRows
from icaps.data.problems import FileError, Problem
from icaps.data.raw_table import ABSENT, FileDescription, Row
from icaps.data.streams import DataFile
from icaps.errors import ConfigError

DELIMITERS = (",", "\t", ";", "|")
_USUAL_NAMES = {*TEXT_COLUMNS, *LABEL_COLUMNS}
_SAMPLE = 1 << 20  # characters that determine quotes and header
_START = 1 << 16  # the first of these determine the delimiter
_SAMPLE_ROWS = 20_000  # at most
_LONGEST_NAME = 64  # characters of a column's name
_NULL_CELL = re.compile(r"(?<![^\t\n])\\N(?![^\t\r\n])")
_ESCAPE = re.compile(r"\\[\\nrtbfv0\t\n]")  # in exports of databases
_SEPARATOR = re.compile(r'"?sep=(.)"?\r?\n?', re.IGNORECASE)  # a mark for spreadsheets


def check_delimiter(delimiter: str | None) -> None:
    """Raises ConfigError if a delimiter that a user gave is not one character."""
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n\0'):
        raise ConfigError(f"The delimiter is {delimiter!r}; it must be one character, such as ','.")


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
        reader = dialect.rows_of(text, name, dialect.delimiter, dialect.quoted, 2 if marked else 1)
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
                    yield name, number, [ABSENT if v == NULL else v for v in pick(row)]
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
        rows_of: How rows are read: what a backslash means.
    """

    delimiter: str
    quoted: bool
    header: bool
    class_first: bool
    names: tuple[str, ...]
    empty: frozenset[str] = frozenset()
    rows_of: type[CsvRows] = CsvRows
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
    best = _escaped_reading(sample, whole, best) or best
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
        best.rows_of,
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
    """The sample as an export of a database, with backslashes before what a field may not hold.

    It is one if rows end in a backslash, or if missing values are `\\N` and every other backslash
    escapes something, and if then all rows fit.
    """
    if best.quoted and best.escaped:
        return None
    continued = "\\\n" in sample.replace("\r\n", "\n")
    has_null = any(NULL in row for row in best.rows)
    if not continued and not (has_null and "\\" not in _ESCAPE.sub("", _NULL_CELL.sub("", sample))):
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
    rows_of: type[CsvRows] = CsvRows

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
    if quoted.broken and '\\"' in sample:
        by_backslash = _parse(sample, whole, delimiter, quoted=True, rows_of=BackslashQuoteRows)
        if _fits_below_header(by_backslash):
            return by_backslash
    # Texts of TSV files are often unquoted, and quotes in them mean nothing.
    if delimiter == "\t" and quoted.broken > quoted.escaped:
        return _parse(sample, whole, delimiter, quoted=False)
    return quoted


def _parse(
    sample: str, whole: bool, delimiter: str, quoted: bool, rows_of: type[CsvRows] = CsvRows
) -> _Reading:
    rows: list[list[str]] = []
    broken = escaped = 0
    reader = rows_of(lines([sample], ""), "", delimiter, quoted)
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
    width = widths[0][0] if widths else 0
    return _Reading(delimiter, quoted, rows, broken, escaped, width, rows_of)


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
