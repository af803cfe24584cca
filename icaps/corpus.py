"""From a file or folder of labelled texts to the encoded corpus that training reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from icaps.data.records import in_order
from icaps.data.source import Source, open_source
from icaps.text import EncodedText

if TYPE_CHECKING:
    from icaps.layers import Packed


@dataclass(frozen=True)
class LabelledTexts:
    """Texts with the name of each one's class; `classes` in the order of the labels."""

    texts: list[str]
    labels: list[str]
    classes: tuple[str, ...]

    @classmethod
    def from_source(cls, source: Source) -> LabelledTexts:
        """All records of a source, and its names of classes, or else the labels in their order.

        Raises:
            DataError: A file can't be read, a row is bad, or there is none.
        """
        records = [(text, label) for text, label, _, _ in source]
        texts = [text for text, _ in records]
        labels = [label for _, label in records]
        return cls(texts, labels, source.describe().classes or in_order(labels))


def read_part(path: str | Path, part: str, **options: Any) -> LabelledTexts:
    """The texts of a file, or of the part ("train", "test") of a folder.

    `options` are those of `icaps.data.source.open_source`, which says what is read.

    Raises:
        DataError: Nothing is there, the columns can't be told, or a row is bad.
    """
    return LabelledTexts.from_source(open_source(path, part, **options))


@dataclass(frozen=True)
class Corpus:
    """Encoded texts end to end: ids (tokens,), lengths (texts,), labels (texts,)."""

    ids: np.ndarray[Any, np.dtype[np.int32]]
    lengths: np.ndarray[Any, np.dtype[np.int64]]
    labels: np.ndarray[Any, np.dtype[np.int64]]

    @classmethod
    def from_encoded(cls, encoded: Sequence[EncodedText], labels: Sequence[int]) -> Corpus:
        """Lays the texts end to end; `labels` are class numbers, one a text."""
        ids = [text.ids.astype(np.int32) for text in encoded] or [np.zeros(0, np.int32)]
        lengths = np.array([len(text.ids) for text in encoded], dtype=np.int64)
        return cls(np.concatenate(ids), lengths, np.array(labels, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.lengths)

    def select(self, texts: np.ndarray[Any, np.dtype[np.int64]]) -> Corpus:
        """The corpus of these texts alone, in this order; `texts` are their numbers."""
        ends = self.lengths.cumsum()
        parts = [self.ids[ends[n] - self.lengths[n] : ends[n]] for n in texts]
        ids = np.concatenate([*parts, self.ids[:0]])
        return Corpus(ids, self.lengths[texts], self.labels[texts])

    def pack(self) -> Packed:
        """The texts as a batch for the network."""
        import torch

        from icaps.layers import Packed

        return Packed(torch.from_numpy(self.ids).long(), torch.from_numpy(self.lengths))
