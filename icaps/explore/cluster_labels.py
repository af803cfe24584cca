"""Names for the clusters of a map of texts: the words that distinguish each from the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from icaps.explore.distinctive_words import ClassCounts
from icaps.explore.index import Index

CLUSTERS = 10  # at most
_SMALLEST = 8  # texts per cluster on average, at least
_LEAST_Z = 2.0  # of a word
_SHORTEST = 3  # characters of a word
_MOST_WORDS = 1_000  # of a text
_CANDIDATES = 20  # words per cluster


class ClusterLabel(NamedTuple):
    """A cluster: its middle (the medians of its points), its words, and its number of texts."""

    x: float
    y: float
    words: tuple[str, ...]
    texts: int


def label_clusters(
    index: Index, rows: NDArray[np.int64], points: NDArray[np.float64], words: int = 2
) -> list[ClusterLabel]:
    """Clusters the points of texts by k-means, and names each cluster, the largest first.

    Words are ranked as the distinctive words of classes are (`distinctive_words.log_odds_z`), each
    counted once per text. Clusters that no word distinguishes are left out.

    Args:
        index: The index of the data set.
        rows: (n,), the numbers of the texts.
        points: (n, 2), their places on the map.
        words: The largest number of words of a label.
    """
    clusters = min(CLUSTERS, len(rows) // _SMALLEST, len(np.unique(points, axis=0)))
    if clusters < 2:
        return []
    labels = KMeans(clusters, n_init=3, random_state=0).fit(points).labels_
    ids, texts = _different_words(index, rows)
    counts = ClassCounts(clusters, index.vocabulary.counts.shape[1])
    counts.add(ids, labels[texts].astype(np.int32))
    best = [
        numbers[:_CANDIDATES][z[:_CANDIDATES] >= _LEAST_Z] for numbers, z in counts.distinctive()
    ]
    names = _names(index, np.unique(np.concatenate(best)))
    found = []
    for cluster, numbers in enumerate(best):
        own = points[labels == cluster]
        spelled = list(dict.fromkeys(names[n] for n in numbers.tolist() if n in names))[:words]
        if spelled:
            x, y = np.median(own, axis=0).tolist()
            found.append(ClusterLabel(x, y, tuple(spelled), len(own)))
    return sorted(found, key=lambda label: -label.texts)


def _different_words(
    index: Index, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The numbers of the different words of each text, and the text of each, both (m,)."""
    ids, lengths = index.tokens.gather(rows, _MOST_WORDS)
    texts = np.repeat(np.arange(len(rows)), lengths)
    pairs = np.unique(np.stack([texts, ids.astype(np.int64)]), axis=1)
    return pairs[1].astype(np.int32), pairs[0]


def _names(index: Index, numbers: NDArray[np.integer]) -> dict[int, str]:
    """The words with these numbers that can name a cluster, in lower case."""
    wanted, start, names = set(numbers.tolist()), 0, dict[int, str]()
    for batch in index.vocabulary.batches():
        for number in wanted.intersection(range(start, start + len(batch))):
            word = batch[number - start]
            if len(word) >= _SHORTEST and word.isalpha():
                names[number] = word.lower()
        start += len(batch)
        if start > max(wanted, default=0):
            break
    return names
