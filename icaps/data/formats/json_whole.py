"""A table in one JSON object, as pandas writes it in other orients than "records"."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from icaps.data.encoding import damage, text_blocks
from icaps.data.problems import FileError
from icaps.data.raw_table import ABSENT, FileDescription, Row
from icaps.data.streams import DataFile

_LARGEST = 1 << 26  # characters of a file, which is read whole
# The start of a table in one object: by its parts, by columns, or by rows.
_START = re.compile(
    r'\{\s*"(?:schema|columns|index|data|rows|train|version)"\s*:\s*[{\["]'
    r'|\{\s*"[^"]*"\s*:\s*\{\s*"[^"]*"\s*:'
)
_ADVICE = (
    'Write it by to_json(path, orient="records", lines=True), or as CSV; or make it an array of '
    "objects with a text and a label."
)


class WholeTable:
    """A table that was read into memory as a whole.

    Args:
        about: Its description.
        rows: A mapping from column to value for each row.
    """

    def __init__(self, about: FileDescription, rows: Sequence[Mapping[str, Any]]) -> None:
        self.about = about
        self._rows = rows

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """Yields the values of `columns` per row, in order."""
        for number, row in enumerate(self._rows, 1):
            yield self.about.file, number, [row.get(column, ABSENT) for column in columns]

    def class_names(self, column: str) -> None:
        """None: JSON has no names for numbers."""


def whole_table(file: DataFile, encoding: str, start: str) -> WholeTable | None:
    """The table in a file that is one JSON object; None for any other file.

    Args:
        file: The file.
        encoding: Encoding of its text.
        start: The first characters.

    Raises:
        FileError: It is such a table and too large, or its layout is not known.
    """
    if not _START.match(start.lstrip()):
        return None
    first, end, rest = start.partition("\n")
    if end and rest.strip() and _is_object(first):
        return None  # one object per line
    size, parts = 0, []
    for block in text_blocks(file, encoding):
        parts.append(block)
        size += len(block)
        if size > _LARGEST:
            reason = f"it is one JSON object of more than {_LARGEST:,} characters. {_ADVICE}"
            raise FileError("unknown format", str(file.path), reason)
    text = "".join(parts)
    if problem := damage(text, str(file.path)):
        raise FileError.of(problem)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None  # another reader reports what is wrong
    rows = _rows_of(value)
    if rows is None:
        return None
    columns = tuple(dict.fromkeys(str(key) for row in rows for key in row))
    about = FileDescription(
        str(file.path),
        "JSON table",
        columns,
        unit="row",
        compression=file.compression,
        encoding=encoding,
    )
    return WholeTable(about, rows)


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _rows_of(value: Any) -> Sequence[Mapping[str, Any]] | None:
    """The rows of an object in a layout that is known, else None."""
    match value:
        case {"columns": [*columns], "data": [*rows]} if all(_fits(row, columns) for row in rows):
            names = list(map(str, columns))
            return [dict(zip(names, row, strict=True)) for row in rows]
        case {"schema": {"primaryKey": [*keys]}, "data": [*rows]} if all(map(_is_row, rows)):
            return [{name: cell for name, cell in row.items() if name not in keys} for row in rows]
        case dict() if len(value) == 1 or "data" in value or "rows" in value:
            lists = [part for part in value.values() if isinstance(part, list) and part]
            if len(lists) == 1 and all(map(_is_row, lists[0])):
                return lists[0]
    if not isinstance(value, dict) or len(value) < 2 or not all(map(_is_row, value.values())):
        return None
    parts = list(value.values())
    keys = [set(part) for part in parts]
    if any(other != keys[0] for other in keys) or not keys[0]:
        return None
    # Columns if their keys are numbers of rows, as pandas writes them; else rows by their names.
    if all(key.isdecimal() for key in keys[0]) or not all(key.isdecimal() for key in value):
        return [{name: value[name][key] for name in value} for key in parts[0]]
    return parts


def _fits(row: Any, columns: Sequence[Any]) -> bool:
    return isinstance(row, list) and len(row) == len(columns)


def _is_row(row: Any) -> bool:
    return isinstance(row, dict)
