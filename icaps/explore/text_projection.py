"""Projection of texts to the plane, by the capsules that a trained model computes for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from icaps.classifier import ICapsClassifier
from icaps.inference import capsule_mask, read_texts
from icaps.interpret.projection import PlaneMap, check_choice, map_vectors

SPACES = ("class", "primary")
SAMPLE = 2_000  # texts of a map: t-SNE takes 20 s or more, and quadratic memory
PERPLEXITY = 30.0
_CONTROLS = 3  # shuffles of the points


def text_vectors(
    classifier: ICapsClassifier,
    texts: Sequence[str],
    space: str = "class",
    on_texts: Callable[[int], None] = lambda _: None,
) -> NDArray[np.float32]:
    """The capsules of texts as vectors, a row per text; zeros for a text without a known word.

    Args:
        classifier: A fitted classifier; capsules that are switched off are zeros.
        texts: The texts, in memory.
        space: "class", the class capsules (texts, J d_c), whose lengths are the scores; or
            "primary", the primary capsules (texts, I d_p), which do not depend on the classes.
        on_texts: Called with the number of texts that were read since the last call.

    Raises:
        ConfigError: There is no such space.
    """
    check_choice(space, SPACES, "space")
    network = classifier.network_
    config, muted = network.config, classifier.muted_
    capsules = len(classifier.classes_) * config.class_dim
    if space == "primary":
        capsules = config.num_capsules * config.query_dim
    vectors = np.zeros((len(texts), capsules), np.float32)
    mask = capsule_mask(network, muted).cpu()
    for batch in read_texts(network, classifier.vocabulary_, texts, muted):
        capsules_of_texts = batch.activity.class_capsules
        if network.edits is not None:  # which change lengths, not directions
            lengths = torch.linalg.vector_norm(capsules_of_texts, dim=2).clamp(min=1e-30)
            ratio = batch.activity.class_norms / lengths  # (B, J)
            capsules_of_texts = capsules_of_texts * ratio[:, :, None]
        if space == "primary":
            capsules_of_texts = batch.activity.primary_capsules * mask[:, None]
        known = ~batch.blank
        vectors[batch.numbers[known]] = capsules_of_texts.flatten(1).numpy()[known]
        on_texts(len(batch.numbers))
    return vectors


def project_texts(
    vectors: NDArray[np.float32],
    method: str = "tsne",
    seed: int = 0,
    perplexity: float = PERPLEXITY,
) -> PlaneMap:
    """Projects vectors of texts (texts, d) to the plane: see `interpret.projection.map_vectors`.

    The caller draws a sample of about `SAMPLE` texts.

    Raises:
        ConfigError: There is no such method, or the perplexity isn't above 0.
    """
    return map_vectors(vectors, method, seed, perplexity, _CONTROLS)
