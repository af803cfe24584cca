"""The predictions for the texts of a finding with its words, and without them."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from icaps.classifier import ICapsClassifier
from icaps.data.label_sets import format_label_set
from icaps.inference import predicted_sets
from icaps.shortcuts.find import Finding
from icaps.shortcuts.interventions import norms_with_off, norms_without
from icaps.shortcuts.predicted_texts import PredictedTexts


def predict_without(
    classifier: ICapsClassifier, texts: PredictedTexts, finding: Finding
) -> pd.DataFrame:
    """A row per text of the finding, in the order of `finding.rows`.

    The columns `with` and `without` are class names, empty if no known word is left; `flips` is
    whether they differ; `fall` is the loss of probability of the class of the finding. With several
    labels per text, the names are labels of several, the probabilities are those of the class of
    the finding, and `flips` is whether that is lost or new.
    """
    rows = np.searchsorted(texts.numbers, finding.rows)
    if finding.capsule is None:
        words = tuple(texts.vocabulary.id(word) for word in finding.words)
        norms = norms_without(texts, rows, words)  # (n, J)
    else:
        norms = norms_with_off(texts, rows, finding.capsule)
    before, after = classifier.calibrated(texts.norms[rows]), classifier.calibrated(norms)
    known = norms.any(1)
    target = texts.classes.index(finding.label)
    columns: dict[str, Any]
    if texts.label_sets is not None:
        given = predicted_sets(texts.network, norms)  # (n, J)
        columns = {
            "class": _names(texts, texts.label_sets[rows]),
            "with": _names(texts, texts.given[rows]),
            "probability with": before[:, target],
            "without": np.where(known, np.array(_names(texts, given), dtype=object), ""),
            "probability without": after[:, target],
            "flips": given[:, target] != texts.given[rows, target],
        }
    else:
        predicted, without = before.argmax(1), after.argmax(1)
        names = np.array(texts.classes, dtype=object)
        columns = {
            "class": names[texts.labels[rows]],
            "with": names[predicted],
            "probability with": before.max(1),
            "without": np.where(known, names[without], ""),
            "probability without": after.max(1),
            "flips": (predicted != without) | ~known,
        }
    return pd.DataFrame({**columns, "fall": before[:, target] - after[:, target]})


def _names(texts: PredictedTexts, sets: NDArray[np.bool_]) -> list[str]:
    """Sets of classes (n, J) as labels."""
    return [
        format_label_set(name for name, given in zip(texts.classes, row, strict=True) if given)
        for row in sets
    ]
