"""Word scores by methods that suit any network: Integrated Gradients and LIME, to compare with.

Their libraries, Captum and lime, are the extra `icaps[faithfulness]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from icaps.faithfulness.perturbation import norms_of_each, remove
from icaps.faithfulness.word_scores import Scores, Texts
from icaps.nn.packing import lay_out
from icaps.text.batch import TokenBatch

STEPS = 50  # of the path from zeros to the text
AT_ONCE = 8_192  # words of all points together, which bounds memory
SAMPLES = 1_000  # texts that LIME looks at for each
_KERNEL_WIDTH = 25.0  # lime's own for texts, of cosine distances times 100


def integrated_gradients(texts: Texts, steps: int = STEPS) -> Iterator[Scores]:
    """Integrated Gradients of the class norm from embeddings of zeros (Sundararajan et al. 2017).

    The path is taken in what the kernel makes of each word. That is linear in the embedding and
    zero for zeros, so a word's sum is that over its embedding, for a fraction of the work. The sum
    over words is the norm less that of as many words of zeros.
    """
    from captum.attr import IntegratedGradients

    for reading, target in texts:
        ids = texts.network.ids_of(reading.tokens)
        with torch.no_grad():
            words = texts.network.projected(ids)[None]  # (1, words, K, d_w)
        found = IntegratedGradients(norm_of_words(texts, reading.tokens, target)).attribute(
            words, n_steps=steps, internal_batch_size=max(1, AT_ONCE // len(ids))
        )
        yield found.sum((0, 2, 3)).cpu().numpy()


def norm_of_words(texts: Texts, batch: TokenBatch, target: int) -> Callable[[Tensor], Tensor]:
    """The norm of a class (points,) by what the kernel makes of each word (points, words, K, d_w).

    Args:
        texts: Of which the text is one.
        batch: The text, which says where sentences end.
        target: Number of the class.
    """
    network = texts.network

    def norm(points: Tensor) -> Tensor:
        count, size = points.shape[:2]
        nothing = points.new_zeros(1, *points.shape[2:])
        table = torch.cat([points.flatten(0, 1), nothing])
        rows = torch.arange(count * size, device=points.device)
        lengths = np.tile(batch.words_per_sentence, count)
        layout = lay_out(lengths, network.config.kernel_size, points.device)
        regions = network.activation(network.region(table, rows, layout))
        attended = network.attention(regions, layout, np.repeat(batch.sentences_per_text, count))
        norms: Tensor = network.route(attended, texts.kept).class_norms[:, target]
        return norms

    return norm


def lime(texts: Texts, removal: str, seed: int, samples: int = SAMPLES) -> Iterator[Scores]:
    """LIME's linear model of the class norm over which words are left (Ribeiro et al. 2016).

    Words are told by position, and removed on ids; all else is as lime does it for texts.
    """
    from lime.lime_base import LimeBase

    random = np.random.default_rng(seed)
    masks = [_masks(len(reading.tokens.ids), samples, random) for reading in texts.readings]
    variants = (
        remove(reading.tokens, mask, removal)
        for reading, mask in zip(texts.readings, masks, strict=True)
    )
    norms = norms_of_each(texts.network, variants, texts.muted)
    base = LimeBase(_closeness, random_state=np.random.RandomState(seed))
    for mask, target, found in zip(masks, texts.targets, norms, strict=True):
        words = mask.shape[1]
        distances = 100 * (1 - np.sqrt(mask.sum(1) / words))  # cosine distance to the whole text
        _, weights, *_ = base.explain_instance_with_data(
            mask.astype(float), found.astype(float), distances, target, words, "none"
        )
        scores = np.zeros(words)
        for word, weight in weights:
            scores[word] = weight
        yield scores


def _masks(words: int, samples: int, random: np.random.Generator) -> NDArray[np.bool_]:
    """The text itself, then variants that lack 1 to all of its words: (samples, words)."""
    removed = random.integers(1, words + 1, samples)
    removed[0] = 0
    order = random.random((samples, words)).argsort(axis=1).argsort(axis=1)
    return np.asarray(order >= removed[:, None])


def _closeness(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(np.exp(-((distances / _KERNEL_WIDTH) ** 2))))
