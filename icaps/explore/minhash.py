"""MinHash: pairs of texts that share most of their words, without comparing all pairs.

The shingles of a text are its runs of three words (Broder 1997), ignoring case; a shorter text is
one shingle. The similarity of two texts is the Jaccard index of their sets of shingles. MinHash
signatures whose bands are compared by equality (Leskovec, Rajaraman and Ullman 2014, chapter 3)
select the pairs to compare: one in 3,000 pairs of similarity 0.8 is missed, and practically none of
0.9.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.explore.word_numbers import RowWords, Tokens, index_ranges

WIDTH = 3  # words of a shingle
LONGEST = 10_000  # words of a text that are used at most
BANDS, _ROWS = 20, 5  # 1 - (1 - 0.8^5)^20 = 0.99965
_CHUNK_WORDS = 1 << 20  # words whose shingles are in memory at a time
_random = np.random.default_rng(1997).integers(0, 1 << 64, (BANDS, _ROWS, 2), np.uint64)
_FACTORS, _TERMS = _random[..., 0] | np.uint64(1), _random[..., 1]
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Shingles(NamedTuple):
    """A 64-bit hash per shingle (shingles,), and the number of shingles per text, (texts,)."""

    hashes: NDArray[np.uint64]
    counts: NDArray[np.int64]


def shingles(words: RowWords) -> Shingles:
    """The shingles of texts in order; a text without words has none."""
    counts = np.where(words.lengths > 0, np.maximum(words.lengths - WIDTH + 1, 1), 0)
    ends = words.lengths.cumsum()
    firsts = index_ranges(ends - words.lengths, counts)
    ends = np.repeat(ends, counts)
    ids = np.append(words.ids.astype(np.uint64) + np.uint64(1), np.uint64(0))  # 0: past the end
    hashes = np.zeros(len(firsts), np.uint64)
    for step in range(WIDTH):
        places = firsts + step
        places[places >= ends] = len(words.ids)
        hashes = _mixed(hashes + ids[places])
    return Shingles(hashes, counts)


def band_keys(texts_shingles: Shingles) -> NDArray[np.uint64]:
    """The key per band of the MinHash signature of each text with shingles, (BANDS, texts).

    Two texts of similarity s have the same key in a band with probability s^5.
    """
    counts = texts_shingles.counts[texts_shingles.counts > 0]
    starts = counts.cumsum() - counts
    keys = np.zeros((BANDS, len(starts)), np.uint64)
    if not len(starts):
        return keys
    for band in range(BANDS):
        for factor, term in zip(_FACTORS[band], _TERMS[band], strict=True):
            least = np.minimum.reduceat(texts_shingles.hashes * factor + term, starts)
            keys[band] = _mixed(keys[band] + least)
    return keys


def similarities(
    tokens: Tokens,
    folded: NDArray[np.int32],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The exact similarity of each pair of rows (n,), 0 to 1.

    Args:
        tokens: The words of all rows.
        folded: (V,), a number per word, which is equal for words that differ only in case.
        first, second: (n,), numbers of rows that have words.
    """
    lengths = np.minimum(np.diff(tokens.offsets), LONGEST)
    parts = [np.zeros(0)]
    for start, stop in _runs(lengths[first] + lengths[second]):
        rows = np.concatenate((first[start:stop], second[start:stop]))
        words = tokens.gather(rows, LONGEST)
        parts.append(_jaccard(shingles(words._replace(ids=folded[words.ids])), stop - start))
    return np.concatenate(parts)


def _jaccard(texts_shingles: Shingles, pairs: int) -> NDArray[np.float64]:
    """The Jaccard index of text n and text n + pairs, for the first `pairs` texts."""
    texts = np.repeat(np.arange(2 * pairs), texts_shingles.counts)
    order = np.lexsort((texts_shingles.hashes, texts))
    hashes, texts = texts_shingles.hashes[order], texts[order]
    new = np.ones(len(texts), np.bool_)
    new[1:] = (hashes[1:] != hashes[:-1]) | (texts[1:] != texts[:-1])
    hashes, texts = hashes[new], texts[new]
    pair = texts % pairs
    order = np.lexsort((hashes, pair))
    hashes, pair = hashes[order], pair[order]
    shared = (hashes[1:] == hashes[:-1]) & (pair[1:] == pair[:-1])
    both = np.bincount(pair[1:][shared], minlength=pairs)
    return both / (np.bincount(pair, minlength=pairs) - both)


def _runs(sizes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of pairs with about `_CHUNK_WORDS` words each."""
    runs = sizes.cumsum() // _CHUNK_WORDS
    return pairwise([0, *(np.flatnonzero(np.diff(runs)) + 1).tolist(), len(sizes)])


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A hash of values, mixed over all 64 bits (splitmix64, Steele, Lea and Flood 2014)."""
    values = values + _MIX
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
