"""Scores equal scikit-learn's, and intervals hold what they promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.metrics import accuracy_score, confusion_matrix, precision_recall_fscore_support

from icaps.errors import DataError
from icaps.evaluate.scores import MEASURES, class_scores, score
from icaps.evaluate.stats import RESAMPLES, percentile, resampled, share

CLASSES = ("a", "b", "c", "d")


def drawn(texts: int, seed: int, accuracy: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    """Labels of uneven classes, of which the last never occurs, and predictions."""
    random = np.random.default_rng(seed)
    labels = random.choice(3, texts, p=[0.6, 0.3, 0.1])
    guesses = random.integers(0, 3, texts)
    return labels, np.where(random.random(texts) < accuracy, labels, guesses)


@pytest.mark.parametrize("seed", range(5))
def test_they_are_those_of_scikit_learn(seed: int) -> None:
    labels, predicted = drawn(200, seed)
    found = score(confusion_matrix(labels, predicted, labels=range(4)), CLASSES)
    assert found.accuracy.value == accuracy_score(labels, predicted)
    options = {"labels": range(4), "zero_division": 0}
    table = np.array(precision_recall_fscore_support(labels, predicted, **options)[:3])
    macro = precision_recall_fscore_support(labels, predicted, average="macro", **options)
    for k, measure in enumerate(MEASURES):
        values = [found.per_class[name][measure].value for name in CLASSES]
        assert values == pytest.approx(table[k].tolist(), abs=1e-12)
        assert found.macro[measure].value == pytest.approx(macro[k], abs=1e-12)
        assert found.to_dict()[f"macro_{measure}"] == found.macro[measure].value
    for scored in (found.accuracy, *found.macro.values(), *found.per_class["a"].values()):
        assert scored.low < scored.value < scored.high
    assert found.per_class["d"]["recall"] == (0, 0, 1)  # nothing is known of it


def test_resamples_are_those_of_drawing_texts() -> None:
    """The statistic of a drawn confusion matrix is scikit-learn's of its texts."""
    true, guess = np.array([(i, j) for i in range(3) for j in range(3)]).T
    draws = np.random.default_rng(0).multinomial(60, np.full(9, 1 / 9), 4)
    found = class_scores(draws, true, guess, 4)
    for n, counts in enumerate(draws):
        texts = np.repeat(true, counts), np.repeat(guess, counts)
        table = precision_recall_fscore_support(*texts, labels=range(4), zero_division=0)
        assert found[n] == pytest.approx(np.array(table[:3]), abs=1e-12)


def test_chance_is_what_shuffled_predictions_have() -> None:
    labels, predicted = drawn(300, 3)
    chance = score(confusion_matrix(labels, predicted, labels=range(4)), CLASSES).chance
    random = np.random.default_rng(0)
    shuffled = [(labels == random.permutation(predicted)).mean() for _ in range(2_000)]
    assert chance["accuracy"] == pytest.approx(np.mean(shuffled), abs=0.003)


def test_the_intervals_are_repeatable_and_of_a_seed() -> None:
    table = np.array([[30, 5], [7, 20]])
    assert score(table, "ab") == score(table, "ab")
    assert score(table, "ab", seed=1).macro["f1"] != score(table, "ab").macro["f1"]


def test_nothing_to_score() -> None:
    with pytest.raises(DataError, match="no texts to score"):
        score(np.zeros((2, 2), np.int64), "ab")


def test_wilson_by_hand() -> None:
    """The roots of (p - 8/10)² = z² p (1 - p) / 10."""
    z = norm.ppf(0.975)
    middle, half = (0.8 + z**2 / 20) / (1 + z**2 / 10), z * np.sqrt(0.016 + z**2 / 400)
    half /= 1 + z**2 / 10
    assert share(8, 10) == pytest.approx((0.8, middle - half, middle + half))
    assert share(10, 10).high == pytest.approx(1)
    assert np.isnan(share(0, 0).value)
    assert share(0, 0)[1:] == (0, 1)


def test_the_bootstrap_covers_a_known_value() -> None:
    """Of 95% intervals of a share that is 0.3, about 95% hold it."""
    random = np.random.default_rng(0)
    held = 0
    for seed in range(200):
        hits = random.binomial(200, 0.3)
        draws = resampled(np.array([hits, 200 - hits]), lambda drawn: drawn[:, 0] / 200, seed)
        found = percentile(hits / 200, draws)
        held += found.low <= 0.3 <= found.high
    assert 0.9 <= held / 200 <= 0.99


@given(st.lists(st.integers(1, 50), min_size=1, max_size=8), st.integers(0, 99))
def test_a_resample_has_as_many_texts(counts: list[int], seed: int) -> None:
    totals = resampled(np.array(counts), lambda drawn: drawn.sum(1), seed)
    assert totals.shape == (RESAMPLES,)
    assert set(totals.tolist()) == {sum(counts)}


def test_many_cells_are_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("icaps.evaluate.stats._HELD", 21)
    sizes: list[int] = []

    def statistic(drawn: np.ndarray) -> np.ndarray:
        sizes.append(len(drawn))
        return drawn[:, 0] / 1.0

    assert len(resampled(np.array([1, 2, 3]), statistic, 0)) == RESAMPLES
    assert max(sizes) == 7
