"""Attention as word scores: the paper's weights, with routing or with contributions.

The network attends to windows of K words, so the weight of a position counts for each word of its
window, as a K-gram covers them (section 2.6).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from icaps.faithfulness.texts import ExplainedTexts
from icaps.interpret.account import BatchAccount

Scores = NDArray[np.floating]  # (words,)


def routing_attention(texts: ExplainedTexts) -> Iterator[Scores]:
    """The paper's weights: the sum over capsules of beta_ij rho^i_m alpha^i_n.

    What an edit makes neutral has no weight.
    """
    for reading, target in texts:
        account = BatchAccount(texts.network, reading)
        routing, _ = account.weights(np.array([target]))
        yield _weighted_attention(account, routing[0], target)


def contribution_attention(texts: ExplainedTexts) -> Iterator[Scores]:
    """The paper's weights with the contribution of a capsule to the class in place of beta_ij.

    That is beta_ij (u_j|i . cc_j) / |cc_j| (`inference.contributions`), which includes how strongly
    a capsule votes, and may be negative.
    """
    for reading, target in texts:
        account = BatchAccount(texts.network, reading)
        _, contribution = account.weights(np.array([target]))
        yield _weighted_attention(account, contribution[0], target)


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


def _weighted_attention(account: BatchAccount, capsules: Scores, target: int) -> Scores:
    """The attention to the words of one text, summed over capsules with these weights (I,)."""
    words_per_sentence = account.batch.tokens.words_per_sentence
    activity = account.batch.activity
    rho = activity.sentence_attention.numpy().repeat(words_per_sentence, axis=0)  # (words, I)
    weights = (activity.attention.numpy() * rho) @ capsules  # (words,)
    scores = spread_over_windows(weights, words_per_sentence, account.network.config.kernel_size)
    counts = account.counts(np.array([target]))
    return scores if counts is None else scores * counts
