"""How explanations develop: one text's explanation and the use of the capsules after each epoch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from icaps.classifier import ICapsClassifier
from icaps.runs.folder import SNAPSHOTS, RunFolder
from icaps.train.callbacks import Callback, Validation
from icaps.train.checkpoint_files import CONFIG

COUNTED = 2_000  # validation texts, at most


class SnapshotWriter(Callback):
    """Saves the best model so far to the run folder of a training, and a snapshot of each epoch.

    Args:
        folder: Of the run.
        text: Whose explanation is stored; "" for none.
        resume: Whether the model in the folder is of this training. One of another training stays
            until this training has finished.
    """

    def __init__(self, folder: RunFolder, text: str, resume: bool) -> None:
        self._folder, self._text = folder, text
        self._saves = resume or not (folder.path / CONFIG).exists()

    def on_validation(self, model: ICapsClassifier, validation: Validation) -> None:
        """Saves the model if it is the best so far, and adds the snapshot."""
        if self._saves and model.metrics_["best_epoch"] == len(model.history_):
            model.save(self._folder.path)
        self._folder.append(SNAPSHOTS, snapshot(model, validation, self._text))


def snapshot(classifier: ICapsClassifier, validation: Validation, text: str) -> dict[str, Any]:
    """Plain data about a classifier under training.

    Args:
        classifier: With the weights after an epoch.
        validation: What it predicts for the validation texts, of which the first are counted.
        text: To explain; "" for none.

    Returns:
        epoch, from 1; classes; frequency, (J, I) counts of the texts that each capsule won, by
        predicted class (the matrix C, section 2.6); explanation, of the text, or None.
    """
    explanation = next(classifier.explain([text])).to_dict() if text else None
    return {
        "epoch": len(classifier.history_),
        "classes": [str(name) for name in classifier.classes_],
        "frequency": _frequency(classifier, validation).tolist(),
        "explanation": explanation,
    }


def _frequency(classifier: ICapsClassifier, validation: Validation) -> NDArray[np.int64]:
    capsules = classifier.network_.config.num_capsules
    counts = np.zeros((len(classifier.classes_), capsules), dtype=np.int64)  # (J, I)
    texts = np.flatnonzero(validation.known[:COUNTED])
    predicted = validation.class_norms.numpy()[texts].argmax(1)
    np.add.at(counts, (predicted, validation.capsules[texts]), 1)
    return counts
