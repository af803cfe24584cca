"""Total shares over a corpus: what capsules, words and K-grams add to the scores of each class.

The account of each text (`interpret.account`) for its predicted class, added up in bounded memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.config import ACCOUNT, ExplainOptions
from icaps.interpret.account import BatchAccount
from icaps.interpret.kgrams import kgrams_by_account
from icaps.stats import entropy

ALL = -1  # in place of a class or capsule: all of them together
TOP = 200  # words and K-grams of each place in `ShareTotals`
MAX_NUMBERS = 8_000_000  # shares of words in memory: pairs of class and word x capsules
MAX_KGRAMS = 500_000  # different K-grams in memory

Place = tuple[int, int]  # class j or ALL, capsule i or ALL
Words = tuple[int, ...]  # word ids
Sums = NDArray[np.float64]

_OPTIONS = ExplainOptions(ranking=ACCOUNT)


class ShareLists(NamedTuple):
    """The words, or the K-grams, with the largest total shares.

    Attributes:
        places: For each cell, class and capsule the share of each of its TOP items with the largest
            shares, for or against the class; the first has the largest.
        magnitudes: For each item in `places` the sum over the cells of its shares without sign.
    """

    places: dict[Place, dict[Any, float]]
    magnitudes: dict[Any, float]


@dataclass(frozen=True)
class ShareTotals:
    """Total shares over the texts of each predicted class, in points of its class norm.

    Attributes:
        capsules: (J, I), what each capsule adds to the scores of class j, its biases included:
            "C by share". A row adds up to the sum of the scores of its texts.
        words: (J, I), the part of `capsules` that the words add; biases add the rest.
        effective: (J,), the sum over the texts of `effective_capsules`.
        top_words: The words of most share, wherever they are in a text.
        top_kgrams: The K-grams of most share. Of each text these are the K-grams of
            `kgrams_by_account`, by the capsule through which they add most.
        words_dropped, kgrams_dropped: By how much a share of a word or K-gram may be wrong, as
            those of small shares are dropped to bound memory.
    """

    capsules: Sums
    words: Sums
    effective: Sums
    top_words: ShareLists
    top_kgrams: ShareLists
    words_dropped: float = 0.0
    kgrams_dropped: float = 0.0


class ShareCounter:
    """Adds up the shares of a stream of batches; those of parts of a corpus can be merged.

    Args:
        classes: J.
        capsules: I.
    """

    def __init__(self, classes: int, capsules: int) -> None:
        self.capsules = np.zeros((classes, capsules))
        self.effective = np.zeros(classes)
        self.words = WordSums(capsules)
        self._words = np.zeros((classes, capsules))
        self.kgrams: defaultdict[Place, defaultdict[Words, float]] = defaultdict(
            partial(defaultdict, float)
        )
        self.kgrams_dropped = 0.0

    def add(self, account: BatchAccount, predicted: NDArray[np.int64]) -> None:
        """Adds a batch.

        Args:
            account: The accounts of its texts.
            predicted: (B,), the predicted classes. Blank texts add nothing.
        """
        tokens, known = account.batch.tokens, ~account.batch.blank
        capsule_shares = account.capsule_shares(predicted)  # (B, I)
        np.add.at(self.capsules, predicted, capsule_shares)
        np.add.at(self.effective, predicted[known], effective_capsules(capsule_shares[known]))
        read = np.repeat(known, tokens.words_per_text)  # (T,)
        classes = np.repeat(predicted, tokens.words_per_text)[read]
        shares = account.by_capsule(predicted)[read]
        sums, first, pairs = _sum_equal(_pair(classes, tokens.ids[read]), shares)
        np.add.at(self._words, classes[first], sums)
        self.words.add(pairs, sums)
        self._add_kgrams(account, predicted)

    def merge(self, other: ShareCounter) -> None:
        """Adds the shares of another part of the corpus; exact unless items were dropped."""
        self.capsules += other.capsules
        self.effective += other.effective
        self._words += other._words
        self.words.merge(other.words)
        self.kgrams_dropped += other.kgrams_dropped
        for cell, kgrams in other.kgrams.items():
            for kgram, share in kgrams.items():
                self.kgrams[cell][kgram] += share
        self._drop_small_kgrams()

    def totals(self) -> ShareTotals:
        """The totals of all that was added, with the largest of words and K-grams."""
        return ShareTotals(
            capsules=self.capsules,
            words=self._words,
            effective=self.effective,
            top_words=self.words.top(len(self.capsules)),
            top_kgrams=_top_kgrams(self.kgrams),
            words_dropped=self.words.dropped,
            kgrams_dropped=self.kgrams_dropped,
        )

    def _add_kgrams(self, account: BatchAccount, predicted: NDArray[np.int64]) -> None:
        windows = kgrams_by_account(account, predicted, _OPTIONS)
        ends = np.concatenate([[0.0], account.word_shares(predicted).cumsum(dtype=float)])
        shares = ends[windows.last] - ends[windows.first]
        ids = account.batch.tokens.ids.tolist()
        columns = (predicted[windows.text], windows.capsule, windows.first, windows.last, shares)
        for j, i, first, last, share in zip(*(column.tolist() for column in columns), strict=True):
            self.kgrams[j, i][tuple(ids[first:last])] += share
        self._drop_small_kgrams()

    def _drop_small_kgrams(self) -> None:
        """Bounds memory: drops the smaller half of the shares, as in lossy counting."""
        if sum(map(len, self.kgrams.values())) <= MAX_KGRAMS:
            return
        sizes = sorted(abs(share) for kgrams in self.kgrams.values() for share in kgrams.values())
        median = sizes[len(sizes) // 2]
        for kgrams in self.kgrams.values():
            for kgram in [kgram for kgram, share in kgrams.items() if abs(share) <= median]:
                del kgrams[kgram]
        self.kgrams_dropped += median


class WordSums:
    """The sums of the shares of each word of each class, by capsule.

    They are sorted by pair of class and word. Later ones wait until there are as many as that, so
    that adding n pairs takes O(n log n). If there are too many, the half with the smaller shares is
    dropped, as in lossy counting (Manku and Motwani 2002).

    Attributes:
        dropped: By how much a sum may be wrong.
    """

    def __init__(self, capsules: int) -> None:
        self.dropped = 0.0
        self._pairs = np.zeros(0, np.int64)
        self._sums = np.zeros((0, capsules))
        self._later: list[tuple[NDArray[np.int64], Sums]] = []
        self._most = max(1, MAX_NUMBERS // capsules)

    def add(self, pairs: NDArray[np.int64], sums: Sums) -> None:
        """Adds shares (n, I) of pairs (n,) from `_pair`."""
        self._later.append((pairs, sums))
        waiting = sum(len(numbers) for numbers, _ in self._later)
        if waiting > min(len(self._pairs), self._most):
            self._sort()

    def merge(self, other: WordSums) -> None:
        """Adds the sums of another part of the corpus."""
        self.dropped += other.dropped
        for pairs, sums in (*other._later, (other._pairs, other._sums)):
            self.add(pairs, sums)

    def top(self, classes: int) -> ShareLists:
        """The words of most share in each cell, class and capsule."""
        self._sort()
        numbers, words = self._pairs >> 32, self._pairs & 0xFFFFFFFF
        lists: dict[Place, dict[Any, float]] = {}
        for j in range(classes):
            rows = slice(*numbers.searchsorted([j, j + 1]))
            lists |= _top_by_capsule(j, words[rows], self._sums[rows])
            lists |= _top((j, ALL), words[rows], self._sums[rows].sum(1))
        sums, _, distinct = _sum_equal(words, self._sums)
        lists |= _top_by_capsule(ALL, distinct, sums)
        magnitudes, _, distinct = _sum_equal(words, np.abs(self._sums).sum(1, keepdims=True))
        listed = {word for items in lists.values() for word in items}
        everywhere = zip(distinct.tolist(), _rounded(magnitudes[:, 0]), strict=True)
        return ShareLists(lists, {word: size for word, size in everywhere if word in listed})

    def _sort(self) -> None:
        pairs = np.concatenate([self._pairs, *(numbers for numbers, _ in self._later)])
        sums = np.concatenate([self._sums, *(sums for _, sums in self._later)])
        self._later = []
        self._sums, _, self._pairs = _sum_equal(pairs, sums)
        if len(self._pairs) > self._most:
            sizes = np.abs(self._sums).max(1)
            median = float(np.median(sizes))
            large = sizes > median
            self._pairs, self._sums = self._pairs[large], self._sums[large]
            self.dropped += median


def effective_capsules(shares: NDArray[np.floating[Any]]) -> Sums:
    """The effective number of capsules that share each decision, (n, I) to (n,).

    That is exp of the entropy of the positive shares, relative to their sum: 1 if one capsule adds
    everything, and I if all add the same. 0 if none is positive.
    """
    positive = np.maximum(shares, 0).astype(float)
    return np.where(positive.any(1), np.exp(np.nan_to_num(entropy(positive))), 0)


def _pair(classes: NDArray[np.int64], words: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """One number for each pair of class and word (n,), in the order of classes."""
    return (classes << 32) | words.astype(np.int64)


def _sum_equal(
    numbers: NDArray[np.int64], values: NDArray[np.floating[Any]]
) -> tuple[Sums, NDArray[np.int64], NDArray[np.int64]]:
    """Sums (m, I) of the values (n, I) of equal numbers (n,).

    Returns:
        The sums, where each number is first, and the numbers (m,) in their order.
    """
    order = numbers.argsort(kind="stable")
    ordered = numbers[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    sums = np.zeros((0, values.shape[1]))
    if len(starts):
        sums = np.add.reduceat(values[order], starts, axis=0, dtype=float)
    first: NDArray[np.int64] = order[starts]
    return sums, first, ordered[starts]


def _top_by_capsule(j: int, words: NDArray[np.int64], sums: Sums) -> dict[Place, dict[int, float]]:
    """`_top` for each column of the sums (n, I) of a class, or of all classes."""
    lists: dict[Place, dict[int, float]] = {}
    for i, column in enumerate(sums.T):
        lists |= _top((j, i), words, column)
    return lists


def _top(place: Place, words: NDArray[np.int64], sums: Sums) -> dict[Place, dict[int, float]]:
    """The words (n,) of a place with the largest sums (n,); nothing if there are none."""
    sizes = -np.abs(sums)
    largest = sizes.argpartition(TOP)[:TOP] if len(sums) > TOP else np.arange(len(sums))
    largest = largest[np.lexsort([words[largest], sizes[largest]])]
    largest = largest[sums[largest].astype(np.float32) != 0]
    if not len(largest):
        return {}
    return {place: dict(zip(words[largest].tolist(), _rounded(sums[largest]), strict=True))}


def _top_kgrams(cells: Mapping[Place, Mapping[Words, float]]) -> ShareLists:
    """The K-grams of most share in each cell, class and capsule."""
    sums: dict[Place, dict[Words, float]] = defaultdict(partial(defaultdict, float))
    magnitudes: dict[Words, float] = defaultdict(float)
    for (j, i), kgrams in sorted(cells.items()):
        for kgram, share in kgrams.items():
            for place in ((j, i), (j, ALL), (ALL, i)):
                sums[place][kgram] += share
            magnitudes[kgram] += abs(share)
    lists = {}
    for place, kgrams in sums.items():
        listed = [kgram for kgram, share in kgrams.items() if np.float32(share)]
        top = sorted(listed, key=lambda kgram: (-abs(kgrams[kgram]), kgram))[:TOP]
        shares = _rounded(np.array([kgrams[kgram] for kgram in top]))
        lists[place] = dict(zip(top, shares, strict=True))
    everywhere = sorted({kgram for kgrams in lists.values() for kgram in kgrams})
    sizes = _rounded(np.array([magnitudes[kgram] for kgram in everywhere]))
    return ShareLists(lists, dict(zip(everywhere, sizes, strict=True)))


def _rounded(values: Sums) -> list[float]:
    """As float32, in which they are stored."""
    rounded: list[float] = values.astype(np.float32).tolist()
    return rounded
