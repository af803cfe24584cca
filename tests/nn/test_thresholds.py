"""Classes of several labels per text: logistic probabilities, and which reach their thresholds."""

import math

import numpy as np

from icaps.nn.thresholds import ClassThresholds


def chance(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


THRESHOLDS = ClassThresholds(
    slopes=np.array([10.0, 4.0, 2.0]),
    offsets=np.array([-5.0, -1.0, 0.0]),
    thresholds=np.array([0.5, chance(0.6), 0.9]),
)


def test_probabilities_are_logistic_per_class_and_need_not_sum_to_1() -> None:
    found = THRESHOLDS.probabilities(np.array([[0.6, 0.4, 0.1], [0.0, 0.0, 0.0]]))
    expected = [[chance(1), chance(0.6), chance(0.2)], [chance(-5), chance(-1), 0.5]]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_class_is_predicted_from_its_threshold_on() -> None:
    norms = np.array([[0.5, 0.39, 0.1], [0.49, 0.41, 1.2], [0.4, 0.3, 0.2]])
    expected = [[True, False, False], [False, True, True], [False, False, False]]
    assert THRESHOLDS.predicted(norms).tolist() == expected


def test_norms_at_the_thresholds_are_the_smallest_that_are_predicted() -> None:
    np.testing.assert_allclose(THRESHOLDS.norms, [0.5, 0.4, math.log(9) / 2], rtol=1e-12)
    assert THRESHOLDS.predicted(THRESHOLDS.norms + 1e-9).all()
    assert not THRESHOLDS.predicted(THRESHOLDS.norms - 1e-9).any()


def test_a_text_without_a_known_word_has_no_class_however_low_a_threshold() -> None:
    low = ClassThresholds(np.ones(2), np.array([3.0, -3.0]), np.array([0.5, 0.5]))
    assert low.predicted(np.zeros((1, 2))).tolist() == [[False, False]]
    assert low.predicted(np.array([[0.0, 0.1]])).tolist() == [[True, False]]
