"""What a trained model predicts for the rows of a data set.

explored/KEY/predictions-1/WEIGHTS/ready/labels.bin, scores.bin
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from icaps.classifier import ICapsClassifier
from icaps.data.cache import Artifact
from icaps.evaluate.predictions import (
    Predictions,
    predict_chunks,
    read_predictions,
    write_predictions,
)
from icaps.explore.index import Index

_FOLDER = "predictions-1"  # 1: the version


def row_predictions(
    classifier: ICapsClassifier, weights: str, index: Index
) -> Artifact[Predictions]:
    """The cache entry of the predictions for all rows of a data set, beside its index.

    Rows of classes that the model lacks have the label UNKNOWN_CLASS.

    Args:
        classifier: A fitted classifier.
        weights: Its fingerprint by `icaps.train.checkpoint_files.weights_fingerprint`.
        index: The index of the data set.
    """
    classes = [str(name) for name in classifier.classes_]

    def load(folder: Path) -> Predictions:
        predictions = read_predictions(folder, classes, float(classifier.inverse_temperature_))
        if len(predictions.labels) != len(index):
            raise ValueError("it has another number of rows")
        return predictions

    return Artifact(index.folder.parent / _FOLDER / weights[:24], load)


def predict_rows(
    classifier: ICapsClassifier,
    weights: str,
    index: Index,
    on_texts: Callable[[int], None] = lambda _: None,
) -> Predictions:
    """Predicts all rows of a data set, unless the predictions are cached.

    Of several processes one computes them, and the others wait. Memory holds some thousand texts.

    Args:
        classifier, weights, index: See `row_predictions`.
        on_texts: Called with the number of texts that were predicted since the last call.

    Raises:
        DataError: The cache can't be written, or what is stored is damaged.
    """

    def fill(folder: Path) -> None:
        chunks = predict_chunks(
            classifier, index.labelled(np.arange(len(index))), unknown_classes=True
        )
        write_predictions(chunks, folder, lambda texts: on_texts(len(texts)))

    return row_predictions(classifier, weights, index).make(fill)


def is_right(predictions: Predictions) -> NDArray[np.bool_]:
    """A mask (rows,) of the rows whose prediction is the label; False for a blank text."""
    return predictions.correct & ~predictions.blank
