"""Pairs of rows whose texts are nearly the same."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.explore.index import Index
from icaps.explore.reporting import IndexProgress
from icaps.explore.shingles import BANDS, LONGEST, band_keys, shingles, similarities
from icaps.explore.texts import THREADS
from icaps.explore.tokens import Words

THRESHOLD = 0.8  # similarity from which texts are nearly the same
NEIGHBOURS = 20  # rows before it that a row is compared with in a bucket
MOST_PAIRS = 5_000_000  # that are held
_WORDS = 1 << 17  # of a range: its hashes fit a core's cache


class NearPairs(NamedTuple):
    """Pairs of rows (n,), the lower number first, in rising order, and their similarity.

    `complete` is False where there are more than `MOST_PAIRS`, so that the search ended there.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    similarity: NDArray[np.float64]
    complete: bool


def near_pairs(index: Index, rows: NDArray[np.int64], progress: IndexProgress) -> NearPairs:
    """The pairs among some rows whose similarity is `THRESHOLD` or more.

    Where more than `NEIGHBOURS` rows look alike, each is compared only with that many of them
    before it, band by band, so that texts made of one template take no quadratic time.

    Args:
        index: Of the data set.
        rows: Numbers of rows that have words, in rising order, (n,).
        progress: Told how many texts have their signature.
    """
    folded = index.vocabulary.folded_ids
    pairs, similarity = np.zeros(0, np.int64), np.zeros(0)
    for first, second in _all_candidates(index, rows, progress):
        new = np.setdiff1d(first * len(index) + second, pairs)
        alike = similarities(index.tokens, folded, *np.divmod(new, len(index)))
        kept = alike >= THRESHOLD
        pairs, order = np.unique(np.append(pairs, new[kept]), return_index=True)
        similarity = np.append(similarity, alike[kept])[order]
        if len(pairs) > MOST_PAIRS:
            break
    return NearPairs(*np.divmod(pairs, len(index)), similarity, len(pairs) <= MOST_PAIRS)


def _all_candidates(
    index: Index, rows: NDArray[np.int64], progress: IndexProgress
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    with tempfile.TemporaryDirectory() as name:
        _write_keys(index, Path(name), progress)
        for band in range(BANDS):
            keys = np.fromfile(Path(name) / str(band), np.uint64)[rows]
            yield from _candidates(rows, keys)


def _candidates(
    rows: NDArray[np.int64], keys: NDArray[np.uint64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Pairs of rows of one key (n,): of next ones in order, of next but one, and so on."""
    order = keys.argsort(kind="stable")
    rows, keys = rows[order], keys[order]
    for step in range(1, NEIGHBOURS + 1):
        same = keys[step:] == keys[:-step]
        if not same.any():
            return
        yield rows[:-step][same], rows[step:][same]


def _write_keys(index: Index, folder: Path, progress: IndexProgress) -> None:
    """Writes the keys of each band, of all rows in order, to a file of its own; 0 without words."""
    folded, tokens = index.vocabulary.folded_ids, index.tokens

    def keys_of(rows: tuple[int, int]) -> NDArray[np.uint64]:
        first, stop = rows
        lengths = np.diff(tokens.offsets[first : stop + 1])
        words = _cut(Words(folded[tokens.read(first, stop)], lengths))
        keys = np.zeros((BANDS, stop - first), np.uint64)
        keys[:, lengths > 0] = band_keys(shingles(words))
        return keys

    with ExitStack() as stack:
        files = [stack.enter_context((folder / str(band)).open("wb")) for band in range(BANDS)]
        pool = stack.enter_context(ThreadPoolExecutor(THREADS))
        ranges = tokens.ranges([len(index)], _WORDS)
        while some := list(islice(ranges, 2 * THREADS)):  # which bounds the keys that are held
            for keys in pool.map(keys_of, some):
                for file, own in zip(files, keys, strict=True):
                    own.tofile(file)
                progress.on_texts(keys.shape[1])


def _cut(words: Words) -> Words:
    """The first `LONGEST` words of each text."""
    if not (words.lengths > LONGEST).any():
        return words
    starts = words.lengths.cumsum() - words.lengths
    place = np.arange(len(words.ids)) - np.repeat(starts, words.lengths)
    return Words(words.ids[place < LONGEST], np.minimum(words.lengths, LONGEST))
