"""How many planted wrong labels are found: confident learning beside predicted wrong, and random.

A share of the labels of a data set is replaced by another class at random. Found rows are those of
`icaps data issues` (linear models that did not see the label), and those that a capsule network of
the recipe, trained on these labels as a user trains it, predicts as another class. Precision is the
share of the found rows whose label was planted, recall the share of planted ones that are found; at
random, precision is the planted share. The data's own wrong labels count as not planted, so real
precision is higher. "First" is the precision of as many rows as were planted, the surest first.

    python -m benchmarks.label_issues --data trec --data sst2 --seeds 3
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icaps.classifier import ICapsClassifier
from icaps.data.resolve import resolve
from icaps.data.source import LabelledTexts, read_part
from icaps.evaluate.predictions import predict_stream
from icaps.explore.index import Index, make_index
from icaps.explore.label_issues import confident_issues, cross_validate

LINEAR, NETWORK = "confident learning, linear models by folds", "predicted wrong, network"
BOTH = "both"


def main() -> None:
    """Plants labels, looks for them, and prints a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", action="append", required=True, help="a data set with labels")
    parser.add_argument("--share", type=float, default=0.05, help="share of the planted labels")
    parser.add_argument("--seeds", type=int, default=3, help="how often labels are planted")
    parser.add_argument("--network-seeds", type=int, default=1, help="of these, with a network")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    rows = []
    for name in options.data:
        data = read_part(resolve(name), "train")
        for seed in range(options.seeds):
            labels, planted = plant(data, options.share, seed)
            for method, found, seconds in find(data, labels, seed < options.network_seeds):
                row = {"data": name, "seed": seed, "method": method, "seconds": round(seconds)}
                rows.append(row | scores(found, planted))
                if not options.json:
                    print(*rows[-1].values(), sep=" | ", flush=True)
    if options.json:
        print(json.dumps(rows))


def plant(data: LabelledTexts, share: float, seed: int) -> tuple[list[str], NDArray[np.bool_]]:
    """The labels with some replaced by another class, and a mask (texts,) of these."""
    rng, count = np.random.default_rng(seed), len(data.labels)
    rows = rng.choice(count, round(share * count), replace=False)
    labels = list(data.labels)
    for row, step in zip(rows.tolist(), rng.integers(1, len(data.classes), len(rows)), strict=True):
        labels[row] = data.classes[(data.classes.index(labels[row]) + step) % len(data.classes)]
    mask = np.zeros(count, dtype=bool)
    mask[rows] = True
    return labels, mask


def find(
    data: LabelledTexts, labels: list[str], network: bool
) -> Iterator[tuple[str, NDArray[np.int64], float]]:
    """For each method the rows that it finds, the surest first, and the seconds that it took."""
    with tempfile.TemporaryDirectory() as folder:
        index = write_index(data.texts, labels, Path(folder))
        started = time.perf_counter()
        probabilities = np.zeros((len(index), len(index.classes)), np.float32)
        known = cross_validate(index, probabilities)
        issues = confident_issues(probabilities, index.labels, known)
        yield LINEAR, issues.rows, time.perf_counter() - started
    if network:
        started = time.perf_counter()
        classifier = ICapsClassifier(device="cpu").fit(data.texts, labels)
        predictions = predict_stream(classifier, zip(data.texts, labels, strict=True))
        wrong = np.flatnonzero(~predictions.correct & ~predictions.blank)
        margin = predictions.confidence[wrong] - predictions.label_probability[wrong]
        seconds = time.perf_counter() - started
        yield NETWORK, wrong[np.argsort(-margin)], seconds
        yield BOTH, issues.rows[np.isin(issues.rows, wrong)], seconds


def write_index(texts: list[str], labels: list[str], folder: Path) -> Index:
    """The index of texts and labels."""
    lines = (
        json.dumps({"text": text, "label": label})
        for text, label in zip(texts, labels, strict=True)
    )
    (folder / "train.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return make_index(folder / "train.jsonl", {})


def scores(found: NDArray[np.int64], planted: NDArray[np.bool_]) -> dict[str, Any]:
    """The number of found rows, precision, recall, and the precision of the first."""
    first = planted[found[: planted.sum()]]
    return {
        "found": len(found),
        "precision": round(float(planted[found].mean()), 3),
        "recall": round(float(planted[found].sum() / planted.sum()), 3),
        "random": round(float(planted.mean()), 3),
        "first": round(float(first.mean()), 3),
    }


if __name__ == "__main__":
    main()
