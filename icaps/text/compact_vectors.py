"""Compact tables of word vectors: a byte per number, and words with equal vectors share a row.

A table is an uncompressed .npz file, so that it loads fast and its bytes depend on no compressor:

    words      (bytes,) uint8: the words in UTF-8, most frequent first, a newline after each
    rows       (words,) uint32: the row of each word
    vectors    (rows, dim) int8: multiples of `VECTOR_STEP`

The package contains one, `ENGLISH_FILE`; its card is `icaps/text/english/CARD.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np
from numpy.typing import NDArray

from icaps.config import VECTOR_STEP

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

ENGLISH_FILE = Path(__file__).parent / "english" / "vectors.npz"
# Of the file, and checked by a test. `icaps vectors build` computes it as well.
ENGLISH_SHA256 = "2a26a5851e8e4aa1e18595259a34f7b6fc28e3d02adcba225ff6ed3363115313"
_ARRAYS = {"words": (np.uint8, 1), "rows": (np.uint32, 1), "vectors": (np.int8, 2)}


@dataclass(frozen=True)
class CompactVectors:
    """Word vectors in bytes.

    Attributes:
        words: Most frequent first.
        rows: (words,), the row of each word.
        vectors: (rows, dim), multiples of `VECTOR_STEP`.
    """

    words: tuple[str, ...]
    rows: NDArray[np.uint32]
    vectors: NDArray[np.int8]

    @classmethod
    def load(cls, path: Path) -> CompactVectors:
        """Reads a file that `save` wrote.

        Raises:
            OSError: The file cannot be read.
            ValueError: It is damaged, or no such table.
        """
        with ZipFile(path) as archive:
            if any(entry.compress_type != ZIP_STORED for entry in archive.infolist()):
                raise ValueError("its arrays are compressed, which those of a table never are")
        with np.load(path, allow_pickle=False) as arrays:
            words, rows, vectors = (_array(arrays, name) for name in _ARRAYS)
        texts = words.tobytes().decode().split("\n")
        if texts.pop() or len(texts) != len(rows) or len(set(texts)) != len(texts):
            raise ValueError("it must have one row per word, and each word once")
        if len(rows) and int(rows.max()) >= len(vectors):
            raise ValueError(f"a word has row {rows.max()} of {len(vectors)}")
        return cls(tuple(texts), rows, vectors)

    def save(self, path: Path) -> None:
        """Writes the table to a file; OSError if it cannot be written."""
        words = np.frombuffer("".join(f"{word}\n" for word in self.words).encode(), np.uint8)
        part = path.with_name(f"{path.name}.part")
        with part.open("wb") as file:
            np.savez(file, words=words, rows=self.rows, vectors=self.vectors)
        part.replace(path)

    def keyed(self) -> KeyedVectors:
        """The table as gensim's object; words with the same row have the same index."""
        from gensim.models import KeyedVectors

        vectors = KeyedVectors(self.vectors.shape[1])
        vectors.index_to_key = list(self.words)
        vectors.key_to_index = dict(zip(self.words, self.rows.tolist(), strict=True))
        vectors.vectors = self.vectors * np.float32(VECTOR_STEP)
        return vectors


def is_compact(archive: ZipFile) -> bool:
    """Whether an archive holds a compact table."""
    return set(archive.namelist()) == {f"{name}.npy" for name in _ARRAYS}


def _array(arrays: Any, name: str) -> NDArray[Any]:
    values: NDArray[Any] = arrays[name]
    kind, axes = _ARRAYS[name]
    if values.dtype != kind or values.ndim != axes:
        raise ValueError(f"its {name} are not an array of {np.dtype(kind)} with {axes} axes")
    return values
