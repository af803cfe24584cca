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

import numpy as np
from numpy.typing import NDArray

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

    Attributes:
        texts: The texts.
        given: (texts,), numbers in `names`; -1 for texts without a label in the data.
        names: The different labels that the data has.
    """

    def __init__(self, folder: Path) -> None:
        self.texts = TextFile(folder / _TEXTS)
        self.given: NDArray[np.int32] = np.load(folder / _GIVEN)
        self.names: list[str] = json.loads((folder / _NAMES).read_text(encoding="utf-8"))
        self._hashes: NDArray[np.uint64] = np.load(folder / _HASHES)

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
