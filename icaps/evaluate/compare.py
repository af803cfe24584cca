"""Two models on the same texts: whether one is better, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from icaps.errors import DataError
from icaps.evaluate.scores import class_scores
from icaps.results import Interval
from icaps.stats import Counts, Values, bootstrap, percentile_interval


class Answered(Protocol):
    """A classifier's answers to texts: `Predictions`, or what else has these."""

    @property
    def classes(self) -> Sequence[str]:
        """Names, by number."""

    @property
    def labels(self) -> NDArray[np.integer[Any]]:
        """The true classes, (texts,)."""

    @property
    def predicted(self) -> NDArray[np.integer[Any]]:
        """The predicted classes, (texts,)."""

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Whether each prediction is the label, (texts,)."""


@dataclass(frozen=True)
class Comparison:
    """The second model beside the first.

    Attributes:
        both, only_first, only_second, neither: Texts that are predicted right by these.
        p_value: McNemar's, exact and two-sided (McNemar 1947): how probable it is for two models
            that are alike to differ as much in the texts that one alone has right.
        accuracy: That of the second less that of the first, with an interval by drawing texts
            again, the same for both.
        macro_f1: Likewise.
        seed: Of the draws.
    """

    both: int
    only_first: int
    only_second: int
    neither: int
    p_value: float
    accuracy: Interval
    macro_f1: Interval
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "both": self.both,
            "only_first": self.only_first,
            "only_second": self.only_second,
            "neither": self.neither,
            "p_value": self.p_value,
            "accuracy": self.accuracy.value,
            "accuracy_interval": self.accuracy[1:],
            "macro_f1": self.macro_f1.value,
            "macro_f1_interval": self.macro_f1[1:],
            "seed": self.seed,
        }


def compare(first: Answered, second: Answered, seed: int = 0) -> Comparison:
    """Compares two models' predictions of the same texts in the same order.

    Raises:
        DataError: They have different classes, or are of texts with other labels.
    """
    if set(first.classes) != set(second.classes):
        raise DataError(
            "The two models have different classes; compare models that were trained on the same."
        )
    number = np.array([first.classes.index(name) for name in second.classes])
    if not np.array_equal(first.labels, number[second.labels]):
        raise DataError("The two models were evaluated on different texts; evaluate both anew.")
    classes, predicted = len(first.classes), number[second.predicted]
    right = first.correct, second.correct
    only = [int((one & ~other).sum()) for one, other in (right, right[::-1])]
    triples = np.stack([first.labels, first.predicted, predicted], axis=1)
    cells, counts = np.unique(triples, axis=0, return_counts=True)

    def differences(drawn: Counts) -> Values:
        return _scores(drawn, cells[:, 0], cells[:, 2], classes) - _scores(
            drawn, cells[:, 0], cells[:, 1], classes
        )

    values = differences(counts[None])[0]
    draws = bootstrap(counts, differences, seed)
    return Comparison(
        int((right[0] & right[1]).sum()),
        only[0],
        only[1],
        int((~right[0] & ~right[1]).sum()),
        binomtest(only[0], sum(only)).pvalue if any(only) else 1.0,
        percentile_interval(values[0], draws[:, 0]),
        percentile_interval(values[1], draws[:, 1]),
        seed,
    )


def _scores(
    drawn: Counts,
    true: NDArray[np.integer[Any]],
    predicted: NDArray[np.integer[Any]],
    classes: int,
) -> Values:
    """Accuracy and macro F1 of draws (draws, cells), (draws, 2)."""
    accuracy = drawn @ (true == predicted) / drawn.sum(1)
    return np.stack([accuracy, class_scores(drawn, true, predicted, classes)[:, 2].mean(1)], axis=1)
