"""Writes `texts.safetensors` for a checkpoint that was trained before trainings stored it.

The split of its training is drawn again from the same data and the stored seed. It is proved to be
the same: both parts have the stored sizes, and the model's accuracy on the held-out part is the
stored validation accuracy to the last digit, which another split misses. Otherwise nothing is
written, and the exit code is 1.

    python -m benchmarks.text_hashes --model checkpoints/ag_news --data ag_news
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from icaps.classifier import ICapsClassifier
from icaps.data.class_names import class_numbers
from icaps.data.resolve import resolve
from icaps.data.source import open_source
from icaps.train.split import split
from icaps.train.text_hashes import TextHashes, hash_texts


def main() -> int:
    """Draws the split, compares it with the stored metrics, and writes the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="the checkpoint folder")
    parser.add_argument("--data", required=True, help="the data that it was trained on")
    options = parser.parse_args()
    classifier = ICapsClassifier.load(options.model, device="cpu")
    texts, names = zip(*open_source(resolve(options.data), "train").pairs(), strict=True)
    labels = class_numbers(names, list(map(str, classifier.classes_)))
    training, held_out = split(labels, len(classifier.classes_), classifier.train_config_)
    metrics = classifier.metrics_
    right = (
        classifier.predict([texts[n] for n in held_out]) == classifier.classes_[labels[held_out]]
    )
    facts = {
        "training_texts": (len(training), metrics["training_texts"]),
        "validation_texts": (len(held_out), metrics["validation_texts"]),
        "validation_accuracy": (float(np.mean(right)), metrics["validation_accuracy"]),
    }
    for name, (drawn, stored) in facts.items():
        print(f"{name}: {drawn} drawn, {stored} stored")
    if any(drawn != stored for drawn, stored in facts.values()):
        print("The split is another one; nothing is written.")
        return 1
    hashes = TextHashes.of(hash_texts(texts), training, held_out)
    hashes.save(Path(options.model))
    print(
        f"{len(hashes.training)} training texts and {len(hashes.held_out)} held-out texts written"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
