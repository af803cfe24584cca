"""Scores equal scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, precision_recall_fscore_support

from icaps.errors import DataError
from icaps.evaluate.scores import MEASURES, class_scores, evaluate, score

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


def test_scores_by_hand() -> None:
    class Fixed:
        classes_ = np.array(["a", "b", "c"], dtype=object)
        multilabel_, thresholds_ = False, None

        def predict_proba(self, texts: list[str]) -> np.ndarray:
            """Certain of the class that the text names."""
            return np.array([self.classes_ == text for text in texts], dtype=float)

    scores = evaluate(Fixed(), zip("aabc", "abbb", strict=True))
    assert (scores["n"], scores["accuracy"]) == (4, 0.5)
    assert scores["confusion"] == [[1, 0, 0], [1, 1, 1], [0, 0, 0]]
    assert scores["per_class"]["b"] == pytest.approx(
        {"precision": 1, "recall": 1 / 3, "f1": 0.5, "support": 3}
    )
    assert scores["macro_f1"] == pytest.approx((2 / 3 + 0.5 + 0) / 3)
    with pytest.raises(DataError, match="class 'd', which the model lacks; it knows a, b, c"):
        evaluate(Fixed(), [("a", "d")])
    with pytest.raises(DataError, match="no texts to score"):
        evaluate(Fixed(), [])
