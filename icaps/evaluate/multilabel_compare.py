"""Classifiers of several labels per text, compared on the same texts; see `compare`."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binomtest

from icaps.errors import DataError
from icaps.evaluate.compare import (
    WARM_UP,
    ComparisonTexts,
    check_same_kind,
    records,
    size_table,
    unfair_models,
)
from icaps.evaluate.leakage import Leak, seen_share
from icaps.evaluate.multilabel import MultilabelPredictions, predict_sets
from icaps.evaluate.multilabel_scores import (
    MACRO_F1,
    OVERALL,
    SUBSET_ACCURACY,
    Draws,
    interval_of,
    multilabel_scores,
    score_multilabel,
)
from icaps.evaluate.predictions import Scorer
from icaps.results import Interval


@dataclass(frozen=True)
class MultilabelTest:
    """A paired comparison of two classifiers on the same texts.

    Attributes:
        both, only_first, only_second, neither: Numbers of texts whose labels these predict all
            right.
        p_value: McNemar's, of these numbers; see `compare.PairedTest`.
        differences: By name of OVERALL, the score of the second minus that of the first, with a
            paired bootstrap interval.
        seed: Seed of the resamples.
    """

    both: int
    only_first: int
    only_second: int
    neither: int
    p_value: float
    differences: dict[str, Interval]
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; `accuracy` is the subset accuracy."""
        named = {"accuracy": self.differences[SUBSET_ACCURACY], **self.differences}
        return {
            "both": self.both,
            "only_first": self.only_first,
            "only_second": self.only_second,
            "neither": self.neither,
            "p_value": self.p_value,
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
    if set(first.classes) != set(second.classes):
        raise DataError(
            "The two models have different classes; compare models that were trained on the same."
        )
    second = second.ordered(first.classes)
    if not np.array_equal(first.labels, second.labels):
        raise DataError("The two models were evaluated on different texts; evaluate both anew.")
    draws, pair = Draws(len(first), seed), (first, second)
    plain = [multilabel_scores(one) for one in pair]
    drawn = [draws.overall(one) for one in pair]
    right, other = first.correct, second.correct
    only = [int((one & ~two).sum()) for one, two in ((right, other), (other, right))]
    return MultilabelTest(
        both=int((right & other).sum()),
        only_first=only[0],
        only_second=only[1],
        neither=int((~right & ~other).sum()),
        p_value=binomtest(only[0], sum(only)).pvalue if any(only) else 1.0,
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
    classifier.predict_proba(sample.texts[:WARM_UP])
    started = time.perf_counter()
    chunks = list(predict_sets(classifier, ((text, "[]") for text in sample.texts)))
    seconds = time.perf_counter() - started
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
            row |= {
                "difference": gain.value,
                "difference_low": gain.low,
                "difference_high": gain.high,
                "only_it": test.only_second,
                "only_first": test.only_first,
                "p_value": float("nan") if unfair & {result.name, first} else test.p_value,
            }
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


@dataclass(frozen=True)
class MultilabelCompareReport:
    """A comparison of several classifiers with several labels per text; see `CompareReport`."""

    sample: ComparisonTexts
    predictions: tuple[TimedSets, ...]
    sizes: pd.DataFrame
    leaks: Mapping[str, Leak | None]

    @classmethod
    def make(
        cls,
        classifiers: Mapping[str, Scorer],
        folders: Mapping[str, Path],
        sample: ComparisonTexts,
    ) -> MultilabelCompareReport:
        """Predicts with all classifiers; the arguments are those of `CompareReport.make`.

        Raises:
            DataError: A classifier has other classes, or gives a text one label.
        """
        predictions = tuple(
            predict_sets_timed(name, classifier, sample) for name, classifier in classifiers.items()
        )
        leaks = {name: seen_share(folder, sample.texts) for name, folder in folders.items()}
        return cls(sample, predictions, size_table(predictions, classifiers, folders), leaks)

    def to_dict(self, shown: int, data: str = "") -> dict[str, Any]:
        """Plain data for JSON, with `shown` texts; `data` is the name of the data set."""
        numbers = set_disagreements(self.predictions)
        rows = set_disagreement_table(self.sample, self.predictions, numbers[:shown])
        unfair = unfair_models(self.leaks)
        return {
            "data": data,
            "texts": len(self.sample.texts),
            "scores": records(set_score_table(self.predictions, unfair=unfair)),
            "leaks": {name: leak and leak.to_dict() for name, leak in self.leaks.items()},
            "agreements": records(set_agreement_table(self.predictions)),
            "sizes": records(self.sizes),
            "disagreeing": len(numbers),
            "disagreements": records(rows),
        }
