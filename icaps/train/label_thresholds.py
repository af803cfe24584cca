"""Fits a calibrated probability and a threshold per class, for several labels per text.

The probability of a class is a logistic function of its norm (Platt 2000), with a slope and an
offset of its own. A text has the classes whose probability is at least the threshold of the class,
which gives the best F1 score on the validation texts.

A class with few validation texts has a best F1 score by accident. Its labels are therefore mixed
with their calibrated probabilities, by which the score is an expected one (benchmarks/README.md).

Nothing here imports torch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from icaps.errors import DataError
from icaps.nn.thresholds import ClassThresholds

Floats = NDArray[np.floating[Any]]

# What all classes together say on slope and offset counts as much for a class as so many texts.
_PRIOR_TEXTS = 20.0
# Probabilities count as much in the F1 score of a class as so many texts that have it.
_EXPECTED_TEXTS = 50.0
_STEPS, _TOLERANCE = 50, 1e-9  # of Newton's method
_LARGEST = 200.0  # slope; norms are between 0 and 1
_LEAST = 1e-9  # distance of a threshold from 0 and from 1


def fit_thresholds(norms: Floats, targets: NDArray[Any]) -> ClassThresholds:
    """Calibrates norms and chooses thresholds by validation texts.

    A class without a validation text has the threshold 0.5.

    Args:
        norms: (texts, J).
        targets: (texts, J), 1 for each class of a text and else 0.

    Raises:
        DataError: There is no text.
    """
    truth = targets > 0
    slopes, offsets = fit_logistic(norms.astype(float), truth)
    chances = expit(norms * slopes + offsets)
    known = truth.sum(0)
    mixed = (known * truth + _EXPECTED_TEXTS * chances) / (known + _EXPECTED_TEXTS)
    thresholds = np.where(known > 0, best_thresholds(chances, mixed), 0.5)
    return ClassThresholds(slopes, offsets, thresholds)


def fit_logistic(
    norms: NDArray[np.float64], targets: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Slopes and offsets (J,) of a logistic function of the norm per class.

    All classes together give one slope and offset, by maximum likelihood with Platt's targets,
    which are a little inside of 0 and 1, so that it exists. Those of a class maximise the
    likelihood of its own texts times a normal prior around these, which is as narrow as
    `_PRIOR_TEXTS` texts would make it. A class whose slope would not be above 0 keeps those of all.

    Args:
        norms: (texts, J).
        targets: (texts, J), whether a text has a class.
    """
    count, classes = norms.shape
    flat, pooled_targets = norms.reshape(-1, 1), targets.reshape(-1, 1)
    start = np.array([[10.0], [-5.0]])
    # Very weak, for the case that there is no text at all.
    weak = np.diag([1e-4, 1e-4])[:, :, None]
    pooled = _newton(flat, _platt_targets(pooled_targets), start, start, weak)
    pooled[0] = np.clip(pooled[0], 0.1, _LARGEST)
    centre = np.repeat(pooled, classes, axis=1)
    curvature = _curvature(flat, pooled) * (_PRIOR_TEXTS / max(count * classes, 1))
    prior = np.repeat(curvature + weak, classes, axis=2)
    fitted = _newton(norms, targets.astype(float), centre, centre, prior)
    wrong = ~((fitted[0] > 0) & (fitted[0] <= _LARGEST) & np.isfinite(fitted).all(0))
    fitted[:, wrong] = centre[:, wrong]
    return fitted[0], fitted[1]


def _platt_targets(targets: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Platt's (n_1 + 1) / (n_1 + 2) for true and 1 / (n_0 + 2) for false, by column."""
    true = targets.sum(0)
    false = len(targets) - true
    values: NDArray[np.float64] = np.where(targets, (true + 1) / (true + 2), 1 / (false + 2))
    return values


def _curvature(norms: NDArray[np.float64], parameters: NDArray[np.float64]) -> Any:
    """The second derivatives of the loss by slope and offset (2, 2, J)."""
    chances = expit(norms * parameters[0] + parameters[1])
    weights = chances * (1 - chances)
    mixed = (weights * norms).sum(0)
    return np.array([[(weights * norms**2).sum(0), mixed], [mixed, weights.sum(0)]])


def _newton(
    norms: NDArray[np.float64],
    targets: NDArray[np.float64],
    start: NDArray[np.float64],
    centre: NDArray[np.float64],
    prior: Any,
) -> NDArray[np.float64]:
    """Slope and offset (2, J) of the least loss of all classes, by Newton's method with halving.

    Args:
        norms, targets: (texts, J).
        start, centre: (2, J), where the search begins, and the mean of the prior.
        prior: (2, 2, J), the inverse covariance of the prior.
    """

    def loss(parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        scores = norms * parameters[0] + parameters[1]
        away = parameters - centre
        losses = np.logaddexp(0, scores) - targets * scores
        total: NDArray[np.float64] = (
            losses.sum(0) + np.einsum("aj,abj,bj->j", away, prior, away) / 2
        )
        return total

    parameters, value = start.copy(), loss(start)
    for _ in range(_STEPS):
        errors = expit(norms * parameters[0] + parameters[1]) - targets
        gradient = np.array([(errors * norms).sum(0), errors.sum(0)])
        gradient += np.einsum("abj,bj->aj", prior, parameters - centre)
        matrix = _curvature(norms, parameters) + prior
        determinant = matrix[0, 0] * matrix[1, 1] - matrix[0, 1] ** 2
        step = np.array(
            [
                matrix[1, 1] * gradient[0] - matrix[0, 1] * gradient[1],
                matrix[0, 0] * gradient[1] - matrix[0, 1] * gradient[0],
            ]
        ) / np.maximum(determinant, 1e-300)
        size = np.ones(norms.shape[1])
        for _ in range(30):
            candidate = parameters - size * step
            new = loss(candidate)
            worse = new > value
            if not worse.any():
                break
            size[worse] /= 2
        better = new <= value
        parameters = np.where(better, candidate, parameters)
        gained = np.where(better, value - new, 0)
        value = np.where(better, new, value)
        if (gained <= _TOLERANCE * (1 + np.abs(value))).all():
            break
    return parameters


def best_thresholds(
    probabilities: NDArray[np.float64], targets: NDArray[Any]
) -> NDArray[np.float64]:
    """The threshold of the best F1 score per class (J,): 0.5 for a class without a text.

    A threshold is in the middle of two probabilities that follow on each other; of several with
    the same score it is the one that is closest to 0.5.

    Args:
        probabilities: (texts, J).
        targets: (texts, J), whether a text has a class, or how likely that is.

    Raises:
        DataError: There is no text.
    """
    if not len(probabilities):
        raise DataError("There are no texts to choose thresholds by.")
    return np.array(
        [_best_threshold(*pair) for pair in zip(probabilities.T, targets.T, strict=True)]
    )


def _best_threshold(probabilities: NDArray[np.float64], targets: NDArray[Any]) -> float:
    true = targets.sum()
    if not true:
        return 0.5
    order = np.argsort(-probabilities, kind="stable")
    ranked = probabilities[order]
    last = np.append(ranked[1:] < ranked[:-1], True)  # of equal probabilities
    hits = targets[order].cumsum()[last]
    counts = np.arange(1, len(ranked) + 1)[last]
    scores = 2 * hits / (counts + true)
    values = ranked[last]
    middles = (values + np.append(values[1:], 0.0)) / 2
    best = np.flatnonzero(scores >= scores.max() - 1e-12)
    middle = float(middles[best[np.abs(middles[best] - 0.5).argmin()]])
    return min(max(middle, _LEAST), 1 - _LEAST)
