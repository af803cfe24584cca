"""What a trained model predicts for the rows of a data set.

explored/KEY/predictions-1/WEIGHTS/ready/labels.bin, scores.bin
                                         label_sets.bin, probabilities.bin, blank.bin   of a model
                                         of several labels per text, in place of these
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from icaps.classifier import ICapsClassifier
from icaps.data.cache import Artifact
from icaps.data.label_sets import format_label_set, indicator, names_in
from icaps.evaluate.multilabel import MultilabelPredictions, predict_sets, read_sets, write_sets
from icaps.evaluate.predictions import (
    UNKNOWN_CLASS,
    Predictions,
    predict_chunks,
    read_predictions,
    write_predictions,
)
from icaps.explore.index import Index

_FOLDER = "predictions-1"  # 1: the version
_NO_LABELS = "[]"  # in place of those of a row, which are read from the index

RowPredictions = Predictions | MultilabelPredictions


def row_predictions(
    classifier: ICapsClassifier, weights: str, index: Index
) -> Artifact[RowPredictions]:
    """The cache entry of the predictions for all rows of a data set, beside its index.

    Rows of classes that the model lacks have the label UNKNOWN_CLASS; with several labels per text
    such labels are counted in `other_labels`.

    Args:
        classifier: A fitted classifier.
        weights: Its fingerprint by `icaps.train.checkpoint_files.weights_fingerprint`.
        index: The index of the data set.
    """
    classes = [str(name) for name in classifier.classes_]
    name, rule = weights[:24], classifier.network_.thresholds
    if rule is not None:  # the probabilities are stored
        name += "-" + hashlib.sha256(json.dumps(rule.to_dict()).encode()).hexdigest()[:8]

    def load(folder: Path) -> RowPredictions:
        predictions: RowPredictions
        thresholds = classifier.thresholds_
        if thresholds is None:
            factor = float(classifier.inverse_temperature_)
            predictions = read_predictions(folder, classes, factor)
        else:
            predictions = read_sets(folder, classes, thresholds)
        if len(predictions.labels) != len(index):
            raise ValueError("it has another number of rows")
        return with_labels_of(predictions, index)

    return Artifact(index.folder.parent / _FOLDER / name, load)


def predict_rows(
    classifier: ICapsClassifier,
    weights: str,
    index: Index,
    on_texts: Callable[[int], None] = lambda _: None,
) -> RowPredictions:
    """Predicts all rows of a data set, unless the predictions are cached.

    Of several processes one computes them, and the others wait. Memory holds some thousand texts.

    Args:
        classifier, weights, index: See `row_predictions`.
        on_texts: Called with the number of texts that were predicted since the last call.

    Raises:
        DataError: The rows have several labels and the model gives a text one, the cache can't be
            written, or what is stored is damaged.
    """

    def fill(folder: Path) -> None:
        def report(texts: list[str]) -> None:
            on_texts(len(texts))

        rows = index.labelled(np.arange(len(index)))
        if classifier.multilabel_:
            sets = predict_sets(classifier, ((text, _NO_LABELS) for text, _ in rows))
            write_sets(sets, folder, report)
        else:
            chunks = predict_chunks(classifier, rows, unknown_classes=True)
            write_predictions(chunks, folder, report)

    return row_predictions(classifier, weights, index).make(fill)


def with_labels_of(predictions: RowPredictions, index: Index) -> RowPredictions:
    """The predictions for the rows of a data set, with the labels that an index has."""
    if isinstance(predictions, MultilabelPredictions):
        classes = set(predictions.classes)
        sets = [names_in(label) for label in index.distinct]
        known = [classes.intersection(names) for names in sets]
        has = indicator([format_label_set(names) for names in known], predictions.classes)  # (L, J)
        others = [len(names) - len(own) for names, own in zip(sets, known, strict=True)]
        return dataclasses.replace(
            predictions,
            labels=has[index.labels],
            other_labels=np.array(others, np.int32)[index.labels],
        )
    number = {name: code for code, name in enumerate(predictions.classes)}
    codes = np.array([number.get(name, UNKNOWN_CLASS) for name in index.distinct], np.int32)
    return dataclasses.replace(predictions, labels=codes[index.labels])


def is_right(predictions: RowPredictions) -> NDArray[np.bool_]:
    """A mask (rows,) of the rows whose prediction is the label; False for a blank text.

    Several labels are right if they are all predicted, and no others.
    """
    blank = predictions.blank
    return predictions.correct if blank is None else predictions.correct & ~blank


def predicted_labels(predictions: RowPredictions, rows: NDArray[np.int64]) -> list[str]:
    """The predicted label of each row, as the data would have it; empty for a blank text."""
    if isinstance(predictions, MultilabelPredictions):
        labels = [
            format_label_set(predictions.names(row)) for row in predictions.predicted_of(rows)
        ]
    else:
        labels = [predictions.classes[code] for code in predictions.predicted[rows].tolist()]
    if predictions.blank is None:
        return labels
    blank = predictions.blank[rows].tolist()
    return ["" if one else label for label, one in zip(labels, blank, strict=True)]
