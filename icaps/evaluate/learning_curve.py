"""The learning curve: accuracy of trainings that differ only in the size of their training set."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from icaps.data.atomic import read_json
from icaps.errors import CheckpointError
from icaps.train.checkpoint_files import CLASSES, CONFIG, METRICS, MULTILABEL, read_classes


class Point(NamedTuple):
    """A trained model on a learning curve.

    `name` is that of its folder, and `curve` that of the first folder with the same settings.
    `test_accuracy` is None if it was not measured, and `test_texts` then 0.
    """

    name: str
    curve: str
    training_texts: int
    seed: int
    validation_accuracy: float
    test_accuracy: float | None
    test_texts: int


def learning_points(
    folders: Iterable[Path], classes: Sequence[str], multilabel: bool = False
) -> list[Point]:
    """Finds models of these classes that differ only in the size of the training set, or the seed.

    A curve has at least two sizes. The word vectors must be the same, too. Folders
    that hold no model, or metrics of another form, are skipped, as metrics are free-form.

    Args:
        folders: Folders, of which some are checkpoints.
        classes: Names of classes, in any order.
        multilabel: Whether the models give a text several labels; the accuracy is then the share of
            texts whose labels are all right.

    Returns:
        Points by curve, then by size and seed.
    """
    points: list[Point] = []
    curves: dict[str, str] = {}
    for folder in folders:
        try:
            names = read_classes(folder / CLASSES)
            config, metrics = (read_json(folder / name) for name in (CONFIG, METRICS))
        except CheckpointError:
            continue
        if sorted(names) == sorted(classes) and (MULTILABEL in config) == multilabel:
            point = _point(folder.name, metrics)
            if point is not None:
                curve = curves.setdefault(_settings(config, metrics), folder.name)
                points.append(point._replace(curve=curve))
    sizes = Counter(curve for curve, _ in {(p.curve, p.training_texts) for p in points})
    shared = [point for point in points if sizes[point.curve] > 1]
    return sorted(shared, key=lambda point: (point.curve, point.training_texts, point.seed))


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
    """The settings as a string, which is equal for equal settings."""
    train = config.get("train")
    if isinstance(train, dict):
        train = {name: value for name, value in train.items() if name != "seed"}
    return json.dumps([config.get("model"), train, metrics.get("vectors")], sort_keys=True)
