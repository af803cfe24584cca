"""Scores of several labels per text are scikit-learn's, their intervals those of drawn texts."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    f1_score,
    hamming_loss,
    multilabel_confusion_matrix,
    precision_recall_curve,
    precision_recall_fscore_support,
)

from icaps.errors import DataError
from icaps.evaluate import multilabel
from icaps.evaluate import multilabel_scores as scores_module
from icaps.evaluate.multilabel import MultilabelPredictions
from icaps.evaluate.multilabel_scores import (
    AVERAGE_PRECISION,
    HAMMING_LOSS,
    MACRO_F1,
    MICRO_F1,
    OVERALL,
    SUBSET_ACCURACY,
    average_precisions,
    chance_scores,
    multilabel_scores,
    precision_recall,
    score_multilabel,
)

CLASSES = ("a", "b", "c", "d")


def drawn(texts: int, seed: int = 0, absent: bool = False) -> MultilabelPredictions:
    """Texts of classes of uneven size, with many equal probabilities; perhaps none has class d."""
    random = np.random.default_rng(seed)
    labels = random.random((texts, 4)) < [0.5, 0.3, 0.1, 0 if absent else 0.2]
    noise = random.normal(0, 1, labels.shape) + 1.5 * labels
    probabilities = np.round(1 / (1 + np.exp(1 - noise)), 2)
    return MultilabelPredictions(CLASSES, labels, probabilities, np.array([0.4, 0.5, 0.6, 0.5]))


def sklearn_scores(labels: NDArray[np.bool_], own: MultilabelPredictions) -> dict[str, float]:
    predicted = own.probabilities >= own.thresholds
    return {
        MICRO_F1: f1_score(labels, predicted, average="micro"),
        MACRO_F1: f1_score(labels, predicted, average="macro", zero_division=0),
        AVERAGE_PRECISION: average_precision_score(labels, own.probabilities),
        SUBSET_ACCURACY: accuracy_score(labels, predicted),
        HAMMING_LOSS: hamming_loss(labels, predicted),
    }


@pytest.fixture(params=[0, 1, 2])
def predictions(request: pytest.FixtureRequest) -> MultilabelPredictions:
    return drawn(300, request.param)


def test_they_are_those_of_scikit_learn(predictions: MultilabelPredictions) -> None:
    labels, predicted = predictions.labels, predictions.predicted
    scores = multilabel_scores(predictions)
    expected = sklearn_scores(labels, predictions)
    assert {name: scores[name] for name in OVERALL} == pytest.approx(expected, abs=1e-12)
    assert scores["accuracy"] == scores[SUBSET_ACCURACY]
    assert scores["n"] == 300
    assert scores["classes"] == list(CLASSES)
    assert scores["confusion"] == multilabel_confusion_matrix(labels, predicted).tolist()
    table = np.array(precision_recall_fscore_support(labels, predicted, zero_division=0))
    ranking = average_precision_score(labels, predictions.probabilities, average=None)
    for j, row in enumerate(scores["per_class"].values()):
        assert [row["precision"], row["recall"], row["f1"], row["support"]] == pytest.approx(
            table[:, j].tolist(), abs=1e-12
        )
        assert row[AVERAGE_PRECISION] == pytest.approx(ranking[j], abs=1e-12)
        assert row["predicted"] == predicted[:, j].sum()
        assert row["threshold"] == predictions.thresholds[j]


def test_a_class_that_no_text_has(predictions: MultilabelPredictions) -> None:
    own = drawn(200, absent=True)
    scores = multilabel_scores(own)
    assert scores["per_class"]["d"] | {"predicted": 0} == {
        "threshold": 0.5,
        "precision": 0.0,
        "recall": 0.0,
        "f1": 0.0,
        AVERAGE_PRECISION: None,
        "support": 0,
        "predicted": 0,
    }
    known = average_precision_score(own.labels[:, :3], own.probabilities[:, :3])
    assert scores[AVERAGE_PRECISION] == pytest.approx(known)
    assert np.isnan(average_precisions(own)[3])
    facts = score_multilabel(own).to_dict()
    assert facts["intervals"]["per_class"]["d"][AVERAGE_PRECISION] is None
    assert facts["intervals"]["per_class"]["d"]["recall"] == (0, 1)  # nothing is known of it
    assert precision_recall(own, 3) == []


def test_without_texts_there_are_no_scores() -> None:
    with pytest.raises(DataError, match="no texts to score"):
        multilabel_scores(drawn(0))


@pytest.mark.parametrize("texts", [400, 5_000])
def test_intervals_are_those_of_drawn_texts(texts: int) -> None:
    """Also where groups of texts are drawn: the standard errors are those of single texts."""
    own = drawn(texts)
    found = score_multilabel(own)
    random, draws, of_class = np.random.default_rng(1), [], []
    for _ in range(200):
        rows = random.integers(0, texts, texts)
        part = MultilabelPredictions(
            CLASSES, own.labels[rows], own.probabilities[rows], own.thresholds
        )
        draws.append(list(sklearn_scores(part.labels, part).values()))
        of_class.append(average_precision_score(part.labels[:, 2], part.probabilities[:, 2]))
    errors = np.std(draws, axis=0)
    for name, error in zip(OVERALL, errors, strict=True):
        score = found.overall[name]
        assert score.low < score.value < score.high
        assert (score.high - score.low) / 2 == pytest.approx(1.96 * error, rel=0.25), name
    average = found.per_class["c"].average_precision
    assert (average.high - average.low) / 2 == pytest.approx(1.96 * np.std(of_class), rel=0.25)


def test_the_precision_in_steps_is_exact_up_to_the_number_of_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fewer steps than texts change the ends of an interval by little."""
    own = drawn(3_000)
    fine = score_multilabel(own).per_class["a"].average_precision
    monkeypatch.setattr(scores_module, "_STEPS", 20)
    coarse = score_multilabel(own).per_class["a"].average_precision
    assert coarse.value == fine.value
    assert coarse[1:] == pytest.approx(fine[1:], abs=0.003)


def test_the_draws_are_repeatable_and_of_a_seed() -> None:
    own = drawn(100)
    assert score_multilabel(own) == score_multilabel(own)
    assert score_multilabel(own).overall != score_multilabel(own, seed=1).overall


def test_chance_is_what_shuffled_predictions_have(predictions: MultilabelPredictions) -> None:
    chance = chance_scores(predictions)
    random, shuffled = np.random.default_rng(0), []
    for _ in range(300):
        order = random.permutation(300)
        part = MultilabelPredictions(
            CLASSES, predictions.labels, predictions.probabilities[order], predictions.thresholds
        )
        shuffled.append(list(sklearn_scores(part.labels, part).values()))
    means = dict(zip(OVERALL, np.mean(shuffled, axis=0), strict=True))
    ranking = means.pop(AVERAGE_PRECISION)
    assert {name: chance[name] for name in means} == pytest.approx(means, abs=0.006)
    # A random order of few texts has a little more than the share of the class.
    assert 0 < ranking - chance[AVERAGE_PRECISION] < 0.03
    assert chance["accuracy"] == chance[SUBSET_ACCURACY]


def test_a_curve_has_the_points_of_scikit_learn(predictions: MultilabelPredictions) -> None:
    labels, scores = predictions.labels[:, 0], predictions.probabilities[:, 0]
    precision, recall, thresholds = precision_recall_curve(labels, scores)
    every = set(zip(thresholds, precision, recall, strict=False))
    curve = precision_recall(predictions, 0, points=20)
    assert set(curve) <= every
    assert 15 <= len(curve) <= 21
    assert curve[0].recall == 1
    assert curve[-1].threshold == thresholds[-1]
    assert [point.threshold for point in curve] == sorted(point.threshold for point in curve)


def test_texts_in_blocks(
    predictions: MultilabelPredictions, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = drawn(300, 7)
    one_block = score_multilabel(whole), whole.errors.tolist(), whole.swaps.tolist()
    monkeypatch.setattr(multilabel, "_BLOCK", 30)
    parts = drawn(300, 7)
    assert (score_multilabel(parts), parts.errors.tolist(), parts.swaps.tolist()) == one_block


def test_texts_whose_labels_differ_most() -> None:
    own = MultilabelPredictions(
        ("a", "b", "c"),
        np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0], [1, 0, 1], [1, 0, 0]], bool),
        np.array(
            [
                [0.9, 0.2, 0.1],  # right
                [0.1, 0.2, 0.1],  # misses a by 0.4 and b by 0.3
                [0.6, 0.1, 0.9],  # a is extra by 0.1
                [0.1, 0.9, 0.1],  # b is extra by 0.4
                [0.3, 0.7, 0.2],  # misses a by 0.2 and c by 0.3; b is extra by 0.2
                [0.2, 0.6, 0.1],  # misses a by 0.3; b is extra by 0.1
            ]
        ),
        np.full(3, 0.5),
    )
    assert own.wrong.tolist() == [0, 2, 1, 1, 3, 2]
    assert own.errors.tolist() == [4, 1, 5, 3, 2]
    assert own.correct.tolist() == [True, False, False, False, False, False]
    assert own.missed(0).tolist() == [1, 5, 4]
    assert own.extra(1).tolist() == [3, 4, 5]
    assert own.swapped(0, 1).tolist() == [5, 4]
    assert own.swaps.tolist() == [[0, 2, 0], [0, 0, 0], [0, 1, 0]]
    assert own.names(own.predicted[4]) == ["b"]
    assert [column.tolist() for column in own.counts] == [[4, 1, 2], [2, 3, 1], [1, 0, 1]]


def test_resamples_without_a_class_do_not_count_for_its_average_precision() -> None:
    """A class of one text, which is ranked first, is missing in a third of the resamples."""
    labels = np.zeros((40, 2), bool)
    labels[0, 0] = labels[:20, 1] = True
    chances = np.random.default_rng(0).random((40, 2)) * 0.9
    chances[0, 0] = 1
    own = MultilabelPredictions(("rare", "often"), labels, chances, np.array([0.5, 0.5]))
    scores = score_multilabel(own)
    assert scores.per_class["rare"].average_precision == (1, 1, 1)
    often = scores.per_class["often"].average_precision
    overall = scores.overall[AVERAGE_PRECISION]
    assert overall.value == pytest.approx((1 + often.value) / 2)
    assert overall.low > often.low
