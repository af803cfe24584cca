"""How a file of delimited text is written, told by its start: delimiter, quotes, header."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from icaps.data.columns import LABEL_COLUMNS, TEXT_COLUMNS
from icaps.data.encoding import lines
from icaps.data.formats.csv_rows import CsvRows
from icaps.data.problems import FileError, Problem

DELIMITERS = (",", "\t", ";", "|")
_USUAL = {*TEXT_COLUMNS, *LABEL_COLUMNS}
_SAMPLE = 1 << 20  # characters that tell quotes and header
_START = 1 << 16  # of which these tell the delimiter
_SAMPLE_ROWS = 20_000  # of the sample no more than these
_LONGEST_NAME = 64  # characters of a column's name


@dataclass(frozen=True)
class Dialect:
    """How to read a file: see `FileDescription`, which has the same attributes."""

    delimiter: str
    quoted: bool
    header: bool
    class_first: bool
    columns: tuple[str, ...]


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

    def score(self, names: set[str], preferred: str) -> tuple[int, float, bool, bool, int]:
        """What makes one delimiter likelier than another, the weightiest first."""
        known = len(names & {cell.strip().lower() for cell in self.rows[0]})
        fitting = sum(len(row) == self.width for row in self.rows)
        share = round(fitting / (len(self.rows) + self.broken), 2)
        order = -DELIMITERS.index(self.delimiter) if self.delimiter in DELIMITERS else 0
        return known, share, self.class_first, self.delimiter == preferred, order


def detect_dialect(
    blocks: Iterable[str], name: str, delimiter: str | None, wanted: Sequence[str], preferred: str
) -> Dialect:
    """The dialect of a file's text.

    Args:
        blocks: The text.
        name: Of the file, for errors.
        delimiter: Between the fields; None finds it out.
        wanted: Columns that the user named, which a header must hold, or numbers where there is no
            header.
        preferred: The delimiter that is taken where several fit.

    Raises:
        FileError: There is no text, no delimiter makes columns of it, or nothing tells whether its
            first line is a header.
    """
    sample, whole = _sample(blocks, _SAMPLE)
    if not sample.strip():
        raise FileError("empty file", name, "it holds nothing; put texts with labels in.")
    candidates = (delimiter,) if delimiter else DELIMITERS
    names = _USUAL | {column.lower() for column in wanted}
    best = _best_reading(sample, whole, candidates, names, preferred)
    if best is None:
        raise FileError(
            "unknown format",
            name,
            "it is none of the formats that are read, and no delimiter of "
            f"{', '.join(map(repr, candidates))} makes columns of it. Give its delimiter with "
            "--delimiter (delimiter=...), or save it as CSV with a text and a label column.",
        )
    header = _has_header(best.rows, wanted, name)
    columns = [cell.strip() for cell in best.rows[0]]
    if not header:
        columns = [str(n + 1) for n in range(best.width)]
    class_first = not header and best.class_first
    return Dialect(best.delimiter, best.quoted, header, class_first, tuple(columns))


def _best_reading(
    sample: str, whole: bool, candidates: Sequence[str], names: set[str], preferred: str
) -> _Reading | None:
    """The sample by the delimiter that its start tells; None where none makes columns."""
    start, all_of_it = _sample([sample], _START)
    readings = [_read_sample(start, all_of_it and whole, candidate) for candidate in candidates]
    readings = [reading for reading in readings if reading.width > 1]
    if not readings:
        return None
    best = max(readings, key=lambda reading: reading.score(names, preferred))
    return best if all_of_it else _read_sample(sample, whole, best.delimiter)


def _sample(blocks: Iterable[str], size: int) -> tuple[str, bool]:
    """About that much of the text, up to a line's end, and whether that is all of it."""
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
        if (cell in named or cell.lower() in _USUAL) and cell not in column:
            return True
    if wanted and not named:
        return False  # columns of a file without a header go by number
    if not all(map(_may_be_name, first)) or len(set(first)) < len(first):
        return False
    if any(cell in column for cell, column in zip(first, columns, strict=True)):
        return False
    if any(len(set(column)) * 2 <= len(column) for column in columns if column):
        return True  # a column repeats its values, and the first line has another one there
    raise FileError(
        "unclear header",
        name,
        f"nothing tells whether its first line ({', '.join(first)}) names the columns. Name them "
        "with --text and --label (text=..., label=...): as that line does, or 1, 2, ... where it "
        "is data.",
    )


def _may_be_name(cell: str) -> bool:
    """Whether it could name a column; numbers and sentences are data."""
    try:
        float(cell)
    except ValueError:
        return 0 < len(cell) <= _LONGEST_NAME and len(cell.split()) <= 4 and cell.isprintable()
    return False
