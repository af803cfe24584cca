"""A trained network over texts: batches of bounded size in, what each text shows out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from icaps.corpus import Corpus
from icaps.model import ICapsNet
from icaps.sentences import encode
from icaps.text import UNK, EncodedText, Vocabulary

BATCH_WORDS = 32_768  # words a pass, which bounds memory whatever the lengths of the texts


class Reading(NamedTuple):
    """One text and what the network shows of it, on the CPU.

    norms (J,), 0 for a blank text; routing (I, J), beta; attention (words, I), alpha;
    sentence_attention (sentences, I), rho.
    """

    text: str
    encoded: EncodedText
    norms: Tensor
    routing: Tensor
    attention: Tensor
    sentence_attention: Tensor

    @property
    def blank(self) -> bool:
        """Whether the vocabulary has none of the text's words."""
        return not bool((self.encoded.ids != UNK).any())


def read_texts(
    network: ICapsNet, vocabulary: Vocabulary, texts: Sequence[str]
) -> Iterator[list[Reading]]:
    """Readings of texts, a batch at a time; a text without a known word has norms of 0."""
    encoded = encode(vocabulary, texts, network.config)
    device = network.fixed_embedding.device
    for start, stop in _batch_bounds([len(text.ids) for text in encoded]):
        batch = encoded[start:stop]
        packed = Corpus.from_encoded(batch, [0] * len(batch)).pack()
        with torch.inference_mode():
            activity = network(packed.to(device))
        words = activity.attention.cpu().split([len(text.ids) for text in batch])
        sentences = activity.sentence_attention.cpu().split([len(t.sentences) for t in batch])
        columns = (activity.class_norms.cpu(), activity.routing.cpu(), words, sentences)
        yield [
            _silenced(Reading(*values))
            for values in zip(texts[start:stop], batch, *columns, strict=True)
        ]


def _silenced(reading: Reading) -> Reading:
    return reading._replace(norms=torch.zeros_like(reading.norms)) if reading.blank else reading


def _batch_bounds(lengths: list[int]) -> Iterator[tuple[int, int]]:
    """Consecutive runs of texts of at most BATCH_WORDS words in all, or one longer text."""
    start, words = 0, 0
    for n, length in enumerate(lengths):
        if n > start and words + length > BATCH_WORDS:
            yield start, n
            start, words = n, 0
        words += length
    if start < len(lengths):
        yield start, len(lengths)
