"""What an explanation costs beside a prediction, and how long one text takes.

    python -m benchmarks.explaining [--model FOLDER] [--quick] [--json]

The texts are words of the model's own vocabulary, drawn by their frequency, in the lengths of
news items. Both sides answer the same texts in turn, in one process; medians are reported.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from icaps.classifier import ICapsClassifier

ROOT = Path(__file__).resolve().parents[1]
WORDS = (15, 60)  # shortest and longest text


def make_texts(classifier: ICapsClassifier, count: int) -> list[str]:
    """Texts of words as frequent as in the training texts."""
    random_words = random.Random(0)
    words, counts = classifier.vocabulary_.words[2:], classifier.vocabulary_.counts[2:]
    lengths = [random_words.randint(*WORDS) for _ in range(count)]
    drawn = iter(random_words.choices(words, counts, k=sum(lengths)))
    return [" ".join(next(drawn) for _ in range(length)) for length in lengths]


def seconds(run: Callable[[], Any]) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def measure(classifier: ICapsClassifier, texts: list[str], rounds: int) -> dict[str, Any]:
    """Median times of both sides."""

    def explain() -> None:
        deque(classifier.explain(texts), maxlen=0)

    def explain_one(text: str) -> None:
        (explanation,) = classifier.explain([text])
        explanation.to_dict()

    explain()  # warm
    pairs = [(seconds(lambda: classifier.predict(texts)), seconds(explain)) for _ in range(rounds)]
    predicting, explaining = (statistics.median(side) for side in zip(*pairs, strict=True))
    single = [1e3 * seconds(lambda text=text: explain_one(text)) for text in texts[:300]]
    return {
        "texts": len(texts),
        "predict_texts_per_second": round(len(texts) / predicting),
        "explain_texts_per_second": round(len(texts) / explaining),
        "explain_over_predict": round(statistics.median(e / p for p, e in pairs), 3),
        "one_text_ms_median": round(statistics.median(single), 2),
        "one_text_ms_95": round(statistics.quantiles(single, n=20)[-1], 2),
        "machine": f"{platform.machine()}, {torch.get_num_threads()} threads, "
        f"torch {torch.__version__}",
    }


def main() -> None:
    """Runs both sides and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=ROOT / "checkpoints" / "ag_news")
    parser.add_argument("--quick", action="store_true", help="fewer texts and rounds")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    classifier = ICapsClassifier.load(options.model, device="cpu")
    count, rounds = (1_000, 3) if options.quick else (5_000, 7)
    figures = measure(classifier, make_texts(classifier, count), rounds)
    if options.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name.replace('_', ' ')}: {value}")


if __name__ == "__main__":
    main()
