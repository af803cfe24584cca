"""Rows of delimited text, with the line each starts on; what can't be parsed is told and passed."""

from __future__ import annotations

import csv
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import accumulate

from icaps.data.encoding import LONGEST, damage
from icaps.data.problems import Problem

_CLOSED = re.compile(r'"[^"]*(?:""[^"]*)*"')


def allow_long_fields() -> None:
    """Lets csv read fields of LONGEST characters."""
    # There is one limit for the whole process: it is never lowered under another's feet.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST))


class CsvRows:
    """The rows of lines of delimited text; lines of spaces alone are passed over.

    After a quote that isn't closed, or is followed by more text, only the line on which it opens is
    given up: reading goes on with the next one, so that no good row is lost with it.

    `raw` are the lines of the current row, with their ends.
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
        """Each row with the number of its first line, from 1, or what is wrong with it."""
        while True:
            rows = csv.reader(
                self._fed(),
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

    def _fed(self) -> Iterator[str]:
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
        """The problem of a row, the last one given, that hasn't `width` fields."""
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
        """The problem of a row that can't be parsed; its lines after that are read again."""
        # Python 3.10 can't parse a NUL; later ones can, and then it is found in the parsed row.
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
        """The line and the column of a place in the current row."""
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
        """Where the first quoted field starts that isn't closed before a delimiter."""
        ends = (self._delimiter, "\r", "\n", "")
        for start in self._field_starts(text):
            closed = _CLOSED.match(text, start)
            if text.startswith('"', start) and not (
                closed and text[closed.end() : closed.end() + 1] in ends
            ):
                return start
        return 0
