"""The default order by hand: density, uncertainty and difference; features; the quick model."""

import math
from pathlib import Path

import numpy as np
import pytest

from icaps.label.features import text_features
from icaps.label.informative import ComparedTexts
from icaps.label.order import Order
from icaps.label.task import LabelTask
from tests.conftest import TOPICS, make_texts


def on_circle(*degrees: float) -> ComparedTexts:
    angles = np.radians(degrees)
    return ComparedTexts.from_features(3 * np.stack([np.cos(angles), np.sin(angles)], 1))


def cos(degrees: float) -> float:
    return math.cos(math.radians(degrees))


def test_density_is_the_mean_cosine_and_opposite_texts_add_nothing() -> None:
    compared = on_circle(0, 10, 180)
    assert compared.density == pytest.approx([cos(10) / 2, cos(10) / 2, 0], abs=1e-6)
    assert compared.similar.tolist() == [1, 1, 0]
    assert on_circle(70).density.tolist() == [0]


def test_texts_are_chosen_as_by_hand() -> None:
    """At 0, 10 and 20 degrees, 90 and 100, and 200 (an odd one)."""
    compared = on_circle(0, 10, 20, 90, 100, 200)
    density = [
        (cos(10) + cos(20)) / 5,
        (cos(10) * 2 + cos(80)) / 5,
        (cos(20) + cos(10) + cos(70) + cos(80)) / 5,
        (cos(80) + cos(70) + cos(10)) / 5,
        (cos(80) + cos(10)) / 5,
        0 + 0,
    ]
    density[4] = (cos(80) + cos(10)) / 5 + max(cos(100), 0)
    density[5] = max(cos(110), 0) / 5
    assert compared.density == pytest.approx(density, abs=1e-6)
    everything, nothing = np.arange(6), np.zeros(0, np.int64)
    first, second, *_ = compared.choose(everything, nothing, 6)
    assert first.number == int(np.argmax(density)) == 2
    assert (first.similar, first.nearest) == (2, 0)
    # The others by density squared times 1 - cosine to the text at 20 degrees.
    values = [
        d**2 * (1 - c)
        for d, c in zip(density, [cos(20), cos(10), 1, cos(70), cos(80), cos(180)], strict=True)
    ]
    assert second.number == int(np.argmax(values)) == 3
    assert second.nearest == pytest.approx(cos(70), abs=1e-6)
    # As if the text at 20 degrees was labelled; and with the text at 100 degrees the only doubt.
    assert compared.choose(np.array([0, 1, 3, 4, 5]), np.array([2]), 1)[0].number == 3
    doubts = np.array([0.0, 0, 0, 0, 1, 1])
    assert compared.choose(everything, nothing, 1, doubts)[0].number == 4
    assert len(compared.choose(everything, nothing, 99)) == 6


def test_equal_texts_have_equal_features_and_blank_ones_none() -> None:
    texts = [
        "A loaf of bread",
        "A loaf of bread",
        "The mast and the sail",
        "",
        *make_texts(9, 1)[0],
    ]
    features = text_features(texts, seed=0)
    assert features[0] == pytest.approx(features[1], abs=1e-9)
    assert not features[3, -300:].any()
    assert np.linalg.norm(features[2, -300:]) == pytest.approx(1)
    assert text_features(["", " "], seed=0).shape[0] == 2


def test_the_quick_model_follows_the_labels() -> None:
    texts, labels = make_texts(90, seed=4)
    compared = ComparedTexts.of(texts, seed=0)
    known, rest = np.arange(30), np.arange(30, 90)
    scores = compared.quick_scores(known, labels[:30], rest)
    assert scores is not None
    assert scores.classes == tuple(sorted(TOPICS))
    assert scores.probabilities.sum(1) == pytest.approx(np.ones(60))
    predicted = [scores.classes[j] for j in scores.probabilities.argmax(1)]
    assert np.mean([p == t for p, t in zip(predicted, labels[30:], strict=True)]) > 0.8
    assert compared.quick_scores(known[:1], labels[:1], rest) is None
    sets = [f'["{label}"]' for label in labels[:30]]
    several = compared.quick_scores(known, sets, rest)
    assert several is not None
    assert several.thresholds is not None
    assert several.thresholds.tolist() == [0.5] * 3
    assert (several.probabilities.argmax(1) == scores.probabilities.argmax(1)).mean() > 0.8
    assert compared.quick_scores(known[:1], sets[:1], rest) is None


def test_the_default_order_finds_all_classes_soon_and_says_why(tmp_path: Path) -> None:
    texts, labels = make_texts(150, seed=4)
    label_of = dict(zip(texts, labels, strict=True))
    task = LabelTask.create(tmp_path / "task", list(label_of), sorted(TOPICS), held_out=0)
    first = task.queue(6, Order(batch=6))
    assert {label_of[item.text] for item in first} == set(TOPICS)
    assert all("like it" in item.why and "model" not in item.why for item in first)
    task.give_many([(item.id, label_of[item.text]) for item in first])
    second = task.queue(6, Order(batch=6))
    assert not {item.id for item in first} & {item.id for item in second}
    assert all(item.why.startswith("A quick model of the labels so far is") for item in second)
