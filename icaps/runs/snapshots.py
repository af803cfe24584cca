"""Snapshots after each epoch: the explanation of one text and the use of the capsules."""

from __future__ import annotations

from typing import Any

import numpy as np

from icaps.classifier import ICapsClassifier
from icaps.runs.folder import SNAPSHOTS, RunFolder
from icaps.train.callbacks import Callback, Validation
from icaps.train.checkpoint_files import CONFIG
from icaps.train.result_warnings import win_counts

COUNTED = 2_000  # maximum number of validation texts in the matrix C


class SnapshotWriter(Callback):
    """Saves the best model so far and a snapshot of each epoch to the run folder.

    Args:
        folder: The run folder.
        text: The text whose explanation is stored; "" for none.
        resume: Whether a model in the folder is of this training. A model of another training is
            not replaced before this training has finished.
    """

    def __init__(self, folder: RunFolder, text: str, resume: bool) -> None:
        self._folder, self._text = folder, text
        self._saves = resume or not (folder.path / CONFIG).exists()

    def on_validation(self, model: ICapsClassifier, validation: Validation) -> None:
        """Saves the model if it is the best so far, and appends the snapshot."""
        if self._saves and model.metrics_["best_epoch"] == len(model.history_):
            model.save(self._folder.path)
        self._folder.append(SNAPSHOTS, snapshot(model, validation, self._text))


def snapshot(classifier: ICapsClassifier, validation: Validation, text: str) -> dict[str, Any]:
    """The state of a classifier during training, as plain data.

    Args:
        classifier: With the weights after an epoch.
        validation: Its predictions for the validation texts, the first `COUNTED` of which count.
        text: To explain; "" for none.

    Returns:
        epoch, from 1; classes; frequency, the matrix C (J, I) of section 2.6: texts by predicted
        class and top capsule; explanation, of the text, or None.
    """
    capsules = classifier.network_.config.num_capsules
    explanation = next(classifier.explain([text])).to_dict() if text else None
    if explanation is not None:
        for column in (*explanation["account"].values(), *explanation["capsule_account"]):
            column["shares"] = _shortened(column["shares"])
    return {
        "epoch": len(classifier.history_),
        "classes": [str(name) for name in classifier.classes_],
        "frequency": win_counts(validation, capsules, COUNTED).tolist(),
        "explanation": explanation,
    }


def _shortened(numbers: list[float]) -> list[float]:
    """float32 numbers by the fewest digits that give the same number, in half as many bytes."""
    shortened: list[float] = np.array(numbers, np.float32).astype(str).astype(float).tolist()
    return shortened
