"""The index of a data set with corrected labels, without a new one: texts and words are the same.

explored/KEY/text-hashes-1/ready/hashes.npy    by which corrected texts are recognised
"""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icaps.data.cache import Artifact
from icaps.data.class_names import sorted_labels
from icaps.data.fingerprint import corrections_state
from icaps.data.label_file import load_corrections
from icaps.data.label_sets import classes_of
from icaps.data.row_labels import corrected_label
from icaps.data.text_hash import text_hash
from icaps.explore.distinctive_words import ClassCounts, DistinctiveWord, read_distinctive
from icaps.explore.index import Index, code_sets, count_classes
from icaps.explore.label_issues import LabelIssues
from icaps.explore.near_duplicates import Duplicates, Pairs

_FOLDER, _HASHES = "text-hashes-1", "hashes.npy"  # 1: the version

Hashes = NDArray[np.uint64]


def text_hashes_artifact(index: Index) -> Artifact[Hashes]:
    """The cache entry of the hashes of all texts (rows,), beside the index."""

    def load(folder: Path) -> Hashes:
        hashes: Hashes = np.load(folder / _HASHES, mmap_mode="r", allow_pickle=False)
        if hashes.shape != (len(index),) or hashes.dtype != np.uint64:
            raise ValueError("it has another number of rows")
        return hashes

    return Artifact(index.folder.parent / _FOLDER, load)


def make_text_hashes(index: Index, home: Path | None = None) -> Hashes:
    """The hashes of all texts (rows,) by `text_hash`, computed unless they are cached.

    Args:
        index: The index of the data set.
        home: A folder that is used instead of the entry in the cache, which may be read-only.

    Raises:
        DataError: The cache cannot be written, or what is stored is damaged.
    """
    artifact = text_hashes_artifact(index)

    def fill(folder: Path) -> None:
        hashes = array("Q", map(text_hash, index.texts))
        np.save(folder / _HASHES, np.frombuffer(hashes, np.uint64))

    return (artifact if home is None else dataclasses.replace(artifact, home=home)).make(fill)


class CorrectedIndex(Index):
    """An index whose rows have corrected labels.

    All else is that of the index of the given labels, and what is stored beside that one is of the
    given labels as well.

    Args:
        given: The index of the data set as it is.
        hashes: (rows,), from `make_text_hashes`.
        corrections: The labels of texts by their hashes, from `label_file.load_corrections`.
        name: A name for them, which other corrections do not have; not empty.

    Attributes:
        corrected: (rows,), the rows whose label was replaced by another one.
    """

    def __init__(
        self, given: Index, hashes: Hashes, corrections: Mapping[int, str], name: str
    ) -> None:
        self.__dict__.update(given.__dict__)
        self._given, self._name = given, name
        old = np.array(given.distinct, dtype=object)[given.labels]
        names = old.copy()
        wanted = np.fromiter(corrections, np.uint64, len(corrections))
        for row in np.flatnonzero(np.isin(hashes, wanted)).tolist():
            names[row] = corrected_label(corrections[int(hashes[row])], given.multilabel)
        self.corrected: NDArray[np.bool_] = np.asarray(names != old, dtype=bool)
        self.distinct = sorted_labels(names.tolist())
        classes = classes_of(self.distinct)
        self.label_sets = code_sets(self.distinct, classes) if given.multilabel else None
        number = {name: code for code, name in enumerate(self.distinct)}
        self.labels = np.fromiter((number[name] for name in names), np.int32, len(names))
        splits = []
        for code, facts in enumerate(given.facts.splits):
            own = self.labels[self.split == code]
            counts, per_text = count_classes(own, len(classes), self.label_sets)
            splits.append(dataclasses.replace(facts, class_rows=counts, labels=per_text))
        self.facts = dataclasses.replace(given.facts, classes=classes, splits=tuple(splits))

    @property
    def key(self) -> str:
        """A name that no index of other texts or labels has."""
        return f"{self.folder} {self._name}"

    @property
    def labels_name(self) -> str:
        """The name of the corrections."""
        return self._name

    @property
    def given(self) -> Index:
        """The index with the labels that the data has."""
        return self._given

    def distinctive_words(self, name: str) -> list[DistinctiveWord]:
        """The distinctive words of a class in the first split, the most distinctive first."""
        return self._distinctive[self.class_code(name)]

    @cached_property
    def _distinctive(self) -> list[list[DistinctiveWord]]:
        counts = ClassCounts(len(self.classes), self.facts.different_words, self.label_sets)
        for first, stop in self.tokens.ranges([self.facts.splits[0].rows]):
            owners = np.repeat(self.labels[first:stop], self.words[first:stop])
            counts.add(self.tokens.read(first, stop), owners)
        words = islice(chain.from_iterable(self.vocabulary.batches()), counts.words)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "distinctive.parquet"
            counts.write(path, list(words))
            return [read_distinctive(path, code) for code in range(len(self.classes))]


def correct_index(given: Index, corrections: str | Path) -> CorrectedIndex:
    """The index of a data set with the labels in a file of corrections.

    Raises:
        DataError: The file does not exist or is not one of labels, or the cache cannot be written.
    """
    state = corrections_state({"corrections": str(corrections)})
    return CorrectedIndex(given, make_text_hashes(given), load_corrections(corrections), state)


def without_corrected(issues: LabelIssues, index: CorrectedIndex) -> LabelIssues:
    """The label issues of the given labels, without the rows whose label was corrected since.

    Rows for which a class is suggested that no row has any more are left out, too.
    """
    number = {name: code for code, name in enumerate(index.classes)}
    codes = np.array([number.get(name, -1) for name in index.given.classes], np.int32)
    suggested = codes[issues.suggested]
    rows = issues.rows[~index.corrected[issues.rows] & (suggested[issues.rows] >= 0)]
    return dataclasses.replace(
        issues, rows=rows, suggested=np.where(suggested < 0, index.labels, suggested)
    )


def duplicates_with_labels_of(duplicates: Duplicates, index: Index) -> Duplicates:
    """The duplicates of a data set, with the labels that an index has.

    Of a table with more pairs than are stored, only the stored ones are looked at again.
    """
    return dataclasses.replace(
        duplicates,
        exact={name: _relabelled(pairs, index) for name, pairs in duplicates.exact.items()},
        near={name: _relabelled(pairs, index) for name, pairs in duplicates.near.items()},
        leaks=_relabelled(duplicates.leaks, index),
        near_leaks=_relabelled(duplicates.near_leaks, index),
    )


def _relabelled(pairs: Pairs, index: Index) -> Pairs:
    differ = index.labels[pairs.first] != index.labels[pairs.second]
    order = np.lexsort((pairs.second, pairs.first, ~differ))
    changed = int(differ.sum()) - int(pairs.labels_differ.sum())
    columns: dict[str, Any] = {
        name: getattr(pairs, name)[order] for name in ("first", "second", "similarity")
    }
    return dataclasses.replace(
        pairs, **columns, labels_differ=differ[order], differing=pairs.differing + changed
    )


def labels_by_hash(index: Index, hashes: Hashes) -> Mapping[int, str]:
    """The label of each text by its hash; of several rows with one text, that of the last."""
    names: Sequence[str] = index.distinct
    return {
        int(key): names[code]
        for key, code in zip(hashes.tolist(), index.labels.tolist(), strict=True)
    }
