"""The index of a data set of any size: made once, kept in the cache, and searched in place.

explored/KEY/ready/facts.json     what was counted
                   texts.arrow    the texts, UTF-8, in blocks
                   tokens.bin     the numbers of their words, 4 bytes each
                   words.parquet  the different words with their counts, in the order of numbers
                   telling.parquet, labels.npy, words.npy, lines.npy
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from icaps.data.cache import make_ready, ready_folder
from icaps.data.fingerprint import home_of
from icaps.errors import DataError
from icaps.explore import build_index
from icaps.explore.distinctive_words import TellingWord, read_telling
from icaps.explore.facts import Facts
from icaps.explore.query import Query
from icaps.explore.reporting import SILENT, IndexProgress
from icaps.explore.texts import Texts, check_pattern
from icaps.explore.tokens import DTYPE, Tokens
from icaps.explore.word_table import WordTable, words_of


def index_of(place: Path, reading: Mapping[str, Any]) -> Path | None:
    """The folder of the index of these data as they are now; None where it is not made yet.

    Args:
        place: A file or a folder, as `icaps.data.resolve` gives it.
        reading: The options text, label, encoding and delimiter of `open_source`, those that are
            given; on_bad_rows makes no difference.

    Raises:
        DataError: There is no data at `place`.
    """
    return ready_folder(home_of(place, reading))


def make_index(place: Path, reading: Mapping[str, Any], progress: IndexProgress = SILENT) -> Path:
    """The folder of the index of these data, made unless it is there.

    Of a folder the train and the test part are read. Rows that can't be read are left out and
    counted. Of several processes one makes the index, and the others wait for it.

    Args:
        place: As for `index_of`.
        reading: As for `index_of`.
        progress: Told what is done, and how many more texts were read.

    Raises:
        DataError: A file can't be read, holds no rows or is changed meanwhile, the labels are no
            classes, or the cache can't be written.
        ConfigError: There is no such encoding or delimiter.
    """

    home = home_of(place, reading)

    def fill(folder: Path) -> None:
        progress.say(f"reading {place}")
        build_index.build(place, reading, folder, progress)
        if home_of(place, reading) != home:
            raise DataError(f"{place} was changed while it was read; do this again.")

    return make_ready(home, fill, progress)


def open_index(folder: Path) -> Index:
    """The index in a folder that `make_index` or `index_of` gave.

    Raises:
        DataError: It is damaged or not there.
    """
    try:
        return Index(folder)
    except (OSError, EOFError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise DataError(
            f"The index in {folder} can't be read ({error}). Delete the folder {folder.parent}, so "
            "that the index is made anew."
        ) from error


class Index:
    """A data set whose rows have numbers from 0: those of the first split, then of the second.

    Attributes:
        folder: Where it is.
        facts: What was counted.
        labels: The code of each row's class, of `classes`, (rows,).
        split: The code of each row's split, of `splits`, (rows,).
        words: How many words each row has, as `icaps.text.clean.split_words` counts them, (rows,).
        lines: Where each row is in its file: its line, or its row where a format has no lines, from
            1, (rows,).
        tokens: The numbers of each row's words.
        vocabulary: The words of these numbers.
        texts: The texts.
    """

    def __init__(self, folder: Path) -> None:
        plain = json.loads((folder / build_index.FACTS).read_text(encoding="utf-8"))
        self.folder = folder
        self.facts = Facts.from_dict(plain)
        columns = (np.load(folder / f"{name}.npy") for name in build_index.COLUMNS)
        self.labels: NDArray[np.int32]
        self.words: NDArray[np.int32]
        self.lines: NDArray[np.int64]
        self.labels, self.words, self.lines = columns
        rows = [split.rows for split in self.facts.splits]
        self.split: NDArray[np.int8] = np.repeat(np.arange(len(rows), dtype=np.int8), rows)
        self.tokens = Tokens(folder / build_index.TOKENS, self.words)
        self.vocabulary = WordTable(folder / build_index.WORDS, len(rows))
        self.texts = Texts(folder / build_index.TEXTS)
        if {len(self.labels), len(self.words), len(self.lines), len(self.texts)} != {sum(rows)}:
            raise ValueError("its files are not of the same number of rows")
        size = (folder / build_index.TOKENS).stat().st_size
        if size != self.words.sum(dtype=np.int64) * DTYPE.itemsize:
            raise ValueError("its words are not of the same number in two files")
        for name in (build_index.WORDS, build_index.TELLING):  # which are read later
            pq.read_metadata(folder / name)

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.labels)

    @property
    def classes(self) -> tuple[str, ...]:
        """Their names, in the order of the codes in `labels`."""
        return self.facts.classes

    @cached_property
    def splits(self) -> tuple[str, ...]:
        """Their names, in the order of the codes in `split`."""
        return tuple(split.name for split in self.facts.splits)

    def text(self, numbers: Sequence[int] | NDArray[np.int64]) -> list[str]:
        """The texts of rows, in the order of `numbers`, exactly as they stand in the data.

        Raises:
            IndexError: There is no such row.
        """
        rows = np.asarray(numbers, np.int64)
        if len(rows) and not (rows.min() >= 0 and rows.max() < len(self)):
            raise IndexError(f"rows are numbered from 0 to {len(self) - 1}")
        return self.texts.take(rows)

    def telling(self, name: str) -> list[TellingWord]:
        """The words that tell a class from the others in the first split, the best first.

        Raises:
            DataError: There is no such class.
        """
        return read_telling(
            self.folder / build_index.TELLING, self._code(name, self.classes, "class")
        )

    def find(self, query: Query, among: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """The numbers of the rows that meet all conditions of a query, in rising order.

        Args:
            query: The conditions.
            among: A mask (rows,) of rows that may be found; None: all.

        Raises:
            DataError: The regular expression is wrong, or there is no such class or split.
            ValueError: The mask is not of one value a row.
        """
        if query.regex:
            check_pattern(query.regex)
        kept = self._at_hand(query, among)
        for word in {word.casefold() for word in words_of(query.words)}:
            if kept.any():
                kept &= self.tokens.rows_with(self.vocabulary.ids(word))
        if query.regex:
            self.texts.keep_matching(query.regex, kept)
        return np.flatnonzero(kept)

    def _at_hand(self, query: Query, among: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        """The mask of the rows that meet the conditions which need no text."""
        kept = np.ones(len(self), np.bool_) if among is None else np.array(among, np.bool_)
        if kept.shape != (len(self),):
            raise ValueError(f"the mask is {kept.shape}; it must be ({len(self)},)")
        if query.classes:
            codes = [self._code(name, self.classes, "class") for name in query.classes]
            kept &= np.isin(self.labels, codes)
        if query.split:
            kept &= self.split == self._code(query.split, self.splits, "split")
        if query.fewest_words is not None:
            kept &= self.words >= query.fewest_words
        if query.most_words is not None:
            kept &= self.words <= query.most_words
        return kept

    def _code(self, name: str, names: tuple[str, ...], kind: str) -> int:
        if name not in names:
            told = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
            raise DataError(f"There is no {kind} {name!r} in the data; there is {told}.")
        return names.index(name)
