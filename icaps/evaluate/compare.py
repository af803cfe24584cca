"""Classifiers with one label per text, compared on the same texts: paired tests, agreement."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import log_loss

from icaps.evaluate.comparison_texts import ComparisonTexts, check_same_kind, timed
from icaps.evaluate.paired import (
    McNemar,
    check_same_classes,
    check_same_labels,
    difference_columns,
    mcnemar,
)
from icaps.evaluate.predictions import Predictions, Scorer, score_texts
from icaps.evaluate.scores import class_scores, score
from icaps.results import Interval
from icaps.stats import Counts, Values, bootstrap, percentile_interval


@dataclass(frozen=True)
class PairedTest(McNemar):
    """A paired comparison of two classifiers on the same texts.

    Attributes:
        accuracy: Accuracy of the second minus that of the first, with a paired bootstrap interval.
        macro_f1: The same difference of macro F1.
        seed: Seed of the resamples.
    """

    accuracy: Interval
    macro_f1: Interval
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            **super().to_dict(),
            "accuracy": self.accuracy.value,
            "accuracy_interval": self.accuracy[1:],
            "macro_f1": self.macro_f1.value,
            "macro_f1_interval": self.macro_f1[1:],
            "seed": self.seed,
        }


def compare(first: Predictions, second: Predictions, seed: int = 0) -> PairedTest:
    """Compares the predictions of two classifiers for the same texts in the same order.

    Raises:
        DataError: They have different classes, or are of texts with other labels.
    """
    check_same_classes(first.classes, second.classes)
    number = np.array([first.classes.index(name) for name in second.classes])
    check_same_labels(first.labels, number[second.labels])
    classes, predicted = len(first.classes), number[second.predicted]
    triples = np.stack([first.labels, first.predicted, predicted], axis=1)
    cells, counts = np.unique(triples, axis=0, return_counts=True)

    def differences(drawn: Counts) -> Values:
        return _scores(drawn, cells[:, 0], cells[:, 2], classes) - _scores(
            drawn, cells[:, 0], cells[:, 1], classes
        )

    values = differences(counts[None])[0]
    draws = bootstrap(counts, differences, seed)
    return PairedTest(
        **vars(mcnemar(first.correct, second.correct)),
        accuracy=percentile_interval(values[0], draws[:, 0]),
        macro_f1=percentile_interval(values[1], draws[:, 1]),
        seed=seed,
    )


@dataclass(frozen=True)
class TimedPredictions(Predictions):
    """The predictions of a classifier, its name, and the seconds they took on this machine."""

    name: str = ""
    seconds: float = float("nan")

    @property
    def texts_per_second(self) -> float:
        """Predicted texts per second."""
        return len(self.labels) / self.seconds


def predict_timed(name: str, classifier: Scorer, sample: ComparisonTexts) -> TimedPredictions:
    """The predictions of a classifier, whose classes may be in another order, and their time.

    Raises:
        DataError: It has other classes, or gives a text several labels.
    """
    names = check_same_kind(name, classifier, sample)
    (scores, factor), seconds = timed(partial(score_texts, classifier), sample.texts)
    columns = [names.index(label) for label in sample.classes]
    return TimedPredictions(
        classes=sample.classes,
        labels=sample.labels.astype(np.int64),
        scores=scores[:, columns],
        inverse_temperature=factor,
        name=name,
        seconds=seconds,
    )


def score_table(
    predictions: Sequence[TimedPredictions], seed: int = 0, unfair: Collection[str] = ()
) -> pd.DataFrame:
    """One row per classifier: its scores, and the differences from the first.

    Columns:
        model: Name of the classifier.
        accuracy, low, high: With the 95% interval of Wilson (1927).
        chance: Accuracy of the same predictions, assigned to texts at random.
        macro_f1: Over all classes.
        log_loss: Mean log loss in nats.
        difference, difference_low, difference_high: Difference of the accuracies, with its
            bootstrap interval.
        only_it, only_first: Texts that only one of the two predicts right.
        p_value: That of McNemar's exact test; NaN if one of the two is in `unfair`, the names of
            classifiers that were trained on the texts.
    """
    rows, first, unfair = [], predictions[0].name, frozenset(unfair)
    for result in predictions:
        scores = score(result.confusion, result.classes, seed)
        row = {
            "model": result.name,
            "accuracy": scores.accuracy.value,
            "low": scores.accuracy.low,
            "high": scores.accuracy.high,
            "chance": scores.chance["accuracy"],
            "macro_f1": scores.macro["f1"].value,
            "log_loss": float(
                log_loss(result.labels, result.probabilities, labels=range(len(result.classes)))
            ),
        }
        if result is not predictions[0]:
            test = compare(predictions[0], result, seed)
            row |= difference_columns(test.accuracy, test, not unfair & {result.name, first})
        rows.append(row)
    return pd.DataFrame(rows)


def agreement_table(predictions: Sequence[TimedPredictions]) -> pd.DataFrame:
    """One row per pair of classifiers: how often they predict the same class.

    Columns:
        one, other: Names of the classifiers.
        same: Share of the texts with the same prediction.
        chance: Expected share if the two predict classes with the same frequencies as now, but
            independently of each other.
        both_wrong: Texts for which both predict the same wrong class.
    """
    rows = []
    for one, other in combinations(predictions, 2):
        same = one.predicted == other.predicted
        shares = [
            np.bincount(result.predicted, minlength=len(result.classes)) / len(result.labels)
            for result in (one, other)
        ]
        rows.append(
            {
                "one": one.name,
                "other": other.name,
                "same": float(same.mean()),
                "chance": float(shares[0] @ shares[1]),
                "both_wrong": int((same & ~one.correct).sum()),
            }
        )
    return pd.DataFrame(rows)


def disagreements(predictions: Sequence[TimedPredictions]) -> NDArray[np.int64]:
    """The numbers of the texts for which not all classifiers predict the same class.

    They are sorted by the confidence of the least confident classifier, the highest first.
    """
    predicted = np.stack([result.predicted for result in predictions])
    rows = np.flatnonzero((predicted != predicted[0]).any(0))
    lowest = np.min([result.probabilities[rows].max(1) for result in predictions], axis=0)
    return np.asarray(rows[np.argsort(-lowest, kind="stable")])


def disagreement_table(
    sample: ComparisonTexts,
    predictions: Sequence[TimedPredictions],
    numbers: Sequence[int] | NDArray[np.int64],
) -> pd.DataFrame:
    """One row per text: number, class, text, and a column of predictions per classifier."""
    rows = np.asarray(numbers, dtype=np.int64)
    names = np.array(sample.classes, dtype=object)
    columns = {result.name: _with_confidence(result, names, rows) for result in predictions}
    about = {
        "number": rows,
        "class": names[sample.labels[rows]],
        "text": [sample.texts[n] for n in rows.tolist()],
    }
    return pd.DataFrame(about | columns)


def _scores(
    drawn: Counts,
    true: NDArray[np.integer[Any]],
    predicted: NDArray[np.integer[Any]],
    classes: int,
) -> Values:
    """Accuracy and macro F1 (draws, 2) of resamples (draws, cells)."""
    accuracy = drawn @ (true == predicted) / drawn.sum(1)
    return np.stack([accuracy, class_scores(drawn, true, predicted, classes)[:, 2].mean(1)], axis=1)


def _with_confidence(
    result: Predictions, names: NDArray[np.object_], rows: NDArray[np.int64]
) -> list[str]:
    """Predicted classes and their probabilities, such as "Sports 92%"."""
    confidence = result.probabilities[rows].max(1)
    return [
        f"{name} {share:.0%}"
        for name, share in zip(names[result.predicted[rows]], confidence.tolist(), strict=True)
    ]
