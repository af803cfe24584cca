"""Two models on the same texts: tests and intervals of their differences."""

from math import comb
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score

from icaps.errors import DataError
from icaps.evaluate.compare import compare


def answers(labels: np.ndarray, predicted: np.ndarray, classes: str = "abc") -> Any:
    return SimpleNamespace(
        classes=tuple(classes), labels=labels, predicted=predicted, correct=predicted == labels
    )


def discordant(first: int, second: int, both: int = 30, neither: int = 4) -> tuple[Any, Any]:
    """Models of which one alone is right on so many texts."""
    labels = np.zeros(both + first + second + neither, np.int64)
    one = np.repeat([0, 0, 1, 1], [both, first, second, neither])
    other = np.repeat([0, 1, 0, 1], [both, first, second, neither])
    return answers(labels, one), answers(labels, other)


@pytest.mark.parametrize(("first", "second"), [(2, 9), (9, 2), (5, 5), (0, 6), (1, 0)])
def test_mcnemar_by_hand(first: int, second: int) -> None:
    """Twice the smaller tail of throws of a coin, the exact test."""
    found = compare(*discordant(first, second))
    total = first + second
    tail = sum(comb(total, k) for k in range(min(first, second) + 1)) / 2**total
    assert found.p_value == pytest.approx(min(2 * tail, 1))
    assert (found.both, found.only_first) == (30, first)
    assert (found.only_second, found.neither) == (second, 4)
    assert found.accuracy.value == pytest.approx((second - first) / (34 + total))


def test_equal_models() -> None:
    found = compare(*discordant(0, 0))
    assert found.p_value == 1
    assert found.accuracy == (0, 0, 0)
    assert found.to_dict()["macro_f1_interval"] == (0, 0)


def macro_f1(labels: np.ndarray, predicted: np.ndarray) -> float:
    """The definition, class by class."""
    parts = [(labels == j, predicted == j) for j in range(3)]
    return float(np.mean([2 * (t & p).sum() / (t.sum() + p.sum()) for t, p in parts]))


def test_differences_and_their_intervals() -> None:
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, 600)
    one = np.where(random.random(600) < 0.7, labels, random.integers(0, 3, 600))
    other = np.where(random.random(600) < 0.8, labels, random.integers(0, 3, 600))
    found = compare(answers(labels, one), answers(labels, other))

    def difference(rows: np.ndarray) -> tuple[float, float]:
        f1 = [macro_f1(labels[rows], p[rows]) for p in (one, other)]
        return float(np.mean((other == labels)[rows] * 1.0 - (one == labels)[rows])), f1[1] - f1[0]

    values = difference(np.arange(600))
    assert (found.accuracy.value, found.macro_f1.value) == pytest.approx(values)
    known = [f1_score(labels, p, average="macro") for p in (one, other)]
    assert values[1] == pytest.approx(known[1] - known[0])
    drawn = np.array([difference(random.integers(0, 600, 600)) for _ in range(1_000)])
    for k, value in enumerate((found.accuracy, found.macro_f1)):
        low, high = np.quantile(drawn[:, k], [0.025, 0.975])
        assert (value.low, value.high) == pytest.approx((low, high), abs=0.01)
    swapped = compare(answers(labels, other), answers(labels, one))
    assert swapped.accuracy.value == -found.accuracy.value
    assert swapped.p_value == found.p_value


def test_classes_in_another_order_are_the_same() -> None:
    labels, one = np.array([0, 1, 2, 1]), np.array([0, 1, 1, 2])
    turned = np.array([2, 0, 1])  # a is 2 in "bca"
    same = answers(turned[labels], turned[one], "bca")
    found = compare(answers(labels, one), same)
    assert (found.both, found.neither, found.p_value) == (2, 2, 1)


def test_what_can_not_be_compared() -> None:
    labels = np.array([0, 1, 2])
    with pytest.raises(DataError, match="different classes"):
        compare(answers(labels, labels), answers(labels, labels, "abd"))
    with pytest.raises(DataError, match="different texts"):
        compare(answers(labels, labels), answers(labels[::-1], labels))
    with pytest.raises(DataError, match="different texts"):
        compare(answers(labels, labels), answers(labels[:2], labels[:2]))
