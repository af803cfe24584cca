"""Training time until iCapsNet reaches the test accuracy of fastText with bigrams.

    python -m benchmarks.fasttext_race --data ag_news [--vectors NAME ...] [--texts 5000] [--json]

The network is trained with the settings of checkpoints/ag_news, and its averaged weights are scored
on the test texts after each epoch. fastText's settings are chosen on a tenth of the training texts;
then it is trained on all of them, and only that training is timed. Training time includes the steps
and the validation that chooses the epoch, but not the scoring of the test texts. Preparation is
reported separately: fastText's input file; the network's vocabulary, encoded texts and word
vectors. Both use the same number of threads. Nothing is chosen on the test texts.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
import torch

from benchmarks.accuracy import fasttext_bigrams, hold_out, share_right, take
from benchmarks.explaining import ROOT
from benchmarks.machine import machine
from icaps.classifier import ICapsClassifier
from icaps.config import ModelConfig, TrainConfig, config_from_dict, override
from icaps.data.resolve import resolve
from icaps.data.source import LabelledTexts, read_part
from icaps.train.callbacks import Callback, Step, Validation

TEXTS_DIM = 100  # of the vectors trained on the texts, if there are any


class Clock(Callback):
    """Times of a training: its start, the end of encoding, and the start of its first step."""

    def __init__(self, batch_size: int) -> None:
        self._batch_size = batch_size
        self._asked = time.perf_counter()
        self._encoded = self._begun = 0.0

    @property
    def encoding(self) -> float:
        """Seconds for the vocabulary and for encoding the texts."""
        return self._encoded - self._asked

    @property
    def vectors(self) -> float:
        """Seconds for the word vectors and for building the network."""
        return self._begun - self._encoded

    def on_log(self, line: str) -> None:
        """The first line is logged when the texts are encoded."""
        self._encoded = self._encoded or time.perf_counter()

    def on_step(self, step: Step) -> None:
        """The first step reports its speed, from which its start follows."""
        if not self._begun:
            self._begun = time.perf_counter() - self._batch_size / step.texts_per_second


def recipe(settings: list[str]) -> tuple[ModelConfig, TrainConfig]:
    """The settings of checkpoints/ag_news, with some of them changed."""
    stored = json.loads((ROOT / "checkpoints" / "ag_news" / "config.json").read_text())
    return override(
        config_from_dict(ModelConfig, stored["model"] | {"fixed_dim": TEXTS_DIM}),
        config_from_dict(TrainConfig, stored["train"]),
        dict(text.split("=", 1) for text in settings),
    )


def run_fasttext(
    train: LabelledTexts, test: LabelledTexts, epochs: tuple[int, ...]
) -> dict[str, float]:
    """Seconds and test accuracy in percent."""
    threads = torch.get_num_threads()
    fitted = fasttext_bigrams(train, *hold_out(train), epochs=epochs, threads=threads)
    return {
        "file_seconds": fitted.preparing,
        "training_seconds": fitted.training,
        "accuracy": share_right(fitted, test),
    }


def run_network(
    train: LabelledTexts, test: LabelledTexts, options: argparse.Namespace
) -> dict[str, Any]:
    """Seconds before training; seconds of training and test accuracy in percent per epoch."""
    epochs: list[dict[str, float]] = []

    class Scorer(Callback):
        def on_validation(self, model: ICapsClassifier, validation: Validation) -> None:
            seconds = sum(epoch["seconds"] for epoch in model.history_)
            accuracy = share_right(lambda texts: list(model.predict(texts)), test)
            epochs.append({"seconds": seconds, "accuracy": accuracy})

    model, settings = recipe(options.set)
    clock = Clock(settings.batch_size)
    callbacks = [clock, Scorer()]
    classifier = ICapsClassifier(model, settings, options.vectors, "cpu", callbacks)
    classifier.fit(train.texts, train.labels)
    return {
        "encoding_seconds": clock.encoding,
        "vectors_seconds": clock.vectors,
        "epochs": epochs,
    }


def tell(figures: dict[str, Any]) -> None:
    """Prints a table, and when the network reached the same accuracy."""
    theirs, ours = figures["fasttext"], figures["icaps"]
    print("| | before, s | training, s | test accuracy, % |\n|---|---|---|---|")
    print(
        f"| fastText, bigrams | {theirs['file_seconds']:.1f} | {theirs['training_seconds']:.1f} "
        f"| {theirs['accuracy']:.2f} |"
    )
    before = ours["encoding_seconds"] + ours["vectors_seconds"]
    for number, epoch in enumerate(ours["epochs"], 1):
        seconds, accuracy = epoch.values()
        print(f"| iCapsNet, epoch {number} | {before:.1f} | {seconds:.1f} | {accuracy:.2f} |")
    print(
        f"\nBefore the network's training: {ours['encoding_seconds']:.1f} s for the vocabulary and "
        f"the encoded texts, {ours['vectors_seconds']:.1f} s for word vectors."
    )
    reached = figures["icaps_training_seconds_to_same"]
    if reached is None:
        print("The network did not reach the same accuracy in any epoch.")
    else:
        print(f"The network reached the same accuracy after {reached:.1f} s of training.")
    print(figures["machine"])


def main() -> None:
    """Trains both models and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="a path or a name, with train and test texts")
    parser.add_argument(
        "--vectors", action="append", help="as icaps train takes it; may be repeated"
    )
    parser.add_argument("--texts", type=int, help="number of random training texts; default: all")
    parser.add_argument("--fasttext-epochs", type=int, nargs="+", default=[10])
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    train, test = (read_part(resolve(options.data), part) for part in ("train", "test"))
    if options.texts:
        order = np.random.default_rng(0).permutation(len(train.texts))
        train = take(train, order[: options.texts])
    fasttext = run_fasttext(train, test, tuple(options.fasttext_epochs))
    icaps = run_network(train, test, options)
    as_good = (e["seconds"] for e in icaps["epochs"] if e["accuracy"] >= fasttext["accuracy"])
    figures = {
        "training_texts": len(train.texts),
        "fasttext": fasttext,
        "icaps": icaps,
        "icaps_training_seconds_to_same": next(as_good, None),
        "machine": machine(),
    }
    if options.json:
        print(json.dumps(figures))
    else:
        tell(figures)


if __name__ == "__main__":
    main()
