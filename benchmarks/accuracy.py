"""Test accuracy of iCapsNet, compared with three baselines and with controls, in one run.

    python -m benchmarks.accuracy --data FOLDER [--vectors FILE ...] [--seeds 3] [--json]

All models are trained on the same training texts. The best epoch, and the regularisation of a
baseline, are chosen on a held-out part of them; the test texts are used once, at the end. Controls:
uniform attention (queries frozen at zero), one routing iteration (all routing weights are 1 / J),
shuffled labels, and no training. Squash on the primary capsules is measured both ways. Beside each
accuracy is the mean over test texts and capsules of a capsule's largest beta, which is 1 / J for
uniform routing and 1 if each capsule goes to one class.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

from icaps.baselines.fasttext import import_fasttext
from icaps.classifier import ICapsClassifier
from icaps.config import ModelConfig, TrainConfig, override
from icaps.data.source import LabelledTexts, read_part
from icaps.model import ICapsNet
from icaps.text.sentences import encode
from icaps.text.tokenizer import words_of
from icaps.train.dataset import Corpus


@dataclass(frozen=True)
class Result:
    """Test accuracy in percent, and the mean of the largest beta where there is routing."""

    accuracy: float
    largest_beta: float | None = None


Predictor = Callable[[list[str]], list[str]]


class UniformAttention(ICapsClassifier):
    """The same network with queries frozen at zero, so that attention is uniform."""

    def _build_network(self, training: Corpus) -> ICapsNet:
        network = super()._build_network(training)
        network.attention.primary_queries.requires_grad_(False).zero_()
        return network


def share_right(predict: Predictor, data: LabelledTexts) -> float:
    """Accuracy in percent."""
    guesses = predict(data.texts)
    return 100 * float(np.mean([a == b for a, b in zip(guesses, data.labels, strict=True)]))


class OneLabelPipeline(Pipeline):
    """A pipeline that can be evaluated as a classifier of one label per text."""

    multilabel_, thresholds_ = False, None


def fit_linear_pipeline(
    kind: Callable[..., Any],
    strengths: tuple[float, ...],
    train: LabelledTexts,
    part: LabelledTexts,
    held: LabelledTexts,
) -> Pipeline:
    """TF-IDF of words and bigrams with a linear model; C is chosen on the validation part."""

    def fit(strength: float, data: LabelledTexts) -> Pipeline:
        features = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
        steps = [("features", features), ("classifier", kind(C=strength))]
        return OneLabelPipeline(steps).fit(data.texts, data.labels)

    best = max(strengths, key=lambda strength: share_right(fit(strength, part).predict, held))
    return fit(best, train)


def linear(
    kind: Callable[..., Any], name: str, strengths: tuple[float, ...]
) -> Callable[..., Predictor]:
    """The predictions of `fit_linear_pipeline`, as a function of the three parts of the data."""

    def fit(train: LabelledTexts, part: LabelledTexts, held: LabelledTexts) -> Predictor:
        return fit_linear_pipeline(kind, strengths, train, part, held).predict

    fit.__name__ = name
    return fit


def spaced(text: str) -> str:
    """The network's tokens of a text, separated by spaces."""
    return " ".join(words_of(text)).replace("\n", " ")


class FastText:
    """fastText with bigrams, trained on texts; calling it with texts returns their classes.

    `line` converts a text to the line that fastText splits at white space. `preparing` and
    `training` are the seconds of writing its input file, and of its training.
    """

    def __init__(
        self,
        data: LabelledTexts,
        rate: float,
        passes: int,
        *,
        threads: int = 1,
        line: Callable[[str], str] = spaced,
    ) -> None:
        self._line = line
        self._names = {f"__label__{n}": name for n, name in enumerate(data.classes)}
        numbers = {name: label for label, name in self._names.items()}
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
            started = time.perf_counter()
            rows = zip(data.labels, data.texts, strict=True)
            file.writelines(f"{numbers[label]} {line(text)}\n" for label, text in rows)
            file.flush()
            prepared = time.perf_counter()
            self._fitted = import_fasttext().train_supervised(
                file.name, wordNgrams=2, lr=rate, epoch=passes, thread=threads, seed=0, verbose=0
            )
            self.preparing, self.training = prepared - started, time.perf_counter() - prepared

    def __call__(self, texts: list[str]) -> list[str]:
        """The class of each text."""
        found, _ = self._fitted.predict([self._line(text) for text in texts])
        return [self._names[best] for (best,) in found]


def fasttext_bigrams(
    train: LabelledTexts,
    part: LabelledTexts,
    held: LabelledTexts,
    *,
    epochs: tuple[int, ...],
    threads: int = 1,
    line: Callable[[str], str] = spaced,
) -> FastText:
    """fastText with bigrams; learning rate and epochs are chosen on the validation part."""
    choices = product((0.1, 0.25, 0.5), epochs)
    best = max(choices, key=lambda choice: share_right(FastText(part, *choice, line=line), held))
    return FastText(train, *best, threads=threads, line=line)


def sharpness(classifier: ICapsClassifier, texts: list[str]) -> float:
    """The mean over texts and capsules of the largest routing weight, from 1 / J to 1."""
    encoded = encode(classifier.vocabulary_, texts, classifier.network_.config)
    corpus = Corpus.from_tokens(encoded, [0] * len(texts))
    with torch.inference_mode():
        largest = [
            classifier.network_(corpus.select(rows).tokens()).routing.amax(2).mean(1)
            for rows in np.array_split(np.arange(len(texts)), 1 + len(texts) // 512)
        ]
    return float(torch.cat(largest).mean())


def take(data: LabelledTexts, rows: np.ndarray) -> LabelledTexts:
    """The texts of these rows."""
    return dataclasses.replace(
        data, texts=[data.texts[n] for n in rows], labels=[data.labels[n] for n in rows]
    )


def hold_out(train: LabelledTexts, seed: int = 0) -> list[LabelledTexts]:
    """Splits into nine tenths, and the tenth on which settings of a baseline are chosen."""
    rows = train_test_split(
        np.arange(len(train.texts)), test_size=0.1, stratify=train.labels, random_state=seed
    )
    return [take(train, row) for row in rows]


def baselines(
    train: LabelledTexts, test: LabelledTexts, fasttext_epochs: tuple[int, ...] = (10,)
) -> dict[str, list[Result]]:
    """Accuracy of each baseline, with settings chosen on a tenth of the training texts."""
    part, held = hold_out(train)
    fits = {
        "TF-IDF(1,2) + LinearSVC": linear(LinearSVC, "svc", (0.1, 0.25, 0.5, 1.0)),
        "TF-IDF(1,2) + LogisticRegression": linear(
            partial(LogisticRegression, max_iter=300), "logistic", (10.0, 30.0)
        ),
        "fastText, bigrams": partial(fasttext_bigrams, epochs=fasttext_epochs),
    }
    return {name: [Result(share_right(fit(train, part, held), test))] for name, fit in fits.items()}


def capsules(
    train: LabelledTexts, test: LabelledTexts, options: argparse.Namespace
) -> dict[str, list[Result]]:
    """Accuracy and sharpness of iCapsNet, its controls and an option, for each seed."""
    settings = dict(text.split("=", 1) for text in options.set)
    squash = str(settings.get("squash_primary") != "true").lower()
    shuffled = random.Random(0).sample(train.labels, len(train.labels))
    kinds = {
        "iCapsNet": (ICapsClassifier, {}, train.labels),
        "control: uniform attention": (UniformAttention, {}, train.labels),
        "control: r = 1": (ICapsClassifier, {"routing_iterations": "1"}, train.labels),
        f"option: squash_primary={squash}": (
            ICapsClassifier,
            {"squash_primary": squash},
            train.labels,
        ),
        "control: shuffled labels": (ICapsClassifier, {"epochs": "1"}, shuffled),
        "control: untrained": (
            ICapsClassifier,
            {"learning_rate": "1e-12", "epochs": "1"},
            train.labels,
        ),
    }
    results: dict[str, list[Result]] = {}
    for name, (kind, changes, labels) in kinds.items():
        for seed in range(options.seeds if name == "iCapsNet" else options.control_seeds):
            seeded = settings | changes | {"seed": str(seed)}
            network = kind(*override(ModelConfig(), TrainConfig(), seeded), options.vectors)
            started = time.perf_counter()
            network.fit(train.texts, labels)
            result = Result(share_right(network.predict, test), sharpness(network, test.texts))
            results.setdefault(name, []).append(result)
            tell(f"{name}, seed {seed}", result, network, time.perf_counter() - started)
    return results


def tell(name: str, result: Result, network: ICapsClassifier, seconds: float) -> None:
    """Prints a line about a finished training to standard error."""
    print(
        f"{name}: {result.accuracy:.2f} (validation "
        f"{100 * network.metrics_['validation_accuracy']:.2f}, best epoch "
        f"{network.metrics_['best_epoch']}, {seconds:.0f} s)",
        file=sys.stderr,
        flush=True,
    )


def main() -> None:
    """Trains and scores all models, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="folder with train and test files")
    parser.add_argument(
        "--vectors", action="append", help="as icaps train takes it; may be repeated"
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--control-seeds", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    train, test = (read_part(Path(options.data), part) for part in ("train", "test"))
    results = baselines(train, test) | capsules(train, test, options)
    if options.json:
        rows = {name: [dataclasses.asdict(r) for r in runs] for name, runs in results.items()}
        print(json.dumps(rows))
        return
    print("| model | test accuracy, % | each seed | largest β |\n|---|---|---|---|")
    for name, runs in results.items():
        mean = np.mean([run.accuracy for run in runs])
        seeds = ", ".join(f"{run.accuracy:.2f}" for run in runs)
        betas = [run.largest_beta for run in runs if run.largest_beta is not None]
        print(f"| {name} | {mean:.2f} | {seeds} | {f'{np.mean(betas):.3f}' if betas else ''} |")


if __name__ == "__main__":
    main()
