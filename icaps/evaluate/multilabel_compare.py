"""Two classifiers of several labels per text, compared on the same texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest

from icaps.errors import DataError
from icaps.evaluate.multilabel import MultilabelPredictions
from icaps.evaluate.multilabel_scores import OVERALL, SUBSET_ACCURACY, Draws, multilabel_scores
from icaps.results import Interval
from icaps.stats import percentile_interval


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
            name: percentile_interval(
                (plain[1][name] or 0.0) - (plain[0][name] or 0.0), drawn[1][name] - drawn[0][name]
            )
            for name in OVERALL
        },
        seed=seed,
    )
