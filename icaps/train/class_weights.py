"""Class weights for unbalanced classes, as scikit-learn's `class_weight="balanced"`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

UNBALANCED = 10  # how many times more texts the most frequent class has than the rarest


def balanced_weights(labels: NDArray[np.integer[Any]], num_classes: int) -> NDArray[np.float32]:
    """The weight of a text of each class (J,): texts / (classes times texts of the class).

    Their mean over the texts is 1. A class without a text has weight 0 and is not counted.

    With several labels per text, pairs of a text and one of its labels stand for texts.

    Args:
        labels: (texts,), class numbers of the training texts.
        num_classes: J.
    """
    present, weights = np.unique(labels), np.zeros(num_classes, np.float32)
    weights[present] = compute_class_weight("balanced", classes=present, y=labels)
    return weights


def describe_imbalance(counts: Mapping[str, int]) -> str:
    """The rarest and the most frequent class as a clause; empty unless they are UNBALANCED.

    Args:
        counts: Number of texts by name of class.
    """
    if not counts:
        return ""
    rarest, most = (choose(counts, key=counts.__getitem__) for choose in (min, max))
    if counts[rarest] * UNBALANCED >= counts[most]:
        return ""
    unit = "text" if counts[rarest] == 1 else "texts"
    return f"{rarest!r} has {counts[rarest]:,} {unit} and {most!r} {counts[most]:,}"
