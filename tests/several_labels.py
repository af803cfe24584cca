"""A small model of several labels per text: a trained one of one label, with thresholds."""

import copy
from itertools import pairwise

import numpy as np

from icaps.classifier import ICapsClassifier
from icaps.nn.thresholds import ClassThresholds
from tests.conftest import make_texts

NORMS = (0.55, 0.5, 0.8)  # at the thresholds: then `mixed_texts` have no, one or two labels


def with_thresholds(
    classifier: ICapsClassifier, norms: tuple[float, ...], slopes: tuple[float, ...] = ()
) -> ICapsClassifier:
    """A copy that predicts each class whose norm reaches the given one, at 0.5 probability."""
    slope = np.array(slopes or [10.0] * len(norms))
    other = copy.copy(classifier)
    other.network_ = copy.copy(classifier.network_)
    other.network_.thresholds = ClassThresholds(
        slope, -slope * np.array(norms), np.full(len(norms), 0.5)
    )
    return other


def mixed_texts() -> list[str]:
    """Texts of one topic, of two topics, and of none."""
    texts, _ = make_texts(12, 6)
    two = [f"{one} {other}" for one, other in pairwise(texts)]
    return [*texts, *two, "the a and we"]
