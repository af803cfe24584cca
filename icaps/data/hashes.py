"""Texts that recur, found by their hashes, so that no text is kept."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from icaps.data.check_report import Repeat
from icaps.data.records import Record

LISTED = 5  # texts that recur and are shown; all are counted


class TextHashes:
    """A 64-bit hash and the place of each text: 16 bytes a text, and a file's name once.

    Among ten million texts, two different ones of one hash come up once in 300,000 such sets.
    """

    def __init__(self) -> None:
        self._hashes = array("Q")
        self._lines = array("Q")
        self._starts: list[int] = []  # number of the first text of each file
        self._files: list[str] = []

    def add(self, record: Record) -> None:
        """Keeps the hash and the place of a record's text."""
        if not self._files or self._files[-1] != record.file:
            self._starts.append(len(self._hashes))
            self._files.append(record.file)
        text = record.text.encode("utf-8", "surrogatepass")
        self._hashes.frombytes(blake2b(text, digest_size=8).digest())
        self._lines.append(record.line)

    def duplicates(self) -> tuple[int, tuple[Repeat, ...]]:
        """How many texts repeat an earlier one, and the first of them."""
        hashes = self._array()
        order = hashes.argsort(kind="stable")
        ordered = hashes[order]
        repeats = np.sort(order[1:][ordered[1:] == ordered[:-1]])
        return len(repeats), self._repeats(repeats, self, order, ordered)

    def leaks(self, train: TextHashes) -> tuple[int, tuple[Repeat, ...]]:
        """How many of these texts stand among `train`'s, and the first of them."""
        hashes = train._array()
        order = hashes.argsort(kind="stable")
        ordered = hashes[order]
        found = np.searchsorted(ordered, self._array())
        found[found == len(ordered)] = 0
        shared = np.flatnonzero(ordered[found] == self._array()) if len(ordered) else found[:0]
        return len(shared), self._repeats(shared, train, order, ordered)

    def _array(self) -> NDArray[np.uint64]:
        return np.asarray(self._hashes)

    def _repeats(
        self,
        texts: NDArray[np.intp],
        others: TextHashes,
        order: NDArray[np.intp],
        ordered: NDArray[np.uint64],
    ) -> tuple[Repeat, ...]:
        """The places of the first of `texts`, and those where `others` have them first."""
        listed = texts[:LISTED]
        firsts = order[np.searchsorted(ordered, self._array()[listed])]
        return tuple(
            Repeat(*self._place(int(text)), *others._place(int(first)))
            for text, first in zip(listed, firsts, strict=True)
        )

    def _place(self, text: int) -> tuple[str, int]:
        return self._files[bisect_right(self._starts, text) - 1], self._lines[text]
