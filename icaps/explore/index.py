"""The index of a data set of any size: built once, cached, and read in place.

explored/KEY/ready/facts.json     statistics
                   texts.arrow    the texts, UTF-8, in blocks
                   tokens.bin     the numbers of their words, 4 bytes each
                   words.parquet  the different words with their counts, in the order of numbers
                   distinctive.parquet, labels.npy, words.npy, lines.npy
                   label_sets.json  the different labels, if a text may have several

To build it, texts are read once, and the numbers of their words twice. Memory holds 16 bytes per
row, some 100 bytes per different word, a block of texts, and the counts for distinctive words.
"""

from __future__ import annotations

import dataclasses
import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from icaps.data.cache import Artifact, artifact_home
from icaps.data.class_names import sorted_labels
from icaps.data.fingerprint import (
    check_unchanged,
    content_options,
    existing_parts,
    fingerprint,
    recent_fingerprint,
)
from icaps.data.label_sets import classes_of, is_multilabel, names_in
from icaps.data.records import Record
from icaps.data.reporting import SILENT, ProgressReporter
from icaps.data.sample import count_texts
from icaps.data.source import Source, open_source
from icaps.data.text_file import TextFile, TextFileWriter
from icaps.errors import DataError
from icaps.explore.distinctive_words import NO_CLASS, DistinctiveWord, read_distinctive
from icaps.explore.statistics import (
    NO_LENGTHS,
    SENTENCE_TEXTS,
    Coverage,
    Facts,
    Lengths,
    SplitFacts,
    WordStatistics,
    lengths,
    sentence_count,
)
from icaps.explore.word_numbers import (
    DTYPE,
    Numbering,
    Tokens,
    WordTable,
    iter_words,
    write_words,
)

_VERSION = 3  # of the files
_FACTS, _TEXTS, _TOKENS = "facts.json", "texts.arrow", "tokens.bin"
_LABEL_SETS = "label_sets.json"
_WORDS, _DISTINCTIVE = "words.parquet", "distinctive.parquet"
_COLUMNS = ("labels", "words", "lines")
_RAW = "raw.bin"
_MOST_CLASSES = 100_000  # different labels at most; more are not classes
_REPORTED = 1_000  # texts between two reports of progress
_BATCH = 1_024  # labelled texts in memory at a time


def index_artifact(place: Path, reading: Mapping[str, Any]) -> Artifact[Index]:
    """The cache entry of an index; its key has the fingerprint of the files, and the options.

    Args:
        place: A file or a folder, as `icaps.data.resolve.resolve` returns it.
        reading: Options of `open_source`: text, label, encoding and delimiter; on_bad_rows is
            ignored.

    Raises:
        DataError: There is no data at `place`.
    """
    return _artifact(recent_fingerprint(place, existing_parts(place), reading))


def load_index(place: Path, reading: Mapping[str, Any]) -> Index | None:
    """The index of a data set; None if it was not built yet for these files and options.

    Raises:
        DataError: There is no data at `place`, or the index is damaged.
    """
    return index_artifact(place, reading).load()


def make_index(
    place: Path,
    reading: Mapping[str, Any],
    progress: ProgressReporter = SILENT,
    home: Path | None = None,
) -> Index:
    """Builds the index of a data set, unless it is cached.

    The train and the test part of a folder are read. Rows that can't be read are skipped and
    counted. Of several processes one builds the index, and the others wait for it.

    Args:
        place, reading: See `index_artifact`.
        progress: Receives lines, and the number of texts that were read.
        home: A folder that is used instead of the entry in the cache, which may be read-only.

    Raises:
        DataError: A file can't be read, holds no rows or is changed meanwhile, the labels are not
            classes, or the cache can't be written.
        ConfigError: There is no such encoding or delimiter.
    """
    parts = existing_parts(place)
    before = fingerprint(place, parts, reading)

    def fill(folder: Path) -> None:
        progress.say(f"reading {place}")
        _build(place, reading, folder, progress)
        check_unchanged(place, parts, reading, before)

    artifact = _artifact(before)
    return (artifact if home is None else dataclasses.replace(artifact, home=home)).make(
        fill, progress
    )


def _artifact(files: str) -> Artifact[Index]:
    return Artifact(artifact_home("explored", _VERSION, files), Index)


class Index:
    """A data set whose rows have numbers from 0: those of the first split, then of the second.

    Attributes:
        folder: The folder of its files.
        facts: Statistics.
        labels: (rows,), the code of each row's label in `distinct`.
        distinct: The different labels: the classes, or, if a text may have several, sets of them
            as in `icaps.data.label_sets`.
        label_sets: (L, most), the codes of the classes of each of these sets, filled up with
            NO_CLASS; None if each text has one class.
        split: (rows,), the code of each row's split in `splits`.
        words: (rows,), number of words by `text.tokenizer.split_words`.
        lines: (rows,), the line of each row in its file from 1, or its row if the format has no
            lines.
        tokens: The numbers of each row's words.
        vocabulary: The different words.
        texts: The texts.
    """

    def __init__(self, folder: Path) -> None:
        plain = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
        self.folder = folder
        self.facts = Facts.from_dict(plain)
        self.distinct: tuple[str, ...]
        self.label_sets: NDArray[np.int32] | None
        columns = (np.load(folder / f"{name}.npy") for name in _COLUMNS)
        self.labels: NDArray[np.int32]
        self.words: NDArray[np.int32]
        self.lines: NDArray[np.int64]
        self.labels, self.words, self.lines = columns
        self.distinct, self.label_sets = self.classes, None
        if (folder / _LABEL_SETS).exists():
            stored = json.loads((folder / _LABEL_SETS).read_text(encoding="utf-8"))
            self.distinct = tuple(stored)
            self.label_sets = code_sets(self.distinct, self.classes)
        rows = [split.rows for split in self.facts.splits]
        self.split: NDArray[np.int8] = np.repeat(np.arange(len(rows), dtype=np.int8), rows)
        self.tokens = Tokens(folder / _TOKENS, self.words)
        self.vocabulary = WordTable(folder / _WORDS, len(rows))
        self.texts = TextFile(folder / _TEXTS)
        if {len(self.labels), len(self.words), len(self.lines), len(self.texts)} != {sum(rows)}:
            raise ValueError("its files do not have the same number of rows")
        size = (folder / _TOKENS).stat().st_size
        if size != self.words.sum(dtype=np.int64) * DTYPE.itemsize:
            raise ValueError("two files do not have the same number of words")
        for name in (_WORDS, _DISTINCTIVE):  # read later
            pq.read_metadata(folder / name)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.labels)

    @property
    def key(self) -> str:
        """A name that no index of other texts or labels has."""
        return str(self.folder)  # its name is a hash of the data's files

    @property
    def labels_name(self) -> str:
        """A name for the labels, if they are not those of the data; else empty."""
        return ""

    @property
    def given(self) -> Index:
        """The index with the labels that the data has: this one, unless labels are corrected."""
        return self

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes; without several labels per text, in the order of `labels`."""
        return self.facts.classes

    @property
    def multilabel(self) -> bool:
        """Whether a text may have any number of classes."""
        return self.label_sets is not None

    @cached_property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits, in the order of the codes in `split`."""
        return tuple(split.name for split in self.facts.splits)

    def text(self, numbers: Sequence[int] | NDArray[np.int64]) -> list[str]:
        """The texts of rows, in the order of `numbers`, unchanged.

        Raises:
            IndexError: There is no such row.
        """
        rows = np.asarray(numbers, np.int64)
        if len(rows) and not (rows.min() >= 0 and rows.max() < len(self)):
            raise IndexError(f"rows are numbered from 0 to {len(self) - 1}")
        return self.texts.take(rows)

    def label_of(self, row: int) -> str:
        """The label of a row: its class, or the set of its classes as in `distinct`."""
        code: int = self.labels[row]
        return self.distinct[code]

    def labels_of(self, rows: Sequence[int] | NDArray[np.int64]) -> list[str]:
        """The labels of rows (n,); see `label_of`."""
        return [self.distinct[code] for code in self.labels[np.asarray(rows, np.int64)].tolist()]

    def with_class(self, names: Collection[str]) -> NDArray[np.bool_]:
        """A mask (rows,) of the rows that have one of these classes at least.

        Raises:
            DataError: There is no such class.
        """
        codes = [self.class_code(name) for name in names]
        if self.label_sets is None:
            return np.isin(self.labels, codes)
        wanted = np.isin(self.label_sets, codes).any(axis=1)  # (L,)
        return np.asarray(wanted)[self.labels]

    def labelled(self, rows: NDArray[np.int64]) -> Iterator[tuple[str, str]]:
        """The texts of rows (n,) with their labels; a batch is in memory."""
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            names = (self.distinct[code] for code in self.labels[batch].tolist())
            yield from zip(self.text(batch), names, strict=True)

    def distinctive_words(self, name: str) -> list[DistinctiveWord]:
        """The distinctive words of a class in the first split, the most distinctive first.

        Raises:
            DataError: There is no such class.
        """
        return read_distinctive(self.folder / _DISTINCTIVE, self.class_code(name))

    def class_code(self, name: str) -> int:
        """The number of a class.

        Raises:
            DataError: There is no such class.
        """
        return self._code(name, self.classes, "class")

    def split_code(self, name: str) -> int:
        """The code of a split in `split`.

        Raises:
            DataError: There is no such split.
        """
        return self._code(name, self.splits, "split")

    def vector_coverage(self, words: Collection[str]) -> dict[str, Coverage]:
        """The shares of each split's words that have a word vector, by the name of the split.

        A word has one as it is or in lower case, as when vectors are aligned to a vocabulary
        (`icaps.text.vectors.align_vectors`).

        Args:
            words: The words with a vector, such as gensim's `KeyedVectors.key_to_index`; a set or a
                mapping, as each word is looked up.
        """
        covered = np.array(
            [
                w in words or w.lower() in words
                for batch in self.vocabulary.batches()
                for w in batch
            ],
            np.bool_,
        )
        return {
            split.name: Coverage(_share(counts > 0, covered), _share(counts, covered))
            for split, counts in zip(self.facts.splits, self.vocabulary.counts, strict=True)
        }

    def _code(self, name: str, names: tuple[str, ...], kind: str) -> int:
        if name not in names:
            known = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
            raise DataError(f"There is no {kind} {name!r} in the data; there is {known}.")
        return names.index(name)


def code_sets(distinct: Sequence[str], classes: Sequence[str]) -> NDArray[np.int32]:
    """The codes of the classes of each set of labels, (L, most), filled up with NO_CLASS."""
    number = {name: code for code, name in enumerate(classes)}
    codes = [[number[name] for name in names_in(label)] for label in distinct]
    most = max(map(len, codes), default=0)
    rows = [row + [NO_CLASS] * (most - len(row)) for row in codes]
    return np.array(rows, np.int32).reshape(len(codes), most)


def count_classes(
    labels: NDArray[np.int32], classes: int, label_sets: NDArray[np.int32] | None
) -> tuple[tuple[int, ...], Lengths]:
    """The number of texts per class, and the histogram of labels per text, empty for one each.

    Args:
        labels: (rows,), codes of labels.
        classes: Number of classes.
        label_sets: (L, most), from `code_sets`; None if labels are classes.
    """
    if label_sets is None:
        counts = np.bincount(labels, minlength=classes)
        return tuple(counts.tolist()), NO_LENGTHS
    texts = np.bincount(labels, minlength=len(label_sets))  # (L,)
    has = label_sets != NO_CLASS
    counts = np.bincount(
        label_sets[has], np.broadcast_to(texts[:, None], has.shape)[has], minlength=classes
    )
    sizes = np.bincount(has.sum(1), texts).astype(int)
    per_text = {number: int(count) for number, count in enumerate(sizes) if count}
    return tuple(counts.astype(int).tolist()), lengths(Counter(per_text))


def _build(
    place: Path, reading: Mapping[str, Any], folder: Path, progress: ProgressReporter
) -> None:
    """Reads a data set, and writes its index to `folder`.

    Raises:
        DataError: A file can't be read, holds no rows, or its labels are not classes.
    """
    options = content_options(reading)
    sources = {
        part: open_source(place, part, **options, on_bad_rows="skip")
        for part in existing_parts(place)
    }
    progress.expect_texts(sum(map(count_texts, sources.values())))
    with TextFileWriter(folder / _TEXTS) as texts, (folder / _RAW).open("wb") as raw:
        rows = _Rows(texts, raw, progress)
        for part, source in sources.items():
            rows.read(part, source)
    progress.say(f"counting the words of {len(rows.lines):,} texts")
    classes, distinct, labels = rows.label_codes()
    label_sets = code_sets(distinct, classes) if is_multilabel(distinct) else None
    if label_sets is not None:
        (folder / _LABEL_SETS).write_text(json.dumps(distinct), encoding="utf-8")
    for name, values in zip(_COLUMNS, (labels, rows.words, rows.lines), strict=True):
        np.save(folder / f"{name}.npy", np.asarray(values))
    splits = rows.split_facts(labels, len(classes), label_sets)
    statistics = _count_words(
        rows.numbering, folder, np.asarray(rows.words), labels, splits, label_sets
    )
    facts = statistics.facts(str(place.resolve()), options, classes, splits)
    (folder / _FACTS).write_text(json.dumps(facts.to_dict()), encoding="utf-8")
    (folder / _RAW).unlink()


class _Rows:
    """Collects the rows of a data set: texts and words in files, all else in memory."""

    def __init__(self, texts: TextFileWriter, raw: BinaryIO, progress: ProgressReporter) -> None:
        self.numbering = Numbering()
        self.lines = array("q")
        self.words = array("i")
        self._labels = array("i")  # numbered in the order of their first occurrence
        self._codes: defaultdict[str, int] = defaultdict(count().__next__)
        self._classes = set[str]()
        self._splits: list[tuple[str, int, dict[str, int], Counter[int]]] = []
        self._texts, self._raw, self._progress = texts, raw, progress

    def read(self, part: str, source: Source) -> None:
        """Reads a split."""
        first = len(self.lines)
        sentences: Counter[int] = Counter()
        for number, record in enumerate(source, 1):
            self._add(record)
            if number <= SENTENCE_TEXTS:
                sentences[sentence_count(record.text)] += 1
            if not number % _REPORTED:
                self._progress.on_texts(_REPORTED)
        rows = len(self.lines) - first
        self._progress.on_texts(rows % _REPORTED)
        self._splits.append((part, rows, dict(source.problems.counts), sentences))

    def label_codes(self) -> tuple[tuple[str, ...], tuple[str, ...], NDArray[np.int32]]:
        """The classes and the different labels in order, and the code of each row's, (rows,)."""
        distinct = sorted_labels(self._codes)
        place = {name: number for number, name in enumerate(distinct)}
        codes = np.array([place[name] for name in self._codes], np.int32)
        return classes_of(distinct), distinct, codes[np.asarray(self._labels)]

    def split_facts(
        self, labels: NDArray[np.int32], classes: int, label_sets: NDArray[np.int32] | None
    ) -> tuple[SplitFacts, ...]:
        """The facts of each split that do not need the numbers of its words."""
        facts = []
        first = 0
        for name, rows, bad_rows, sentences in self._splits:
            words = np.asarray(self.words)[first : first + rows]
            counts, per_text = count_classes(labels[first : first + rows], classes, label_sets)
            split = SplitFacts(
                name=name,
                rows=rows,
                bad_rows=bad_rows,
                class_rows=counts,
                running_words=int(words.sum(dtype=np.int64)),
                words=lengths(Counter(words.tolist())),
                sentences=lengths(sentences),
                sampled=sentences.total(),
                labels=per_text,
            )
            facts.append(split)
            first += rows
        return tuple(facts)

    def _add(self, record: Record) -> None:
        words = self.numbering.numbers(iter_words(record.text))
        words.tofile(self._raw)
        self._texts.add(record.text)
        self.words.append(len(words))
        self.lines.append(record.line)
        if record.label not in self._codes:
            self._classes.update(names_in(record.label))
        self._labels.append(self._codes[record.label])
        if len(self._classes) > _MOST_CLASSES:
            raise DataError(
                f"{record.file} has more than {_MOST_CLASSES:,} different labels. Name the column "
                "of the class with --label (label=...)."
            )


def _count_words(
    numbering: Numbering,
    folder: Path,
    lengths: NDArray[np.int32],
    labels: NDArray[np.int32],
    splits: tuple[SplitFacts, ...],
    label_sets: NDArray[np.int32] | None,
) -> WordStatistics:
    """Writes the table of words, their numbers in the texts, and the distinctive words."""
    words, merged = numbering.unite()
    raw = Tokens(folder / _RAW, lengths)
    stops = np.cumsum([split.rows for split in splits]).tolist()
    counts = np.zeros((len(splits), len(words)), np.int64)
    for first, stop in raw.ranges(stops):
        ids = merged[raw.read(first, stop)]
        counts[np.searchsorted(stops, first, side="right")] += np.bincount(
            ids, minlength=len(words)
        )
    order = np.argsort(-counts.sum(axis=0), kind="stable")
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    words, counts = words.take(order), counts[:, order]
    write_words(folder / _WORDS, words, counts)
    statistics = WordStatistics(counts, len(splits[0].class_rows), splits[0].rows, label_sets)
    with (folder / _TOKENS).open("wb") as file:
        for first, stop in raw.ranges(sorted({*statistics.points, *stops})):
            ids = rank[merged[raw.read(first, stop)]]
            ids.astype(DTYPE).tofile(file)
            if stop <= splits[0].rows:
                owners = np.repeat(labels[first:stop], lengths[first:stop])
                statistics.add(ids, owners, stop)
    listed = words.slice(0, statistics.by_class.words).to_pylist()
    statistics.by_class.write(folder / _DISTINCTIVE, listed)
    return statistics


def _share(weights: NDArray[Any], mask: NDArray[np.bool_]) -> float:
    return float(weights[mask].sum() / max(int(weights.sum()), 1))
