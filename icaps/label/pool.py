"""The texts of a labelling task as files: read on demand, each once, with labels of the data.

texts.arrow     the texts, UTF-8, in blocks
hashes.npy      (texts,) their hashes (`data.text_hash`)
given.npy       (texts,) number of the label in given.json that the data has for a text; -1: none
given.json      the different labels of the data
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from tokenize import TokenError
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from icaps.data.paths import check_regular
from icaps.data.plain_json import parse_json
from icaps.data.reporting import SILENT, ProgressReporter
from icaps.data.text_file import TextFile, TextFileWriter
from icaps.data.text_hash import BLANK, text_hash
from icaps.errors import DataError

_TEXTS, _HASHES, _GIVEN, _NAMES = "texts.arrow", "hashes.npy", "given.npy", "given.json"
_NONE = -1  # number of no label
_MOST_LABELS = 10_000  # different labels of the data at most; more are not classes
_REPORTED = 1_000  # texts between two reports of progress


class Pool:
    """The texts of a task by their numbers, the ids. Memory holds 12 bytes per text.

    Args:
        folder: What `write_pool` wrote.

    Raises:
        DataError, OSError, ValueError: The files are missing or damaged.

    Attributes:
        texts: The texts.
        given: (texts,), numbers in `names`; -1 for texts without a label in the data.
        names: The different labels that the data has.
    """

    def __init__(self, folder: Path) -> None:
        for name in (_TEXTS, _HASHES, _GIVEN, _NAMES):
            check_regular(folder / name)
        self.texts = TextFile(folder / _TEXTS)
        self.given: NDArray[np.int32] = _load(folder / _GIVEN, np.int32)
        self.names: list[str] = parse_json((folder / _NAMES).read_text(encoding="utf-8"))
        self._hashes: NDArray[np.uint64] = _load(folder / _HASHES, np.uint64)
        if not isinstance(self.names, list) or not all(isinstance(n, str) for n in self.names):
            raise ValueError(f"{_NAMES} has no names")
        if not len(self.texts) == len(self.given) == len(self._hashes) > 0:
            raise ValueError("its files are not of the same texts")
        if self.given.min() < _NONE or self.given.max() >= len(self.names):
            raise ValueError(f"{_GIVEN} has a number without a name")

    def __len__(self) -> int:
        return len(self.given)

    def text(self, ids: Iterable[int]) -> list[str]:
        """The texts of ids, in their order."""
        return self.texts.take(np.fromiter(ids, np.int64))

    def find(self, texts: Iterable[str]) -> list[int | None]:
        """The id of each text, without regard to case and white space; None for one not here."""
        hashes = np.array([text_hash(text) for text in texts], np.uint64)
        order, values = self._sorted
        places = np.searchsorted(values, hashes).clip(max=len(values) - 1)
        same = values[places] == hashes
        ids = order[places].tolist()
        return [n if known else None for n, known in zip(ids, same.tolist(), strict=True)]

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        order = np.argsort(self._hashes, kind="stable")
        return order, self._hashes[order]


def _load(path: Path, kind: type[np.generic]) -> NDArray[Any]:
    """The array (texts,) of a file; ValueError if it is damaged."""
    try:
        # Mapped first, as this compares the size that a header claims with that of the file.
        array = np.array(np.load(path, mmap_mode="r"))
    except (SyntaxError, TokenError, EOFError, BadZipFile) as error:
        raise ValueError(f"{path.name} is damaged ({error})") from error
    if array.dtype != kind or array.ndim != 1:
        raise ValueError(f"{path.name} is damaged (its values are of another type)")
    return array


def write_pool(
    pairs: Iterable[tuple[str, str]], folder: Path, progress: ProgressReporter = SILENT
) -> None:
    """Writes the files of a pool; blank texts and repeated ones are left out.

    Args:
        pairs: Texts, each with the label that the data has for it, or an empty string. Of a
            repeated text the first label counts.
        folder: An empty folder.
        progress: Receives the number of texts that were read.

    Raises:
        DataError: There is no text, or the labels are not classes.
    """
    ids: dict[int, int] = {}  # by hash
    numbers: dict[str, int] = {}  # of labels
    given = array("i")
    read = 0
    with TextFileWriter(folder / _TEXTS) as texts:
        for read, (text, label) in enumerate(pairs, 1):
            if not read % _REPORTED:
                progress.on_texts(_REPORTED)
            key = text_hash(text)
            if key == BLANK:
                continue
            number = numbers.setdefault(label, len(numbers)) if label else _NONE
            if len(numbers) > _MOST_LABELS:
                raise DataError(
                    f"The texts have more than {_MOST_LABELS:,} different labels, which are no "
                    "classes. Name the column of the class with --label (label=...)."
                )
            place = ids.setdefault(key, len(ids))
            if place == len(given):
                texts.add(text)
                given.append(number)
            elif given[place] == _NONE:
                given[place] = number
    if not given:
        raise DataError(f"None of {read:,} texts has a character; give texts.")
    np.save(folder / _HASHES, np.fromiter(ids, np.uint64, len(ids)))
    np.save(folder / _GIVEN, np.array(given, np.int32))
    (folder / _NAMES).write_text(json.dumps(list(numbers)), encoding="utf-8")
