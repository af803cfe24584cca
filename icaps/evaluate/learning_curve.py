"""Learning from data size: trainings that differ in nothing but their texts and their seeds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from icaps.train.checkpoint_files import CLASSES, CONFIG, METRICS


class Point(NamedTuple):
    """A trained model in a curve of learning.

    name: Of its folder; curve: that of the first folder with these settings; test_accuracy: with
    the number of test texts, None where it was not measured.
    """

    name: str
    curve: str
    training_texts: int
    seed: int
    validation_accuracy: float
    test_accuracy: float | None
    test_texts: int


def learning_points(folders: Iterable[Path], classes: Sequence[str]) -> list[Point]:
    """The models of these classes whose settings at least two sizes of training texts share.

    Settings are all those of model and training, but the seed, and the vectors. Folders that hold
    no model, or one whose metrics are of another form, are left out: metrics are free-form.

    Args:
        folders: Checkpoints, perhaps.
        classes: Names of classes, in any order.

    Returns:
        Points by curve, then by size and seed.
    """
    found: list[Point] = []
    curves: dict[str, str] = {}
    for folder in folders:
        try:
            names = (folder / CLASSES).read_text(encoding="utf-8").splitlines()
            config, metrics = (_object(folder / name) for name in (CONFIG, METRICS))
        except (OSError, ValueError, RecursionError):
            continue
        if sorted(names) == sorted(classes):
            point = _point(folder.name, metrics)
            if point is not None:
                curve = curves.setdefault(_settings(config, metrics), folder.name)
                found.append(point._replace(curve=curve))
    sizes = Counter(curve for curve, _ in {(p.curve, p.training_texts) for p in found})
    kept = [point for point in found if sizes[point.curve] > 1]
    return sorted(kept, key=lambda point: (point.curve, point.training_texts, point.seed))


def _object(path: Path) -> dict[str, Any]:
    value = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(value, dict):
        raise ValueError(f"{path} is no object")
    return value


def _point(name: str, metrics: dict[str, Any]) -> Point | None:
    match metrics:
        case {
            "training_texts": int(texts),
            "seed": int(seed),
            "validation_accuracy": float(validation),
        }:
            point = Point(name, "", texts, seed, validation, None, 0)
        case _:
            return None
    match metrics:
        case {"test": {"accuracy": float(accuracy), "n": int(count)}}:
            return point._replace(test_accuracy=accuracy, test_texts=count)
    return point


def _settings(config: dict[str, Any], metrics: dict[str, Any]) -> str:
    """The same for settings that are alike."""
    train = config.get("train")
    if isinstance(train, dict):
        train = {name: value for name, value in train.items() if name != "seed"}
    return json.dumps([config.get("model"), train, metrics.get("vectors")], sort_keys=True)
