"""Hashes of the texts that a training read, so that a score on them can be recognised later.

texts.safetensors of a checkpoint: `training` and `held_out`, uint64, each sorted; 8 bytes per text.

The texts themselves are not stored. Texts are equal up to case and white space. Nothing here
imports torch.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from icaps.data.atomic import COPY_AGAIN
from icaps.data.text_hash import BLANK, text_hash
from icaps.errors import CheckpointError
from icaps.train.checkpoint_files import TEXTS

_NAMES = ("training", "held_out")


class HasText(Protocol):
    """A record with a text."""

    @property
    def text(self) -> str:
        """The text."""


Hashed = TypeVar("Hashed", bound=HasText)


@dataclass(frozen=True)
class TextHashes:
    """Hashes (`text_hash`) of the texts of a training, each part sorted and without repeats.

    Attributes:
        training: (n,), of the texts that the weights were fitted to, and of texts without labels
            that were trained on.
        held_out: (m,), of the texts that were held out, by which the epoch was chosen and the
            probabilities were calibrated. A text that is also in the training part is not in it.
    """

    training: NDArray[np.uint64]
    held_out: NDArray[np.uint64]

    @classmethod
    def of(
        cls,
        hashes: NDArray[np.uint64],
        training: NDArray[np.integer[Any]],
        held_out: NDArray[np.integer[Any]],
    ) -> TextHashes:
        """The hashes of a split: `hashes` (texts,), and the positions of both parts."""
        first = np.setdiff1d(hashes[training], [np.uint64(BLANK)])
        second = np.setdiff1d(hashes[held_out], [np.uint64(BLANK)])
        return cls(first, np.setdiff1d(second, first, assume_unique=True))

    def in_training(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """A mask (texts,) of the hashes that are in the training part."""
        return _contains(self.training, hashes)

    def in_held_out(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """A mask (texts,) of the hashes that are in the held-out part."""
        return _contains(self.held_out, hashes)

    def save(self, folder: Path) -> None:
        """Writes the file of a checkpoint folder.

        Raises:
            OSError: It cannot be written.
        """
        save_file(dict(zip(_NAMES, (self.training, self.held_out), strict=True)), folder / TEXTS)
        (folder / TEXTS).chmod(0o644)  # safetensors creates it readable to its owner only


def load_hashes(folder: str | Path) -> TextHashes | None:
    """The hashes in the folder of a model or a baseline; None if it was trained before they were.

    Raises:
        CheckpointError: The file is damaged.
    """
    path = Path(folder) / TEXTS
    if not path.is_file():
        return None
    try:
        arrays = load_file(path)
        hashes = TextHashes(*(arrays[name] for name in _NAMES))
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise CheckpointError(f"{path} is damaged ({error}). {COPY_AGAIN}") from error
    for name, values in zip(_NAMES, (hashes.training, hashes.held_out), strict=True):
        if values.dtype != np.uint64 or values.ndim != 1 or not (values[1:] > values[:-1]).all():
            raise CheckpointError(f"{path} is damaged ({name} is not sorted). {COPY_AGAIN}")
    return hashes


def hash_texts(texts: Iterable[str]) -> NDArray[np.uint64]:
    """The hashes of texts, (texts,)."""
    return as_array(array("Q", map(text_hash, texts)))


def hashing(records: Iterable[Hashed], hashes: array[int]) -> Iterator[Hashed]:
    """The records as they are, while the hash of each text is appended to an array("Q")."""
    for record in records:
        hashes.append(text_hash(record.text))
        yield record


def as_array(hashes: array[int]) -> NDArray[np.uint64]:
    """An array("Q") as an array of numpy, (texts,)."""
    return np.frombuffer(hashes, np.uint64) if hashes else np.zeros(0, np.uint64)


def _contains(values: NDArray[np.uint64], hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether each hash is among sorted values, (texts,)."""
    if not len(values):
        return np.zeros(len(hashes), dtype=bool)
    places = np.searchsorted(values, hashes)
    places[places == len(values)] = 0
    return np.asarray(values[places] == hashes)
