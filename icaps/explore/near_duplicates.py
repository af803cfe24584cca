"""Duplicates in a data set: equal and nearly equal texts, and test texts in the training set."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from icaps.data.cache import Artifact
from icaps.data.reporting import SILENT, ProgressReporter
from icaps.data.text_file import THREADS
from icaps.explore.index import Index
from icaps.explore.minhash import BANDS, LONGEST, band_keys, shingles, similarities
from icaps.explore.word_numbers import RowWords

THRESHOLD = 0.8  # similarity from which texts are nearly equal
NEIGHBOURS = 20  # preceding rows that a row is compared with in a bucket
MOST_PAIRS = 5_000_000  # near pairs in memory at most
LISTED = 5_000  # stored pairs of a table at most; all are counted
_CHUNK_WORDS = 1 << 17  # of a range of rows, whose hashes fit into the cache of a core
_FOLDER, _FACTS, _PAIRS = "duplicates-1", "duplicates.json", "pairs.parquet"  # 1: the version
_COLUMNS = ("first", "second", "similarity", "labels_differ")
_SCHEMA = pa.schema(
    [
        ("table", pa.string()),
        ("first", pa.int64()),
        ("second", pa.int64()),
        ("similarity", pa.float64()),
        ("labels_differ", pa.bool_()),
    ]
)


@dataclass(frozen=True)
class Pairs:
    """Pairs of rows with equal or nearly equal texts.

    Attributes:
        total: Number of pairs.
        differing: Number of pairs whose labels differ.
        first, second: (n,), numbers of the rows of the stored pairs, at most `LISTED`; pairs whose
            labels differ come first.
        similarity: (n,), of their texts, 0 to 1; 1 for equal texts.
        labels_differ: (n,), whether their labels differ.
    """

    total: int
    differing: int
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    similarity: NDArray[np.float64]
    labels_differ: NDArray[np.bool_]


@dataclass(frozen=True)
class Duplicates:
    """The duplicates of a data set. Texts without words are left out.

    Attributes:
        exact: By split, pairs of a row and the first earlier row of the split with the same text.
            Texts are compared by 64-bit hashes.
        near: By split, the pairs of different texts with a similarity of 0.8 or more; a text that
            occurs several times is there once. See `minhash` for the similarity, and how few pairs
            are missed.
        leaks: Pairs of the first row of the first split with a text, and a row of the last split
            with the same text.
        near_leaks: Pairs of different texts, one of each split, with a similarity of 0.8 or more.
        complete: False if there are more near pairs than `MOST_PAIRS`, so that `near` and
            `near_leaks` hold only some of them.
    """

    exact: dict[str, Pairs]
    near: dict[str, Pairs]
    leaks: Pairs
    near_leaks: Pairs
    complete: bool


def duplicates_artifact(index: Index) -> Artifact[Duplicates]:
    """The cache entry of the duplicates of a data set, beside its index."""
    return Artifact(index.folder.parent / _FOLDER, lambda folder: _read(folder, index))


def load_duplicates(index: Index) -> Duplicates | None:
    """The duplicates of a data set; None if they were not computed yet.

    Raises:
        DataError: Their files are damaged.
    """
    return duplicates_artifact(index).load()


def find_duplicates(index: Index, progress: ProgressReporter = SILENT) -> Duplicates:
    """Finds the duplicates of a data set, unless they are cached.

    Memory holds 8 bytes per row a few times over, and 24 per near pair; the signatures, 160 bytes
    per row, are in a temporary folder.

    Raises:
        DataError: The cache can't be written.
    """

    def fill(folder: Path) -> None:
        progress.say(f"comparing {len(index):,} texts")
        progress.expect_texts(len(index))
        _write(folder, _search(index, progress))

    return duplicates_artifact(index).make(fill, progress)


def _search(index: Index, progress: ProgressReporter) -> Duplicates:
    hashes = index.texts.hashes(index.words > 0)
    groups = [
        np.flatnonzero((index.split == code) & (index.words > 0))
        for code in range(len(index.splits))
    ]
    firsts = [_first_of_each(hashes, rows) for rows in groups]
    near = _near_pairs(index, np.concatenate([np.unique(first) for first in firsts]), progress)
    # A text that is in both splits is a leak, not a near leak.
    different = hashes[near.first] != hashes[near.second]
    splits = index.split[near.first], index.split[near.second]
    exact, near_by_split = {}, {}
    for code, name in enumerate(index.splits):
        again = firsts[code] != groups[code]
        exact[name] = _pairs(index, firsts[code][again], groups[code][again])
        inside = (splits[0] == code) & (splits[1] == code)
        near_by_split[name] = _near(index, near, inside & different)
    across = (splits[0] != splits[1]) & different
    leaks = _leaks(index, hashes, np.unique(firsts[0]), groups[-1] if len(groups) > 1 else None)
    return Duplicates(
        exact=exact,
        near=near_by_split,
        leaks=leaks,
        near_leaks=_near(index, near, across),
        complete=near.complete,
    )


def _first_of_each(hashes: NDArray[np.uint64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each of `rows` (n,), in rising order, the first of them with the same text."""
    _, first, group = np.unique(hashes[rows], return_index=True, return_inverse=True)
    firsts: NDArray[np.int64] = rows[first][group]
    return firsts


def _leaks(
    index: Index,
    hashes: NDArray[np.uint64],
    firsts: NDArray[np.int64],
    rows: NDArray[np.int64] | None,
) -> Pairs:
    """Pairs of `firsts`, whose texts all differ, and rows with the same texts."""
    if rows is None or not len(firsts):
        return _pairs(index, firsts[:0], firsts[:0])
    firsts = firsts[hashes[firsts].argsort()]
    place = np.searchsorted(hashes[firsts], hashes[rows]) % len(firsts)
    shared = hashes[firsts[place]] == hashes[rows]
    return _pairs(index, firsts[place][shared], rows[shared])


def _near(index: Index, near: _NearPairs, chosen: NDArray[np.bool_]) -> Pairs:
    """The pairs of a mask (n,)."""
    return _pairs(index, near.first[chosen], near.second[chosen], near.similarity[chosen])


def _pairs(
    index: Index,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    similarity: NDArray[np.float64] | None = None,
) -> Pairs:
    differ = index.labels[first] != index.labels[second]
    listed = np.lexsort((second, first, ~differ))[:LISTED]
    if similarity is None:
        similarity = np.ones(len(first))
    return Pairs(
        total=len(first),
        differing=int(differ.sum()),
        first=first[listed],
        second=second[listed],
        similarity=similarity[listed],
        labels_differ=differ[listed],
    )


def _tables(duplicates: Duplicates) -> dict[str, Pairs]:
    tables = {"leaks": duplicates.leaks, "near_leaks": duplicates.near_leaks}
    tables |= {f"duplicates {split}": pairs for split, pairs in duplicates.exact.items()}
    return tables | {f"near {split}": pairs for split, pairs in duplicates.near.items()}


def _write(folder: Path, duplicates: Duplicates) -> None:
    tables = _tables(duplicates)
    totals = {name: [pairs.total, pairs.differing] for name, pairs in tables.items()}
    facts = {"complete": duplicates.complete, "totals": totals}
    (folder / _FACTS).write_text(json.dumps(facts), encoding="utf-8")
    parts = [
        pa.table(
            {
                "table": [name] * len(pairs.first),
                **{column: getattr(pairs, column) for column in _COLUMNS},
            }
        ).cast(_SCHEMA)
        for name, pairs in tables.items()
    ]
    pq.write_table(pa.concat_tables(parts), folder / _PAIRS, compression="zstd")


def _read(folder: Path, index: Index) -> Duplicates:
    facts = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
    table = pq.read_table(folder / _PAIRS)

    def pairs(name: str) -> Pairs:
        rows = table.filter(pc.field("table") == name)
        columns: list[NDArray[Any]] = [rows.column(column).to_numpy() for column in _COLUMNS]
        return Pairs(*facts["totals"][name], *columns)

    exact = {split: pairs(f"duplicates {split}") for split in index.splits}
    near = {split: pairs(f"near {split}") for split in index.splits}
    return Duplicates(
        exact=exact,
        near=near,
        leaks=pairs("leaks"),
        near_leaks=pairs("near_leaks"),
        complete=facts["complete"],
    )


class _NearPairs(NamedTuple):
    """Pairs of rows (n,), the lower number first, in rising order, and their similarity.

    `complete` is False if there are more than `MOST_PAIRS`, at which the search stops.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    similarity: NDArray[np.float64]
    complete: bool


def _near_pairs(index: Index, rows: NDArray[np.int64], progress: ProgressReporter) -> _NearPairs:
    """The pairs among some rows with a similarity of `THRESHOLD` or more.

    If more than `NEIGHBOURS` rows are in a bucket, each is compared only with that many of the
    preceding ones, band by band, so that texts from one template take no quadratic time.

    Args:
        index: The index of the data set.
        rows: (n,), numbers of rows that have words, in rising order.
        progress: Receives the number of texts whose signatures were computed.
    """
    folded = index.vocabulary.folded_ids
    pairs, similarity = np.zeros(0, np.int64), np.zeros(0)
    for first, second in _all_candidates(index, rows, progress):
        new = np.setdiff1d(first * len(index) + second, pairs)
        new_similarity = similarities(index.tokens, folded, *np.divmod(new, len(index)))
        near = new_similarity >= THRESHOLD
        pairs, order = np.unique(np.append(pairs, new[near]), return_index=True)
        similarity = np.append(similarity, new_similarity[near])[order]
        if len(pairs) > MOST_PAIRS:
            break
    return _NearPairs(*np.divmod(pairs, len(index)), similarity, len(pairs) <= MOST_PAIRS)


def _all_candidates(
    index: Index, rows: NDArray[np.int64], progress: ProgressReporter
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    with tempfile.TemporaryDirectory() as name:
        _write_keys(index, Path(name), progress)
        for band in range(BANDS):
            keys = np.fromfile(Path(name) / str(band), np.uint64)[rows]
            yield from _candidates(rows, keys)


def _candidates(
    rows: NDArray[np.int64], keys: NDArray[np.uint64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Pairs of rows with equal keys (n,): neighbours in order, then those two apart, and so on."""
    order = keys.argsort(kind="stable")
    rows, keys = rows[order], keys[order]
    for step in range(1, NEIGHBOURS + 1):
        same = keys[step:] == keys[:-step]
        if not same.any():
            return
        yield rows[:-step][same], rows[step:][same]


def _write_keys(index: Index, folder: Path, progress: ProgressReporter) -> None:
    """Writes the keys of all rows in order to a file per band; 0 for a row without words."""
    folded, tokens = index.vocabulary.folded_ids, index.tokens

    def keys_of(rows: tuple[int, int]) -> NDArray[np.uint64]:
        first, stop = rows
        lengths = np.diff(tokens.offsets[first : stop + 1])
        words = _shortened(RowWords(folded[tokens.read(first, stop)], lengths))
        keys = np.zeros((BANDS, stop - first), np.uint64)
        keys[:, lengths > 0] = band_keys(shingles(words))
        return keys

    with ExitStack() as stack:
        files = [stack.enter_context((folder / str(band)).open("wb")) for band in range(BANDS)]
        pool = stack.enter_context(ThreadPoolExecutor(THREADS))
        ranges = tokens.ranges([len(index)], _CHUNK_WORDS)
        while some := list(islice(ranges, 2 * THREADS)):  # which bounds the keys in memory
            for keys in pool.map(keys_of, some):
                for file, own in zip(files, keys, strict=True):
                    own.tofile(file)
                progress.on_texts(keys.shape[1])


def _shortened(words: RowWords) -> RowWords:
    """The first `LONGEST` words of each text."""
    if not (words.lengths > LONGEST).any():
        return words
    starts = words.lengths.cumsum() - words.lengths
    place = np.arange(len(words.ids)) - np.repeat(starts, words.lengths)
    return RowWords(words.ids[place < LONGEST], np.minimum(words.lengths, LONGEST))
