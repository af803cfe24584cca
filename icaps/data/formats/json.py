"""JSON Lines, and JSON arrays of objects; both are read one object at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from icaps.data.encoding import LONGEST, damage, lines, text_blocks
from icaps.data.formats.annotation import Fault, find_export
from icaps.data.problems import FileError, Problem
from icaps.data.raw_table import ABSENT, FileDescription, Row
from icaps.data.streams import DataFile

_SAMPLE = 100  # objects whose keys are the columns
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class JsonTable:
    """A file of JSON objects, one per line or all in an array; a key is a column.

    Raises:
        FileError: It has no object, or cannot be read.
    """

    def __init__(self, file: DataFile, encoding: str, array: bool) -> None:
        self._file = file
        self._encoding = encoding
        self._array = array
        self._name = str(file.path)
        first = self._first_objects()
        self._export = find_export(first)
        rows = [row for row in map(self._flatten, first) if isinstance(row, dict)] or first
        keys = dict.fromkeys(key for row in rows for key in row)
        self.about = FileDescription(
            self._name,
            "JSON" if array else "JSON Lines",
            tuple(keys),
            compression=file.compression,
            encoding=encoding,
            notes=(f"{self._name}: {self._export.note}",) if self._export else (),
        )

    def rows(self, columns: Sequence[str]) -> Iterator[Row | Problem]:
        """Yields the values of `columns` per object in order, or the problem of a bad one.

        Raises:
            FileError: The rest of the file cannot be read.
        """
        name = self._name
        for number, value in self._values():
            if isinstance(value, dict):
                row = self._flatten(value)
                if isinstance(row, Fault):
                    yield Problem(row.kind, name, number, None, row.reason)
                else:
                    yield name, number, [row.get(column, ABSENT) for column in columns]
            elif isinstance(value, Problem):
                yield value
            else:
                reason = (
                    f"it is of type {type(value).__name__}, not an object with a text and a label; "
                    "write such an object."
                )
                yield Problem("no object", name, number, None, reason)

    def class_names(self, column: str) -> None:
        """None: JSON has no names for numbers."""

    def _first_objects(self) -> list[dict[str, Any]]:
        """The first objects, whose keys are the columns."""
        objects = (value for _, value in self._values() if isinstance(value, dict) and value)
        first = list(islice(objects, _SAMPLE))
        if not first:
            reason = "it has no JSON object with a text and a label; add some."
            raise FileError("empty file", self._name, reason)
        return first

    def _flatten(self, value: dict[str, Any]) -> dict[str, Any] | Fault:
        """The texts and labels of an object by column, or the fault of its annotation."""
        return value if self._export is None else self._export.flatten(value)

    def _values(self) -> Iterator[tuple[int, Any]]:
        """Yields each value, or its problem, with the line that it starts on."""
        blocks = text_blocks(self._file, self._encoding)
        if self._array:
            return _Array(blocks, self._name).values()
        return _line_values(lines(blocks, self._name, newline="\n"), self._name)


def _line_values(texts: Iterable[str], name: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(texts, 1):
        if not line.strip():
            continue
        try:
            value = damage(line, name, number) or json.loads(line)
        except json.JSONDecodeError as error:
            column = min(error.pos, len(line.rstrip("\r\n"))) + 1
            value = Problem("invalid JSON", name, number, column, _reason(error.msg))
        except (ValueError, RecursionError) as error:  # a huge number, or deep nesting
            value = Problem("invalid JSON", name, number, None, _reason(str(error)))
        yield number, value


def _reason(error: str) -> str:
    return f"it is not JSON ({error}). Write an object with a text and a label there."


class _Array:
    """The values of an array in blocks of text; one value is held in memory at a time."""

    def __init__(self, blocks: Iterable[str], name: str) -> None:
        self._blocks = iter(blocks)
        self._name = name
        self._text = ""
        self._place = 0
        self._line = self._column = 1

    def values(self) -> Iterator[tuple[int, Any]]:
        """Yields each value with the line that it starts on.

        Raises:
            FileError: The rest is not JSON, so that its values cannot be separated.
        """
        self._take("[")
        if self._next() == "]":
            self._take("]")
        else:
            yield self._value()
            while self._take(",", "]") == ",":
                yield self._value()
        if self._next():
            raise self._error("there is more after the array")

    def _value(self) -> tuple[int, Any]:
        self._next()
        wanted = 1
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._place)
                break
            except (ValueError, RecursionError) as error:
                # Perhaps it is only incomplete. Doubling what is read keeps this linear.
                wanted = max(wanted, 2 * (len(self._text) - self._place))
                if wanted > 2 * LONGEST or not self._more(wanted):
                    self._move(getattr(error, "pos", self._place))
                    raise self._error(getattr(error, "msg", str(error))) from error
        line = self._line
        value = damage(self._text[self._place : end], self._name, line, self._column) or value
        self._move(end)
        return line, value

    def _take(self, *wanted: str) -> str:
        character = self._next()
        if character not in wanted:
            raise self._error(f"there is no {' or '.join(wanted)}")
        self._move(self._place + 1)
        return character

    def _next(self) -> str:
        """The next character that is not a space; empty at the end."""
        while True:
            space = _SPACE.match(self._text, self._place)
            self._move(space.end() if space else self._place)
            if self._place < len(self._text) or not self._more(1):
                return self._text[self._place : self._place + 1]

    def _more(self, wanted: int) -> bool:
        """Reads until `wanted` characters are ahead, or the end; returns whether there was more."""
        ahead = [self._text[self._place :]]
        size = len(ahead[0])
        before = size
        while size < wanted and (block := next(self._blocks, "")):
            ahead.append(block)
            size += len(block)
        self._text, self._place = "".join(ahead), 0
        return size > before

    def _move(self, place: int) -> None:
        end = self._text.rfind("\n", self._place, place)
        self._column = self._column + place - self._place if end < 0 else place - end
        self._line += self._text.count("\n", self._place, place)
        self._place = place

    def _error(self, reason: str) -> FileError:
        return FileError("invalid JSON", self._name, _reason(reason), self._line, self._column)
