"""Labelling tasks: texts, held-out part, labels, undo, progress, training data, curve, export."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from icaps.data.source import read_part
from icaps.errors import ConfigError, DataError
from icaps.label.task import LabelTask

TEXTS = [f"Text number {n} of the heap" for n in range(20)]


def make(folder: Path, **options: object) -> LabelTask:
    given = {"classes": ["x", "y"], "held_out": 4, "seed": 3} | options
    return LabelTask.create(folder / "task", TEXTS, **given)  # type: ignore[arg-type]


def test_the_held_out_part_is_drawn_at_random_and_comes_first(tmp_path: Path) -> None:
    task = make(tmp_path)
    drawn = np.random.default_rng(3).permutation(20)[:4].tolist()
    assert list(task.held_out) == drawn
    seen = []
    for _ in range(20):
        item = task.next("random")
        assert item is not None
        assert item.text == TEXTS[item.id]
        assert item.held_out == (len(seen) < 4)
        assert ("held-out" if item.held_out else "drawn at random") in item.why
        seen.append(item.id)
        task.give(item.id, "x")
    assert seen[:4] == drawn
    assert sorted(seen) == list(range(20))
    assert task.next("random") is None


def test_labels_are_given_skipped_and_undone(tmp_path: Path) -> None:
    task = make(tmp_path)
    first = task.give(0, "x", by="Ada")
    task.give(0, "y")
    task.skip(1)
    one = task.label(0)
    assert one is not None
    assert (one.label, one.before, one.by) == ("y", "x", "person")
    assert task.undo() == (1,)
    assert task.label(1) is None
    assert task.undo() == (0,)
    assert [(one.label, one.by) for one in task.labels()] == [("x", "Ada")]
    assert task.undo(first) == (0,)
    with pytest.raises(DataError, match="no label that could"):
        task.undo()
    for bad in ("z", ["x", "y"], []):
        with pytest.raises(DataError, match="class"):
            task.give(0, bad)
    with pytest.raises(DataError, match="no text 20"):
        task.give(20, "x")
    with pytest.raises(ConfigError, match="no order"):
        task.next("best")


def test_progress_training_data_and_exports_agree(tmp_path: Path) -> None:
    task = make(tmp_path)
    with pytest.raises(DataError, match="label more"):
        task.training_data()
    held_out = task.held_out
    others = [n for n in range(20) if n not in held_out]
    task.give(held_out[0], "x")
    task.give_many([(others[0], "x"), (others[1], "y"), (others[2], "y")], by="Ada")
    with pytest.raises(DataError, match="label more"):
        task.training_data()
    task.undo(task.give(others[0], "y"))  # what was undone counts nowhere
    task.skip(others[3])
    progress = task.progress()
    assert progress.by_class == {"x": 2, "y": 2}
    assert (progress.labelled, progress.training, progress.skipped, progress.left) == (4, 3, 1, 15)
    assert (progress.held_out, progress.held_out_labelled) == (4, 1)
    rows = pd.read_csv(io.BytesIO(task.export("csv")), keep_default_na=False).to_dict("records")
    assert rows == pd.read_parquet(io.BytesIO(task.export("parquet"))).to_dict("records")
    assert rows == [json.loads(line) for line in task.export("jsonl").splitlines()]
    assert [(row["text"], row["by"], row["part"]) for row in rows if row["label"] == "y"] == [
        (TEXTS[others[1]], "Ada", "train"),
        (TEXTS[others[2]], "Ada", "train"),
    ]
    with pytest.raises(ConfigError, match="xlsx"):
        task.export("xlsx")


def test_training_data_leaves_out_classes_with_one_label(tmp_path: Path) -> None:
    task = make(tmp_path, classes=["x", "y", "z"])
    held_out, others = task.held_out, [n for n in range(20) if n not in task.held_out]
    task.give_many((n, "xxyyz"[place]) for place, n in enumerate(others[:5]))
    task.give_many([(held_out[0], "x"), (held_out[1], "z")])
    folder = task.training_data()
    assert folder == task.training_data()
    train, test = read_part(folder, "train"), read_part(folder, "test")
    assert dict(zip(train.texts, train.labels, strict=True)) == {
        TEXTS[n]: label for n, label in zip(others[:4], "xxyy", strict=True)
    }
    assert test.texts == [TEXTS[held_out[0]]]
    task.give(others[5], "z")
    assert task.training_data() != folder
    assert len(read_part(task.training_data(), "test").texts) == 2


class Constant:
    """A model that predicts the class x."""

    classes_ = np.array(["x", "y"], dtype=object)

    def predict_proba(self, X):  # type: ignore[no-untyped-def]
        return np.tile([1.0, 0.0], (len(X), 1))

    def predict(self, X):  # type: ignore[no-untyped-def]
        return self.classes_[[0] * len(X)]


def test_models_are_scored_on_the_held_out_part_alone(tmp_path: Path) -> None:
    task = make(tmp_path)
    with pytest.raises(DataError, match="No held-out text"):
        task.score("run", Constant(), 5)
    for place, n in enumerate(task.held_out):
        task.give(n, "xxxy"[place])
    others = [n for n in range(20) if n not in task.held_out]
    task.give_many((n, "y") for n in others)
    point = task.score("run", Constant(), 16)
    assert (point.correct, point.tested, point.accuracy.value) == (3, 4, 0.75)
    assert task.curve() == [point]


def test_labels_of_the_data_count_until_they_are_replaced(tmp_path: Path) -> None:
    rows = [f"Text {n},{'xy'[n % 2] if n < 6 else ''}" for n in range(10)]
    (tmp_path / "data.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    task = LabelTask.create(tmp_path / "task", tmp_path / "data.csv", ["z"], held_out=5, seed=1)
    assert task.classes == ("z", "x", "y")
    inside = sum(n < 6 for n in task.held_out)
    progress = task.progress()
    assert progress.by_class == {"z": 0, "x": 3, "y": 3}
    assert (progress.given, progress.held_out_labelled, progress.left) == (6, inside, 4)
    task.give(0, "z")
    task.skip(1)
    progress = task.progress()
    assert progress.by_class == {"z": 1, "x": 2, "y": 2}
    assert (progress.labelled, progress.given, progress.skipped, progress.left) == (5, 4, 1, 4)
    assert [(one.id, one.label, one.by) for one in task.labels()] == [
        (0, "z", "person"),
        (2, "x", "given"),
        (3, "y", "given"),
        (4, "x", "given"),
        (5, "y", "given"),
    ]
    one = task.label(0)
    assert one is not None
    assert one.before == "x"
    seen = []
    while item := task.next():
        seen.append(item.id)
        task.give(item.id, "x")
    assert sorted(seen) == [6, 7, 8, 9]


def test_lists_of_labels_need_a_task_of_several(tmp_path: Path) -> None:
    lines = [{"text": f"Text {n}", "label": [["a"], ["a", "b"], []][n % 3]} for n in range(9)]
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(DataError, match="--several"):
        LabelTask.create(tmp_path / "one", data, held_out=0)
    task = LabelTask.create(tmp_path / "task", data, several=True, held_out=0)
    assert task.classes == ("a", "b")
    assert task.progress().by_class == {"a": 6, "b": 3}
    assert task.progress().labelled == 9
    train = read_part(task.training_data(), "train")
    assert train.labels == ['["a"]', '["a", "b"]', "[]"] * 3
