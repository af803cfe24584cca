"""What all comparisons of two classifiers on the same texts have: checks, and McNemar's test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from icaps.errors import DataError
from icaps.results import Interval

NO_TEST = "no test, as one of them was trained on these texts"  # in place of a p value


@dataclass(frozen=True)
class McNemar:
    """How often two classifiers are right on the same texts.

    Attributes:
        both, only_first, only_second, neither: Numbers of texts that these predict right; with
            several labels per text, that have all labels right.
        p_value: From the exact two-sided test of McNemar (1947): the probability that two equally
            good classifiers differ at least as much in the texts that only one predicts right.
    """

    both: int
    only_first: int
    only_second: int
    neither: int
    p_value: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "both": self.both,
            "only_first": self.only_first,
            "only_second": self.only_second,
            "neither": self.neither,
            "p_value": self.p_value,
        }


def mcnemar(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> McNemar:
    """McNemar's test of two classifiers, from whether each is right on each text, (texts,)."""
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    differing = only_first + only_second
    return McNemar(
        both=int((first & second).sum()),
        only_first=only_first,
        only_second=only_second,
        neither=int((~first & ~second).sum()),
        p_value=binomtest(only_first, differing).pvalue if differing else 1.0,
    )


def check_same_classes(first: Sequence[str], second: Sequence[str]) -> None:
    """Checks that two models have the same classes, in any order.

    Raises:
        DataError: They have not.
    """
    if set(first) != set(second):
        raise DataError(
            "The two models have different classes; compare models that were trained on the same."
        )


def check_same_labels(first: NDArray[Any], second: NDArray[Any]) -> None:
    """Checks that two evaluations are of texts with the same labels.

    Raises:
        DataError: They are not.
    """
    if not np.array_equal(first, second):
        raise DataError("The two models were evaluated on different texts; evaluate both anew.")


def difference_columns(gain: Interval, test: McNemar, fair: bool) -> dict[str, Any]:
    """The columns of a table of scores that compare a classifier with the first.

    Args:
        gain: The difference of their scores.
        test: The first classifier beside this one.
        fair: Whether neither was trained on the texts; else the p value is NaN.
    """
    return {
        "difference": gain.value,
        "difference_low": gain.low,
        "difference_high": gain.high,
        "only_it": test.only_second,
        "only_first": test.only_first,
        "p_value": test.p_value if fair else float("nan"),
    }
