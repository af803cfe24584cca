"""Accuracy, precision, recall and F1 with their intervals, from a confusion matrix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_fscore_support

from icaps.errors import DataError
from icaps.evaluate.multilabel import predicted_stream
from icaps.evaluate.multilabel_scores import multilabel_scores
from icaps.evaluate.predictions import Scorer, predict_stream
from icaps.results import Interval
from icaps.stats import LEVEL, RESAMPLES, Counts, Values, bootstrap, percentile_interval, wilson

MEASURES = ("precision", "recall", "f1")


@dataclass(frozen=True)
class Scores:
    """Accuracy, precision, recall and F1 of predictions, with intervals.

    Attributes:
        plain: The scores without intervals, as `evaluate` returns them.
        accuracy: The accuracy on all texts, with Wilson's interval.
        macro: By measure, the mean over the model's classes, with a bootstrap interval.
        per_class: By class and measure; precision and recall have Wilson's interval, as they are
            shares, and F1 has a bootstrap interval.
        chance: accuracy and macro_f1 of the expected confusion matrix if the same predictions were
            assigned to the texts at random.
        seed: Seed of the draws.
    """

    plain: dict[str, Any]
    accuracy: Interval
    macro: dict[str, Interval]
    per_class: dict[str, dict[str, Interval]]
    chance: dict[str, float]
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the scores, chance, and the intervals beside them."""
        macro = {f"macro_{name}": score.value for name, score in self.macro.items()}
        return {
            **self.plain,
            **macro,
            "chance": self.chance,
            "intervals": {
                "level": LEVEL,
                "resamples": RESAMPLES,
                "seed": self.seed,
                "accuracy": self.accuracy[1:],
                **{f"macro_{name}": score[1:] for name, score in self.macro.items()},
                "per_class": {
                    name: {measure: score[1:] for measure, score in scores.items()}
                    for name, scores in self.per_class.items()
                },
            },
        }


def evaluate(classifier: Scorer, labelled: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Evaluates a classifier on a stream of texts: scores as plain data, without intervals.

    Under `torchrun` each process predicts its share, and all return the whole.

    Args:
        classifier: A fitted classifier.
        labelled: Texts with the names of their classes, read once, as a stream.

    Returns:
        n; accuracy; macro_f1, over all of the model's classes; per_class, an object from class to
        precision, recall, f1, support; confusion, (J, J) counts with true classes as rows, in the
        order of classes. With several labels per text, those of
        `multilabel_scores.multilabel_scores`.

    Raises:
        DataError: There are no texts, or a label is none of the model's classes.
    """
    if classifier.multilabel_:
        with predicted_stream(classifier, labelled) as sets:
            return multilabel_scores(sets)
    predictions = predict_stream(classifier, labelled)
    return plain_scores(predictions.confusion, predictions.classes)


def score(confusion: NDArray[np.int64], classes: Sequence[str], seed: int = 0) -> Scores:
    """The scores of a confusion matrix, with intervals.

    Args:
        confusion: (J, J), number of texts by true class (rows) and predicted class.
        classes: Names, in the order of rows and columns.
        seed: Seed of the draws.

    Raises:
        DataError: There are no texts.
    """
    plain = plain_scores(confusion, classes)
    true, predicted = np.nonzero(confusion)

    def by_class(drawn: Counts) -> Values:
        return class_scores(drawn, true, predicted, len(classes))

    draws = bootstrap(confusion[true, predicted], by_class, seed)
    hits, rows, columns = confusion.diagonal(), confusion.sum(1), confusion.sum(0)
    per_class, values = {}, np.empty((len(MEASURES), len(classes)))
    for j, (name, row) in enumerate(plain["per_class"].items()):
        values[:, j] = [row[measure] for measure in MEASURES]
        precision, recall = (wilson(int(hits[j]), int(total[j])) for total in (columns, rows))
        per_class[name] = {
            "precision": precision._replace(value=row["precision"]),
            "recall": recall._replace(value=row["recall"]),
            "f1": percentile_interval(row["f1"], draws[:, 2, j]),
        }
    means, drawn_means = values.mean(1), draws.mean(2)
    expected = plain_scores(np.outer(rows, columns) / confusion.sum(), classes)
    return Scores(
        plain,
        wilson(int(confusion.trace()), int(confusion.sum())),
        {name: percentile_interval(means[k], drawn_means[:, k]) for k, name in enumerate(MEASURES)},
        per_class,
        {name: expected[name] for name in ("accuracy", "macro_f1")},
        seed,
    )


def plain_scores(confusion: NDArray[np.number], classes: Sequence[str]) -> dict[str, Any]:
    """The result of `evaluate` for a confusion matrix (J, J), whose counts may be fractions.

    Raises:
        DataError: There are no texts.
    """
    texts = confusion.sum().item()
    if not texts:
        raise DataError("There are no texts to score.")
    true, predicted = np.indices(confusion.shape).reshape(2, -1)
    table = precision_recall_fscore_support(
        true,
        predicted,
        labels=range(len(classes)),
        sample_weight=confusion.ravel(),
        zero_division=0,
    )
    columns = (column.tolist() for column in (*table[:3], confusion.sum(1)))
    return {
        "n": texts,
        "accuracy": confusion.trace().item() / texts,
        "macro_f1": float(table[2].mean()),
        "per_class": {
            name: {"precision": precision, "recall": recall, "f1": f1, "support": support}
            for name, precision, recall, f1, support in zip(classes, *columns, strict=True)
        },
        "classes": list(classes),
        "confusion": confusion.tolist(),
    }


def class_scores(
    drawn: NDArray[np.integer[Any]],
    true: NDArray[np.integer[Any]],
    predicted: NDArray[np.integer[Any]],
    classes: int,
) -> Values:
    """Precision, recall and F1 of each class for many draws (draws, 3, J); 0 in place of 0/0.

    Args:
        drawn: (draws, cells), number of texts in each cell of the confusion matrix.
        true: (cells,), number of the true class of each cell.
        predicted: (cells,), number of the predicted class.
        classes: J, the number of classes.
    """
    weights, number = drawn.astype(float), np.arange(classes)
    is_true, is_predicted = true[:, None] == number, predicted[:, None] == number  # (cells, J)
    hits = weights @ (is_true & is_predicted)
    rows, columns = weights @ is_true, weights @ is_predicted
    parts = ((hits, columns), (hits, rows), (2 * hits, rows + columns))
    return np.stack([part / np.maximum(whole, 1) for part, whole in parts], axis=1)
