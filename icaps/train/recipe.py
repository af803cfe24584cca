"""Recommends settings from the lengths and the number of texts, after the paper's tables."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icaps.config import PRESETS, Preset
from icaps.data.catalog import DATASETS

WHOLE = 0.95  # share of the texts that are not truncated
# From these medians on texts are long; both networks were compared on 20 Newsgroups (README.md).
LONG_WORDS, LONG_SENTENCES = 75, 4
# F by maximum number of texts, without and with hierarchy. Tables 2 and 3 have 5 for 120,000 texts
# and more for larger data sets. The paper has no smaller one; a word that occurs once cannot be
# learnt.
_FREQUENCIES = {
    False: {10_000: 1, 300_000: 5, 1_000_000: 50, 2_000_000: 100, math.inf: 200},
    True: {10_000: 1, 1_000_000: 5, math.inf: 10},
}


@dataclass(frozen=True)
class Suggestion:
    """Recommended settings.

    Attributes:
        hierarchical: Whether to use the network for long texts (section 2.5).
        reason: Why, as a sentence.
        preset: Name of the row of the paper's tables for the most similar data set.
        max_words: N, words per text, or per sentence when hierarchical.
        max_sentences: M when hierarchical; else None. N and M truncate at most 5% of the texts.
        min_frequency: F, by the number of texts.
    """

    hierarchical: bool
    reason: str
    preset: str
    max_words: int
    max_sentences: int | None
    min_frequency: int


def suggest(
    words: NDArray[np.int64],
    sentences: NDArray[np.int64],
    sentence_words: NDArray[np.int64],
    texts: int,
) -> Suggestion:
    """Recommends settings for a corpus, from the lengths of a sample of its texts.

    Args:
        words: (sampled,), words of each text.
        sentences: (sampled,), sentences of each text.
        sentence_words: (sentences,), words of each sentence, text after text.
        texts: Number of texts of the corpus.
    """
    typical = int(np.median(words)), int(np.median(sentences))
    hierarchical = typical[0] >= LONG_WORDS and typical[1] >= LONG_SENTENCES
    if hierarchical:
        max_words = _long_enough(sentence_words)
        text = np.repeat(np.arange(len(sentences)), sentences)
        parts = np.bincount(text, -(-sentence_words // max_words), len(sentences))
        max_sentences = _long_enough(parts)
    else:
        max_words, max_sentences = _long_enough(words), None
    preset = _nearest(texts, max_sentences or int(words.max(initial=1)), hierarchical)
    frequencies = _FREQUENCIES[hierarchical]
    return Suggestion(
        hierarchical,
        _reason(*typical, hierarchical),
        preset.name,
        max_words,
        max_sentences,
        next(least for most, least in frequencies.items() if texts <= most),
    )


def _long_enough(lengths: NDArray[np.int64]) -> int:
    """The quantile `WHOLE` of lengths, at least 1."""
    if not len(lengths):
        return 1
    return max(1, int(np.quantile(lengths, WHOLE, method="inverted_cdf")))


def _nearest(texts: int, length: int, hierarchical: bool) -> Preset:
    """The preset whose data set is most similar in number and length of texts, both as ratios."""

    def distance(preset: Preset) -> float:
        limit = preset.model.max_sentences if hierarchical else preset.model.max_words
        rows = DATASETS[preset.name.rpartition("-")[0]].train_rows
        return abs(math.log(texts / rows)) + abs(math.log(length / (limit or 1)))

    presets = [preset for preset in PRESETS.values() if preset.model.hierarchical == hierarchical]
    return min(presets, key=distance)


def _reason(words: int, sentences: int, hierarchical: bool) -> str:
    typical = f"A typical text has {_counted(words, 'word')} in {_counted(sentences, 'sentence')}"
    if hierarchical:
        return f"{typical}: the network for long texts weighs sentences as well as words."
    return f"{typical}: the network for short texts reads it as one."


def _counted(number: int, unit: str) -> str:
    return f"{number:,} {unit}" if number == 1 else f"{number:,} {unit}s"
