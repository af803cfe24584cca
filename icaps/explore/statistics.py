"""The lengths of texts, the growth of the vocabulary, and what a vocabulary or vectors cover."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.explore.distinctive_words import ClassCounts
from icaps.explore.facts import Cut, Facts, Growth, Lengths, SplitFacts
from icaps.text.clean import split_words
from icaps.text.sentences import sentence_lengths

if TYPE_CHECKING:
    from icaps.explore.index import Index

SENTENCE_TEXTS = 20_000  # of a split, the first: finding sentences takes longer than all else
SENTENCE_CHARACTERS = 100_000  # of a text, the first, which bounds the memory for its words
FREQUENCIES = (0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500)  # F of `Cut`
_POINTS = 50  # of the vocabulary's growth


class Coverage(NamedTuple):
    """Shares, 0 to 1, of a split's different words and of its running words; 0 without words."""

    different: float
    running: float


def sentence_count(text: str) -> int:
    """How many sentences with a word a text has, as `icaps.text.sentences` finds them.

    Of a longer text those of the first `SENTENCE_CHARACTERS` characters are counted.
    """
    text = text[:SENTENCE_CHARACTERS]
    starts = np.array([word.start for word in split_words(text)], np.int64)
    return len(sentence_lengths(text, starts))


def lengths(counts: Counter[int]) -> Lengths:
    """The counts of lengths, in rising order."""
    ordered = sorted(counts)
    return Lengths(tuple(ordered), tuple(counts[length] for length in ordered))


class WordStatistics:
    """What is counted from the numbers of the words, which fall with the words' frequency.

    Args:
        counts: How often each split has each word, (splits, V).
        classes: How many there are.
        rows: Of the first split, from which vocabularies are built.
    """

    def __init__(self, counts: NDArray[np.int64], classes: int, rows: int) -> None:
        self.by_class = ClassCounts(classes, counts.shape[1])
        points = np.linspace(0, rows, min(_POINTS, rows) + 1).round().astype(int)
        self.points: tuple[int, ...] = tuple(points[1:].tolist())
        self._counts = counts
        self._seen = np.zeros(counts.shape[1], np.bool_)
        self._running = 0
        self._growth: list[Growth] = []

    def add(self, ids: NDArray[np.int32], labels: NDArray[np.int32], rows: int) -> None:
        """Counts the next words of the first split.

        Args:
            ids: Of these words, (n,).
            labels: The class of each one's text, (n,).
            rows: Of the split up to here; a range must end at each of `points`.
        """
        self.by_class.add(ids, labels)
        self._seen[ids] = True
        self._running += len(ids)
        if rows in self.points:
            self._growth.append(Growth(rows, self._running, int(self._seen.sum())))

    def facts(
        self,
        data: str,
        reading: dict[str, Any],
        classes: tuple[str, ...],
        splits: tuple[SplitFacts, ...],
    ) -> Facts:
        """All facts of the data set, when all words have been counted."""
        cuts = tuple(cut(self._counts, frequency) for frequency in FREQUENCIES)
        different = self._counts.shape[1]
        telling_of = self.by_class.words
        growth = tuple(self._growth)
        return Facts(data, reading, classes, splits, different, growth, cuts, telling_of)


def cut(counts: NDArray[np.int64], frequency: int) -> Cut:
    """What the words seen more than `frequency` times in the first split cover.

    Args:
        counts: How often each split has each word, (splits, V).
        frequency: F; 0 keeps all words of the first split.
    """
    kept = counts[0] > frequency
    shares = counts[:, kept].sum(axis=1) / np.maximum(counts.sum(axis=1), 1)
    return Cut(frequency, int(kept.sum()), tuple(shares.tolist()))


def vector_coverage(index: Index, words: Collection[str]) -> dict[str, Coverage]:
    """What of each split's words has a vector, by the split's name.

    A word has one as it is or in lower case, as when vectors are aligned to a vocabulary
    (`icaps.text.vectors.align_vectors`).

    Args:
        index: Of the data set.
        words: That have a vector, such as gensim's `KeyedVectors.key_to_index`; what tells fast
            whether it holds one, so no list.
    """
    table = index.vocabulary
    found = np.array(
        [word in words or word.lower() in words for batch in table.batches() for word in batch],
        np.bool_,
    )
    return {
        split.name: Coverage(_share(counts > 0, found), _share(counts, found))
        for split, counts in zip(index.facts.splits, table.counts, strict=True)
    }


def _share(weights: NDArray[Any], found: NDArray[np.bool_]) -> float:
    return float(weights[found].sum() / max(int(weights.sum()), 1))
