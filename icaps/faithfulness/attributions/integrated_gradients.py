"""Integrated Gradients as word scores (Sundararajan et al. 2017), by Captum.

Captum is in the extra `icaps[faithfulness]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from icaps.faithfulness.attributions.attention import Scores
from icaps.faithfulness.texts import ExplainedTexts
from icaps.nn.packing import lay_out
from icaps.text.batch import TokenBatch

STEPS = 50  # points of the path from zeros to the text
AT_ONCE = 8_192  # words of all points together, which bounds memory


def integrated_gradients(texts: ExplainedTexts, steps: int = STEPS) -> Iterator[Scores]:
    """Integrated Gradients of the class norm, with embeddings of zeros as the baseline.

    The path runs through the products of each word with the kernel. They are linear in the
    embedding and zero for zeros, so the sum over a word's products equals that over its embedding,
    and costs much less. The sum over words is the norm minus that of as many zero words.
    """
    from captum.attr import IntegratedGradients

    for reading, target in texts:
        ids = texts.network.word_ids(reading.tokens)
        with torch.no_grad():
            words = texts.network.project_words(ids)[None]  # (1, words, K, d_w)
        gradients = IntegratedGradients(norm_of_words(texts, reading.tokens, target)).attribute(
            words, n_steps=steps, internal_batch_size=max(1, AT_ONCE // len(ids))
        )
        yield gradients.sum((0, 2, 3)).cpu().numpy()


def norm_of_words(
    texts: ExplainedTexts, tokens: TokenBatch, target: int
) -> Callable[[Tensor], Tensor]:
    """The class norm (points,) as a function of the projected words (points, words, K, d_w).

    Args:
        texts: The network, and the capsules that are switched off.
        tokens: The text, which gives the ends of its sentences.
        target: The explained class, by number.
    """
    network = texts.network

    def norm(points: Tensor) -> Tensor:
        count, words = points.shape[:2]
        padding = points.new_zeros(1, *points.shape[2:])
        table = torch.cat([points.flatten(0, 1), padding])  # (points * words + 1, K, d_w)
        rows = torch.arange(count * words, device=points.device)
        lengths = np.tile(tokens.words_per_sentence, count)
        layout = lay_out(lengths, network.config.kernel_size, points.device)
        regions = network.activation(network.region(table, rows, layout))
        attended = network.attention(regions, layout, np.repeat(tokens.sentences_per_text, count))
        norms: Tensor = network.route(attended, texts.capsule_mask).class_norms[:, target]
        return norms

    return norm
