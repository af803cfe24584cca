"""Distinctive words of a class: those that are more frequent in it than in all other texts.

The log-odds ratio of a word in a class against all other texts, with an informative Dirichlet
prior, over its standard deviation (Monroe, Colaresi and Quinn 2008, "Fightin' Words", Political
Analysis 16:4). The prior is the words' frequency in all classes, and weighs as much as `PRIOR`
running words, so that a word in a few texts does not stand out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

PRIOR = 1_000  # running words
LISTED = 50  # stored words per class
NO_CLASS = -1  # fills up the sets of classes
_MOST_WORDS = 50_000  # most frequent words, from which the distinctive ones are chosen
_MOST_CELLS = 20_000_000  # counts of 4 bytes in memory at most
_SCHEMA = pa.schema(
    [
        ("class", pa.int32()),
        ("word", pa.large_string()),
        ("here", pa.int64()),
        ("elsewhere", pa.int64()),
        ("z", pa.float64()),
    ]
)


class DistinctiveWord(NamedTuple):
    """A word, its count in the class (`here`) and in all other texts, and its z-score."""

    word: str
    here: int
    elsewhere: int
    z: float


class ClassCounts:
    """Exact counts of the most frequent words in each class.

    Args:
        classes: Number of classes.
        words: Number of different words, which are numbered by falling frequency.
        label_sets: (L, most), the classes of each label if texts may have several, filled up with
            NO_CLASS; None if labels are classes.
    """

    def __init__(
        self, classes: int, words: int, label_sets: NDArray[np.int32] | None = None
    ) -> None:
        self.words = min(words, _MOST_WORDS, _MOST_CELLS // max(classes, 1))
        self._counts = np.zeros((classes, self.words), np.int32)
        self._everywhere = np.zeros(self.words, np.int64)
        self._running = np.zeros(classes, np.int64)
        self._total = 0
        self._label_sets = label_sets

    def add(self, ids: NDArray[np.int32], labels: NDArray[np.int32]) -> None:
        """Counts words (n,) of texts with these labels (n,)."""
        self._total += len(ids)
        self._everywhere += np.bincount(ids[ids < self.words], minlength=self.words)
        if self._label_sets is None:
            self._add(ids, labels)
            return
        for column in self._label_sets.T:  # each class of a text counts its words
            classes = column[labels]
            mask = classes != NO_CLASS
            self._add(ids[mask], classes[mask])

    def _add(self, ids: NDArray[np.int32], classes: NDArray[np.int32]) -> None:
        self._running += np.bincount(classes, minlength=len(self._running))
        listed = ids < self.words
        cells = classes[listed].astype(np.int64) * self.words + ids[listed]
        np.add.at(self._counts.reshape(-1), cells, 1)

    def distinctive(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]:
        """Yields the distinctive words of each class, best first, and their z-scores."""
        everywhere, total = self._everywhere, self._total
        for counts, running in zip(self._counts, self._running, strict=True):
            z = log_odds_z(counts, everywhere - counts, int(running), int(total - running))
            best = np.argsort(-z, kind="stable")[:LISTED]
            best = best[z[best] > 0] if running < total else best[:0]  # one class alone has none
            yield best, z[best]

    def write(self, path: Path, words: list[str]) -> None:
        """Writes the distinctive words of each class; `words` are the counted ones in order."""
        with pq.ParquetWriter(path, _SCHEMA, compression="zstd") as writer:
            for label, (ids, z) in enumerate(self.distinctive()):
                counts = self._counts[label, ids].astype(np.int64)
                named = [words[number] for number in ids]
                columns = [[label] * len(ids), named, counts, self._everywhere[ids] - counts, z]
                writer.write_batch(pa.record_batch(columns, schema=_SCHEMA))


def log_odds_z(
    inside: NDArray[np.integer], outside: NDArray[np.integer], running: int, running_outside: int
) -> NDArray[np.float64]:
    """The z-score of each word's log odds (V,), above 0 if it is more frequent in the class.

    Args:
        inside: (V,), count of each word in the class.
        outside: (V,), its count in all other classes.
        running: Number of running words of the class, with those that aren't among the V.
        running_outside: The same of all other classes.
    """
    prior = PRIOR * (inside + outside) / max(running + running_outside, 1)
    with np.errstate(divide="ignore", invalid="ignore"):  # without words, or with a single one
        odds = np.log(inside + prior) - np.log(running + PRIOR - inside - prior)
        odds_outside = np.log(outside + prior) - np.log(running_outside + PRIOR - outside - prior)
        z = (odds - odds_outside) / np.sqrt(1 / (inside + prior) + 1 / (outside + prior))
    return np.where(np.isfinite(z), z, 0.0)


def read_distinctive(path: Path, label: int) -> list[DistinctiveWord]:
    """The distinctive words of the class with this code, the most distinctive first."""
    table = pq.read_table(path, filters=pc.field("class") == label)
    columns = (table.column(name).to_pylist() for name in DistinctiveWord._fields)
    return [DistinctiveWord(*row) for row in zip(*columns, strict=True)]
