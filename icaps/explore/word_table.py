"""The different words of a data set: their numbers while it is read, and the table that is kept."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from icaps.text.clean import words_of as words_at_once

_AT_HAND = 500_000  # words in a dict, at some 200 bytes each; the others are packed away
_BATCH = 100_000  # words that are Python's strings at once
_PIECE = 100_000  # characters of a text that are split at once, or more where nothing allows a cut
# Where a cut changes no word: at a space between letters or digits, of which those left out here
# may be in one grapheme with it; and in scripts without spaces between two letters, each of which
# starts a grapheme.
_CUT = re.compile(
    r"(?<=[^\W_\u0D4E\U00011000-\U00011FFF])\x20(?=[^\W_\u0E33\u0EB3\uFF9E\uFF9F])"
    r"|(?<=[\u4E00-\u9FFF])(?=[\u4E00-\u9FFF])"  # Han
    r"|(?<=[\u3041-\u3096])(?=[\u3041-\u3096])"  # Hiragana
    r"|(?<=[\u0E01-\u0E2E])(?=[\u0E01-\u0E2E])"  # Thai consonants
)


def words_of(text: str) -> Iterable[str]:
    """The words that `icaps.text.clean.words_of` gives, some at a time where there are many."""
    if len(text) <= _PIECE:
        return words_at_once(text)
    return chain.from_iterable(map(words_at_once, _pieces(text)))


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while cut := _CUT.search(text, start + _PIECE):
        yield text[start : cut.start()]
        start = cut.end()
    yield text[start:]


class Numbering:
    """Numbers words as they come, in memory of some 20 bytes a different word.

    A word gets a number of its own whenever it isn't at hand, so it may have several; `unite` tells
    which are of one word.
    """

    def __init__(self) -> None:
        self._packed: list[Any] = []
        self._count = 0
        self._restart()

    def numbers(self, words: Iterable[str]) -> array[int]:
        """The number of each word."""
        numbers = array("i", map(self._at_hand.__getitem__, words))
        if len(self._at_hand) >= _AT_HAND:
            self._pack()
        return numbers

    def unite(self) -> tuple[Any, NDArray[np.int32]]:
        """The different words, an Arrow array (V,), and which of them each number means."""
        self._pack()
        united = pa.concat_arrays(self._packed).dictionary_encode()
        self._packed = []
        return united.dictionary, united.indices.to_numpy()

    def _pack(self) -> None:
        self._packed.append(pa.array(list(self._at_hand), pa.large_string()))
        self._count += len(self._at_hand)
        self._restart()

    def _restart(self) -> None:
        self._at_hand: defaultdict[str, int] = defaultdict(count(self._count).__next__)


class WordTable:
    """The different words, the most frequent first, and how often each split has them."""

    def __init__(self, path: Path, splits: int) -> None:
        self._path = path
        self._splits = splits

    def ids(self, word: str) -> list[int]:
        """The numbers of the words that are this one but for upper and lower case."""
        same = pc.equal(self._folded, pa.scalar(word.casefold(), pa.large_string()))
        found: list[int] = pc.indices_nonzero(same).to_pylist()
        return found

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How often each split has each word, (splits, V)."""
        names = [f"count {split}" for split in range(self._splits)]
        columns = pq.read_table(self._path, columns=names).columns
        return np.array([column.to_numpy() for column in columns])

    @cached_property
    def folded_ids(self) -> NDArray[np.int32]:
        """A number for each word, (V,), that words which differ in case alone share."""
        encoded = self._folded.combine_chunks().dictionary_encode()
        numbers: NDArray[np.int32] = encoded.indices.to_numpy()
        return numbers

    def batches(self) -> Iterator[list[str]]:
        """The words in order, some at a time."""
        for batch in pq.ParquetFile(self._path).iter_batches(_BATCH, columns=["word"]):
            yield batch.column(0).to_pylist()

    @cached_property
    def _folded(self) -> Any:
        return pq.read_table(self._path, columns=["folded"]).column(0)


def write_words(path: Path, words: Any, counts: NDArray[np.int64]) -> None:
    """Writes the file of a `WordTable`.

    Args:
        path: Of the file.
        words: An Arrow array of strings, (V,).
        counts: How often each split has each, (splits, V).
    """
    fields = [("word", pa.large_string()), ("folded", pa.large_string())]
    fields += [(f"count {split}", pa.int64()) for split in range(len(counts))]
    schema = pa.schema(fields)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for start in range(0, len(words), _BATCH):
            some = words.slice(start, _BATCH)
            folded = [word.casefold() for word in some.to_pylist()]
            own = counts[:, start : start + _BATCH]
            writer.write_batch(pa.record_batch([some, folded, *own], schema=schema))
