"""Makes the index of a data set: its texts are read once, and the numbers of their words twice.

Memory holds 16 bytes a row, some 100 bytes a different word, a block of texts, and `telling`'s
counts; the rest is in files.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from icaps.data.fingerprint import options_of, parts_of
from icaps.data.records import Record, in_order
from icaps.data.source import Source, open_source
from icaps.errors import DataError
from icaps.explore.facts import SplitFacts
from icaps.explore.reporting import IndexProgress
from icaps.explore.statistics import SENTENCE_TEXTS, WordStatistics, lengths, sentence_count
from icaps.explore.texts import TextsWriter
from icaps.explore.tokens import DTYPE, Tokens
from icaps.explore.word_table import Numbering, words_of, write_words

FACTS, TEXTS, TOKENS = "facts.json", "texts.arrow", "tokens.bin"
WORDS, TELLING = "words.parquet", "telling.parquet"
COLUMNS = ("labels", "words", "lines")
_RAW = "raw.bin"
_MOST_CLASSES = 100_000  # different labels; more are no classes
_TOLD = 1_000  # texts between two reports of progress


def build(place: Path, reading: Mapping[str, Any], folder: Path, progress: IndexProgress) -> None:
    """Reads a data set and writes its index to `folder`.

    Raises:
        DataError: A file can't be read, holds no rows, or its labels are no classes.
    """
    options = options_of(reading)
    with TextsWriter(folder / TEXTS) as texts, (folder / _RAW).open("wb") as raw:
        rows = _Rows(texts, raw, progress)
        for part in parts_of(place):
            rows.read(part, open_source(place, part, **options, on_bad_rows="skip"))
    progress.say(f"counting the words of {len(rows.lines):,} texts")
    classes, labels = rows.coded()
    for name, values in zip(COLUMNS, (labels, rows.words, rows.lines), strict=True):
        np.save(folder / f"{name}.npy", np.asarray(values))
    splits = rows.split_facts(labels, len(classes))
    statistics = _count_words(rows.numbering, folder, np.asarray(rows.words), labels, splits)
    facts = statistics.facts(str(place.resolve()), options, classes, splits)
    (folder / FACTS).write_text(json.dumps(facts.to_dict()), encoding="utf-8")
    (folder / _RAW).unlink()


class _Rows:
    """The rows as they are read: texts and words go to files, the rest is held."""

    def __init__(self, texts: TextsWriter, raw: BinaryIO, progress: IndexProgress) -> None:
        self.numbering = Numbering()
        self.lines = array("q")
        self.words = array("i")
        self._labels = array("i")  # by the order in which classes come
        self._codes: defaultdict[str, int] = defaultdict(count().__next__)
        self._splits: list[tuple[str, int, dict[str, int], Counter[int]]] = []
        self._texts, self._raw, self._progress = texts, raw, progress

    def read(self, part: str, source: Source) -> None:
        """Reads a split to its end."""
        first = len(self.lines)
        sentences: Counter[int] = Counter()
        for number, record in enumerate(source, 1):
            self._add(record)
            if number <= SENTENCE_TEXTS:
                sentences[sentence_count(record.text)] += 1
            if not number % _TOLD:
                self._progress.on_texts(_TOLD)
        rows = len(self.lines) - first
        self._progress.on_texts(rows % _TOLD)
        self._splits.append((part, rows, dict(source.problems.counts), sentences))

    def coded(self) -> tuple[tuple[str, ...], NDArray[np.int32]]:
        """The classes in order, and the code of each row's, (rows,)."""
        classes = in_order(self._codes)
        place = {name: number for number, name in enumerate(classes)}
        codes = np.array([place[name] for name in self._codes], np.int32)
        return classes, codes[np.asarray(self._labels)]

    def split_facts(self, labels: NDArray[np.int32], classes: int) -> tuple[SplitFacts, ...]:
        """What is known of each split without the words' numbers."""
        facts = []
        first = 0
        for name, rows, bad_rows, sentences in self._splits:
            words = np.asarray(self.words)[first : first + rows]
            counts = np.bincount(labels[first : first + rows], minlength=classes).tolist()
            split = SplitFacts(
                name,
                rows,
                bad_rows,
                tuple(counts),
                int(words.sum(dtype=np.int64)),
                lengths(Counter(words.tolist())),
                lengths(sentences),
                sentences.total(),
            )
            facts.append(split)
            first += rows
        return tuple(facts)

    def _add(self, record: Record) -> None:
        words = self.numbering.numbers(words_of(record.text))
        words.tofile(self._raw)
        self._texts.add(record.text)
        self.words.append(len(words))
        self.lines.append(record.line)
        self._labels.append(self._codes[record.label])
        if len(self._codes) > _MOST_CLASSES:
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
) -> WordStatistics:
    """Writes the table of words, their numbers in the texts, and the telling words."""
    words, meant = numbering.unite()
    raw = Tokens(folder / _RAW, lengths)
    stops = np.cumsum([split.rows for split in splits]).tolist()
    counts = np.zeros((len(splits), len(words)), np.int64)
    for first, stop in raw.ranges(stops):
        ids = meant[raw.read(first, stop)]
        counts[np.searchsorted(stops, first, side="right")] += np.bincount(
            ids, minlength=len(words)
        )
    order = np.argsort(-counts.sum(axis=0), kind="stable")
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    words, counts = words.take(order), counts[:, order]
    write_words(folder / WORDS, words, counts)
    statistics = WordStatistics(counts, len(splits[0].class_rows), splits[0].rows)
    with (folder / TOKENS).open("wb") as file:
        for first, stop in raw.ranges(sorted({*statistics.points, *stops})):
            ids = rank[meant[raw.read(first, stop)]]
            ids.astype(DTYPE).tofile(file)
            if stop <= splits[0].rows:
                owners = np.repeat(labels[first:stop], lengths[first:stop])
                statistics.add(ids, owners, stop)
    listed = words.slice(0, statistics.by_class.words).to_pylist()
    statistics.by_class.write(folder / TELLING, listed)
    return statistics
