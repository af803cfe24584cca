"""Words of a data set as numbers: the table of different words, and the tokens of all texts."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from icaps.data.text_file import THREADS
from icaps.text.tokenizer import words_of

DTYPE = np.dtype("<i4")
RANGE = 1 << 21  # words that are read at a time; a longer text is read whole
_MOST_IN_DICT = 500_000  # words, some 200 bytes each; the others are packed in Arrow arrays
_BATCH = 100_000  # words in memory as Python strings
_PIECE = 100_000  # characters of a text that are split at a time, or more where it cannot be cut
# Where a cut changes no word: at a space between letters or digits, of which those left out here
# may be in one grapheme with it; and in scripts without spaces between two letters, each of which
# starts a grapheme.
_CUT = re.compile(
    r"(?<=[^\W_\u0D4E\U00011000-\U00011FFF])\x20(?=[^\W_\u0E33\u0EB3\uFF9E\uFF9F])"
    r"|(?<=[\u4E00-\u9FFF])(?=[\u4E00-\u9FFF])"  # Han
    r"|(?<=[\u3041-\u3096])(?=[\u3041-\u3096])"  # Hiragana
    r"|(?<=[\u0E01-\u0E2E])(?=[\u0E01-\u0E2E])"  # Thai consonants
)


def iter_words(text: str) -> Iterable[str]:
    """The words of `icaps.text.tokenizer.words_of`; those of a long text piece by piece."""
    if len(text) <= _PIECE:
        return words_of(text)
    return chain.from_iterable(map(words_of, _pieces(text)))


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while cut := _CUT.search(text, start + _PIECE):
        yield text[start : cut.start()]
        start = cut.end()
    yield text[start:]


class Numbering:
    """Numbers words in the order of their occurrence, in some 20 bytes per different word.

    A word that is no longer in the dict gets another number; `unite` maps the numbers of a word to
    one.
    """

    def __init__(self) -> None:
        self._packed: list[Any] = []
        self._count = 0
        self._restart()

    def numbers(self, words: Iterable[str]) -> array[int]:
        """The number of each word, in order."""
        numbers = array("i", map(self._in_dict.__getitem__, words))
        if len(self._in_dict) >= _MOST_IN_DICT:
            self._pack()
        return numbers

    def unite(self) -> tuple[Any, NDArray[np.int32]]:
        """The different words, an Arrow array (V,), and the index in it per number."""
        self._pack()
        united = pa.concat_arrays(self._packed).dictionary_encode()
        self._packed = []
        return united.dictionary, united.indices.to_numpy()

    def _pack(self) -> None:
        self._packed.append(pa.array(list(self._in_dict), pa.large_string()))
        self._count += len(self._in_dict)
        self._restart()

    def _restart(self) -> None:
        self._in_dict: defaultdict[str, int] = defaultdict(count(self._count).__next__)


class WordTable:
    """The different words, the most frequent first, and their counts in each split."""

    def __init__(self, path: Path, splits: int) -> None:
        self._path = path
        self._splits = splits

    def ids(self, word: str) -> list[int]:
        """The numbers of the words that equal this one, ignoring case."""
        same = pc.equal(self._folded, pa.scalar(word.casefold(), pa.large_string()))
        matches: list[int] = pc.indices_nonzero(same).to_pylist()
        return matches

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The count of each word in each split, (splits, V)."""
        names = [f"count {split}" for split in range(self._splits)]
        columns = pq.read_table(self._path, columns=names).columns
        return np.array([column.to_numpy() for column in columns])

    @cached_property
    def folded_ids(self) -> NDArray[np.int32]:
        """A number per word (V,), which is equal for words that differ only in case."""
        encoded = self._folded.combine_chunks().dictionary_encode()
        numbers: NDArray[np.int32] = encoded.indices.to_numpy()
        return numbers

    def batches(self) -> Iterator[list[str]]:
        """The words in order, in batches."""
        for batch in pq.ParquetFile(self._path).iter_batches(_BATCH, columns=["word"]):
            yield batch.column(0).to_pylist()

    @cached_property
    def _folded(self) -> Any:
        return pq.read_table(self._path, columns=["folded"]).column(0)


def write_words(path: Path, words: Any, counts: NDArray[np.int64]) -> None:
    """Writes the file of a `WordTable`.

    Args:
        path: Path of the file.
        words: (V,), an Arrow array of strings.
        counts: (splits, V), count of each word in each split.
    """
    fields = [("word", pa.large_string()), ("folded", pa.large_string())]
    fields += [(f"count {split}", pa.int64()) for split in range(len(counts))]
    schema = pa.schema(fields)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for start in range(0, len(words), _BATCH):
            batch = words.slice(start, _BATCH)
            folded = [word.casefold() for word in batch.to_pylist()]
            batch_counts = counts[:, start : start + _BATCH]
            writer.write_batch(pa.record_batch([batch, folded, *batch_counts], schema=schema))


class RowWords(NamedTuple):
    """The words of rows: their numbers (words,), and the number of words per row (rows,)."""

    ids: NDArray[np.int32]
    lengths: NDArray[np.int64]


def index_ranges(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each n, the `counts[n]` indices from `starts[n]` on, end to end."""
    before = counts.cumsum() - counts
    return np.arange(counts.sum()) + np.repeat(starts - before, counts)


class Tokens:
    """The numbers of the running words in a file, row after row.

    Args:
        path: A file of 32-bit numbers.
        words: (rows,), number of words per row.
    """

    def __init__(self, path: Path, words: NDArray[np.int32]) -> None:
        self._path = path
        self.offsets = np.zeros(len(words) + 1, np.int64)  # of the first word of each row
        np.cumsum(words, out=self.offsets[1:])

    def read(self, first: int, stop: int) -> NDArray[np.int32]:
        """The words of the rows from `first` to before `stop`, (words,)."""
        start, end = self.offsets[first], self.offsets[stop]
        return np.fromfile(self._path, DTYPE, int(end - start), offset=int(start) * DTYPE.itemsize)

    def gather(self, rows: NDArray[np.int64], most: int) -> RowWords:
        """The first `most` words of each of these rows (n,), in their order."""
        starts = self.offsets[rows]
        lengths = np.minimum(self.offsets[rows + 1] - starts, most)
        return RowWords(self._mapped[index_ranges(starts, lengths)], lengths)

    def ranges(self, stops: Sequence[int], words: int = RANGE) -> Iterator[tuple[int, int]]:
        """Ranges of rows with about `words` words each; a range ends at each of `stops`."""
        first = 0
        for stop in stops:
            while first < stop:
                most = int(self.offsets[first]) + words
                end = int(np.searchsorted(self.offsets, most, side="right")) - 1
                end = min(max(end, first + 1), stop)
                yield first, end
                first = end

    def rows_with(self, ids: Sequence[int]) -> NDArray[np.bool_]:
        """A mask (rows,) of the rows that contain one of these words."""
        matches = np.zeros(len(self.offsets) - 1, np.bool_)
        if not ids:
            return matches

        def mark(rows: tuple[int, int]) -> None:
            first, stop = rows
            words = self.read(first, stop)
            hits = np.zeros(len(words), np.bool_)
            for number in ids:
                hits |= words == number
            starts = self.offsets[first:stop] - self.offsets[first]
            filled = np.diff(self.offsets[first : stop + 1]) > 0
            if filled.any():  # `reduceat` takes no row without words
                matches[first:stop][filled] = np.logical_or.reduceat(hits, starts[filled])

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(mark, self.ranges([len(matches)])))
        return matches

    @cached_property
    def _mapped(self) -> NDArray[np.int32]:
        if not self.offsets[-1]:  # an empty file can't be mapped
            return np.zeros(0, np.int32)
        return np.memmap(self._path, DTYPE, "r")
