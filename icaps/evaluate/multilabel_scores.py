"""Scores of several labels per text, with intervals.

All scores but the intervals are those of scikit-learn: F1, average precision, subset accuracy and
Hamming loss of two indicator matrices (texts, J).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.metrics import average_precision_score, precision_recall_curve

from icaps.errors import DataError
from icaps.evaluate.multilabel import MultilabelPredictions
from icaps.results import Interval
from icaps.stats import LEVEL, RESAMPLES, Values, percentile_interval, wilson

MICRO_F1, MACRO_F1, AVERAGE_PRECISION = "micro_f1", "macro_f1", "average_precision"
SUBSET_ACCURACY, HAMMING_LOSS = "subset_accuracy", "hamming_loss"
OVERALL = (MICRO_F1, MACRO_F1, AVERAGE_PRECISION, SUBSET_ACCURACY, HAMMING_LOSS)
PER_CLASS = ("precision", "recall", "f1", AVERAGE_PRECISION)

_GROUPS = 1_000  # of texts, which are drawn together
_STEPS = 200  # places of a ranking at which the precision of a resample is computed
_POINTS = 200  # points of a curve


class ClassScores(NamedTuple):
    """The scores of one class.

    Attributes:
        threshold: The least probability with which the class is predicted.
        texts, predicted: Numbers of texts with the label and with the prediction.
        precision, recall: With Wilson's interval, as they are shares; 0 in place of 0/0.
        f1: With a bootstrap interval; 0 in place of 0/0.
        average_precision: With a bootstrap interval; NaN if no text has the class.
        chance: The average precision of a random order, which is the share of texts with the class.
    """

    threshold: float
    texts: int
    predicted: int
    precision: Interval
    recall: Interval
    f1: Interval
    average_precision: Interval
    chance: float


@dataclass(frozen=True)
class MultilabelScores:
    """Scores of predictions with several labels per text, with intervals.

    Attributes:
        plain: The scores without intervals, as `multilabel_scores` returns them.
        overall: By name of OVERALL; the subset accuracy has Wilson's interval, the others have
            bootstrap intervals.
        per_class: By class.
        chance: The scores that are expected if the same predictions were assigned to the texts at
            random.
        seed: Seed of the draws.
    """

    plain: dict[str, Any]
    overall: dict[str, Interval]
    per_class: dict[str, ClassScores]
    chance: dict[str, float]
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the scores, chance, and the intervals beside them."""
        return {
            **self.plain,
            "chance": self.chance,
            "intervals": {
                "level": LEVEL,
                "resamples": RESAMPLES,
                "seed": self.seed,
                "accuracy": self.overall[SUBSET_ACCURACY][1:],
                **{name: _ends(score) for name, score in self.overall.items()},
                "per_class": {
                    name: {measure: _ends(getattr(scores, measure)) for measure in PER_CLASS}
                    for name, scores in self.per_class.items()
                },
            },
        }


def multilabel_scores(predictions: MultilabelPredictions) -> dict[str, Any]:
    """The scores of predictions as plain data, without intervals.

    Returns:
        n; micro_f1; macro_f1, over all of the model's classes; average_precision, the mean over the
        classes that a text has (None without any); subset_accuracy, the share of texts whose
        predicted classes are exactly their labels, and the same as accuracy; hamming_loss, the
        share of pairs of a text and a class that are wrong; per_class, an object from class to
        threshold, precision, recall, f1, average_precision, support (texts with the class) and
        predicted; confusion, (J, 2, 2) as `sklearn.metrics.multilabel_confusion_matrix`.

    Raises:
        DataError: There are no texts.
    """
    texts, counts = len(predictions), predictions.counts
    if not texts:
        raise DataError("There are no texts to score.")
    sums = np.array(counts)[None]  # (1, 3, J)
    precision, recall, f1 = _class_values(sums)[0].tolist()
    overall = dict(zip(OVERALL, _overall(sums, np.array([texts]))[:, 0].tolist(), strict=True))
    average = average_precisions(predictions)
    exact = float(predictions.correct.mean())
    known = average[~np.isnan(average)]
    ones = counts.labels, counts.predicted, counts.hits
    return {
        "n": texts,
        "accuracy": exact,
        MICRO_F1: overall[MICRO_F1],
        MACRO_F1: overall[MACRO_F1],
        AVERAGE_PRECISION: float(known.mean()) if len(known) else None,
        SUBSET_ACCURACY: exact,
        HAMMING_LOSS: overall[HAMMING_LOSS],
        "per_class": {
            name: {
                "threshold": float(predictions.thresholds[j]),
                "precision": precision[j],
                "recall": recall[j],
                "f1": f1[j],
                AVERAGE_PRECISION: None if np.isnan(average[j]) else float(average[j]),
                "support": int(counts.labels[j]),
                "predicted": int(counts.predicted[j]),
            }
            for j, name in enumerate(predictions.classes)
        },
        "classes": list(predictions.classes),
        "confusion": [
            [[texts - own - taken + hits, taken - hits], [own - hits, hits]]
            for own, taken, hits in zip(*(column.tolist() for column in ones), strict=True)
        ],
    }


def score_multilabel(predictions: MultilabelPredictions, seed: int = 0) -> MultilabelScores:
    """The scores of predictions, with intervals.

    A resample draws texts with replacement, the same for all scores. Of more than 1,000 texts, a
    thousand random groups are drawn in place of texts, which makes time and memory bounded and
    leaves the variance of a score what it is.

    Args:
        predictions: Of one or more texts.
        seed: Seed of the draws.

    Raises:
        DataError: There are no texts.
    """
    plain, texts, counts = multilabel_scores(predictions), len(predictions), predictions.counts
    draws = Draws(texts, seed)
    sums = draws.sums(predictions)  # (draws, 3, J)
    by_class, overall = _class_values(sums), _overall(sums, draws.texts)
    ranking = [draws.average_precision(predictions, j) for j in range(len(predictions.classes))]
    per_class = {}
    for j, (name, row) in enumerate(plain["per_class"].items()):
        hits = int(counts.hits[j])
        precision, recall = wilson(hits, row["predicted"]), wilson(hits, row["support"])
        average = row[AVERAGE_PRECISION]
        per_class[name] = ClassScores(
            threshold=row["threshold"],
            texts=row["support"],
            predicted=row["predicted"],
            precision=precision._replace(value=row["precision"]),
            recall=recall._replace(value=row["recall"]),
            f1=percentile_interval(row["f1"], by_class[:, 2, j]),
            average_precision=interval_of(average, ranking[j]),
            chance=row["support"] / texts,
        )
    drawn = dict(zip(OVERALL, overall, strict=True)) | {AVERAGE_PRECISION: _mean(ranking)}
    intervals = {name: interval_of(plain[name], drawn[name]) for name in OVERALL}
    intervals[SUBSET_ACCURACY] = wilson(int(predictions.correct.sum()), texts)
    return MultilabelScores(plain, intervals, per_class, chance_scores(predictions), seed)


def average_precisions(predictions: MultilabelPredictions) -> Values:
    """The average precision of each class (J,); NaN for a class that no text has."""
    values = np.full(len(predictions.classes), np.nan)
    for j in np.flatnonzero(predictions.counts.labels).tolist():
        labels, scores = predictions.labels[:, j], predictions.probabilities[:, j]
        values[j] = average_precision_score(labels, scores)
    return values


def chance_scores(predictions: MultilabelPredictions) -> dict[str, float]:
    """The expected scores if the same sets of classes were assigned to the texts at random.

    The average precision is that of a random order of the texts, the mean share of texts with a
    class over the classes that a text has.
    """
    texts, counts = len(predictions), predictions.counts
    expected = counts.labels * counts.predicted / texts
    sums = np.stack([counts.labels, counts.predicted, expected])[None]
    overall = dict(zip(OVERALL, _overall(sums, np.array([texts]))[:, 0].tolist(), strict=True))
    known = counts.labels[counts.labels > 0]
    overall[AVERAGE_PRECISION] = float(known.mean() / texts) if len(known) else 0.0
    overall[SUBSET_ACCURACY] = _exact_by_chance(predictions)
    return {"accuracy": overall[SUBSET_ACCURACY], **overall}


class CurvePoint(NamedTuple):
    """Precision and recall of a class if it is predicted from `threshold` on."""

    threshold: float
    precision: float
    recall: float


def precision_recall(
    predictions: MultilabelPredictions, number: int, points: int = _POINTS
) -> list[CurvePoint]:
    """The precision-recall curve of a class at about `points` thresholds, by rising threshold.

    Empty for a class that no text has. The area below its steps is the average precision.
    """
    if not predictions.counts.labels[number]:
        return []
    labels, scores = predictions.labels[:, number], predictions.probabilities[:, number]
    precision, recall, thresholds = precision_recall_curve(labels, scores)
    places = np.searchsorted(-recall[:-1], -np.linspace(1, 0, points), side="right") - 1
    chosen = np.unique(np.append(np.clip(places, 0, None), len(thresholds) - 1))
    columns = thresholds[chosen], precision[chosen], recall[chosen]
    return [CurvePoint(*map(float, values)) for values in zip(*columns, strict=True)]


class Draws:
    """Resamples of texts with replacement, for scores of several labels per text.

    Attributes:
        weights: (RESAMPLES, groups), how often each group of texts is drawn.
        texts: (RESAMPLES,), the number of texts drawn.
    """

    def __init__(self, texts: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        groups = min(texts, _GROUPS)
        self._groups: NDArray[np.integer[Any]] = (
            np.arange(texts)
            if texts <= _GROUPS
            else random.integers(0, groups, texts, dtype=np.int16)
        )
        drawn = random.multinomial(groups, np.full(groups, 1 / groups), RESAMPLES)
        self.weights: Values = drawn.astype(float)
        self.texts: Values = self.weights @ np.bincount(self._groups, minlength=groups)

    def sums(self, predictions: MultilabelPredictions) -> Values:
        """Labels, predictions and hits of each class in each resample, (RESAMPLES, 3, J)."""
        groups = self.weights.shape[1]
        totals = np.zeros((groups, 3 * len(predictions.classes)))
        for rows, labels, predicted in predictions.blocks():
            group = self._groups[rows]
            ones = (np.ones(len(group)), (group, np.arange(len(group))))
            columns = np.concatenate([labels, predicted, labels & predicted], axis=1)
            totals += csr_matrix(ones, (groups, len(group))) @ columns.astype(float)
        return np.asarray((self.weights @ totals).reshape(RESAMPLES, 3, -1))

    def share(self, mask: NDArray[np.bool_]) -> Values:
        """The share of the texts of a mask (texts,) in each resample, (RESAMPLES,)."""
        groups = self.weights.shape[1]
        return np.asarray(self.weights @ np.bincount(self._groups, mask, groups) / self.texts)

    def overall(self, predictions: MultilabelPredictions) -> dict[str, Values]:
        """The scores of each resample by name of OVERALL, (RESAMPLES,) each."""
        drawn = dict(zip(OVERALL, _overall(self.sums(predictions), self.texts), strict=True))
        known = np.flatnonzero(predictions.counts.labels).tolist()
        drawn[AVERAGE_PRECISION] = _mean([self.average_precision(predictions, j) for j in known])
        drawn[SUBSET_ACCURACY] = self.share(predictions.correct)
        return drawn

    def average_precision(self, predictions: MultilabelPredictions, number: int) -> Values:
        """The average precision of a class in each resample, (RESAMPLES,); NaN without its texts.

        The precision is computed where texts with the class are in the ranking, at most at _STEPS
        places of it; the difference that this makes is added to all resamples.
        """
        labels = np.asarray(predictions.labels[:, number])
        if not labels.any():
            return np.full(RESAMPLES, np.nan)
        scores = np.asarray(predictions.probabilities[:, number])
        levels = np.unique(scores[labels])
        if len(levels) > _STEPS:
            levels = levels[np.linspace(0, len(levels) - 1, _STEPS).round().astype(np.int64)]
        place = np.searchsorted(levels, scores, side="right") - 1  # -1 is below all of the class
        groups, steps = self.weights.shape[1], len(levels)
        cells = self._groups.astype(np.int64) * steps + place
        table = [
            np.bincount(cells[mask], minlength=groups * steps).reshape(groups, steps)[:, ::-1]
            for mask in (labels, place >= 0)
        ]
        hits, texts = (self.weights @ part.astype(float) for part in table)
        in_steps = _ranked(*(part.sum(0, keepdims=True) for part in table))
        drawn = _ranked(hits, texts) + average_precision_score(labels, scores) - in_steps
        return np.where(hits.any(1), np.clip(drawn, 0, 1), np.nan)


def _mean(rankings: Sequence[Values]) -> Values:
    """The mean over the classes that have texts, in each resample (RESAMPLES,)."""
    values = np.reshape(rankings, (-1, RESAMPLES))
    known = ~np.isnan(values)
    total, count = np.where(known, values, 0).sum(0), known.sum(0)
    return np.asarray(np.divide(total, count, out=np.full(RESAMPLES, np.nan), where=count > 0))


def _ranked(hits: NDArray[Any], texts: NDArray[Any]) -> Values:
    """Average precision (draws,) from texts with the class and all texts, by falling score."""
    found = hits.cumsum(1)
    precision = found / np.maximum(texts.cumsum(1), 1)
    return np.asarray((precision * hits).sum(1) / np.maximum(found[:, -1], 1))


def _class_values(sums: NDArray[np.number]) -> Values:
    """Precision, recall and F1 (draws, 3, J) of labels, predictions and hits; 0 for 0/0."""
    labels, predicted, hits = sums[:, 0], sums[:, 1], sums[:, 2]
    parts = ((hits, predicted), (hits, labels), (2 * hits, labels + predicted))
    return np.stack([_quotient(part, whole) for part, whole in parts], axis=1)


def _overall(sums: NDArray[np.number], texts: NDArray[np.number]) -> Values:
    """OVERALL (5, draws) of labels, predictions and hits (draws, 3, J), NaN for what needs more."""
    labels, predicted, hits = sums.sum(2).T
    unknown = np.full(len(sums), np.nan)
    pairs = texts * sums.shape[2]
    return np.stack(
        [
            _quotient(2 * hits, labels + predicted),
            _class_values(sums)[:, 2].mean(1),
            unknown,
            unknown,
            (labels + predicted - 2 * hits) / pairs,
        ]
    )


def _quotient(part: NDArray[np.number], whole: NDArray[np.number]) -> Values:
    return np.asarray(np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0))


def _exact_by_chance(predictions: MultilabelPredictions) -> float:
    """The probability that a random text has exactly the classes predicted for another."""
    random = np.random.default_rng(0)
    keys = random.integers(1, 2**63, len(predictions.classes), dtype=np.uint64)
    hashes = np.zeros((2, len(predictions)), np.uint64)  # of the sets of classes
    for rows, *sets in predictions.blocks():
        for number, part in enumerate(sets):
            hashes[number, rows] = part @ keys
    _, inverse = np.unique(hashes, return_inverse=True)
    own, taken = inverse.reshape(hashes.shape)
    counts = [np.bincount(sets, minlength=inverse.max() + 1) for sets in (own, taken)]
    return float((counts[0] / len(predictions)) @ (counts[1] / len(predictions)))


def interval_of(value: float | None, draws: Values) -> Interval:
    """A value with the percentile interval of its resamples that are not NaN; NaN without any."""
    draws = draws[~np.isnan(draws)]
    if value is None or not len(draws):
        return Interval(math.nan, math.nan, math.nan)
    return percentile_interval(value, draws)


def _ends(score: Interval) -> Sequence[float] | None:
    """The ends of an interval for JSON; None if there is none."""
    return None if math.isnan(score.value) else score[1:]
