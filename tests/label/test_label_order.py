"""Orders against numbers computed by hand, each with its reason."""

from pathlib import Path

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.errors import ConfigError, DataError
from icaps.label.defaults import ORDERS
from icaps.label.order import Order
from icaps.label.scores import Scores
from icaps.label.task import LabelTask
from tests.conftest import make_texts


class Fixed:
    """A model whose probabilities are written in the texts: "0.5 0.3 0.2"."""

    def __init__(self, classes: tuple[str, ...], thresholds: list[float] | None = None) -> None:
        self.classes_ = np.array(classes, dtype=object)
        self.multilabel_ = thresholds is not None
        self.thresholds_ = np.array(thresholds or [])

    def predict_proba(self, X):  # type: ignore[no-untyped-def]
        return np.array([[float(number) for number in text.split()] for text in X])

    def predict(self, X):  # type: ignore[no-untyped-def]
        probabilities = self.predict_proba(X)
        if self.multilabel_:
            return (probabilities >= self.thresholds_).astype(int)
        return self.classes_[probabilities.argmax(1)]


PROBABILITIES = ["0.5 0.3 0.2", "0.9 0.05 0.05", "0.41 0.4 0.19", "0.1 0.7 0.2"]


def task_of(folder: Path, texts: list[str], **options: object) -> LabelTask:
    given = {"classes": ["a", "b", "c"], "held_out": 0} | options
    return LabelTask.create(folder / "task", texts, **given)  # type: ignore[arg-type]


def test_uncertain_texts_by_their_margins(tmp_path: Path) -> None:
    task = task_of(tmp_path, PROBABILITIES)
    items = task.queue(4, "uncertain", Fixed(("a", "b", "c")))  # margins 0.2, 0.85, 0.01, 0.5
    assert [item.id for item in items] == [2, 0, 3, 1]
    assert items[0].why == "The model is unsure: a 41%, b 40%."
    assert list(items[2].guess.items()) == [("b", 0.7), ("c", 0.2), ("a", 0.1)]
    with pytest.raises(ConfigError, match="needs a model"):
        task.next("uncertain")
    with pytest.raises(ConfigError, match="capsule network"):
        task.next(Order("capsule", capsule=0), Fixed(("a", "b", "c")))


def test_several_labels_are_uncertain_near_a_threshold(tmp_path: Path) -> None:
    task = task_of(tmp_path, PROBABILITIES, several=True)
    model = Fixed(("a", "b", "c"), [0.5, 0.6, 0.4])  # distances 0, 0.35, 0.09, 0.1
    items = task.queue(4, "uncertain", model)
    assert [item.id for item in items] == [0, 2, 3, 1]
    assert items[0].why == "The model is unsure of a: 50%, where 50% decides."
    task.give(0, ["c", "a"])
    task.give(1, [])
    assert [one.names for one in task.labels()] == [("a", "c"), ()]
    assert task.progress().by_class == {"a": 1, "b": 0, "c": 1}
    assert task.progress().labelled == 2


def test_margins_of_two_and_of_one_class() -> None:
    assert Scores(("a", "b"), np.array([[0.8, 0.2]])).margins() == pytest.approx([0.6])
    assert Scores(("a",), np.array([[1.0]])).margins().tolist() == [1.0]


def test_a_search_finds_what_it_matches_the_least_certain_first(tmp_path: Path) -> None:
    task = task_of(tmp_path, PROBABILITIES)
    items = task.queue(4, Order("search", pattern=r"0\.2$"), Fixed(("a", "b", "c")))
    assert [item.id for item in items] == [0, 3]
    assert items[0].why == r"It matches '0\\.2$'. The model is unsure: a 50%, b 30%."
    with pytest.raises(DataError, match="mistake at character"):
        task.next(Order("search", pattern="("))
    for wrong in ({"name": "search"}, {"name": "random", "pattern": "x"}, {"name": "capsule"}):
        with pytest.raises(ConfigError, match="needs"):
            Order(**wrong)  # type: ignore[arg-type]


def test_a_capsule_by_what_it_adds(tmp_path: Path, classifier: ICapsClassifier) -> None:
    texts = list(dict.fromkeys(make_texts(40, seed=5)[0]))
    task = task_of(tmp_path, texts)
    items = task.queue(len(texts), Order("capsule", capsule=2, batch=len(texts)), classifier)
    explained = classifier.explain([item.text for item in items], top_capsules=6)
    shares = [
        next(one.share for one in explanation.capsules if one.capsule == 2)
        for explanation in explained
    ]
    assert shares == sorted(shares, reverse=True)
    assert f"{shares[0]:+.2f}" in items[0].why
    with pytest.raises(ConfigError, match="no capsule 99"):
        task.next(Order("capsule", capsule=99), classifier)


def test_wrong_labels_are_doubted_until_they_are_given_again(tmp_path: Path) -> None:
    texts, labels = make_texts(300, seed=5)
    pairs = list(dict(zip(texts, labels, strict=True)).items())
    task = LabelTask.create(tmp_path / "task", [text for text, _ in pairs], sorted({*labels}))
    held_out = set(task.held_out)
    wrong = [n for n in range(len(pairs)) if n not in held_out][:3]
    other = {"Cooking": "Gardens", "Gardens": "Sailing", "Sailing": "Cooking"}
    task.give_many((n, other[label] if n in wrong else label) for n, (_, label) in enumerate(pairs))
    items = task.queue(10, "doubted")
    assert {item.id for item in items} >= set(wrong)
    assert not {item.id for item in items} & held_out
    first = next(item for item in items if item.id == wrong[0])
    label = pairs[wrong[0]][1]
    assert (first.label, next(iter(first.guess))) == (other[label], label)
    task.give(wrong[0], label)
    assert wrong[0] not in {item.id for item in task.queue(10, "doubted")}


def test_every_order_ends_when_nothing_is_left(tmp_path: Path, classifier: ICapsClassifier) -> None:
    texts, labels = make_texts(60, seed=5)
    pairs = dict(zip(texts, labels, strict=True))
    for name in ORDERS:
        if name == "doubted":
            continue
        task = LabelTask.create(
            tmp_path / name, list(pairs), ["Cooking", "Gardens", "Sailing"], held_out=10
        )
        order = Order(
            name,
            capsule=0 if name == "capsule" else None,
            pattern="." if name == "search" else "",
            batch=16,
        )
        seen = []
        while item := task.next(order, classifier):
            assert item.why.endswith(".")
            seen.append(item.id)
            task.give(item.id, pairs[item.text])
        assert sorted(seen) == list(range(len(pairs))), name
