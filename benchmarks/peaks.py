"""Peak memory of prediction and explanation by the lengths of the texts of a batch.

    python -m benchmarks.peaks [--model FOLDER] [--json]

Compares one text of 20,000 words among 2,000 short ones with the short ones alone, and with as many
words in short texts. Each peak is that of its own process, which reads its texts twice, so that all
of them have made the lookup table. Texts are read as the model was trained, truncated where it
truncates them, and then whole. The first row is that of a loaded model that reads nothing.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from benchmarks.explaining import ROOT, make_texts
from benchmarks.machine import machine, peak
from icaps.classifier import ICapsClassifier

SHORT, SHORT_WORDS, LONG_WORDS = 2_000, 40, 20_000
READINGS = ("cut", "whole")
OPERATIONS = ("prediction", "explanation")
NOTHING, ALONE, ONE_LONG = "none", "short ones alone", "with one long text"
TEXTS = (NOTHING, ALONE, ONE_LONG, "with as many words in short ones")


class Row(NamedTuple):
    """The peak memory for one kind of texts."""

    reading: str
    operation: str
    texts: str
    peak_mb: float
    against_short_alone: float


def texts_of(kind: str, classifier: ICapsClassifier) -> list[str]:
    """Texts of words as frequent as in the training texts."""
    if kind == NOTHING:
        return []
    short = make_texts(classifier, SHORT)
    if kind == ALONE:
        return short
    words = " ".join(short).split()[:LONG_WORDS]
    length = LONG_WORDS if kind == ONE_LONG else SHORT_WORDS
    added = [" ".join(words[n : n + length]) for n in range(0, LONG_WORDS, length)]
    return [*short[: SHORT // 2], *added, *short[SHORT // 2 :]]


def megabytes(model: str, reading: str, operation: str, kind: str) -> float:
    """The peak of this process when it has read the texts twice."""
    classifier = ICapsClassifier.load(model, device="cpu")
    if reading == "whole":
        config = dataclasses.replace(classifier.network_.config, max_words=None, max_sentences=None)
        classifier.network_.config = config
    texts = texts_of(kind, classifier)
    for _ in range(2):
        if operation == "prediction":
            classifier.predict(texts)
        else:
            deque(classifier.explain(texts), maxlen=0)
    return peak()


def measure(model: str, rounds: int) -> Iterator[Row]:
    """The median peak of each kind of texts, and its ratio to that of the short texts alone."""
    for reading in READINGS:
        for operation in OPERATIONS:
            found = {}
            for kind in TEXTS:
                command = [sys.executable, "-m", "benchmarks.peaks", "--model", model]
                command += ["--of", reading, operation, kind]
                runs = [
                    float(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
                    for _ in range(rounds)
                ]
                found[kind] = median(runs)
            for kind, value in found.items():
                yield Row(reading, operation, kind, round(value, 1), round(value / found[ALONE], 3))


def main() -> None:
    """Measures each peak in a process of its own, and prints a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=str(ROOT / "checkpoints" / "ag_news"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--of", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.of:
        print(megabytes(options.model, *options.of))
        return
    rows = measure(options.model, options.rounds)
    if options.json:
        figures = {"machine": machine(), "rows": [row._asdict() for row in rows]}
        print(json.dumps(figures))
        return
    print("| texts are read | operation | texts | peak, MB | against the short ones alone |")
    print("|---|---|---|---|---|")
    for *words, megabytes_, ratio in rows:
        print(f"| {' | '.join(words)} | {megabytes_:.0f} | {ratio:.2f} |", flush=True)
    print(f"\n{machine()}")


if __name__ == "__main__":
    main()
