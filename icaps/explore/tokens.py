"""The running words of all texts as numbers in a file, read a range of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.explore.texts import THREADS

DTYPE = np.dtype("<i4")
RANGE = 1 << 21  # words read at once, unless one text has more


class Words(NamedTuple):
    """Words of rows: their numbers (words,), and how many each row has, (rows,)."""

    ids: NDArray[np.int32]
    lengths: NDArray[np.int64]


class Tokens:
    """The numbers of the words, row after row.

    Args:
        path: A file of 32-bit numbers.
        words: How many words each row has, (rows,).
    """

    def __init__(self, path: Path, words: NDArray[np.int32]) -> None:
        self._path = path
        self.offsets = np.zeros(len(words) + 1, np.int64)  # of the first word of each row
        np.cumsum(words, out=self.offsets[1:])

    def read(self, first: int, stop: int) -> NDArray[np.int32]:
        """The words of the rows from `first` to before `stop`, (words,)."""
        start, end = self.offsets[first], self.offsets[stop]
        return np.fromfile(self._path, DTYPE, int(end - start), offset=int(start) * DTYPE.itemsize)

    def gather(self, rows: NDArray[np.int64], most: int) -> Words:
        """The first `most` words of each of these rows (n,), in their order."""
        starts = self.offsets[rows]
        lengths = np.minimum(self.offsets[rows + 1] - starts, most)
        ends = lengths.cumsum()
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(
            starts - ends + lengths, lengths
        )
        return Words(self._mapped[places], lengths)

    def ranges(self, stops: Sequence[int], words: int = RANGE) -> Iterator[tuple[int, int]]:
        """Ranges of rows of so many words that reach the last of `stops`; each stop ends one."""
        first = 0
        for stop in stops:
            while first < stop:
                most = int(self.offsets[first]) + words
                end = int(np.searchsorted(self.offsets, most, side="right")) - 1
                end = min(max(end, first + 1), stop)
                yield first, end
                first = end

    def rows_with(self, ids: Sequence[int]) -> NDArray[np.bool_]:
        """Which rows have a word of these numbers, (rows,)."""
        found = np.zeros(len(self.offsets) - 1, np.bool_)
        if not ids:
            return found

        def mark(rows: tuple[int, int]) -> None:
            first, stop = rows
            words = self.read(first, stop)
            hits = np.zeros(len(words), np.bool_)
            for number in ids:
                hits |= words == number
            starts = self.offsets[first:stop] - self.offsets[first]
            filled = np.diff(self.offsets[first : stop + 1]) > 0
            if filled.any():  # `reduceat` takes no row without words
                found[first:stop][filled] = np.logical_or.reduceat(hits, starts[filled])

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(mark, self.ranges([len(found)])))
        return found

    @cached_property
    def _mapped(self) -> NDArray[np.int32]:
        if not self.offsets[-1]:  # an empty file can't be mapped
            return np.zeros(0, np.int32)
        return np.memmap(self._path, DTYPE, "r")
