"""Reads the word vectors of a spaCy pipeline from its wheel; spaCy itself is not needed.

A pipeline stores the strings that it knows, rows of vectors, and a table from the hash of a string
(MurmurHash64A with seed 1) to its row. In pipelines of medium size, many words share a row: that of
the most similar of the words that have a row of their own. Rows are in the order of frequency.
"""

from __future__ import annotations

import io
import json
import struct
from typing import TYPE_CHECKING
from zipfile import ZipFile

import numpy as np

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

_ROWS = "/vocab/key2row"  # the end of the name of the file in the wheel
_WIDE, _FACTOR = 0xFFFFFFFFFFFFFFFF, 0xC6A4A7935BD1E995
# The first bytes of the whole numbers of msgpack, with their formats and sizes.
_NUMBERS = {0xCC: (">B", 1), 0xCD: (">H", 2), 0xCE: (">I", 4), 0xCF: (">Q", 8)}
_MAP = 0xDF  # the first byte of a large map of msgpack


def is_spacy_package(archive: ZipFile) -> bool:
    """Whether an archive holds a pipeline with vectors."""
    return any(name.endswith(_ROWS) for name in archive.namelist())


def read_spacy_package(archive: ZipFile) -> KeyedVectors:
    """The vectors of a pipeline's words without spaces.

    `key_to_index` has the row of each word, which several may share; `index_to_key` has the words
    in the order of their rows.

    Raises:
        ValueError: A file is damaged or missing.
    """
    from gensim.models import KeyedVectors

    folder = next(name for name in archive.namelist() if name.endswith(_ROWS)).removesuffix(_ROWS)
    try:
        strings = json.loads(archive.read(f"{folder}/vocab/strings.json"))
        table = np.load(io.BytesIO(archive.read(f"{folder}/vocab/vectors")), allow_pickle=False)
        rows = _read_map(archive.read(folder + _ROWS))
    except (KeyError, IndexError, struct.error) as error:
        raise ValueError(f"its pipeline has no whole vectors: {error}") from error
    hashed = ((murmur_hash(word.encode("utf-8", "ignore")), word) for word in strings)
    known = sorted(
        (rows[number], word) for number, word in hashed if number in rows and word.split() == [word]
    )
    if not known or known[-1][0] >= len(table):
        raise ValueError("its pipeline has no whole vectors: rows are missing")
    vectors = KeyedVectors(table.shape[1])
    vectors.index_to_key = [word for _, word in known]
    vectors.key_to_index = {word: row for row, word in known}
    vectors.vectors = table.astype(np.float32)
    return vectors


def murmur_hash(data: bytes, seed: int = 1) -> int:
    """Austin Appleby's MurmurHash64A, which is in the public domain."""
    value = (seed ^ (len(data) * _FACTOR)) & _WIDE
    whole = len(data) // 8 * 8
    for (part,) in struct.iter_unpack("<Q", data[:whole]):
        mixed = (part * _FACTOR) & _WIDE
        mixed = ((mixed ^ mixed >> 47) * _FACTOR) & _WIDE
        value = ((value ^ mixed) * _FACTOR) & _WIDE
    if data[whole:]:
        value = ((value ^ int.from_bytes(data[whole:], "little")) * _FACTOR) & _WIDE
    value = ((value ^ value >> 47) * _FACTOR) & _WIDE
    return value ^ value >> 47


def _read_map(data: bytes) -> dict[int, int]:
    """A map of whole numbers in msgpack."""
    if data[0] != _MAP:
        raise ValueError("its table of rows is not a map of msgpack")
    numbers: list[int] = []
    at = 5
    while at < len(data):
        first = data[at]
        at += 1
        if first < 0x80:
            numbers.append(first)
            continue
        if first not in _NUMBERS:
            raise ValueError("its table of rows has something else than whole numbers")
        kind, size = _NUMBERS[first]
        numbers.append(struct.unpack_from(kind, data, at)[0])
        at += size
    if len(numbers) != 2 * struct.unpack_from(">I", data, 1)[0]:
        raise ValueError("its table of rows is cut off")
    return dict(zip(numbers[::2], numbers[1::2], strict=True))
