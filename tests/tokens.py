"""Token batches that are written by hand."""

from collections.abc import Sequence

import numpy as np

from icaps.text.batch import TokenBatch


def batch_of(texts: Sequence[Sequence[Sequence[int]]], *, truncated: bool = False) -> TokenBatch:
    """Word ids of texts, each a list of sentences; word n of a text has the span (2n, 2n + 1)."""
    sentences = [sentence for text in texts for sentence in text]
    places = [n for text in texts for n in range(sum(map(len, text)))]
    starts = 2 * np.array(places, np.int64)
    return TokenBatch(
        np.array([word for sentence in sentences for word in sentence], np.int32),
        np.array([*map(len, sentences)], np.int64),
        np.array([*map(len, texts)], np.int64),
        np.stack([starts, starts + 1], axis=1),
        np.full(len(texts), truncated),
    )


def lists(batch: TokenBatch) -> list[list[list[int]]]:
    """The word ids of a batch: texts of sentences."""
    ids = iter(batch.ids.tolist())
    lengths = iter(batch.words_per_sentence.tolist())
    return [
        [[next(ids) for _ in range(next(lengths))] for _ in range(count)]
        for count in batch.sentences_per_text.tolist()
    ]
