"""Warnings about the result of a training: at chance, or one capsule wins nearly everything.

They are computed from two matrices of counts, at the end of a training from the validation texts,
and later from any labelled texts (`global_view`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix

from icaps.stats import wilson
from icaps.train.callbacks import Validation

METRIC = "warnings"  # key in the metrics of a checkpoint
CHANCE, MAJORITY, COLLAPSE, FEW = "chance", "majority", "collapse", "few_capsules"

ALIVE_SHARE = 0.01  # least share of all texts that an alive capsule wins
LEAST_ALIVE = 5  # alive capsules, below which they hardly divide the texts
MOST = 0.5  # a capsule that wins a larger share of all texts may have collapsed
PURE = 0.8  # share of a capsule's wins in its main class from which it serves one class
MANY_CLASSES = 16  # with more classes, capsules cannot be expected to outnumber them
_LEVEL = 0.9  # two-sided, so that a score is above chance with 95% confidence
UNBALANCED = 0.7  # share of the most frequent class from which balanced weights are advised
_FEW_TEXTS = 100  # validation texts below which they are too few to tell
_LEAST_SHARE, _LEAST_TEXTS = 0.01, 5  # of a class that counts as one that a capsule serves

_RECIPE = "purity_weight=0.2, spread_weight=0.1 and winner_sharpness=200"


@dataclass(frozen=True)
class ResultWarning:
    """Something about a trained model that its user must know.

    Attributes:
        kind: CHANCE, MAJORITY, COLLAPSE or FEW.
        message: What was measured, in one or two sentences.
        advice: What to do, in one or two sentences.
        serious: Whether predictions or explanations cannot be relied on; else it is a note.
    """

    kind: str
    message: str
    advice: str
    serious: bool = True

    def __str__(self) -> str:
        return f"{self.message} {self.advice}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dataclasses.asdict(self)


def result_warnings(
    confusion: NDArray[np.int64],
    frequency: NDArray[np.int64],
    classes: Sequence[str],
    texts: str = "validation",
    memorized: bool = False,
    short: bool = False,
) -> list[ResultWarning]:
    """What a user must know about a model; serious warnings first, empty if all is well.

    Args:
        confusion: (J, J), texts by true class (rows) and predicted class.
        frequency: C (J, I), texts by predicted class and by the capsule that won them.
        classes: Names (J,).
        texts: What the counted texts are called.
        memorized: Whether the model is better than chance on its training texts.
        short: Whether the training had too few steps to learn anything.
    """
    chance = _chance(confusion, classes, texts, memorized, short)
    capsules = capsule_warning(frequency, classes, texts)
    found = [chance, None if chance is not None and capsules and not capsules.serious else capsules]
    return sorted((one for one in found if one is not None), key=lambda one: not one.serious)


class LabelCounts(NamedTuple):
    """The number of texts, and of them by class (J,): with the label, with the prediction, both."""

    texts: int
    labels: NDArray[np.int64]
    predicted: NDArray[np.int64]
    hits: NDArray[np.int64]

    def micro_f1(self, hits: NDArray[np.floating[Any]] | None = None) -> float:
        """The micro F1 score, perhaps with other numbers of hits."""
        right = self.hits if hits is None else hits
        return float(2 * right.sum() / max(int(self.labels.sum() + self.predicted.sum()), 1))

    @property
    def shuffled(self) -> NDArray[np.float64]:
        """The expected hits (J,) if the same predictions were assigned to the texts at random."""
        return np.asarray(self.labels * self.predicted / max(self.texts, 1))

    def above_chance(self, level: float = _LEVEL) -> bool:
        """Whether there are more hits than shuffled predictions have, with this confidence."""
        if self.texts < 2:
            return False
        others = (self.texts - self.labels) * (self.texts - self.predicted)
        variance = (self.shuffled * others).sum() / self.texts / (self.texts - 1)
        reach = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(variance)
        return bool(self.hits.sum() > self.shuffled.sum() + reach)


def label_set_warnings(
    counts: LabelCounts,
    frequency: NDArray[np.int64],
    classes: Sequence[str],
    texts: str = "validation",
    memorized: bool = False,
    short: bool = False,
) -> list[ResultWarning]:
    """As `result_warnings`, for a model with several labels per text.

    Args:
        counts: Labels, predictions and hits by class.
        frequency, classes, texts, memorized, short: See `result_warnings`.
    """
    found = [capsule_warning(frequency, classes, texts)]
    if counts.texts and not counts.above_chance():
        chance = counts.micro_f1(counts.shuffled)
        message = (
            f"The model is no better than chance: its micro F1 is {counts.micro_f1():.1%} on "
            f"{counts.texts:,} {texts} texts, and with the same predictions in random order "
            f"{chance:.1%}."
        )
        most = float(counts.labels.max()) / counts.texts
        advice = _chance_advice(counts.texts, most, texts, memorized, short)
        found = [
            ResultWarning(CHANCE, message, advice),
            *(one for one in found if one and one.serious),
        ]
    return sorted((one for one in found if one is not None), key=lambda one: not one.serious)


def capsule_warning(
    frequency: NDArray[np.int64], classes: Sequence[str], texts: str = "validation"
) -> ResultWarning | None:
    """Whether one capsule wins more than half of the texts, or fewer than `LEAST_ALIVE` are alive.

    It is serious (COLLAPSE) if the capsule that wins most serves several classes, as the capsules
    then say little about the class; else a note (FEW). It is also a note if there are fewer alive
    capsules than classes, up to `MANY_CLASSES`.

    Args:
        frequency: C (J, I), texts by predicted class and by the capsule that won them.
        classes: Names (J,).
        texts: What the counted texts are called.
    """
    return _collapse(frequency, classes, texts) or _few(frequency, classes, texts)


def validation_warnings(
    validation: Validation,
    capsules: int,
    classes: Sequence[str],
    memorized: bool = False,
    short: bool = False,
) -> list[ResultWarning]:
    """`result_warnings` of the predictions for the validation texts.

    Args:
        validation: The predictions.
        capsules: I, the number of primary capsules.
        classes, memorized, short: See `result_warnings`.
    """
    if validation.corpus.label_sets is not None:
        labels, sets = validation.corpus.targets > 0, validation.predicted_sets()  # (texts, J)
        columns = labels.sum(0), sets.sum(0), (labels & sets).sum(0)
        counts = LabelCounts(len(labels), *columns)
        frequency = win_counts(validation, capsules)
        return label_set_warnings(counts, frequency, classes, memorized=memorized, short=short)
    predicted = validation.class_norms.numpy().argmax(1)
    confusion = confusion_matrix(validation.corpus.labels, predicted, labels=range(len(classes)))
    frequency = win_counts(validation, capsules)
    return result_warnings(confusion, frequency, classes, memorized=memorized, short=short)


def win_counts(
    validation: Validation, capsules: int, limit: int | None = None
) -> NDArray[np.int64]:
    """C (J, I) of the first `limit` validation texts; those without a known word do not count.

    With several labels per text, each predicted class counts.

    Args:
        validation: The predictions.
        capsules: I, the number of primary capsules.
        limit: Maximum number of texts; None: all.
    """
    norms = validation.class_norms.numpy()
    counts = np.zeros((norms.shape[1], capsules), dtype=np.int64)  # (J, I)
    texts = np.flatnonzero(validation.known[:limit])
    if validation.corpus.label_sets is not None:
        rows, classes = validation.predicted_sets()[texts].nonzero()
        np.add.at(counts, (classes, validation.capsules[texts[rows], classes]), 1)
        return counts
    np.add.at(counts, (norms[texts].argmax(1), validation.capsules[texts]), 1)
    return counts


def warnings_of(metrics: Mapping[str, Any]) -> list[ResultWarning]:
    """The warnings in the metrics of a checkpoint; those that cannot be read are left out."""
    stored, found = metrics.get(METRIC), []
    for item in stored if isinstance(stored, list) else []:
        match item:
            case {
                "kind": str(kind),
                "message": str(message),
                "advice": str(advice),
                "serious": bool(serious),
            }:
                found.append(ResultWarning(kind, message, advice, serious))
    return found


def above_chance(confusion: NDArray[np.int64], level: float = _LEVEL) -> bool:
    """Whether predictions are right more often than the same predictions in random order.

    That is, whether Wilson's interval of the accuracy is above the accuracy expected of shuffled
    predictions. Predicting one class for all texts is never above chance.

    Args:
        confusion: (J, J), texts by true class (rows) and predicted class.
        level: Of the two-sided interval.
    """
    total = int(confusion.sum())
    if not total:
        return False
    expected = float(confusion.sum(1) @ confusion.sum(0)) / total**2
    return wilson(int(np.trace(confusion)), total, level).low > expected


def sets_above_chance(
    targets: NDArray[np.floating[Any]], predicted: NDArray[np.int64], level: float = _LEVEL
) -> bool:
    """As `above_chance`, for texts with several labels, by the class that is predicted first.

    Args:
        targets: (texts, J), 1 for each class of a text and else 0.
        predicted: (texts,), number of one class per text, which is right if the text has it.
        level: Of the two-sided interval.
    """
    total, classes = targets.shape
    if not total:
        return False
    right = int(targets[np.arange(total), predicted].sum())
    shares = np.bincount(predicted, minlength=classes) / total
    return wilson(right, total, level).low > float(shares @ targets.mean(0, dtype=float))


def _chance(
    confusion: NDArray[np.int64],
    classes: Sequence[str],
    texts: str,
    memorized: bool,
    short: bool,
) -> ResultWarning | None:
    total = int(confusion.sum())
    if not total:
        return None
    rows = confusion.sum(1)
    accuracy, most = float(np.trace(confusion)) / total, int(rows.argmax())
    majority = float(rows[most]) / total
    if not above_chance(confusion):
        predicted = np.flatnonzero(confusion.sum(0))
        one = f": it predicts {classes[predicted[0]]} for all texts" if len(predicted) == 1 else ""
        message = (
            f"The model is no better than the most frequent class: {accuracy:.1%} of {total:,} "
            f"{texts} texts are predicted right, and always predicting {classes[most]} gives "
            f"{majority:.1%}{one}."
        )
        return ResultWarning(
            CHANCE, message, _chance_advice(total, majority, texts, memorized, short)
        )
    if accuracy <= majority:
        message = (
            f"The model tells the classes apart, but always predicting {classes[most]} gives at "
            f"least its accuracy: {majority:.1%} of {total:,} {texts} texts against {accuracy:.1%}."
        )
        advice = "Judge it by macro F1 and by the recall of each class."
        return ResultWarning(MAJORITY, message, advice, serious=False)
    return None


def _chance_advice(total: int, majority: float, texts: str, memorized: bool, short: bool) -> str:
    if memorized:
        return (
            "It has learned its training texts by heart, but nothing that holds for others: check "
            "that the labels belong to the texts and follow from them, and give more labelled "
            "texts."
        )
    if short:
        return (
            "The training had few steps: raise epochs and patience, or lower batch_size. If there "
            "are few labelled texts, give more."
        )
    unbalanced = "set class_weight to balanced, " if majority >= UNBALANCED else ""
    advice = (
        f"Check that the labels belong to the texts. Then {unbalanced}lower learning_rate, set "
        "purity_weight and spread_weight to 0, or give more labelled texts."
    )
    if total < _FEW_TEXTS:
        advice += f" {total} {texts} texts are few to tell: more labels say more."
    return advice


def _collapse(
    frequency: NDArray[np.int64], classes: Sequence[str], texts: str
) -> ResultWarning | None:
    """A warning if one capsule wins over half of all texts and serves several classes.

    It serves several if its main class has less than PURE of its wins, or if it wins over half of
    the texts of at least two classes, so that one class may have most of all texts.
    """
    total, wins = int(frequency.sum()), frequency.sum(0)  # (I,)
    capsule = int(wins.argmax())
    if not total or wins[capsule] <= MOST * total:
        return None
    rows, column = frequency.sum(1), frequency[:, capsule]  # (J,)
    counted = rows >= max(_LEAST_TEXTS, _LEAST_SHARE * total)
    purity = float(column.max() / wins[capsule])
    if purity >= PURE and (counted & (column > MOST * rows)).sum() < 2:
        return None
    served = int((counted & (column > 0)).sum())
    message = (
        f"Capsule {capsule} wins {int(wins[capsule]):,} of {total:,} {texts} texts, of {served} of "
        f"{len(classes)} predicted classes ({purity:.0%} of them are "
        f"{classes[int(column.argmax())]}): which capsule decides says little about the class."
    )
    advice = (
        f"Train again with {_RECIPE}, so that capsules specialise in classes; if these are set, "
        "raise purity_weight and spread_weight."
    )
    return ResultWarning(COLLAPSE, message, advice)


def _few(frequency: NDArray[np.int64], classes: Sequence[str], texts: str) -> ResultWarning | None:
    total, wins = int(frequency.sum()), frequency.sum(0)  # (I,)
    if not total:
        return None
    alive = int((wins >= max(ALIVE_SHARE * total, 1)).sum())
    most = int(wins.argmax())
    dominant = wins[most] > MOST * total
    reasons = []
    if alive < len(classes) <= MANY_CLASSES:
        reasons.append(f"fewer than there are classes ({len(classes)})")
    if reasons or alive < LEAST_ALIVE <= len(wins):
        reasons.insert(0, f"Only {alive} of {len(wins)} capsules win 1% of the texts or more")
    if dominant and len(wins) > 1:
        share = f"capsule {most} wins {wins[most] / total:.0%} of the {total:,} {texts} texts"
        reasons.append(f"and {share}" if reasons else share[0].upper() + share[1:])
    if not reasons:
        return None
    message = f"{', '.join(reasons)}: explanations name the same capsules again and again."
    advice = f"For capsules with a subject of their own, train with {_RECIPE}"
    advice += "; if these are set, raise spread_weight."
    return ResultWarning(FEW, message, advice, serious=False)
