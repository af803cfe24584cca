"""Encodes texts as token batches, split into sentences for hierarchical networks.

Sentences are split by sentencex, which knows the abbreviations and marks of about a hundred
languages, returns positions in the text, and is written in Rust.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sentencex import get_sentence_boundaries

from icaps.config import ModelConfig
from icaps.data.surrogates import replace_surrogates
from icaps.text.batch import TokenBatch
from icaps.text.vocabulary import Vocabulary

_AFTER_CAPITAL = re.compile(r"[A-Z](?:[^\S\x1c-\x1f]|\.)+")
_WIDE_BLANK = re.compile(r"[^\S\x00-\x7f](?=\.)")  # of several bytes in UTF-8, before a period


def encode(
    vocabulary: Vocabulary, texts: Sequence[str], config: ModelConfig, *, spans: bool = True
) -> TokenBatch:
    """Encodes texts for a network: each as one sentence, or as several when hierarchical.

    When hierarchical, a sentence of more than `max_words` words is split into several, and a text
    of more than `max_sentences` sentences is truncated. Sentences without words are dropped.

    Args:
        vocabulary: That of the network.
        texts: Texts as strings.
        config: That of the network, with the limits and the language.
        spans: Whether to compute spans; without them, short texts take half the time.
    """
    if not (config.hierarchical and texts):
        return vocabulary.encode(texts, config.max_words, spans=spans)
    whole = vocabulary.encode(texts)
    assert whole.spans is not None
    starts = np.split(whole.spans[:, 0], whole.word_offsets[1:-1])
    lengths = [
        _split_long(sentence_lengths(text, places, config.language), config)[: config.max_sentences]
        for text, places in zip(texts, starts, strict=True)
    ]
    sentences = np.array([len(text_lengths) for text_lengths in lengths])
    return whole.truncate(np.concatenate(lengths), sentences)


def sentence_lengths(
    text: str, starts: NDArray[np.int64], language: str = "en"
) -> NDArray[np.int64]:
    """Number of words of each sentence (sentences,).

    Args:
        text: As typed.
        starts: (words,), start of each word in it.
        language: An ISO 639 code.
    """
    boundaries = get_sentence_boundaries(language, _splittable(text))
    firsts = np.array([boundary["start_index"] for boundary in boundaries], dtype=np.int64)
    sentence = np.searchsorted(firsts, starts, side="right")
    return np.unique(sentence, return_counts=True)[1].astype(np.int64)


def _splittable(text: str) -> str:
    """The text, of the same length, without what sentencex panics at.

    It reads an initial and a period with a blank between them, and cuts that blank in two if it has
    several bytes.
    """
    return _AFTER_CAPITAL.sub(
        lambda match: _WIDE_BLANK.sub(" ", match[0]), replace_surrogates(text)
    )


def _split_long(lengths: NDArray[np.int64], config: ModelConfig) -> NDArray[np.int64]:
    """Splits sentences of more than `max_words` words, by lengths (sentences,)."""
    limit = config.max_words
    if limit is None:
        return lengths
    parts = [[limit] * ((n - 1) // limit) + [(n - 1) % limit + 1] for n in lengths.tolist()]
    return np.array([part for split in parts for part in split], dtype=np.int64)
