"""Attention as word scores: the paper's weights, with routing or with contributions.

The network attends to windows of K words, so the weight of a position counts for each word of its
window, as a K-gram covers them (section 2.6).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from icaps.faithfulness.texts import ExplainedTexts
from icaps.inference import Reading, contributions

Scores = NDArray[np.floating]  # (words,)


def routing_attention(texts: ExplainedTexts) -> Iterator[Scores]:
    """The paper's weights: the sum over capsules of beta_ij rho^i_m alpha^i_n."""
    for reading, target in texts:
        yield _weighted_attention(texts, reading, reading.activity.routing[0, :, target])


def contribution_attention(texts: ExplainedTexts) -> Iterator[Scores]:
    """The paper's weights with the contribution of a capsule to the class in place of beta_ij.

    That is beta_ij (u_j|i . cc_j) / |cc_j| (`inference.contributions`), which includes how strongly
    a capsule votes, and may be negative.
    """
    for reading, target in texts:
        yield _weighted_attention(texts, reading, contributions(reading.activity)[0, :, target])


def spread_over_windows(
    weights: Scores, words_per_sentence: NDArray[np.int64], kernel_size: int
) -> Scores:
    """Adds the weight of each position to all words of its window, clipped at sentences.

    Args:
        weights: (words,), of the positions of one text.
        words_per_sentence: (sentences,).
        kernel_size: K.
    """
    positions = np.arange(len(weights))
    sentence = np.repeat(np.arange(len(words_per_sentence)), words_per_sentence)
    scores = np.zeros_like(weights)
    left = (kernel_size - 1) // 2
    for offset in range(-left, kernel_size - left):
        words = positions + offset
        inside = (words >= 0) & (words < len(weights))
        inside &= sentence[words.clip(0, len(weights) - 1)] == sentence
        scores[words[inside]] += weights[inside]
    return scores


def _weighted_attention(texts: ExplainedTexts, reading: Reading, capsules: Tensor) -> Scores:
    """The attention to words, summed over capsules with these weights (I,)."""
    words_per_sentence, activity = reading.tokens.words_per_sentence, reading.activity
    rho = activity.sentence_attention.numpy().repeat(words_per_sentence, axis=0)  # (words, I)
    weights = (activity.attention.numpy() * rho) @ capsules.numpy()  # (words,)
    return spread_over_windows(weights, words_per_sentence, texts.network.config.kernel_size)
