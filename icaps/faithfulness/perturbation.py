"""Perturbation of texts: removal of words, and the class norms of the perturbed texts.

Words are deleted, or replaced by `<unk>`, in the word ids; texts are not tokenised again. A
sentence of which all words are deleted disappears, as hierarchical attention needs a word in each.
A text without a known word is blank: its norm is 0 for every class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from icaps.errors import ConfigError
from icaps.inference import BATCH_WORDS, class_norms
from icaps.model import ICapsNet
from icaps.text.batch import UNK, TokenBatch

REMOVALS = ("deletion", "unk")


def remove(text: TokenBatch, mask: NDArray[np.bool_], removal: str) -> TokenBatch:
    """Variants of one text, each with some of its words removed, as one batch.

    A variant without any word has no sentence, which `inference.class_norms` accepts.

    Args:
        text: A batch of one text.
        mask: (variants, words), true for the words that stay.
        removal: How the others are removed: "deletion", or "unk" for replacement by `<unk>`.

    Raises:
        ConfigError: There is no such removal.
    """
    if removal not in REMOVALS:
        raise ConfigError(f"The removal is {removal!r}; it must be one of {', '.join(REMOVALS)}.")
    variants = len(mask)
    if removal == "unk":
        ids = np.where(mask, text.ids, UNK).astype(np.int32)
        lengths = np.tile(text.words_per_sentence, variants)
        return TokenBatch(ids.ravel(), lengths, np.repeat(text.sentences_per_text, variants))
    ids = np.broadcast_to(text.ids.astype(np.int32), mask.shape)[mask]
    before = np.zeros((variants, 1 + len(text.ids)), np.int64)  # remaining words before each word
    mask.cumsum(axis=1, out=before[:, 1:])
    ends = text.words_per_sentence.cumsum()
    lengths = np.diff(before[:, [0, *ends]], axis=1)  # (variants, sentences)
    return TokenBatch(ids, lengths[lengths > 0], (lengths > 0).sum(axis=1))


def class_norms_per_batch(
    network: ICapsNet, parts: Iterable[TokenBatch], muted: Sequence[int] = ()
) -> Iterator[NDArray[np.floating]]:
    """The class norms (texts, J) of each of several batches; small batches share a forward pass."""
    for group in _grouped(parts):
        ends = np.cumsum([len(part) for part in group])
        norms = class_norms(network, TokenBatch.join(group), muted)
        yield from np.split(norms, ends[:-1])


def _grouped(parts: Iterable[TokenBatch]) -> Iterator[list[TokenBatch]]:
    """Groups of consecutive batches with at most BATCH_WORDS words, or with one larger batch."""
    group: list[TokenBatch] = []
    words = 0
    for part in parts:
        if group and words + len(part.ids) > BATCH_WORDS:
            yield group
            group, words = [], 0
        group.append(part)
        words += len(part.ids)
    if group:
        yield group
