"""Test accuracy on long documents: iCapsNet Long, Short and three baselines, in one run.

    python -m benchmarks.documents --data FOLDER ... [--vectors FILE ...] [--seeds 3]

Short reads a document as one sentence; Long attends to words and then to sentences. Both have the
same vectors, sizes and epochs. The best epoch and the baselines' settings are chosen on held-out
training texts, and the test texts are used once, at the end.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from benchmarks.accuracy import Result, baselines, share_right, tell
from icaps.classifier import ICapsClassifier
from icaps.config import ModelConfig, TrainConfig, override
from icaps.data.source import LabelledTexts, read_part

FASTTEXT_EPOCHS = (10, 50)  # a small data set needs more
KINDS = {
    "iCapsNet Short": {"max_words": "none"},
    "iCapsNet Long": {"max_words": "none", "hierarchical": "true"},
}


def networks(
    train: LabelledTexts, test: LabelledTexts, options: argparse.Namespace
) -> dict[str, list[Result]]:
    """Accuracy of both networks for each seed."""
    settings = dict(text.split("=", 1) for text in options.set)
    results: dict[str, list[Result]] = {}
    for name, changes in KINDS.items():
        for seed in range(options.seeds):
            seeded = settings | changes | {"seed": str(seed)}
            network = ICapsClassifier(
                *override(ModelConfig(), TrainConfig(), seeded), options.vectors
            )
            started = time.perf_counter()
            network.fit(train.texts, train.labels)
            result = Result(share_right(network.predict, test))
            results.setdefault(name, []).append(result)
            tell(f"{name}, seed {seed}", result, network, time.perf_counter() - started)
    return results


def main() -> None:
    """Trains and scores all models on each data set, and prints a table per data set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", action="append", required=True, help="folder with train and test")
    parser.add_argument(
        "--vectors", action="append", help="as icaps train takes it; may be repeated"
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    tables = {}
    for folder in options.data:
        train, test = (read_part(Path(folder), part) for part in ("train", "test"))
        results = baselines(train, test, FASTTEXT_EPOCHS) | networks(train, test, options)
        tables[Path(folder).name] = {
            name: [run.accuracy for run in runs] for name, runs in results.items()
        }
    if options.json:
        print(json.dumps(tables))
        return
    for data, rows in tables.items():
        print(f"| {data} | test accuracy, % | each seed |\n|---|---|---|")
        for name, scores in rows.items():
            seeds = ", ".join(f"{score:.2f}" for score in scores)
            print(f"| {name} | {np.mean(scores):.2f} | {seeds} |")


if __name__ == "__main__":
    main()
