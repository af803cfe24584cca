"""Texts that recur: the same or nearly the same, within a split or from one in the other."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from icaps.data.cache import make_ready, ready_folder
from icaps.errors import DataError
from icaps.explore.index import Index
from icaps.explore.near import NearPairs, near_pairs
from icaps.explore.reporting import SILENT, IndexProgress

LISTED = 5_000  # pairs of a table that are kept; all are counted
_FOLDER, _FACTS, _PAIRS = "repeats-1", "repeats.json", "pairs.parquet"  # 1: the version
_COLUMNS = ("first", "second", "similarity", "labels_differ")


@dataclass(frozen=True)
class Pairs:
    """Pairs of rows whose texts are the same, or nearly so.

    Attributes:
        total: How many there are.
        differing: In how many the labels differ.
        first, second: Numbers of the rows of the pairs that are kept: those whose labels differ
            before others, in rising order, at most `LISTED`, (n,).
        similarity: Of their texts, 0 to 1, (n,); 1 for the same text.
        labels_differ: Whether they are of different classes, (n,).
    """

    total: int
    differing: int
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    similarity: NDArray[np.float64]
    labels_differ: NDArray[np.bool_]


@dataclass(frozen=True)
class Repeats:
    """All that recurs in a data set. Texts without words don't count.

    Attributes:
        duplicates: By split, each row whose text stands in an earlier row of the split, with the
            first such row. Texts are compared by 64-bit hashes.
        near: By split, the pairs of different texts of a similarity of 0.8 or more; a text that
            recurs is there once. See `shingles` for what that is, and how few pairs are missed.
        leaks: Each row of the last split whose text is in the first split too, after the first such
            row of that.
        near_leaks: Pairs of different texts, one of each split, of a similarity of 0.8 or more.
        complete: False where there are more near pairs than `near.MOST_PAIRS`, so that `near` and
            `near_leaks` are a part of them.
    """

    duplicates: dict[str, Pairs]
    near: dict[str, Pairs]
    leaks: Pairs
    near_leaks: Pairs
    complete: bool


def repeats_of(index: Index) -> Repeats | None:
    """What `make_repeats` found; None where it has not been called for these data.

    Raises:
        DataError: Its files are damaged.
    """
    folder = ready_folder(_home(index))
    if folder is None:
        return None
    try:
        return _read(folder, index)
    except (OSError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise DataError(
            f"{folder} can't be read ({error}). Delete the folder {folder.parent}, so that it is "
            "made anew."
        ) from error


def make_repeats(index: Index, progress: IndexProgress = SILENT) -> Repeats:
    """What recurs in a data set, looked for unless that was done before.

    Memory holds 8 bytes a row a few times over, and 24 a near pair; a signature's 160 bytes a row
    are in a temporary folder.

    Raises:
        DataError: The cache can't be written.
    """

    def fill(folder: Path) -> None:
        progress.say(f"comparing {len(index):,} texts")
        _write(folder, _search(index, progress))

    folder = make_ready(_home(index), fill, progress)
    return _read(folder, index)


def _home(index: Index) -> Path:
    return index.folder.parent / _FOLDER


def _search(index: Index, progress: IndexProgress) -> Repeats:
    hashes = index.texts.hashes(index.words > 0)
    groups = [
        np.flatnonzero((index.split == code) & (index.words > 0))
        for code in range(len(index.splits))
    ]
    firsts = [_first_of_each(hashes, rows) for rows in groups]
    near = near_pairs(index, np.concatenate([np.unique(first) for first in firsts]), progress)
    # One text in both splits is a leak, and no near one.
    different = hashes[near.first] != hashes[near.second]
    splits = index.split[near.first], index.split[near.second]
    duplicates, alike = {}, {}
    for code, name in enumerate(index.splits):
        again = firsts[code] != groups[code]
        duplicates[name] = _pairs(index, firsts[code][again], groups[code][again])
        inside = (splits[0] == code) & (splits[1] == code)
        alike[name] = _near(index, near, inside & different)
    across = (splits[0] != splits[1]) & different
    leaks = _leaks(index, hashes, np.unique(firsts[0]), groups[-1] if len(groups) > 1 else None)
    return Repeats(duplicates, alike, leaks, _near(index, near, across), near.complete)


def _first_of_each(hashes: NDArray[np.uint64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each of `rows` (n,), in rising order, the first of them that has its text."""
    _, first, group = np.unique(hashes[rows], return_index=True, return_inverse=True)
    found: NDArray[np.int64] = rows[first][group]
    return found


def _leaks(
    index: Index,
    hashes: NDArray[np.uint64],
    firsts: NDArray[np.int64],
    rows: NDArray[np.int64] | None,
) -> Pairs:
    """The rows whose text is that of one of `firsts`, each text of which is there once."""
    if rows is None or not len(firsts):
        return _pairs(index, firsts[:0], firsts[:0])
    firsts = firsts[hashes[firsts].argsort()]
    place = np.searchsorted(hashes[firsts], hashes[rows]) % len(firsts)
    shared = hashes[firsts[place]] == hashes[rows]
    return _pairs(index, firsts[place][shared], rows[shared])


def _near(index: Index, near: NearPairs, chosen: NDArray[np.bool_]) -> Pairs:
    return _pairs(index, near.first[chosen], near.second[chosen], near.similarity[chosen])


def _pairs(
    index: Index,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    similarity: NDArray[np.float64] | None = None,
) -> Pairs:
    differ = index.labels[first] != index.labels[second]
    kept = np.lexsort((second, first, ~differ))[:LISTED]
    alike = np.ones(len(first)) if similarity is None else similarity
    columns = first[kept], second[kept], alike[kept], differ[kept]
    return Pairs(len(first), int(differ.sum()), *columns)


def _tables(repeats: Repeats) -> dict[str, Pairs]:
    tables = {"leaks": repeats.leaks, "near_leaks": repeats.near_leaks}
    tables |= {f"duplicates {split}": pairs for split, pairs in repeats.duplicates.items()}
    return tables | {f"near {split}": pairs for split, pairs in repeats.near.items()}


def _write(folder: Path, repeats: Repeats) -> None:
    tables = _tables(repeats)
    totals = {name: [pairs.total, pairs.differing] for name, pairs in tables.items()}
    facts = {"complete": repeats.complete, "totals": totals}
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


_SCHEMA = pa.schema(
    [
        ("table", pa.string()),
        ("first", pa.int64()),
        ("second", pa.int64()),
        ("similarity", pa.float64()),
        ("labels_differ", pa.bool_()),
    ]
)


def _read(folder: Path, index: Index) -> Repeats:
    facts = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
    table = pq.read_table(folder / _PAIRS)

    def pairs(name: str) -> Pairs:
        own = table.filter(pc.field("table") == name)
        columns: list[NDArray[Any]] = [own.column(column).to_numpy() for column in _COLUMNS]
        return Pairs(*facts["totals"][name], *columns)

    duplicates = {split: pairs(f"duplicates {split}") for split in index.splits}
    near = {split: pairs(f"near {split}") for split in index.splits}
    return Repeats(duplicates, near, pairs("leaks"), pairs("near_leaks"), facts["complete"])
