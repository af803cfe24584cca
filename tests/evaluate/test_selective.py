"""Accuracy and coverage above a threshold, by hand."""

import numpy as np
import pytest

from icaps.evaluate.selective import coverage_curve, select_at

CONFIDENCE = np.array([0.95, 0.9, 0.85, 0.6, 0.55, 0.5])
CORRECT = np.array([True, True, False, True, False, False])


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
