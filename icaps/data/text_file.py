"""A file of texts with random access, and a search through all of them, block by block.

It is an Arrow file, so that a search runs over its bytes as they are. Texts are UTF-8 in a binary
column, which, unlike a column of strings, can hold lone surrogates too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from icaps.errors import DataError

_SCHEMA = pa.schema([pa.field("text", pa.binary(), nullable=False)])
_BLOCK_ROWS, _BLOCK_BYTES = 4096, 1 << 20  # of a block; a longer text is a block of its own
THREADS = 2  # of a search; each holds one block in memory


class TextFileWriter:
    """Writes texts to a file, block by block."""

    def __init__(self, path: Path) -> None:
        self._writer = pa.ipc.new_file(path, _SCHEMA)
        self._block: list[bytes] = []
        self._bytes = 0

    def add(self, text: str) -> None:
        """Adds the next text."""
        encoded = text.encode("utf-8", "surrogatepass")
        self._block.append(encoded)
        self._bytes += len(encoded)
        if len(self._block) == _BLOCK_ROWS or self._bytes >= _BLOCK_BYTES:
            self._flush()

    def __enter__(self) -> TextFileWriter:
        """The writer, which is closed at the end of the block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Writes the last block unless there was an error, and closes the file."""
        if kind is None:
            self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._block:
            self._writer.write_batch(pa.record_batch([self._block], schema=_SCHEMA))
            self._block, self._bytes = [], 0


class TextFile:
    """The texts of a file that `TextFileWriter` wrote, (texts,).

    Raises:
        DataError: In all that reads texts: the file is damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        # Memory-mapped, so that reading a few texts reads only their bytes.
        self._mapped = pa.ipc.open_file(pa.memory_map(str(path)))
        if not self._mapped.schema.equals(_SCHEMA):
            raise DataError(f"{path} is no file of texts.")
        blocks = range(self._mapped.num_record_batches)
        rows = [self._mapped.get_batch(block).num_rows for block in blocks]
        self._starts = np.cumsum([0, *rows])

    def __len__(self) -> int:
        """The number of texts."""
        return int(self._starts[-1])

    def __iter__(self) -> Iterator[str]:
        """Reads all texts in their order, a block at a time."""
        for block in range(self._mapped.num_record_batches):
            yield from map(decoded, self._texts(self._mapped, block).to_pylist())

    def take(self, numbers: NDArray[np.int64]) -> list[str]:
        """The texts with these numbers (n,), in the order of `numbers`."""
        blocks = np.searchsorted(self._starts, numbers, side="right") - 1
        texts = np.empty(len(numbers), dtype=object)
        for block in np.unique(blocks):
            places = np.flatnonzero(blocks == block)
            inside = pa.array(numbers[places] - self._starts[block])
            taken = self._texts(self._mapped, int(block)).take(inside)
            for place, encoded in zip(places.tolist(), taken.to_pylist(), strict=True):
                texts[place] = decoded(encoded)
        return texts.tolist()

    def match(self, pattern: str, mask: NDArray[np.bool_]) -> None:
        """Clears the mask (texts,) for each text in which the pattern does not occur.

        Only the texts of the mask are read, in `THREADS` threads.

        Args:
            pattern: A regular expression of RE2.
            mask: Changed in place.
        """

        def keep(first: int, texts: Any) -> None:
            block_mask = mask[first : first + len(texts)]
            rows = np.flatnonzero(block_mask)
            if len(rows) < len(block_mask):
                texts = texts.take(pa.array(rows))
            # As strings, so that "." matches a character; for RE2 a lone surrogate is one, too.
            matches = pc.match_substring_regex(texts.view(pa.string()), pattern)
            block_mask[rows] = matches.to_numpy(zero_copy_only=False)

        self._scan(keep, mask)

    def hashes(self, wanted: NDArray[np.bool_]) -> NDArray[np.uint64]:
        """A hash of each text (texts,); 0 for texts outside the mask `wanted` (texts,)."""
        hashes = np.zeros(len(self), "<u8")

        def hash_all(first: int, texts: Any) -> None:
            for number in np.flatnonzero(wanted[first : first + len(texts)]).tolist():
                hashes[first + number] = _hash(texts[number].as_buffer())

        self._scan(hash_all, wanted)
        return hashes

    def _texts(self, reader: Any, block: int) -> Any:
        """The binary Arrow array of a block, checked, as damaged offsets would end the process."""
        try:
            texts = reader.get_batch(block).column(0)
            texts.validate(full=True)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self._path} is damaged ({error}).") from error
        return texts

    def _scan(self, visit: Callable[[int, Any], None], wanted: NDArray[np.bool_]) -> None:
        """Calls `visit` with the first number of each block that has wanted texts, and its texts.

        The texts are a binary Arrow array. Blocks are read, not memory-mapped, so that memory holds
        one block per thread.
        """
        starts = self._starts[:-1]
        blocks = np.flatnonzero(np.logical_or.reduceat(wanted, starts)) if len(starts) else starts

        def work(share: NDArray[np.int64]) -> None:
            with pa.OSFile(str(self._path)) as file:
                reader = pa.ipc.open_file(file)
                for block in share.tolist():
                    visit(int(starts[block]), self._texts(reader, block))

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(work, np.array_split(blocks, THREADS)))


def decoded(text: bytes) -> str:
    """Decodes the bytes of a text in the file."""
    try:
        return text.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise DataError(f"A text is damaged ({error}).") from error


def text_hash(text: str) -> int:
    """The hash of a text, as `TextFile.hashes` computes it."""
    return _hash(text.encode("utf-8", "surrogatepass"))


def _hash(encoded: bytes | pa.Buffer) -> int:
    return int.from_bytes(blake2b(encoded, digest_size=8).digest(), "little")
