"""What is counted over a corpus: the matrix C, its by-products, and the words of each cell."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from icaps.interpret.winners import ABSENT, Winners

MAX_KGRAMS = 500_000  # different ones that are kept, which bounds memory
TYPICAL = 5  # texts that stand for a cell

Cell = tuple[int, int]  # class j, capsule i
Words = tuple[int, ...]  # word ids
Item = TypeVar("Item", bound=Hashable)


class Typical(NamedTuple):
    """A text that stands for a cell: how much its winner gave, and where it is in the stream."""

    contribution: float
    number: int


@dataclass
class Tally:
    """Counts over texts. Tallies of parts of a corpus add up to the tally of the whole.

    Attributes:
        frequency: (J, I), c_ji of section 2.6: texts of predicted class j that capsule i won.
        right: (J, I), those of them whose label is j.
        routing: (J, I), beta_ij summed over the texts of predicted class j, whoever won.
        contribution: (J, I), beta_ij (u_j|i . cc_j) / |cc_j|, likewise.
        blank: Texts without a known word, which are in none of the others.
        words: How often each word is in the K-grams of a cell.
        kgrams: How often each K-gram is there, without what lies past a sentence's end.
        dropped: By how much a K-gram's count may be low, since there was no room for all.
        typical: Of each cell the texts whose winner contributes most, that first.
    """

    frequency: NDArray[np.int64]
    right: NDArray[np.int64]
    routing: NDArray[np.float64]
    contribution: NDArray[np.float64]
    blank: int = 0
    words: dict[Cell, Counter[int]] = field(default_factory=partial(defaultdict, Counter))
    kgrams: dict[Cell, Counter[Words]] = field(default_factory=partial(defaultdict, Counter))
    dropped: int = 0
    typical: dict[Cell, list[Typical]] = field(default_factory=partial(defaultdict, list))

    @classmethod
    def empty(cls, classes: int, capsules: int) -> Tally:
        """Of no text."""
        shape = classes, capsules
        frequency, right = (np.zeros(shape, np.int64) for _ in range(2))
        return cls(frequency, right, np.zeros(shape), np.zeros(shape))

    def add(self, winners: Winners, blank: int) -> None:
        """Counts a batch, and `blank` texts beside it that have no known word."""
        cells = winners.predicted, winners.capsules
        np.add.at(self.frequency, cells, 1)
        np.add.at(self.right, cells, winners.labels == winners.predicted)
        np.add.at(self.routing, winners.predicted, winners.routing)
        np.add.at(self.contribution, winners.predicted, winners.contribution)
        self.blank += blank
        gave = winners.contribution[np.arange(len(winners.capsules)), winners.capsules]
        columns = (*cells, winners.kgrams, gave, winners.numbers)
        for j, i, window, given, number in zip(*(c.tolist() for c in columns), strict=True):
            kgram = tuple(word for word in window if word != ABSENT)
            self.words[j, i].update(kgram)
            self.kgrams[j, i][kgram] += 1
            self._keep_typical((j, i), [Typical(given, number)])
        self._drop_rare_kgrams()

    def merge(self, other: Tally) -> None:
        """Adds what another part of the corpus came to; exact while no K-gram is dropped."""
        for name in ("frequency", "right", "routing", "contribution"):
            getattr(self, name).__iadd__(getattr(other, name))
        self.blank += other.blank
        self.dropped += other.dropped
        for cell, words in other.words.items():
            self.words[cell].update(words)
        for cell, kgrams in other.kgrams.items():
            self.kgrams[cell].update(kgrams)
        for cell, texts in other.typical.items():
            self._keep_typical(cell, texts)
        self._drop_rare_kgrams()

    @property
    def texts(self) -> int:
        """How many texts were counted, without blank ones."""
        return int(self.frequency.sum())

    def column(self, capsule: int) -> list[Cell]:
        """The cells of a capsule."""
        return [(j, capsule) for j in range(len(self.frequency))]

    def words_of(self, cells: Iterable[Cell]) -> Counter[int]:
        """How often each word is in the K-grams of these cells together."""
        return _sum(self.words[cell] for cell in cells if cell in self.words)

    def kgrams_of(self, cells: Iterable[Cell]) -> Counter[Words]:
        """How often each K-gram is in these cells together."""
        return _sum(self.kgrams[cell] for cell in cells if cell in self.kgrams)

    def _keep_typical(self, cell: Cell, texts: list[Typical]) -> None:
        best = [*self.typical[cell], *texts]
        best.sort(key=lambda text: (-text.contribution, text.number))
        self.typical[cell] = best[:TYPICAL]

    def _drop_rare_kgrams(self) -> None:
        """Where there are too many, takes the median from every count (Misra and Gries 1982)."""
        if sum(map(len, self.kgrams.values())) <= MAX_KGRAMS:
            return
        counts = sorted(n for kgrams in self.kgrams.values() for n in kgrams.values())
        least = counts[len(counts) // 2]
        for cell, kgrams in self.kgrams.items():
            left = {kgram: n - least for kgram, n in kgrams.items() if n > least}
            self.kgrams[cell] = Counter(left)
        self.dropped += least


def _sum(counters: Iterable[Counter[Item]]) -> Counter[Item]:
    total: Counter[Item] = Counter()
    for counter in counters:
        total.update(counter)
    return total
