"""The K-grams that the most routed capsules attend to, of many texts at once (section 2.6)."""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.config import ExplainOptions

Numbers = NDArray[np.int64]
Weights = NDArray[np.floating[Any]]


class Attention(NamedTuple):
    """What the capsules of B texts attend to.

    alpha (words, I) and rho (sentences, I), of all texts end to end; lengths (sentences,), words of
    each; counts (B,), sentences of each text.
    """

    alpha: Weights
    rho: Weights
    lengths: Numbers
    counts: Numbers


class Spots(NamedTuple):
    """K-grams as columns (n,), text after text.

    Attributes:
        text: Number of the text, from 0.
        capsule: The capsule that attends to it.
        sentence: Number among all sentences.
        position: Number of the word in the middle among all words, as the next two.
        first, last: The K-gram is the words from `first` to before `last`.
    """

    text: Numbers
    capsule: Numbers
    sentence: Numbers
    position: Numbers
    first: Numbers
    last: Numbers


def spot(
    weights: Weights, attention: Attention, kernel_size: int, options: ExplainOptions
) -> Spots:
    """The K-grams that explain texts; ties go to the lower capsule, then the earlier place.

    Of each text's first capsules, the sentences with the largest rho, and in each the positions
    with the largest alpha. A K-gram is the window of K words that the convolution reads there,
    clipped at the sentence's ends. More than there are means all.

    Args:
        weights: (B, I), by which capsules are ranked; -inf for one that is switched off.
        attention: Of the same texts; one without a word has no K-gram.
        kernel_size: K.
        options: How many capsules, sentences and K-grams.
    """
    lengths, counts = attention.lengths, attention.counts
    ends = lengths.cumsum()
    words = np.bincount(np.repeat(np.arange(len(counts)), counts), lengths, len(counts))
    texts = np.flatnonzero(words)
    place, capsule = _largest(weights[texts], options.top_capsules)
    text = texts[place]

    first_sentence = counts.cumsum() - counts
    sentence, pair = _tops(
        *(attention.rho, capsule, first_sentence[text], counts[text]), options.top_sentences
    )
    text, capsule = text[pair], capsule[pair]
    start = ends[sentence] - lengths[sentence]
    position, pair = _tops(attention.alpha, capsule, start, lengths[sentence], options.top_kgrams)
    text, capsule, sentence = text[pair], capsule[pair], sentence[pair]
    first = position - (kernel_size - 1) // 2
    return Spots(
        *(text, capsule, sentence, position),
        np.maximum(first, start[pair]),
        np.minimum(first + kernel_size, ends[sentence]),
    )


def _largest(weights: Weights, count: int) -> tuple[Numbers, Numbers]:
    """Rows and columns of the largest numbers above -inf of each row, the largest first.

    Of few, one after the other is found sooner than all are sorted.
    """
    left, rows = weights.copy(), np.arange(len(weights))
    columns = np.zeros((len(weights), min(count, weights.shape[1])), np.int64)
    above = np.zeros(columns.shape, bool)
    for taken in range(columns.shape[1]):
        found = columns[:, taken] = left.argmax(1)
        above[:, taken] = left[rows, found] > -inf
        left[rows, found] = -inf
    return above.nonzero()[0], columns[above]


def _tops(
    values: Weights, column: Numbers, starts: Numbers, lengths: Numbers, count: int
) -> tuple[Numbers, Numbers]:
    """The rows of the `count` largest values of each segment, and the segments that they are of.

    A segment is so many rows of `values`, none empty, from its start, in one column.
    """
    if lengths.max(initial=0) <= 1:  # as each text has one sentence, when they aren't split
        return starts, np.arange(len(starts))
    rows, segment = ranges(starts, lengths), np.repeat(np.arange(len(lengths)), lengths)
    found = values.ravel().take(rows * values.shape[1] + column[segment])
    largest = np.full((len(lengths), min(count, lengths.max())), -1)
    for taken in range(largest.shape[1]):
        left = np.flatnonzero(lengths > taken)
        places = _first_largest(found, lengths, segment)[left]
        largest[left, taken] = places
        found[places] = -inf
    segments, _ = np.nonzero(largest >= 0)
    return rows[largest[largest >= 0]], segments


def ranges(firsts: Numbers, lengths: Numbers) -> Numbers:
    """Runs of numbers end to end, each of a length from its first."""
    before = lengths.cumsum() - lengths
    return np.arange(lengths.sum()) + np.repeat(firsts - before, lengths)


def first_largest(values: Weights, lengths: Numbers) -> Numbers:
    """Where each segment of `values`, none empty, has its largest: the first such place."""
    return _first_largest(values, lengths, np.repeat(np.arange(len(lengths)), lengths))


def _first_largest(values: Weights, lengths: Numbers, segment: Numbers) -> Numbers:
    """As `first_largest`; `segment` is the number of each value's."""
    if not len(lengths):
        return np.zeros(0, dtype=np.int64)
    largest = np.maximum.reduceat(values, lengths.cumsum() - lengths)
    found = np.flatnonzero(values == largest[segment])
    places: Numbers = found[begins(segment[found])]
    return places


def begins(*columns: Numbers) -> NDArray[np.bool_]:
    """Which rows of some columns (rows,) differ from the one before; the first one does."""
    new = np.ones(len(columns[0]), bool)
    new[1:] = False
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    return new
