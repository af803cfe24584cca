"""Accuracy of slices beside random subsets, by hand."""

import numpy as np

from icaps.evaluate.slices import LENGTH, by_length, by_unknown, score_slice


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
