"""The predictions for the texts of a finding with its words, and without them."""

import numpy as np
import pandas as pd
from scipy.special import softmax

from icaps.classifier import ICapsClassifier
from icaps.shortcuts.find import Finding
from icaps.shortcuts.interventions import norms_with_off, norms_without
from icaps.shortcuts.predicted_texts import PredictedTexts


def predict_without(
    classifier: ICapsClassifier, texts: PredictedTexts, finding: Finding
) -> pd.DataFrame:
    """A row per text of the finding, in the order of `finding.rows`.

    The columns `with` and `without` are class names, empty if no known word is left; `flips` is
    whether they differ; `fall` is the loss of probability of the class of the finding.
    """
    rows = np.searchsorted(texts.numbers, finding.rows)
    if finding.capsule is None:
        words = tuple(texts.vocabulary.id(word) for word in finding.words)
        norms = norms_without(texts, rows, words)  # (n, J)
    else:
        norms = norms_with_off(texts, rows, finding.capsule)
    scale = classifier.inverse_temperature_
    before, after = softmax(scale * texts.norms[rows], 1), softmax(scale * norms, 1)
    predicted, without = before.argmax(1), after.argmax(1)
    known = norms.any(1)
    target = texts.classes.index(finding.label)
    return pd.DataFrame(
        {
            "class": [texts.classes[code] for code in texts.labels[rows]],
            "with": [texts.classes[code] for code in predicted],
            "probability with": before.max(1),
            "without": [
                texts.classes[code] if is_known else ""
                for code, is_known in zip(without, known, strict=True)
            ],
            "probability without": after.max(1),
            "flips": (predicted != without) | ~known,
            "fall": before[:, target] - after[:, target],
        }
    )
