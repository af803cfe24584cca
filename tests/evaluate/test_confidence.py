"""Calibration, rejection and slices, by hand."""

import math

import numpy as np
import pytest

from icaps.evaluate.reliability import measure_reliability
from icaps.evaluate.selective import coverage_curve, select_at
from icaps.evaluate.slices import LENGTH, by_length, by_unknown, score_slice

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


def test_a_threshold_by_hand() -> None:
    kept = select_at(CONFIDENCE, CORRECT, 0.85)
    assert (kept.texts, kept.coverage) == (3, 0.5)
    assert kept.accuracy.value == pytest.approx(2 / 3)
    assert kept.rejected_accuracy.value == pytest.approx(1 / 3)
    nothing = select_at(CONFIDENCE, CORRECT, 0.99)
    assert nothing.texts == 0
    assert nothing.to_dict()["accuracy"] is None


def test_the_curve_goes_from_all_texts_to_the_surest() -> None:
    curve = coverage_curve(CONFIDENCE, CORRECT)
    assert [kept.texts for kept in curve] == [6, 5, 4, 3, 2, 1]
    assert curve[0].accuracy.value == 0.5
    assert curve[-1].accuracy.value == 1
    many = np.random.default_rng(0).random(5_000)
    curve = coverage_curve(many, many > 0.5, points=50)
    assert (curve[0].texts, curve[-1].texts) == (5_000, 1)
    assert len(curve) <= 52
    assert [kept.coverage for kept in curve] == sorted((k.coverage for k in curve), reverse=True)
    same = coverage_curve(np.full(9, 0.5), np.ones(9, bool))
    assert [kept.texts for kept in same] == [9]


def test_slices_by_length_are_all_texts_once() -> None:
    words = np.array([1, 1, 1, 2, 3, 5, 8, 13, 21, 34])
    masks = by_length(words)
    assert sum(mask.astype(int) for mask in masks.values()).tolist() == [1] * 10
    first, *_, last = masks
    assert set(words[masks[first]]) == {1}
    assert last.endswith(" to 34 words")
    assert list(by_length(np.full(4, 7))) == ["7 words"]


def test_slices_by_unknown_words() -> None:
    masks = by_unknown(np.array([0, 0.05, 0.051, 0.5, 1.0], np.float32))
    assert {name: np.flatnonzero(mask).tolist() for name, mask in masks.items()} == {
        "none unknown": [0],
        "0% to 5%": [1],
        "5% to 10%": [2],
        "more than 20%": [3, 4],
    }


def test_a_slice_beside_random_subsets() -> None:
    """Of drawn subsets, about 95% lie within the range, and the slice that is all wrong doesn't."""
    random = np.random.default_rng(0)
    correct = random.random(500) < 0.8
    inside = np.zeros(500, bool)
    inside[:60] = True
    found = score_slice(LENGTH, "short", correct, inside)
    assert found.texts == 60
    assert found.accuracy.value == correct[:60].mean()
    drawn = np.array([correct[random.permutation(500)[:60]].mean() for _ in range(1_000)])
    within = (found.random_low <= drawn) & (drawn <= found.random_high)
    assert 0.93 <= within.mean() <= 0.99
    wrong = score_slice(LENGTH, "wrong", correct, ~correct)
    assert (wrong.accuracy.value, wrong.verdict) == (0, "worse")
    assert score_slice(LENGTH, "right", correct, correct).verdict == "better"
    whole = score_slice(LENGTH, "all", correct, np.ones(500, bool))
    assert whole.random_low == whole.random_high == whole.accuracy.value
    assert whole.verdict == "as random ones"
