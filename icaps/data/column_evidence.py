"""What the values of a column say about its role: a text, a label, an identifier or something else.

Names alone are not enough: the column `id` of a test file without labels is no label, and of the
columns of a file without a header nothing is known but the values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

from icaps.data.label_values import flag, is_missing, label_value
from icaps.data.problems import Problem
from icaps.data.raw_table import RawTable, Row

SAMPLE = 1000  # rows that are evidence
_FEW = 10  # rows below which unique or equal values mean nothing
_SHOWN, _LONGEST_SHOWN = 3, 80  # values per column, and their characters, that a user is shown
_LONGEST_NAME = 60  # characters of a class in a list
_WHOLE_NUMBER = re.compile(r"-?[0-9]+(?:\.0+)?")
_NUMBER = re.compile(r"-?[0-9]+(?:[.,][0-9]+)?(?:[eE][-+]?[0-9]+)?%?")
# Dates, times and links, whatever their format: much punctuation and digits, few other words.
_MOMENT = re.compile(
    r"(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ].{0,30})?|.{0,14}\b\d{1,2}:\d{2}(?::\d{2})?\b.{0,24}"
    r"|https?://\S+|\S+@\S+\.\w+)"
)
# Scripts that write no spaces between words: Thai, Lao, Khmer, Chinese, Japanese.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True)
class ColumnEvidence:
    """Statistics of the first values of a column.

    Attributes:
        name: Its name.
        total: Number of rows.
        rows: Number of values that are not empty.
        distinct: Number of different ones.
        words: Mean number of words; a word per two characters in scripts without spaces.
        characters: Mean number of characters.
        whole: Whether all are whole numbers.
        numbers: Whether all are numbers.
        counting: Whether they are whole numbers, each one more than the one before.
        moments: Whether nearly all are dates, times, links or addresses.
        flags: Whether all are 0 or 1, and none is missing.
        recurring: Whether all are lists of names that recur in other rows.
        samples: The first values, shortened.
    """

    name: str
    total: int
    rows: int
    distinct: int
    words: float
    characters: float
    whole: bool
    numbers: bool
    counting: bool
    moments: bool
    flags: bool
    recurring: bool
    samples: tuple[str, ...]

    @property
    def empty(self) -> bool:
        """Whether there is hardly any value."""
        return self.rows * 10 <= self.total

    @property
    def identifies(self) -> bool:
        """Whether it numbers or names the rows: each value is there once, and is one word."""
        if self.counting and self.rows >= _FEW // 2:
            return True
        unique = self.rows >= _FEW and self.distinct == self.rows
        return unique and self.words < 1.2 and not self.is_text

    @property
    def constant(self) -> bool:
        """Whether all values are equal."""
        return self.distinct <= 1 and self.rows >= _FEW

    @property
    def is_text(self) -> bool:
        """Whether the values are like texts: several words, mostly different ones."""
        if self.moments or self.numbers or self.empty or self.recurring:
            return False
        varied = self.distinct * 2 > self.rows
        return self.words >= 3 or (self.words >= 1.4 and varied)

    @property
    def is_label(self) -> bool:
        """Whether the values are like classes, or lists of them: short, few, and recurring."""
        if self.recurring and not self.empty:
            return True
        if self.moments or self.empty or self.identifies or self.characters > 60 or self.words > 5:
            return False
        return 2 <= self.distinct <= max(2, self.rows // 2)

    @property
    def text_rank(self) -> tuple[bool, bool, float]:
        """A sort key: the likelihood that it holds the texts."""
        other = self.moments or self.numbers or self.identifies or self.empty
        return self.is_text, not other, self.words * self.distinct / max(self.rows, 1)

    @property
    def label_rank(self) -> tuple[bool, bool, float]:
        """A sort key: the likelihood that it holds the labels."""
        useful = not (self.identifies or self.empty or self.moments or self.constant)
        return self.is_label, useful, -self.distinct / max(self.rows, 1)


def column_evidence(table: RawTable, columns: Sequence[str]) -> list[ColumnEvidence]:
    """The evidence of the first rows of a table about these columns."""
    rows = [values for _, _, values in sample_rows(table, columns)]
    return [_evidence(name, [row[place] for row in rows]) for place, name in enumerate(columns)]


def sample_rows(table: RawTable, columns: Sequence[str]) -> Iterable[Row]:
    """The good rows among the first ones."""
    return (row for row in islice(table.rows(columns), SAMPLE) if not isinstance(row, Problem))


def plain_value(value: Any) -> str:
    """A value as a string without surrounding spaces; empty if it is missing."""
    if is_missing(value):
        return ""
    if isinstance(value, (list, tuple)) and len(value) == 1:  # as annotation tools export labels
        value = value[0]
    return str(value).strip()


def _evidence(name: str, cells: Sequence[Any]) -> ColumnEvidence:
    values = [plain_value(cell) for cell in cells]
    filled = [value for value in values if value]
    count = max(len(filled), 1)
    whole = bool(filled) and all(map(_WHOLE_NUMBER.fullmatch, filled))
    steps = [int(float(value)) for value in filled if len(value) < 16] if whole else []
    moments = sum(1 for value in filled if len(value) < 60 and _MOMENT.fullmatch(value))
    return ColumnEvidence(
        name=name,
        total=len(values),
        rows=len(filled),
        distinct=len(set(filled)),
        words=sum(map(_words, filled)) / count,
        characters=sum(map(len, filled)) / count,
        whole=whole,
        numbers=bool(filled) and all(map(_NUMBER.fullmatch, filled)),
        counting=len(steps) == len(filled) > 2
        and all(after == before + 1 for before, after in pairwise(steps)),
        moments=moments * 10 >= 9 * count,
        flags=bool(cells) and all(flag(cell) is not None for cell in cells),
        recurring=_recurring(cells),
        samples=tuple(value[:_LONGEST_SHOWN] for value in filled[:_SHOWN]),
    )


def _recurring(cells: Sequence[Any]) -> bool:
    """Whether the cells are lists of names of which most are in several of them."""
    lists = [value for cell in cells if (value := label_value(cell)) not in ("", None)]
    if not lists or not all(isinstance(value, tuple) for value in lists):
        return False
    rows_of = Counter(name for names in lists for name in set(names))
    most = max(map(len, rows_of), default=_LONGEST_NAME)
    return most < _LONGEST_NAME and 2 * sum(n > 1 for n in rows_of.values()) > len(rows_of)


def _words(value: str) -> float:
    return len(value.split()) + len(_UNSPACED.findall(value)) / 2
