"""Reliability of the matrix C: intervals, random controls, and uninformative capsules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from icaps.interpret.corpus import Item, Tally
from icaps.stats import RESAMPLES, TAILS, entropy
from icaps.train.result_warnings import ALIVE_SHARE

TOP = (1, 3, 5)  # numbers of largest cells whose share of a row is computed
NEUTRAL = 0.95  # entropy of a capsule's classes, at most 1, from which it is class-neutral
SAME_WORDS, SAME_QUERY = 0.5, 0.8  # overlap of words and cosine of queries of a duplicate
SHUFFLES = 200


@dataclass(frozen=True)
class RowShape:
    """The sparsity of a row of C, and that of shuffled winners as the control.

    NaN for a class that was never predicted.

    Attributes:
        entropy: Entropy of the row's shares, in nats.
        top_share: {1: ..., 3: ..., 5: ...}, the share of its largest cells.
        shuffled_entropy, shuffled_top_share: The same of the control.
    """

    entropy: float
    top_share: dict[int, float]
    shuffled_entropy: float
    shuffled_top_share: dict[int, float]


def row_shapes(frequency: NDArray[np.int64], seed: int = 0) -> list[RowShape]:
    """The shape of each row of C (J, I), beside that of shuffled winners.

    The control is the mean of SHUFFLES random matrices with the row and column sums of C.
    """
    random = np.random.default_rng(seed)
    draws = np.stack([_shuffled(frequency, random) for _ in range(SHUFFLES)])
    return [
        RowShape(
            float(entropy(frequency[j])),
            {top: float(_top_share(frequency[j], top)) for top in TOP},
            float(entropy(draws[:, j]).mean()),
            {top: float(_top_share(draws[:, j], top).mean()) for top in TOP},
        )
        for j in range(len(frequency))
    ]


def share_intervals(
    frequency: NDArray[np.int64], seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The 95% bootstrap interval of each cell's share of its row: lower and upper end (J, I).

    As in `stats.bootstrap`, resampling texts is drawing from a multinomial over the cells; here one
    row at a time, which bounds memory. NaN in a row without texts.
    """
    random = np.random.default_rng(seed)
    total = int(frequency.sum())
    low, high = np.full((2, *frequency.shape), np.nan)
    if not total:
        return low, high
    rows = frequency.sum(1)
    for j in np.flatnonzero(rows):
        lengths = random.binomial(total, rows[j] / total, RESAMPLES)
        drawn = random.multinomial(lengths, frequency[j] / rows[j])  # (RESAMPLES, I)
        shares = drawn / np.maximum(lengths, 1)[:, None]
        low[j], high[j] = np.quantile(shares, TAILS, axis=0)
    return low, high


def alive(frequency: NDArray[np.int64]) -> NDArray[np.bool_]:
    """A mask (I,) of the capsules that win ALIVE_SHARE of the texts or more."""
    wins = frequency.sum(0)
    enough: NDArray[np.bool_] = (wins > 0) & (wins >= ALIVE_SHARE * wins.sum())
    return enough


def dead(frequency: NDArray[np.int64]) -> NDArray[np.bool_]:
    """A mask (I,) of the capsules that never win."""
    return np.asarray(frequency.sum(0) == 0)


def neutral(frequency: NDArray[np.int64]) -> NDArray[np.bool_]:
    """A mask (I,) of the capsules that win about the same share of every class's texts.

    That is, the entropy of these shares, divided by log J, is at least NEUTRAL.
    """
    rows = frequency.sum(1)
    present = rows > 0
    rates = frequency[present] / rows[present, None]
    if present.sum() < 2:
        return np.zeros(frequency.shape[1], dtype=bool)
    even = entropy(rates.T) / np.log(present.sum())
    return np.asarray((even >= NEUTRAL) & ~dead(frequency))


def purity(frequency: NDArray[np.int64]) -> float:
    """The share of all wins in the winner's main class, from 1/J to 1; NaN without texts."""
    total = frequency.sum()
    return float(frequency.max(0).sum() / total) if total else float("nan")


def duplicates(tally: Tally, cosine: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Pairs of alive capsules with similar words, and a high `cosine` (I, I) of their queries."""
    numbers = np.flatnonzero(alive(tally.frequency)).tolist()
    words = {i: tally.words_of(tally.column(i)) for i in numbers}
    return [
        (i, k)
        for i in numbers
        for k in numbers
        if i < k and cosine[i, k] >= SAME_QUERY and overlap(words[i], words[k]) >= SAME_WORDS
    ]


def overlap(one: Mapping[Item, int], other: Mapping[Item, int]) -> float:
    """The common mass of two distributions of words, from 0 to 1; 0 if one is empty."""
    totals = sum(one.values()), sum(other.values())
    if not all(totals):
        return 0.0
    return float(sum(min(one[w] / totals[0], other[w] / totals[1]) for w in one if w in other))


def divergence(one: Mapping[int, int], other: Mapping[int, int]) -> float:
    """Jensen-Shannon divergence of two distributions of words, in bits, from 0 to 1."""
    words = sorted(one.keys() | other.keys())
    p, q = (np.array([counts.get(w, 0) for w in words], float) for counts in (one, other))
    p, q = p / p.sum(), q / q.sum()
    mixed = (p + q) / 2
    return float((entropy(mixed) - (entropy(p) + entropy(q)) / 2) / np.log(2))


@dataclass(frozen=True)
class Distinctness:
    """The divergence of the words of capsules of one class, in bits, from 0 to 1.

    NaN if no class has two alive capsules.

    Attributes:
        between: Mean divergence of the pairs of alive capsules that share a main class.
        random: The same after the words of each pair are mixed and split again at random, into
            parts of the same sizes.
    """

    between: float
    random: float


def distinctness(tally: Tally, seed: int = 0) -> Distinctness:
    """Measures whether capsules of one class look for different words."""
    random = np.random.default_rng(seed)
    main = tally.frequency.argmax(0)
    numbers = np.flatnonzero(alive(tally.frequency)).tolist()
    words = {i: tally.words_of(tally.column(i)) for i in numbers}
    pairs = [(i, k) for i in numbers for k in numbers if i < k and main[i] == main[k]]
    if not pairs:
        return Distinctness(float("nan"), float("nan"))
    between = [divergence(words[i], words[k]) for i, k in pairs]
    mixed = [divergence(*_split_again(words[i], words[k], random)) for i, k in pairs]
    return Distinctness(float(np.mean(between)), float(np.mean(mixed)))


def _split_again(
    one: Counter[int], other: Counter[int], random: np.random.Generator
) -> tuple[dict[int, int], dict[int, int]]:
    both = sorted(one + other)
    counts = np.array([one[word] + other[word] for word in both])
    part = random.multivariate_hypergeometric(counts, one.total(), method="marginals")
    return (
        dict(zip(both, part.tolist(), strict=True)),
        dict(zip(both, (counts - part).tolist(), strict=True)),
    )


@dataclass(frozen=True)
class Agreement:
    """The similarity of two models' capsules, matched one to one by their words.

    Attributes:
        pairs: (capsule of the first, capsule of the second, overlap of their words).
        overlap: Their mean, weighted by the wins of the first.
        random_overlap: The same for random pairs.
    """

    pairs: tuple[tuple[int, int, float], ...]
    overlap: float
    random_overlap: float


def agreement(
    one: Tally,
    other: Tally,
    words: Sequence[str],
    other_words: Sequence[str],
    seed: int = 0,
) -> Agreement:
    """Matches the alive capsules of two models, such as two seeds, by the largest word overlap.

    `words` and `other_words` are the two vocabularies.
    """
    left, right = _by_word(one, words), _by_word(other, other_words)
    if not (left and right):
        return Agreement((), float("nan"), float("nan"))
    common = np.array([[overlap(a, b) for b in right.values()] for a in left.values()])
    rows, columns = linear_sum_assignment(common, maximize=True)
    numbers, others = list(left), list(right)
    pairs = [
        (numbers[r], others[c], float(common[r, c])) for r, c in zip(rows, columns, strict=True)
    ]
    wins = one.frequency.sum(0)[[i for i, _, _ in pairs]]
    random = np.random.default_rng(seed)
    drawn = [common[rows, random.permutation(columns)] for _ in range(SHUFFLES)]
    return Agreement(
        tuple(pairs),
        float(np.average(common[rows, columns], weights=wins)),
        float(np.mean([np.average(values, weights=wins) for values in drawn])),
    )


def _by_word(tally: Tally, words: Sequence[str]) -> dict[int, Counter[str]]:
    return {
        i: Counter({words[w]: n for w, n in tally.words_of(tally.column(i)).items()})
        for i in np.flatnonzero(alive(tally.frequency)).tolist()
    }


def _shuffled(frequency: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
    left = frequency.sum(0)
    rows = []
    for length in frequency.sum(1):
        row = random.multivariate_hypergeometric(left, length, method="marginals")
        rows.append(row)
        left = left - row
    return np.array(rows)


def _top_share(counts: NDArray[np.int64], top: int) -> NDArray[np.float64]:
    total = counts.sum(-1)
    largest = np.sort(counts, axis=-1)[..., -top:].sum(-1)
    return np.asarray(np.divide(largest, total, out=np.full(total.shape, np.nan), where=total > 0))
