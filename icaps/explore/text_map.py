"""Texts in the plane, by the capsules that a trained model gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from icaps.inference import capsule_mask, read_texts
from icaps.interpret.projection import check_choice, map_vectors

if TYPE_CHECKING:
    from icaps.classifier import ICapsClassifier

SPACES = ("class", "primary")
SAMPLE = 2_000  # texts of a map: t-SNE takes 20 seconds or more for them, and memory by the square
PERPLEXITY = 30.0
_CONTROLS = 3


@dataclass(frozen=True)
class TextMap:
    """Texts in the plane.

    Attributes:
        points: (texts, 2).
        method, seed: How it was made.
        perplexity: Of t-SNE, brought below the number of texts; None for PCA.
        trustworthiness: 1 where neighbours in the plane are neighbours in the space (Venna and
            Kaski 2001); None for fewer than four texts.
        shuffled: The same for the points dealt out anew, a mean of three; about 0.5.
    """

    points: NDArray[np.float64]
    method: str
    seed: int
    perplexity: float | None
    trustworthiness: float | None
    shuffled: float | None


def text_vectors(
    classifier: ICapsClassifier, texts: Sequence[str], space: str = "class"
) -> NDArray[np.float32]:
    """The capsules of texts, a row a text; zeros for a text without a known word.

    Args:
        classifier: Fitted; capsules that it has switched off count for nothing.
        texts: In memory.
        space: "class", the class capsules (texts, J d_c), whose lengths are the scores; or
            "primary", the primary capsules (texts, I d_p), which know no classes yet.

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
        if space == "primary":
            capsules_of_texts = batch.activity.primary_capsules * mask[:, None]
        known = ~batch.blank
        vectors[batch.numbers[known]] = capsules_of_texts.flatten(1).numpy()[known]
    return vectors


def map_texts(
    vectors: NDArray[np.float32],
    method: str = "tsne",
    seed: int = 0,
    perplexity: float = PERPLEXITY,
) -> TextMap:
    """Vectors of texts (texts, d) in the plane: see `interpret.plane.map_vectors`.

    The caller draws a sample, of `SAMPLE` texts or so.

    Raises:
        ConfigError: There is no such method, or the perplexity isn't above 0.
    """
    made = map_vectors(vectors, method, seed, perplexity, _CONTROLS)
    return TextMap(
        made.points, made.method, made.seed, made.perplexity, made.preservation, made.shuffled
    )
