"""Texts in a file, of which any is read at once, and all a block at a time.

The file is Arrow's, so that its search runs over the bytes as they stand there. Texts are UTF-8 in
a binary column: unlike a column of strings, that holds lone surrogates too.
"""

from __future__ import annotations

from collections.abc import Callable
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
_BLOCK_ROWS, _BLOCK_BYTES = 4096, 1 << 20  # of a block, which a longer text fills alone
THREADS = 2  # blocks that are searched at once; each holds one in memory


class TextsWriter:
    """Writes texts to a file, a block at a time."""

    def __init__(self, path: Path) -> None:
        self._writer = pa.ipc.new_file(path, _SCHEMA)
        self._block: list[bytes] = []
        self._bytes = 0

    def add(self, text: str) -> None:
        """Takes the next text."""
        encoded = text.encode("utf-8", "surrogatepass")
        self._block.append(encoded)
        self._bytes += len(encoded)
        if len(self._block) == _BLOCK_ROWS or self._bytes >= _BLOCK_BYTES:
            self._flush()

    def __enter__(self) -> TextsWriter:
        """Itself, to be closed at the end."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Writes what is left, unless there was an error, and the end of the file."""
        if kind is None:
            self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._block:
            self._writer.write_batch(pa.record_batch([self._block], schema=_SCHEMA))
            self._block, self._bytes = [], 0


class Texts:
    """The texts of a file that `TextsWriter` wrote."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # Mapped into memory, a page of texts costs no more than its own bytes.
        self._mapped = pa.ipc.open_file(pa.memory_map(str(path)))
        blocks = range(self._mapped.num_record_batches)
        rows = [self._mapped.get_batch(block).num_rows for block in blocks]
        self._starts = np.cumsum([0, *rows])

    def __len__(self) -> int:
        """How many texts there are."""
        return int(self._starts[-1])

    def take(self, numbers: NDArray[np.int64]) -> list[str]:
        """The texts of these numbers (n,), in their order."""
        blocks = np.searchsorted(self._starts, numbers, side="right") - 1
        texts = np.empty(len(numbers), dtype=object)
        for block in np.unique(blocks):
            places = np.flatnonzero(blocks == block)
            inside = pa.array(numbers[places] - self._starts[block])
            found = self._mapped.get_batch(int(block)).column(0).take(inside)
            for place, encoded in zip(places.tolist(), found.to_pylist(), strict=True):
                texts[place] = decoded(encoded)
        return texts.tolist()

    def keep_matching(self, pattern: str, kept: NDArray[np.bool_]) -> None:
        """Takes out of the mask `kept` (texts,) the texts in which the pattern is nowhere.

        Only the texts that are still in it are read, in `THREADS` threads.

        Args:
            pattern: Of RE2; see `check_pattern`.
            kept: Changed in place.
        """

        def keep(first: int, texts: Any) -> None:
            own = kept[first : first + len(texts)]
            rows = np.flatnonzero(own)
            if len(rows) < len(own):
                texts = texts.take(pa.array(rows))
            # As strings, so that a "." is a character; to RE2 a lone surrogate is one, too.
            found = pc.match_substring_regex(texts.view(pa.string()), pattern)
            own[rows] = found.to_numpy(zero_copy_only=False)

        self._scan(keep, kept)

    def hashes(self, wanted: NDArray[np.bool_]) -> NDArray[np.uint64]:
        """A hash of each text (texts,), 0 for those that are not in the mask `wanted` (texts,)."""
        hashes = np.zeros(len(self), "<u8")

        def hash_all(first: int, texts: Any) -> None:
            for number in np.flatnonzero(wanted[first : first + len(texts)]).tolist():
                digest = blake2b(texts[number].as_buffer(), digest_size=8).digest()
                hashes[first + number] = int.from_bytes(digest, "little")

        self._scan(hash_all, wanted)
        return hashes

    def _scan(self, visit: Callable[[int, Any], None], wanted: NDArray[np.bool_]) -> None:
        """Calls `visit` with the first number of each block that has wanted texts, and its texts.

        The texts are a binary Arrow array. Blocks are read, not mapped, so that memory holds one a
        thread, and not all that was read.
        """
        starts = self._starts[:-1]
        blocks = np.flatnonzero(np.logical_or.reduceat(wanted, starts)) if len(starts) else starts

        def work(share: NDArray[np.int64]) -> None:
            with pa.OSFile(str(self._path)) as file:
                reader = pa.ipc.open_file(file)
                for block in share.tolist():
                    visit(int(starts[block]), reader.get_batch(block).column(0))

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(work, np.array_split(blocks, THREADS)))


def decoded(text: bytes) -> str:
    """A text as it was before it was written."""
    return text.decode("utf-8", "surrogatepass")


def check_pattern(pattern: str) -> None:
    """Passes where RE2 can read the pattern.

    Raises:
        DataError: It can't; the message says what is wrong, and where.
    """
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        fault, _, part = str(error).removeprefix("Invalid regular expression: ").partition(": ")
        place = pattern.find(part) + 1
        raise DataError(
            f"The regular expression {pattern!r} has a mistake at character {place}, {part!r}: "
            f"{fault}. Mend it; https://github.com/google/re2/wiki/Syntax says what there is, and "
            r"\Q...\E takes what stands between as it is."
        ) from error
    except UnicodeEncodeError as error:
        raise DataError(
            f"The regular expression {pattern!r} has half a character at character "
            f"{error.start + 1}, which no text can be compared with; take it out."
        ) from error
