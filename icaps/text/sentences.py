"""The sentences of a text, for the network that attends to words and then to sentences.

sentencex finds where sentences start: it knows the abbreviations and marks of some hundred
languages, keeps places in the text, and is written in Rust.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sentencex import get_sentence_boundaries

from icaps.config import ModelConfig
from icaps.text.batch import Encoded, EncodedText, Placed
from icaps.text.clean import replace_surrogates
from icaps.text.vocabulary import Vocabulary


def encode(vocabulary: Vocabulary, texts: Sequence[str], config: ModelConfig) -> list[EncodedText]:
    """Texts as the network of `config` reads them: as one sentence, or sentence by sentence.

    When hierarchical, a sentence of more than `max_words` words is split into several, and a text
    of more than `max_sentences` sentences is cut. Sentences without words are left out.
    """
    return place(vocabulary, texts, config).split()


def place(vocabulary: Vocabulary, texts: Sequence[str], config: ModelConfig) -> Placed:
    """As `encode`, as columns."""
    if not (config.hierarchical and texts):
        return vocabulary.place(texts, config.max_words)
    placed = vocabulary.place(texts)
    _, ends = placed.numbers.ends
    starts = np.split(placed.spans[:, 0], ends[1:-1])
    kept = [
        _split_long(sentence_lengths(text, places, config.language), config)[: config.max_sentences]
        for text, places in zip(texts, starts, strict=True)
    ]
    return placed.shorten(np.concatenate(kept), np.array([len(lengths) for lengths in kept]))


def encode_numbers(vocabulary: Vocabulary, config: ModelConfig, texts: list[str]) -> Encoded:
    """As `place`, without the places of words, which is faster; `texts` are one or more."""
    if not config.hierarchical:  # a text is one sentence
        return vocabulary.number(texts, config.max_words)
    return place(vocabulary, texts, config).numbers


def sentence_lengths(
    text: str, starts: NDArray[np.int64], language: str = "en"
) -> NDArray[np.int64]:
    """Words of each sentence, from where words start (words,); a word belongs where it starts."""
    boundaries = get_sentence_boundaries(language, replace_surrogates(text))
    firsts = np.array([boundary["start_index"] for boundary in boundaries], dtype=np.int64)
    sentence = np.searchsorted(firsts, starts, side="right")
    return np.unique(sentence, return_counts=True)[1].astype(np.int64)


def _split_long(lengths: NDArray[np.int64], config: ModelConfig) -> NDArray[np.int64]:
    limit = config.max_words
    if limit is None:
        return lengths
    parts = [[limit] * ((n - 1) // limit) + [(n - 1) % limit + 1] for n in lengths.tolist()]
    return np.array([part for split in parts for part in split], dtype=np.int64)
