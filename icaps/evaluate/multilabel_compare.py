"""Classifiers with several labels per text, compared on the same texts; see `compare`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from icaps.evaluate.comparison_texts import ComparisonTexts, check_same_kind, timed
from icaps.evaluate.multilabel import MultilabelPredictions, PredictedSets, predict_sets
from icaps.evaluate.multilabel_scores import (
    MACRO_F1,
    OVERALL,
    SUBSET_ACCURACY,
    Draws,
    interval_of,
    multilabel_scores,
    score_multilabel,
)
from icaps.evaluate.paired import (
    McNemar,
    check_same_classes,
    check_same_labels,
    difference_columns,
    mcnemar,
)
from icaps.evaluate.predictions import Scorer
from icaps.results import Interval


@dataclass(frozen=True)
class MultilabelTest(McNemar):
    """A paired comparison of two classifiers on the same texts.

    Attributes:
        differences: By name of OVERALL, the score of the second minus that of the first, with a
            paired bootstrap interval.
        seed: Seed of the resamples.
    """

    differences: dict[str, Interval]
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; `accuracy` is the subset accuracy."""
        named = {"accuracy": self.differences[SUBSET_ACCURACY], **self.differences}
        return {
            **super().to_dict(),
            **{name: score.value for name, score in named.items()},
            **{f"{name}_interval": score[1:] for name, score in named.items()},
            "seed": self.seed,
        }


def compare_multilabel(
    first: MultilabelPredictions, second: MultilabelPredictions, seed: int = 0
) -> MultilabelTest:
    """Compares the predictions of two classifiers for the same texts in the same order.

    Raises:
        DataError: They have different classes, or are of texts with other labels.
    """
    check_same_classes(first.classes, second.classes)
    second = second.ordered(first.classes)
    check_same_labels(first.labels, second.labels)
    draws, pair = Draws(len(first), seed), (first, second)
    plain = [multilabel_scores(one) for one in pair]
    drawn = [draws.overall(one) for one in pair]
    return MultilabelTest(
        **vars(mcnemar(first.correct, second.correct)),
        differences={
            name: interval_of(
                (plain[1][name] or 0.0) - (plain[0][name] or 0.0), drawn[1][name] - drawn[0][name]
            )
            for name in OVERALL
        },
        seed=seed,
    )


@dataclass(frozen=True)
class TimedSets(MultilabelPredictions):
    """The predictions of a classifier, its name, and the seconds they took on this machine."""

    name: str = ""
    seconds: float = float("nan")

    @property
    def texts_per_second(self) -> float:
        """Predicted texts per second."""
        return len(self) / self.seconds


def predict_sets_timed(name: str, classifier: Scorer, sample: ComparisonTexts) -> TimedSets:
    """The predictions of a classifier, whose classes may be in another order, and their time.

    Raises:
        DataError: It has other classes, or gives a text one label.
    """
    names = check_same_kind(name, classifier, sample)
    thresholds = classifier.thresholds_
    assert thresholds is not None

    def predict(texts: Sequence[str]) -> list[PredictedSets]:
        return list(predict_sets(classifier, ((text, "[]") for text in texts)))

    chunks, seconds = timed(predict, sample.texts)
    columns = [names.index(label) for label in sample.classes]
    return TimedSets(
        classes=sample.classes,
        labels=np.asarray(sample.labels, dtype=bool),
        probabilities=np.concatenate([chunk.probabilities for chunk in chunks])[:, columns],
        thresholds=thresholds[columns],
        blank=np.concatenate([chunk.blank for chunk in chunks]),
        name=name,
        seconds=seconds,
    )


def set_score_table(
    predictions: Sequence[TimedSets], seed: int = 0, unfair: Collection[str] = ()
) -> pd.DataFrame:
    """One row per classifier: its scores, and the differences from the first.

    Columns:
        model: Name of the classifier.
        macro_f1, low, high: With its 95% bootstrap interval.
        chance: Macro F1 of the same predictions, assigned to texts at random.
        micro_f1, average_precision, subset_accuracy, hamming_loss: See `multilabel_scores`.
        accuracy: The subset accuracy.
        difference, difference_low, difference_high: Difference of macro F1, with its bootstrap
            interval.
        only_it, only_first: Texts whose labels only one of the two predicts all right.
        p_value: That of McNemar's exact test of these; NaN if one of the two is in `unfair`, the
            names of classifiers that were trained on the texts.
    """
    rows, first, unfair = [], predictions[0].name, frozenset(unfair)
    for result in predictions:
        scores = score_multilabel(result, seed)
        macro = scores.overall[MACRO_F1]
        row = {
            "model": result.name,
            "macro_f1": macro.value,
            "low": macro.low,
            "high": macro.high,
            "chance": scores.chance[MACRO_F1],
            **{name: scores.plain[name] for name in OVERALL if name != MACRO_F1},
            "accuracy": scores.plain["accuracy"],
        }
        if result is not predictions[0]:
            test = compare_multilabel(predictions[0], result, seed)
            gain = test.differences[MACRO_F1]
            row |= difference_columns(gain, test, not unfair & {result.name, first})
        rows.append(row)
    return pd.DataFrame(rows)


def set_agreement_table(predictions: Sequence[TimedSets]) -> pd.DataFrame:
    """One row per pair of classifiers: how often they predict the same classes.

    Columns:
        one, other: Names of the classifiers.
        same: Share of the texts for which they predict exactly the same classes.
        same_classes: Share of the pairs of a text and a class on which they agree.
        chance: The expected share of these if the two predict classes as often as now, but
            independently of each other.
        both_wrong: Texts for which both predict the same classes, not all right.
    """
    rows = []
    for one, other in combinations(predictions, 2):
        first, second = one.predicted, other.predicted
        same = (first == second).all(1)
        often, other_often = first.mean(0), second.mean(0)
        chance = often * other_often + (1 - often) * (1 - other_often)
        rows.append(
            {
                "one": one.name,
                "other": other.name,
                "same": float(same.mean()),
                "same_classes": float((first == second).mean()),
                "chance": float(chance.mean()),
                "both_wrong": int((same & ~one.correct).sum()),
            }
        )
    return pd.DataFrame(rows)


def set_disagreements(predictions: Sequence[TimedSets]) -> NDArray[np.int64]:
    """The numbers of the texts for which not all classifiers predict the same classes.

    Those with most classes on which they differ come first.
    """
    predicted = np.stack([result.predicted for result in predictions])
    differing = (predicted != predicted[0]).any(0).sum(1)  # classes, by text
    rows = np.flatnonzero(differing)
    return np.asarray(rows[np.argsort(-differing[rows], kind="stable")])


def set_disagreement_table(
    sample: ComparisonTexts,
    predictions: Sequence[TimedSets],
    numbers: Sequence[int] | NDArray[np.int64],
) -> pd.DataFrame:
    """One row per text: number, classes, text, and a column of predictions per classifier."""
    rows = np.asarray(numbers, dtype=np.int64)
    labels = predictions[0].labels[rows]
    return pd.DataFrame(
        {
            "number": rows,
            "class": [", ".join(predictions[0].names(row)) for row in labels],
            "text": [sample.texts[n] for n in rows.tolist()],
            **{own.name: [_with_probabilities(own, n) for n in rows] for own in predictions},
        }
    )


def _with_probabilities(own: TimedSets, number: int) -> str:
    """The predicted classes of a text with their probabilities, such as "a 92%, b 61%"."""
    chances = own.probabilities[number]
    (row,) = own.predicted_of(np.array([number]))
    parts = [f"{own.classes[j]} {chances[j]:.0%}" for j in np.flatnonzero(row).tolist()]
    return ", ".join(parts) or "nothing"
