"""From a file or folder of labelled texts to the encoded corpus that training reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from icaps.text.batch import TokenBatch


class Sliced(Protocol):
    """Numbers of which a slice can be had: an array, or a file of them."""

    def __getitem__(self, where: slice, /) -> NDArray[Any]:
        """The numbers from `where.start` to before `where.stop`."""


@dataclass(frozen=True)
class Corpus:
    """Encoded texts end to end, in memory or in files; a selection copies nothing.

    ids (tokens,); sentence_offsets (sentences + 1,), tokens before each sentence; text_offsets
    (all texts + 1,), sentences before each text; all_labels (all texts,); texts (texts,), the
    numbers of those that are selected, in their order.
    """

    ids: Sliced
    sentence_offsets: Sliced
    text_offsets: Sliced
    all_labels: NDArray[np.integer[Any]]
    texts: NDArray[np.integer[Any]]

    @classmethod
    def from_tokens(cls, tokens: TokenBatch, labels: Sequence[int]) -> Corpus:
        """A corpus in memory; `labels` has the class number of each text."""
        sentence_offsets = np.concatenate([[0], tokens.words_per_sentence.cumsum()])
        numbers = np.array(labels, dtype=np.int64)
        places = np.arange(len(tokens))
        return cls(tokens.ids, sentence_offsets, tokens.sentence_offsets, numbers, places)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def labels(self) -> NDArray[np.int64]:
        """Class numbers (texts,)."""
        labels: NDArray[np.int64] = self.all_labels[self.texts].astype(np.int64)
        return labels

    def select(self, positions: NDArray[np.integer[Any]]) -> Corpus:
        """The corpus of these texts alone, in this order."""
        return dataclasses.replace(self, texts=self.texts[positions])

    def tokens(self) -> TokenBatch:
        """The texts as a batch for the network, without spans."""
        offsets = [self.offsets_of(text) for text in self.texts.tolist()]
        ids = [self.ids[part[0] : part[-1]] for part in offsets]
        lengths = [np.diff(part) for part in offsets]
        return TokenBatch(
            np.concatenate([np.zeros(0, np.int32), *ids]),
            np.concatenate([np.zeros(0, np.int64), *lengths]),
            np.array([len(part) for part in lengths], np.int64),
        )

    def offsets_of(self, text: int) -> NDArray[Any]:
        """Tokens before each sentence of a text, and up to its end (sentences + 1,)."""
        first, last = self.text_offsets[text : text + 2]
        return self.sentence_offsets[first : last + 1]
