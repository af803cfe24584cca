"""Scores of a classifier on labelled texts, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from icaps import distributed
from icaps.errors import DataError

if TYPE_CHECKING:
    from icaps.classifier import ICapsClassifier


def evaluate(
    classifier: ICapsClassifier, texts: Sequence[str], labels: Sequence[str]
) -> dict[str, Any]:
    """Counts and scores of the classifier's predictions; each process predicts its share.

    Returns:
        n; accuracy; macro_f1, over all of the model's classes; per_class, an object from class to
        precision, recall, f1, support; confusion, (J, J) counts with true classes as rows, in the
        order of classes.

    Raises:
        DataError: There is no text, or a label is none of the model's classes.
    """
    classes = [str(name) for name in classifier.classes_]
    foreign = sorted(set(labels) - set(classes))
    if foreign:
        raise DataError(
            f"The data has the class {foreign[0]!r}, which the model lacks; it knows "
            f"{', '.join(classes)}."
        )
    if not texts:
        raise DataError("There are no texts to score.")
    predicted = [classes[number] for number in _predict(classifier, texts, classes)]
    table = precision_recall_fscore_support(labels, predicted, labels=classes, zero_division=0)
    rows = zip(classes, *(values.tolist() for values in table), strict=True)
    hits = sum(label == guess for label, guess in zip(labels, predicted, strict=True))
    return {
        "n": len(texts),
        "accuracy": hits / len(texts),
        "macro_f1": float(table[2].mean()),
        "per_class": {
            name: {"precision": precision, "recall": recall, "f1": f1, "support": support}
            for name, precision, recall, f1, support in rows
        },
        "classes": classes,
        "confusion": confusion_matrix(labels, predicted, labels=classes).tolist(),
    }


def _predict(classifier: ICapsClassifier, texts: Sequence[str], classes: list[str]) -> list[int]:
    """Class numbers of all texts, in every process."""
    mine = distributed.share()
    numbers = torch.zeros(len(texts), dtype=torch.int64)
    predicted = [classes.index(str(name)) for name in classifier.predict(texts[mine])]
    numbers[mine] = torch.tensor(predicted, dtype=torch.int64)
    return distributed.add_up(numbers).tolist()
