"""LIME as word scores (Ribeiro et al. 2016), by the package lime.

lime is in the extra `icaps[faithfulness]`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from icaps.faithfulness.attributions.attention import Scores
from icaps.faithfulness.perturbation import class_norms_per_batch, remove
from icaps.faithfulness.texts import ExplainedTexts

SAMPLES = 1_000  # variants per text
_KERNEL_WIDTH = 25.0  # lime's default for texts, for cosine distances times 100


def lime(
    texts: ExplainedTexts, removal: str, seed: int, samples: int = SAMPLES
) -> Iterator[Scores]:
    """The weights of a linear model of the class norm, whose features are the present words.

    Words are distinguished by position, and removed from the word ids; the rest is lime's.
    """
    from lime.lime_base import LimeBase

    random = np.random.default_rng(seed)
    masks = [_masks(len(reading.tokens.ids), samples, random) for reading in texts.readings]
    variants = (
        remove(reading.tokens, mask, removal)
        for reading, mask in zip(texts.readings, masks, strict=True)
    )
    norms = class_norms_per_batch(texts.network, variants, texts.muted)
    base = LimeBase(_closeness, random_state=np.random.RandomState(seed))
    for mask, target, variant_norms in zip(masks, texts.targets, norms, strict=True):
        words = mask.shape[1]
        distances = 100 * (1 - np.sqrt(mask.sum(1) / words))  # cosine distance to the whole text
        _, weights, *_ = base.explain_instance_with_data(
            mask.astype(float), variant_norms.astype(float), distances, target, words, "none"
        )
        scores = np.zeros(words)
        for word, weight in weights:
            scores[word] = weight
        yield scores


def _masks(words: int, samples: int, random: np.random.Generator) -> NDArray[np.bool_]:
    """Masks (samples, words): the whole text, then without 1 to all of its words."""
    removed = random.integers(1, words + 1, samples)
    removed[0] = 0
    order = random.random((samples, words)).argsort(axis=1).argsort(axis=1)
    return np.asarray(order >= removed[:, None])


def _closeness(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(np.exp(-((distances / _KERNEL_WIDTH) ** 2))))
