"""Probabilities and thresholds of several labels per text, against scikit-learn and by hand."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_recall_curve

from icaps.errors import DataError
from icaps.nn.thresholds import ClassThresholds
from icaps.train.label_thresholds import best_thresholds, fit_logistic, fit_thresholds


def drawn(texts: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Norms (texts, 3) and labels that follow them by logistic functions."""
    random = np.random.default_rng(seed)
    norms = random.random((texts, 3))
    chances = 1 / (1 + np.exp(-(norms * [12, 8, 20] - [6, 6, 8])))
    return norms, random.random((texts, 3)) < chances


def test_many_texts_give_the_logistic_regression_of_scikit_learn() -> None:
    norms, labels = drawn(20_000)
    slopes, offsets = fit_logistic(norms, labels)
    for j in range(3):
        model = LogisticRegression(C=1e9, tol=1e-9).fit(norms[:, [j]], labels[:, j])
        assert slopes[j] == pytest.approx(model.coef_[0, 0], rel=0.02)
        assert offsets[j] == pytest.approx(model.intercept_[0], rel=0.02)


def test_few_texts_give_nearly_the_function_of_all_classes() -> None:
    few, _ = fit_logistic(*drawn(6))
    many, _ = fit_logistic(*drawn(2_000))
    assert few.max() < 1.3 * few.min()
    assert many.max() > 2 * many.min()


def test_a_class_without_a_text_is_improbable() -> None:
    norms, labels = drawn(2_000)
    labels[:, 1] = False
    slopes, offsets = fit_logistic(norms, labels)
    chances = 1 / (1 + np.exp(-(slopes * norms + offsets)))
    assert (slopes > 0).all()
    assert 0 < chances[:, 1].mean() < 0.01


def test_slopes_are_above_0_whatever_the_texts() -> None:
    """A class that only the validation texts have, whose norms are the smaller the righter."""
    norms, labels = drawn(300)
    norms[:, 0] = 0.2 - 0.15 * labels[:, 0]
    slopes, offsets = fit_logistic(norms, labels)
    assert (slopes > 0).all()
    assert np.isfinite(offsets).all()


@pytest.mark.parametrize("labels", [np.zeros((5, 2), bool), np.ones((5, 2), bool)])
def test_labels_of_one_kind_alone(labels: np.ndarray) -> None:
    norms = np.random.default_rng(0).random((5, 2))
    thresholds = fit_thresholds(norms, labels)
    assert (thresholds.slopes > 0).all()
    assert (thresholds.predicted(norms) == labels).all()


def test_separable_texts_have_finite_numbers() -> None:
    norms = np.array([[0.9, 0.1], [0.95, 0.05], [0.1, 0.8], [0.05, 0.9]])
    thresholds = fit_thresholds(norms, norms > 0.5)
    assert np.isfinite([thresholds.slopes, thresholds.offsets]).all()
    assert (thresholds.predicted(norms) == (norms > 0.5)).all()


@given(
    hnp.arrays(float, (12, 2), elements=st.integers(0, 9).map(lambda n: (n + 0.5) / 11)),
    hnp.arrays(bool, (12, 2)),
)
def test_thresholds_have_the_best_f1_of_scikit_learn(
    probabilities: np.ndarray, labels: np.ndarray
) -> None:
    """Also among equal probabilities."""
    thresholds = best_thresholds(probabilities, labels)
    for chances, true, threshold in zip(probabilities.T, labels.T, thresholds, strict=True):
        assert 0 < threshold < 1
        if not true.any():
            assert threshold == 0.5
            continue
        precision, recall, _ = precision_recall_curve(true, chances)
        total = precision + recall
        best = np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total > 0)
        assert f1_score(true, chances >= threshold) == pytest.approx(best.max())


def test_a_threshold_is_between_two_probabilities_and_near_one_half() -> None:
    probabilities = np.array([[0.9], [0.8], [0.3], [0.1]])
    labels = np.array([[True], [True], [False], [False]])
    assert best_thresholds(probabilities, labels)[0] == pytest.approx(0.55)
    # From 0.9 on one of one is right and one is missed; from 0.3 on two of three are.
    labels = np.array([[True], [False], [True], [False]])
    assert best_thresholds(probabilities, labels)[0] == pytest.approx(0.2)


def test_few_labels_are_mixed_with_probabilities() -> None:
    """The threshold of a class with n texts has the best F1 by (n labels + 50 probabilities)."""
    norms, labels = drawn(40, seed=2)
    labels[:, 2] &= norms[:, 2] > 0.6  # fewer texts
    thresholds = fit_thresholds(norms, labels)
    for chances, true, found in zip(
        thresholds.probabilities(norms).T, labels.T, thresholds.thresholds, strict=True
    ):
        count = int(true.sum())
        mixed = [(count * t + 50 * p) / (count + 50) for t, p in zip(true, chances, strict=True)]

        def score(threshold: float, chances: np.ndarray = chances, mixed: list = mixed) -> float:
            taken = [m for m, p in zip(mixed, chances, strict=True) if p >= threshold]
            return 2 * sum(taken) / (len(taken) + sum(mixed))

        assert score(found) == pytest.approx(max(score(p) for p in chances))


def test_many_texts_give_the_best_f1_of_their_labels() -> None:
    norms, labels = drawn(5_000)
    thresholds = fit_thresholds(norms, labels)
    predicted = thresholds.predicted(norms)
    for j in range(3):
        precision, recall, _ = precision_recall_curve(labels[:, j], norms[:, j])
        best = (2 * precision * recall / np.maximum(precision + recall, 1e-9)).max()
        assert f1_score(labels[:, j], predicted[:, j]) > best - 0.003


def test_probabilities_of_0_and_1_have_thresholds_between() -> None:
    probabilities = np.array([[1.0, 0.0], [1.0, 1e-300], [1 - 1e-16, 0.0]])
    labels = np.array([[True, False], [True, True], [False, False]])
    thresholds = best_thresholds(probabilities, labels)
    assert ((thresholds > 0) & (thresholds < 1)).all()
    ClassThresholds.from_dict(
        {"slopes": [1.0, 1.0], "offsets": [0.0, 0.0], "thresholds": thresholds.tolist()}, 2
    )


def test_no_texts() -> None:
    with pytest.raises(DataError, match="no texts"):
        fit_thresholds(np.zeros((0, 3)), np.zeros((0, 3)))


def test_numbers_as_json() -> None:
    thresholds = fit_thresholds(*drawn(50))
    content = json.loads(json.dumps(thresholds.to_dict()))
    read = ClassThresholds.from_dict(content, 3)
    for name, values in vars(thresholds).items():
        assert np.array_equal(getattr(read, name), values)


@pytest.mark.parametrize(
    "change",
    [
        {"slopes": [1.0, 2.0]},
        {"slopes": [1.0, 2.0, 0.0]},
        {"offsets": [1.0, 2.0, math.nan]},
        {"thresholds": [0.5, 0.5, 1.5]},
        {"thresholds": "0.5"},
        {"offsets": None},
    ],
    ids=str,
)
def test_damaged_numbers(change: dict[str, object]) -> None:
    content = {"slopes": [1.0, 2.0, 3.0], "offsets": [0.0] * 3, "thresholds": [0.5] * 3}
    ClassThresholds.from_dict(content, 3)
    with pytest.raises((TypeError, ValueError)):
        ClassThresholds.from_dict({**content, **change}, 3)
