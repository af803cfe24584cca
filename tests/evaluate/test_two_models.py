"""Two models on the same texts, and models of several sizes."""

import json
from math import comb
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score

from icaps.errors import DataError
from icaps.evaluate.compare import compare
from icaps.evaluate.learning_curve import learning_points


def answers(labels: np.ndarray, predicted: np.ndarray, classes: str = "abc") -> Any:
    return SimpleNamespace(
        classes=tuple(classes), labels=labels, predicted=predicted, correct=predicted == labels
    )


def discordant(first: int, second: int, both: int = 30, neither: int = 4) -> tuple[Any, Any]:
    """Models of which one alone is right on so many texts."""
    labels = np.zeros(both + first + second + neither, np.int64)
    one = np.repeat([0, 0, 1, 1], [both, first, second, neither])
    other = np.repeat([0, 1, 0, 1], [both, first, second, neither])
    return answers(labels, one), answers(labels, other)


@pytest.mark.parametrize(("first", "second"), [(2, 9), (9, 2), (5, 5), (0, 6), (1, 0)])
def test_mcnemar_by_hand(first: int, second: int) -> None:
    """Twice the smaller tail of throws of a coin, the exact test."""
    found = compare(*discordant(first, second))
    total = first + second
    tail = sum(comb(total, k) for k in range(min(first, second) + 1)) / 2**total
    assert found.p_value == pytest.approx(min(2 * tail, 1))
    assert (found.both, found.only_first) == (30, first)
    assert (found.only_second, found.neither) == (second, 4)
    assert found.accuracy.value == pytest.approx((second - first) / (34 + total))


def test_equal_models() -> None:
    found = compare(*discordant(0, 0))
    assert found.p_value == 1
    assert found.accuracy == (0, 0, 0)
    assert found.to_dict()["macro_f1_interval"] == (0, 0)


def macro_f1(labels: np.ndarray, predicted: np.ndarray) -> float:
    """The definition, class by class."""
    parts = [(labels == j, predicted == j) for j in range(3)]
    return float(np.mean([2 * (t & p).sum() / (t.sum() + p.sum()) for t, p in parts]))


def test_differences_and_their_intervals() -> None:
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, 600)
    one = np.where(random.random(600) < 0.7, labels, random.integers(0, 3, 600))
    other = np.where(random.random(600) < 0.8, labels, random.integers(0, 3, 600))
    found = compare(answers(labels, one), answers(labels, other))

    def difference(rows: np.ndarray) -> tuple[float, float]:
        f1 = [macro_f1(labels[rows], p[rows]) for p in (one, other)]
        return float(np.mean((other == labels)[rows] * 1.0 - (one == labels)[rows])), f1[1] - f1[0]

    values = difference(np.arange(600))
    assert (found.accuracy.value, found.macro_f1.value) == pytest.approx(values)
    known = [f1_score(labels, p, average="macro") for p in (one, other)]
    assert values[1] == pytest.approx(known[1] - known[0])
    drawn = np.array([difference(random.integers(0, 600, 600)) for _ in range(1_000)])
    for k, value in enumerate((found.accuracy, found.macro_f1)):
        low, high = np.quantile(drawn[:, k], [0.025, 0.975])
        assert (value.low, value.high) == pytest.approx((low, high), abs=0.01)
    swapped = compare(answers(labels, other), answers(labels, one))
    assert swapped.accuracy.value == -found.accuracy.value
    assert swapped.p_value == found.p_value


def test_classes_in_another_order_are_the_same() -> None:
    labels, one = np.array([0, 1, 2, 1]), np.array([0, 1, 1, 2])
    turned = np.array([2, 0, 1])  # a is 2 in "bca"
    same = answers(turned[labels], turned[one], "bca")
    found = compare(answers(labels, one), same)
    assert (found.both, found.neither, found.p_value) == (2, 2, 1)


def test_what_can_not_be_compared() -> None:
    labels = np.array([0, 1, 2])
    with pytest.raises(DataError, match="different classes"):
        compare(answers(labels, labels), answers(labels, labels, "abd"))
    with pytest.raises(DataError, match="different texts"):
        compare(answers(labels, labels), answers(labels[::-1], labels))
    with pytest.raises(DataError, match="different texts"):
        compare(answers(labels, labels), answers(labels[:2], labels[:2]))


def model(place: Path, name: str, texts: int, **changed: Any) -> Path:
    folder = place / name
    folder.mkdir()
    facts = {"seed": 1, "rate": 0.1, "classes": "ab", "vectors": "texts", "test": None} | changed
    (folder / "classes.txt").write_text("\n".join(facts["classes"]) + "\n")
    config = {"model": {"d": 4}, "train": {"seed": facts["seed"], "rate": facts["rate"]}}
    (folder / "config.json").write_text(json.dumps(config))
    metrics = {
        "training_texts": texts,
        "seed": facts["seed"],
        "validation_accuracy": texts / 1_000,
        "vectors": facts["vectors"],
    }
    if facts["test"]:
        metrics["test"] = {"accuracy": facts["test"], "n": 50}
    (folder / "metrics.json").write_text(json.dumps(metrics))
    return folder


@pytest.mark.parametrize("odd", ["a\u2028b", "a\x85b", "a\x0bb", "a\x1cb"])
def test_class_names_with_odd_line_ends_have_a_curve(tmp_path: Path, odd: str) -> None:
    """Lines of classes.txt end at a line feed alone, as in `load`."""
    classes = [odd, "c"]
    folders = [model(tmp_path, f"m{n}", n, classes=classes) for n in (10, 20)]
    assert [point.training_texts for point in learning_points(folders, classes)] == [10, 20]


def test_learning_from_data_size(tmp_path: Path) -> None:
    folders = [
        model(tmp_path, "large", 400, test=0.9),
        model(tmp_path, "small", 100),
        model(tmp_path, "small-2", 100, seed=2),
        model(tmp_path, "other-rate", 200, rate=0.2),
        model(tmp_path, "other-vectors", 200, vectors="glove"),
        model(tmp_path, "other-classes", 50, classes="ac"),
    ]
    found = learning_points(folders, ["b", "a"])
    assert [(p.name, p.training_texts, p.seed) for p in found] == [
        ("small", 100, 1),
        ("small-2", 100, 2),
        ("large", 400, 1),
    ]
    assert {p.curve for p in found} == {"large"}
    assert (found[-1].test_accuracy, found[-1].test_texts) == (0.9, 50)
    assert found[0].test_accuracy is None
    assert found[0].validation_accuracy == 0.1


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"training_texts": "many"}', "[" * 99_999])
def test_damaged_models_are_left_out(tmp_path: Path, damage: str) -> None:
    folders = [model(tmp_path, name, size) for name, size in (("a", 10), ("b", 20), ("c", 30))]
    (folders[1] / "metrics.json").write_text(damage)
    (tmp_path / "nothing").mkdir()
    found = learning_points([*folders, tmp_path / "nothing"], "ab")
    assert [point.name for point in found] == ["a", "c"]
