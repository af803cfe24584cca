"""Models that differ only in the size of their training set."""

import json
from pathlib import Path
from typing import Any

import pytest

from icaps.evaluate.learning_curve import learning_points


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
