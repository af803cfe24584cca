"""Rows of delimited text with line numbers; a broken row costs no good one."""

from __future__ import annotations

import csv
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import accumulate

from icaps.data.encoding import LONGEST, damage
from icaps.data.problems import Problem

NULL = r"\N"  # a missing value in exports of databases
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_IN_QUOTES = re.compile(r'\\(["\\])')
_CLOSED = re.compile(r'"[^"]*(?:""[^"]*)*"')  # a quoted field


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
            raw.append(self._with_doubled_quotes(line))
            if size > LONGEST:
                raise csv.Error("field larger than field limit")
            yield raw[-1]

    def _with_doubled_quotes(self, line: str) -> str:
        """The line, in which a quote inside of a quoted field is written twice."""
        return line

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


class BackslashQuoteRows(CsvRows):
    """Rows in which a quote inside of a quoted field is escaped by a backslash, as R writes it."""

    def _with_doubled_quotes(self, line: str) -> str:
        return _IN_QUOTES.sub(lambda match: '""' if match[1] == '"' else "\\", line)


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
                yield self._number, [f if f == NULL else _unescaped(f) for f in fields]
            self._number += len(self.raw)
            self.raw.clear()
        if self.raw:
            reason = "the last line ends in a backslash, so that a line after it is missing."
            yield Problem("cut off", self._name, self._number, None, reason)


def _unescaped(field: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), field)
