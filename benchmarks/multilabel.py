"""Several labels per text: scores beside one-vs-rest TF-IDF SVMs, and two ways of routing.

    python -m benchmarks.multilabel --data FOLDER [--words 30] [--seeds 0 1 2] [--json]

The data set is built from one with a label per text (20 Newsgroups, DBPedia): its texts are
shuffled, and of each four documents, on average, one is a text alone and three are a text and the
next one of another class, joined by a line end. So a document has one label or two, and no text is
in two documents, nor in documents of both parts. `--words` cuts each text to its first words.

The SVM's C, all thresholds and the calibration are chosen on the tenth of the training documents
that the network holds out too, by the same split; the test documents are used once, at the end. For
the SVM both the thresholds of `train.label_thresholds` and its own, 0, are shown. The accounts of
all classes of some test documents are added up and compared with the norms.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import average_precision_score, f1_score, hamming_loss
from sklearn.svm import LinearSVC

from icaps.classifier import ICapsClassifier
from icaps.config import ROUTINGS, TrainConfig, parse_settings
from icaps.data.source import read_part
from icaps.stats import macro_f1_of_sets
from icaps.train.label_thresholds import fit_thresholds
from icaps.train.labels import encode_label_sets
from icaps.train.split import split

STRENGTHS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)  # C of the SVM
LEAST_WORDS = 5  # of a text that is used
ALONE = 0.25  # share of documents that are one text
ACCOUNTS = 100  # test documents whose accounts are added up

Mask = NDArray[np.bool_]


class Documents(NamedTuple):
    """Texts with the names of their classes, sorted."""

    texts: list[str]
    labels: list[list[str]]


def join_texts(texts: Sequence[str], labels: Sequence[str], seed: int) -> Documents:
    """Documents of one text, or of two texts of different classes; each text is in one document."""
    rng = random.Random(seed)
    left = list(zip(texts, labels, strict=True))
    rng.shuffle(left)
    documents = Documents([], [])
    while left:
        text, label = left.pop()
        names = {label}
        others = range(len(left) - 1, -1, -1)
        other = next((n for n in others if left[n][1] != label), None)
        if rng.random() >= ALONE and other is not None:
            second, name = left.pop(other)
            text, names = f"{text}\n{second}", {label, name}
        documents.texts.append(text)
        documents.labels.append(sorted(names))
    return documents


def read_documents(folder: str, part: str, words: int) -> Documents:
    """The documents of a part of a data set with one label per text."""
    data = read_part(folder, part)
    kept = [
        (" ".join(text.split()[:words]), label)
        for text, label in zip(data.texts, data.labels, strict=True)
        if len(text.split()) >= LEAST_WORDS
    ]
    texts, labels = zip(*kept, strict=True)
    return join_texts(texts, labels, seed=0)


def scores(truth: Mask, predicted: Mask, ranking: NDArray[np.floating[Any]]) -> dict[str, float]:
    """Scores in percent; `ranking` (documents, J) orders the documents of each class."""
    known = truth.any(0)
    return {
        "macro F1": 100 * macro_f1_of_sets(truth, predicted),
        "micro F1": 100 * f1_score(truth, predicted, average="micro"),
        "average precision": 100
        * average_precision_score(truth[:, known], ranking[:, known], average="macro"),
        "all labels right": 100 * float((truth == predicted).all(1).mean()),
        "Hamming loss": 100 * hamming_loss(truth, predicted),
    }


def linear(train: Documents, test: Documents, seed: int) -> dict[str, dict[str, float]]:
    """Scores of one SVM per class on TF-IDF weights, with fitted thresholds and with 0."""
    classes, labels, label_sets = encode_label_sets(*train)
    assert label_sets is not None
    truth = label_sets[labels]
    parts = split(labels, len(classes), TrainConfig(seed=seed), label_sets)
    training, held_out = (np.sort(part) for part in parts)
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    features = vectorizer.fit_transform([train.texts[n] for n in training])
    held_out_features = vectorizer.transform([train.texts[n] for n in held_out])
    best: tuple[float, list[LinearSVC], Any] | None = None
    for strength in STRENGTHS:
        machines = [
            LinearSVC(C=strength, random_state=seed).fit(features, column)
            for column in truth[training].T
        ]
        found = decide(machines, held_out_features)
        thresholds = fit_thresholds(found, truth[held_out])
        f1 = macro_f1_of_sets(truth[held_out], thresholds.predicted(found))
        if best is None or f1 > best[0]:
            best = f1, machines, thresholds
    assert best is not None
    _, machines, thresholds = best
    found = decide(machines, vectorizer.transform(test.texts))
    wanted = indicator_of(test, classes.tolist())
    return {
        "SVMs, thresholds fitted": scores(wanted, thresholds.predicted(found), found),
        "SVMs, thresholds of 0": scores(wanted, found > 0, found),
    }


def decide(machines: Sequence[LinearSVC], features: Any) -> NDArray[np.float64]:
    """The scores of all classes (documents, J)."""
    return np.stack([machine.decision_function(features) for machine in machines], axis=1)


def indicator_of(documents: Documents, classes: Sequence[str]) -> Mask:
    """Whether a document has a class (documents, J)."""
    return np.array([[name in names for name in classes] for names in documents.labels])


def capsules(
    train: Documents, test: Documents, routing: str, seed: int, settings: dict[str, str]
) -> tuple[dict[str, float], float]:
    """Scores of a capsule network, and the largest difference of an account from its norm."""
    model, training = parse_settings({"routing": routing, "seed": str(seed), **settings})
    classifier = ICapsClassifier(model, training, device="cpu").fit(*train)
    found = classifier.predict_proba(test.texts)
    predicted = classifier.predict(test.texts) > 0
    wanted = indicator_of(test, classifier.classes_.tolist())
    difference = max(
        float(np.abs(explanation.account.totals - explanation.scores).max())
        for explanation in classifier.explain(test.texts[:ACCOUNTS])
    )
    return scores(wanted, predicted, found), difference


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark and prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", required=True, metavar="FOLDER")
    parser.add_argument("--words", type=int, default=30, help="words of a text that are used")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2], metavar="N")
    parser.add_argument("--routing", nargs="*", default=list(ROUTINGS), choices=ROUTINGS)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    settings = dict(text.split("=", 1) for text in options.set)
    train, test = (read_documents(options.data, part, options.words) for part in ("train", "test"))
    labels = sum(map(len, train.labels)) / len(train.labels)
    print(
        f"{len(train.texts)} training and {len(test.texts)} test documents, {labels:.2f} labels on "
        "average",
        file=sys.stderr,
    )
    results: dict[str, list[dict[str, float]]] = {}
    differences = []
    for seed in options.seeds:
        for name, row in linear(train, test, seed).items():
            results.setdefault(name, []).append(row)
        for routing in options.routing:
            started = time.perf_counter()
            row, difference = capsules(train, test, routing, seed, settings)
            seconds = time.perf_counter() - started
            results.setdefault(f"iCapsNet, routing {routing}", []).append(row)
            differences.append(difference)
            print(f"seed {seed}, routing {routing}: {seconds:.0f} s, {row}", file=sys.stderr)
    if options.json:
        print(json.dumps({"results": results, "account": max(differences, default=0.0)}))
        return
    for name, rows in results.items():
        columns = {key: [row[key] for row in rows] for key in rows[0]}
        means = ", ".join(f"{key} {np.mean(values):.2f}" for key, values in columns.items())
        each = ", ".join(f"{value:.2f}" for value in columns["macro F1"])
        print(f"{name}: {means} (macro F1 of each seed: {each})")
    print(f"largest difference of an account from its norm: {max(differences, default=0.0):.1e}")


if __name__ == "__main__":
    main()
