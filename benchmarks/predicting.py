"""Prediction speed and accuracy, compared with TF-IDF plus an SVM and with fastText.

    python -m benchmarks.predicting [--data DATA] [--model FOLDER] [--quick] [--json]

The baselines are trained on the training texts of a data set, as in `benchmarks.accuracy`; so is
the network, with the default settings, unless --model names one that was trained on them. Then all
predict the test texts from raw strings, in turns in one process; speeds are from median times.
fastText is measured with the network's tokens, and with its own, split at white space. The accuracy
of the most frequent class is reported for comparison.
"""

from __future__ import annotations

import argparse
from collections import Counter
from functools import partial
from statistics import median
from typing import Any

from sklearn.svm import LinearSVC

from benchmarks.accuracy import Predictor, fasttext_bigrams, hold_out, linear, share_right
from benchmarks.machine import machine
from benchmarks.timing import by_turns, ratio, show
from icaps.classifier import ICapsClassifier
from icaps.config import ModelConfig, TrainConfig, override
from icaps.data.resolve import resolve
from icaps.data.source import LabelledTexts, read_part

OWN = "icaps"
QUICK = {"epochs": "4"}  # of the network, too few for its best accuracy
STRENGTHS, EPOCHS = (0.1, 0.25, 0.5, 1.0), (10,)


def at_spaces(text: str) -> str:
    """Tokens as fastText splits them."""
    return " ".join(text.split())


def fit_network(train: LabelledTexts, quick: bool) -> ICapsClassifier:
    """The network, trained on these texts."""
    settings = override(ModelConfig(), TrainConfig(), QUICK if quick else {})
    return ICapsClassifier(*settings, device="cpu").fit(train.texts, train.labels)


def fit_others(train: LabelledTexts) -> dict[str, Predictor]:
    """The baselines, their settings chosen on a tenth of the texts."""
    part, held = hold_out(train)
    fits = {
        "TF-IDF(1,2) + LinearSVC": linear(LinearSVC, "svc", STRENGTHS),
        "fastText, bigrams": partial(fasttext_bigrams, epochs=EPOCHS),
        "fastText, bigrams, at spaces": partial(fasttext_bigrams, epochs=EPOCHS, line=at_spaces),
    }
    return {name: fit(train, part, held) for name, fit in fits.items()}


def measure(sides: dict[str, Predictor], test: LabelledTexts, rounds: int) -> dict[str, Any]:
    """Speed, speed relative to the network, and accuracy of each side."""
    times = by_turns({name: partial(run, test.texts) for name, run in sides.items()}, rounds)
    figures: dict[str, Any] = {
        name: {
            "texts_per_second": round(len(test.texts) / median(times[name])),
            "speed_over_icaps": ratio(times[OWN], times[name]),
            "accuracy": round(share_right(run, test), 2),
        }
        for name, run in sides.items()
    }
    ((_, most),) = Counter(test.labels).most_common(1)
    return figures | {"most_frequent_class": {"accuracy": round(100 * most / len(test.labels), 2)}}


def main() -> None:
    """Fits or loads all sides and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="synthetic", help="a path or a name")
    parser.add_argument("--model", help="a folder; else a model is trained")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and epochs")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    train, test = (read_part(resolve(options.data), part) for part in ("train", "test"))
    own = (
        ICapsClassifier.load(options.model, device="cpu")
        if options.model
        else fit_network(train, options.quick)
    )
    sides = {OWN: own.predict, **fit_others(train)}
    figures = {
        "data": options.data,
        "training_texts": len(train.texts),
        "test_texts": len(test.texts),
        **measure(sides, test, 3 if options.quick else 7),
        "machine": machine(),
    }
    show(figures, options.json)


if __name__ == "__main__":
    main()
