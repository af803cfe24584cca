"""Several labels per text by a baseline: probabilities and thresholds per class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from icaps.nn.thresholds import ClassThresholds
from icaps.stats import macro_f1_of_sets
from icaps.train.checkpoint_files import MULTILABEL
from icaps.train.label_thresholds import fit_thresholds


class FittedThresholds(NamedTuple):
    """Thresholds by validation texts, and the scores of their predictions for these texts.

    `accuracy` is the share of texts whose labels are all right.
    """

    thresholds: ClassThresholds
    accuracy: float
    macro_f1: float

    def metrics(self) -> dict[str, float]:
        """The scores, by the names that they have in a checkpoint."""
        return {"validation_accuracy": self.accuracy, "validation_macro_f1": self.macro_f1}


def fit_label_thresholds(
    scores: NDArray[np.floating[Any]], labels: NDArray[Any]
) -> FittedThresholds:
    """Fits them as those of a capsule network, from scores and labels (texts, J)."""
    labels = labels > 0
    thresholds = fit_thresholds(scores, labels)
    predicted = thresholds.predicted(scores)
    accuracy = float((predicted == labels).all(1).mean())
    return FittedThresholds(thresholds, accuracy, macro_f1_of_sets(labels, predicted))


def read_label_thresholds(settings: Mapping[str, Any], classes: int) -> ClassThresholds | None:
    """The thresholds in the settings of a baseline; None with one label per text.

    Raises:
        KeyError, TypeError, ValueError: They are damaged.
    """
    stored = settings.get(MULTILABEL)
    return None if stored is None else ClassThresholds.from_dict(stored, classes)
