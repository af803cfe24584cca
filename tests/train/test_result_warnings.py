from types import SimpleNamespace

import numpy as np
import pytest
import torch

from icaps.train.callbacks import Validation
from icaps.train.result_warnings import (
    CHANCE,
    COLLAPSE,
    FEW,
    MAJORITY,
    METRIC,
    LabelCounts,
    ResultWarning,
    above_chance,
    capsule_warning,
    label_set_warnings,
    result_warnings,
    validation_warnings,
    warnings_of,
    win_counts,
)
from tests.train.test_loop import toy_corpus

TWO, THREE = ["no", "yes"], ["a", "b", "c"]
GOOD = np.array([[90, 10], [10, 90]])
SPREAD = np.array([[60, 40, 0, 0], [0, 0, 50, 50]])  # capsules 0 and 1 for class 0, 2 and 3 for 1


def kinds(confusion: np.ndarray, frequency: np.ndarray, classes: list[str]) -> list[str]:
    return [warning.kind for warning in result_warnings(confusion, frequency, classes)]


def test_a_good_model_has_none() -> None:
    assert result_warnings(GOOD, SPREAD, TWO) == []


@pytest.mark.parametrize(
    ("confusion", "expected"),
    [
        ([[50, 50], [50, 50]], []),  # as shuffled
        ([[100, 0], [100, 0]], []),  # one class for all
        ([[950, 0], [50, 0]], []),  # of unbalanced classes
        ([[4, 1], [2, 3]], []),  # 7 of 10 may be luck
        ([[60, 40], [40, 60]], ["above"]),
        ([[920, 30], [20, 30]], ["above"]),
    ],
)
def test_above_chance(confusion: list[list[int]], expected: list[str]) -> None:
    assert above_chance(np.array(confusion)) == bool(expected)


def test_chance_says_what_was_predicted_and_what_to_do() -> None:
    confusion = np.array([[0, 481], [0, 479]])
    (warning,) = result_warnings(confusion, np.array([[0, 0], [480, 480]]), TWO)
    assert warning.kind == CHANCE
    assert warning.serious
    assert warning.message == (
        "The model is no better than the most frequent class: 49.9% of 960 validation texts are "
        "predicted right, and always predicting no gives 50.1%: it predicts yes for all texts."
    )
    assert "lower learning_rate" in warning.advice
    assert "class_weight" not in warning.advice


def test_advice_depends_on_the_cause() -> None:
    def advice(confusion: list[list[int]], **facts: bool) -> str:
        wins = np.array(confusion).sum(0)[:, None] * np.eye(2, dtype=int)
        return result_warnings(np.array(confusion), wins, TWO, **facts)[0].advice

    even = [[50, 50], [50, 50]]
    assert "raise epochs" in advice(even, short=True)
    assert "by heart" in advice(even, memorized=True)
    assert "class_weight to balanced" in advice([[950, 0], [50, 0]])
    assert "10 validation texts are few" in advice([[3, 2], [2, 3]])


def test_a_model_below_the_majority_that_tells_classes_apart_is_a_note() -> None:
    """94.0% right, 95% of one class: above the 90% expected of shuffled predictions."""
    confusion = np.array([[910, 40], [20, 30]])
    (warning,) = result_warnings(confusion, np.array([[930, 0], [0, 70]]), TWO)
    assert (warning.kind, warning.serious) == (MAJORITY, False)
    assert "95.0% of 1,000 validation texts against 94.0%" in warning.message


def test_one_capsule_that_serves_all_classes() -> None:
    """As of a model of TREC: 473 of 500 texts, of all classes."""
    confusion = 100 * np.eye(3, dtype=int)
    frequency = np.array([[0, 180, 0], [0, 160, 10], [0, 133, 17]])
    (warning,) = result_warnings(confusion, frequency, THREE, "test")
    assert (warning.kind, warning.serious) == (COLLAPSE, True)
    assert warning.message.startswith(
        "Capsule 1 wins 473 of 500 test texts, of 3 of 3 predicted classes (38% of them are a)"
    )
    assert "purity_weight" in warning.advice


@pytest.mark.parametrize(
    ("frequency", "expected"),
    [
        ([[500, 0], [0, 500]], []),  # a capsule per class
        ([[501, 9], [0, 490]], []),  # over half, but of one class
        ([[950, 0], [0, 50]], []),  # of the class with most texts
        ([[950, 0], [50, 0]], [COLLAPSE]),  # of it and of all others
        ([[940, 10], [20, 30]], []),  # a few of the others
        ([[400, 100], [300, 200]], [COLLAPSE]),
        ([[500, 0], [499, 1]], [COLLAPSE]),
        ([[1000, 0], [0, 0]], []),  # one class is predicted, so nothing can be said
        ([[0, 0], [0, 0]], []),
    ],
)
def test_collapse(frequency: list[list[int]], expected: list[str]) -> None:
    found = kinds(GOOD, np.array(frequency), TWO)
    assert [kind for kind in found if kind != FEW] == expected


def test_few_capsules_are_a_note_for_few_classes() -> None:
    confusion = 100 * np.eye(3, dtype=int)
    frequency = np.array([[40, 0, 0], [40, 0, 0], [0, 100, 1]])
    (warning,) = result_warnings(confusion, frequency, THREE)
    assert (warning.kind, warning.serious) == (FEW, False)
    assert "Only 2 of 3 capsules" in warning.message
    many = np.zeros((17, 3), int)
    many[:, :2] = [[5, 5]] * 17
    assert kinds(100 * np.eye(17, dtype=int), many, list(map(str, range(17)))) == []


def test_fewer_than_five_alive_capsules_are_a_note() -> None:
    """Of 8 capsules 4 or 5 win at least 1% of the 1,000 texts; another wins only 9."""
    four = np.zeros((2, 8), int)
    four[0, :2], four[1, 2:5] = (300, 200), (300, 191, 9)
    note = capsule_warning(four, TWO)
    assert note is not None
    assert (note.kind, note.serious) == (FEW, False)
    assert note.message == (
        "Only 4 of 8 capsules win 1% of the texts or more: explanations name the same capsules "
        "again and again."
    )
    five = four.copy()
    five[1, 3:5] = 190, 10
    assert capsule_warning(five, TWO) is None
    assert capsule_warning(four[:, :4], TWO) is None  # a network of no more than four


def test_a_capsule_that_wins_more_than_half_of_one_class_is_a_note() -> None:
    frequency = np.zeros((2, 8), int)
    frequency[0, 0], frequency[1, 1:6] = 510, 98
    note = capsule_warning(frequency, TWO, "test")
    assert note is not None
    assert (note.kind, note.serious) == (FEW, False)
    assert note.message.startswith("Capsule 0 wins 51% of the 1,000 test texts: ")
    frequency[0, 0] = 490  # exactly half of 980
    assert capsule_warning(frequency, TWO) is None
    few = capsule_warning(np.array([[60, 0], [0, 40], [0, 0]]), THREE)
    assert few is not None
    assert few.message.startswith(
        "Only 2 of 2 capsules win 1% of the texts or more, fewer than there are classes (3), and "
        "capsule 0 wins 60% of the 100 validation texts: "
    )


def test_serious_warnings_come_first_and_notes_do_not_dilute_them() -> None:
    at_chance, few = np.array([[50, 50], [50, 50]]), np.array([[100, 0], [0, 0]])
    assert kinds(at_chance, few, TWO) == [CHANCE]
    below = np.array([[910, 40], [20, 30]])
    assert kinds(below, np.array([[930, 0], [70, 0]]), TWO) == [COLLAPSE, MAJORITY]


def test_no_texts() -> None:
    nothing = np.zeros((2, 2), int)
    assert result_warnings(nothing, nothing, TWO) == []


def test_counts_of_validation_texts() -> None:
    """Five texts, one without a known word: predicted 0, 1, 1, 0, 1 by capsules 2, 0, 0, 1, 0."""
    norms = torch.tensor([[0.9, 0.1], [0.2, 0.3], [0.1, 0.2], [0.0, 0.0], [0.1, 0.8]])
    known = np.array([True, True, True, False, True])
    validation = Validation(toy_corpus(5, 1), norms, np.array([2, 0, 0, 1, 0]), known)
    assert win_counts(validation, 3).tolist() == [[0, 0, 1], [3, 0, 0]]
    assert win_counts(validation, 3, limit=2).tolist() == [[0, 0, 1], [1, 0, 0]]
    (warning,) = validation_warnings(validation, 3, TWO)
    assert warning.kind == CHANCE


def test_warnings_are_stored_with_the_model() -> None:
    warning = ResultWarning(CHANCE, "It is bad.", "Train again.")
    assert warnings_of({METRIC: [warning.to_dict()]}) == [warning]
    assert str(warning) == "It is bad. Train again."
    for damaged in ({}, {METRIC: None}, {METRIC: [1, {}, {"kind": 1}]}, {METRIC: {"kind": "a"}}):
        assert warnings_of(damaged) == []


def test_counts_of_validation_texts_with_several_labels() -> None:
    """Texts 0 to 3 get class 0, both, class 1 and none; each predicted class counts for its winner.

    Text 4 has no known word. The thresholds that fit these labels are between 0.4 and 0.6.
    """
    norms = torch.tensor([[0.9, 0.1], [0.8, 0.7], [0.2, 0.9], [0.1, 0.2], [0.0, 0.0]] * 20)
    targets = np.array([[1, 0], [1, 1], [0, 1], [0, 0], [0, 0]] * 20, np.float32)
    corpus = SimpleNamespace(label_sets=targets > 0, targets=targets)
    capsules = np.array([[2, 0], [1, 0], [2, 2], [0, 0], [0, 0]] * 20)
    known = np.array([True, True, True, True, False] * 20)
    validation = Validation(corpus, norms, capsules, known)  # type: ignore[arg-type]
    assert win_counts(validation, 3).tolist() == [[0, 20, 20], [20, 0, 20]]
    assert win_counts(validation, 3, limit=2).tolist() == [[0, 1, 1], [1, 0, 0]]


def sets(texts: int, hits: int) -> LabelCounts:
    """Two classes, each of half of the texts and predicted for half of them."""
    half = np.array([texts // 2, texts // 2])
    return LabelCounts(texts, half, half, np.array([hits, hits]))


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (sets(200, 50), False),  # as shuffled
        (sets(200, 53), False),  # may be luck
        (sets(200, 75), True),
        (sets(0, 0), False),
        (LabelCounts(100, np.array([30, 10]), np.array([100, 100]), np.array([30, 10])), False),
        (LabelCounts(100, np.array([30, 10]), np.array([0, 0]), np.array([0, 0])), False),
    ],
)
def test_several_labels_above_chance(counts: LabelCounts, expected: bool) -> None:
    assert counts.above_chance() == expected


def test_hits_of_shuffled_predictions() -> None:
    """Mean and spread of the number of hits are those of shuffled label sets."""
    random = np.random.default_rng(0)
    labels, predicted = random.random((2, 60, 3)) < np.array([0.2, 0.5, 0.7])
    columns = labels.sum(0), predicted.sum(0), (labels & predicted).sum(0)
    counts = LabelCounts(60, *columns)
    drawn = [(labels[random.permutation(60)] & predicted).sum() for _ in range(4_000)]
    assert counts.shuffled.sum() == pytest.approx(np.mean(drawn), rel=0.02)
    limit = np.quantile(drawn, 0.95)
    for hits, above in ((limit - 3, False), (limit + 4, True)):
        own = counts._replace(hits=np.array([hits, 0, 0]))
        assert own.above_chance() == above


def test_warnings_of_several_labels() -> None:
    (warning,) = label_set_warnings(sets(200, 50), SPREAD, TWO)
    assert warning.kind == CHANCE
    assert warning.message == (
        "The model is no better than chance: its micro F1 is 50.0% on 200 validation texts, and "
        "with the same predictions in random order 50.0%."
    )
    assert label_set_warnings(sets(200, 90), SPREAD, TWO) == []
    (collapse,) = label_set_warnings(sets(200, 90), np.array([[90, 0], [90, 10]]), TWO)
    assert collapse.kind == COLLAPSE
    kinds = [
        one.kind for one in label_set_warnings(sets(200, 50), np.array([[90, 0], [90, 10]]), TWO)
    ]
    assert kinds == [CHANCE, COLLAPSE]
