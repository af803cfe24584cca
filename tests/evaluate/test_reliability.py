"""The reliability curve and the calibration error, by hand."""

import math

import numpy as np
import pytest

from icaps.evaluate.reliability import measure_reliability

CONFIDENCE = np.array([0.95, 0.9, 0.85, 0.6, 0.55, 0.5])
CORRECT = np.array([True, True, False, True, False, False])


def test_calibration_by_hand() -> None:
    """Bins (0.4, 0.6] of 0.55 mean and 1/3 right, (0.8, 1.0] of 0.9 and 2/3 right."""
    found = measure_reliability(CONFIDENCE, CORRECT, bins=5)
    assert [(b.low, b.high, b.texts) for b in found.bins] == [(0.4, 0.6, 3), (0.8, 1.0, 3)]
    assert [b.confidence for b in found.bins] == pytest.approx([0.55, 0.9])
    assert [b.accuracy.value for b in found.bins] == pytest.approx([1 / 3, 2 / 3])
    expected = (abs(1 / 3 - 0.55) + abs(2 / 3 - 0.9)) / 2
    assert found.error.value == pytest.approx(expected)
    told = found.to_dict()
    assert told["error"] == found.error.value
    assert [b["texts"] for b in told["bins"]] == [3, 3]


def test_the_extremes_have_a_bin() -> None:
    found = measure_reliability(np.array([0.0, 1.0, 1.0]), np.array([False, True, True]))
    assert [b.texts for b in found.bins] == [1, 2]
    assert found.error.value == found.perfect == 0


def test_the_error_of_a_calibrated_model_is_chance() -> None:
    random = np.random.default_rng(1)
    confidence = random.uniform(0.3, 1, 4_000)
    correct = random.random(4_000) < confidence
    found = measure_reliability(confidence, correct)
    assert found.error.low == 0
    assert found.error.value < found.perfect_high
    drawn = [calibrate_error(confidence, random.random(4_000) < confidence) for _ in range(60)]
    assert found.perfect == pytest.approx(np.mean(drawn), rel=0.1)


def calibrate_error(confidence: np.ndarray, correct: np.ndarray, bins: int = 15) -> float:
    """The definition, text by text."""
    sums = np.zeros(bins)
    for own, right in zip(confidence.tolist(), correct.tolist(), strict=True):
        sums[max(math.ceil(own * bins) - 1, 0)] += right - own
    return float(np.abs(sums).sum() / len(confidence))


def test_the_interval_holds_the_error_of_a_model_that_is_too_sure() -> None:
    """Right in 70% of the cases at 90%: the error is 0.2."""
    random = np.random.default_rng(2)
    held = 0
    for seed in range(40):
        correct = random.random(1_000) < 0.7
        found = measure_reliability(np.full(1_000, 0.9), correct, seed=seed)
        assert found.error.value > found.perfect_high
        held += found.error.low <= 0.2 <= found.error.high
    assert held >= 34
