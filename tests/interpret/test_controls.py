"""Numbers about the matrix C, against values by hand, scipy and formulas."""

from collections import Counter

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from icaps.interpret import controls
from icaps.interpret.corpus import Tally

C = np.array([[90, 10, 0, 0, 0], [30, 0, 70, 0, 0], [0, 0, 0, 1, 0]])


def tally(frequency: np.ndarray, words: dict[tuple[int, int], dict[int, int]]) -> Tally:
    made = Tally.empty(*frequency.shape)
    made.frequency += frequency
    made.words.update({cell: Counter(counts) for cell, counts in words.items()})
    return made


def test_the_shape_of_rows() -> None:
    first, second, third = controls.row_shapes(C)
    assert first.top_share == {1: 0.9, 3: 1.0, 5: 1.0}
    assert second.top_share == {1: 0.7, 3: 1.0, 5: 1.0}
    assert first.entropy == pytest.approx(entropy([0.9, 0.1]))
    assert third.entropy == 0
    # Shuffled, each class has the shares of all: 120, 10, 70 and 1 of 201.
    assert first.shuffled_top_share[1] == pytest.approx(120 / 201, abs=0.02)
    assert first.shuffled_entropy == pytest.approx(entropy([120, 10, 70, 1]), abs=0.05)
    assert third.shuffled_top_share[1] == 1  # one text is always won by one capsule


def test_a_class_that_was_never_predicted_has_no_shape() -> None:
    (_, empty) = controls.row_shapes(np.array([[3, 4], [0, 0]]))
    assert np.isnan(
        [empty.entropy, *empty.top_share.values(), *empty.shuffled_top_share.values()]
    ).all()


def test_intervals_are_those_of_a_share() -> None:
    low, high = controls.share_intervals(C)
    deviation = (0.9 * 0.1 / 100) ** 0.5
    assert low[0, 0] == pytest.approx(0.9 - 1.96 * deviation, abs=0.015)
    assert high[0, 0] == pytest.approx(0.9 + 1.96 * deviation, abs=0.015)
    assert (low[0, 3], high[0, 3]) == (0, 0)
    assert (low <= C / C.sum(1, keepdims=True)).all()
    assert (high >= C / C.sum(1, keepdims=True)).all()
    assert np.isnan(controls.share_intervals(np.zeros((2, 3), int))).all()


def test_states_of_capsules() -> None:
    assert controls.alive(C).tolist() == [True, True, True, False, False]  # 1 of 201 is below 1%
    assert controls.dead(C).tolist() == [False, False, False, False, True]
    even = np.array([[50, 50, 0], [100, 80, 20], [25, 15, 10]])
    # Capsule 0 has a half of each class's texts, capsule 1 somewhat less of one, 2 none of one.
    assert controls.neutral(even).tolist() == [True, True, False]
    assert not controls.neutral(np.array([[5, 5], [0, 0]])).any()  # one class tells nothing


def test_purity() -> None:
    assert controls.purity(C) == (90 + 10 + 70 + 1) / 201
    assert np.isnan(controls.purity(np.zeros((2, 2), int)))


def test_duplicates_have_the_same_words_and_queries() -> None:
    words = {
        (0, 0): {7: 6, 8: 4},
        (1, 1): {7: 4, 8: 6},  # of which 8 in 10 are those of capsule 0
        (1, 2): {7: 6, 9: 4},
    }
    frequency = np.array([[10, 0, 0], [0, 10, 10]])
    near = np.array([[1, 0.9, 0.1], [0.9, 1, 0.9], [0.1, 0.9, 1]])
    made = tally(frequency, words)
    assert controls.duplicates(made, near) == [(0, 1)]
    assert controls.duplicates(made, np.eye(3)) == []
    assert controls.overlap(made.words[0, 0], made.words[1, 1]) == pytest.approx(0.8)
    assert controls.overlap({}, {7: 1}) == 0


def test_divergence_is_that_of_scipy() -> None:
    one, other = {1: 3, 2: 1}, {2: 2, 3: 5}
    expected = jensenshannon([3, 1, 0], [0, 2, 5], base=2) ** 2
    assert controls.divergence(one, other) == pytest.approx(expected)
    assert controls.divergence(one, one) == pytest.approx(0)
    assert controls.divergence({1: 2}, {2: 9}) == pytest.approx(1)


def test_capsules_of_a_class_differ_or_not() -> None:
    frequency = np.array([[500, 500, 0, 0], [0, 0, 500, 500]])
    apart = {(0, 0): {1: 500}, (0, 1): {2: 500}, (1, 2): {3: 500}, (1, 3): {4: 500}}
    found = controls.distinctness(tally(frequency, apart))
    assert found.between == pytest.approx(1)
    assert found.random < 0.05
    alike = {cell: {1: 250, 2: 250} for cell in apart}
    found = controls.distinctness(tally(frequency, alike))
    assert found.between == pytest.approx(0)
    lonely = controls.distinctness(
        tally(np.eye(2, dtype=int) * 9, {(0, 0): {1: 9}, (1, 1): {2: 9}})
    )
    assert np.isnan([lonely.between, lonely.random]).all()


def test_two_models_are_matched_by_their_words() -> None:
    one = tally(
        np.array([[30, 10, 0], [0, 0, 60]]),
        {(0, 0): {0: 30}, (0, 1): {1: 5, 2: 5}, (1, 2): {3: 60}},
    )
    # The same capsules under other numbers, in another vocabulary, and one word of the second new.
    other = tally(
        np.array([[0, 30, 10], [60, 0, 0]]),
        {(1, 0): {1: 60}, (0, 1): {3: 30}, (0, 2): {2: 5, 0: 5}},
    )
    words, others = ["oil", "cup", "goal", "moon"], ["new", "moon", "cup", "oil"]
    found = controls.agreement(one, other, words, others)
    assert found.pairs == ((0, 1, 1.0), (1, 2, 0.5), (2, 0, 1.0))
    assert found.overlap == pytest.approx((30 + 10 * 0.5 + 60) / 100)
    assert 0.1 < found.random_overlap < 0.6
    nothing = controls.agreement(one, Tally.empty(2, 3), ["a"] * 4, [])
    assert nothing.pairs == ()
    assert np.isnan(nothing.overlap)
