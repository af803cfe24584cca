"""Time of corpus-level interpretation relative to prediction of the same texts.

    python -m benchmarks.interpreting --model checkpoints/ag_news --data ag_news

The sides run in turns; each time is the median of --rounds. Then the peak memory of counting 1, 2
and 4 times the texts, each in its own process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from statistics import median

import torch

from benchmarks.machine import peak
from icaps.classifier import ICapsClassifier
from icaps.data.resolve import resolve
from icaps.data.source import Source, open_source
from icaps.inference import Reading, read_labelled
from icaps.interpret.ablation import smallest_set
from icaps.interpret.account import BatchAccount
from icaps.interpret.corpus import CorpusCounts, Tally, count_corpus, find_winners

TIMES = (1, 2, 4)


def main() -> None:
    """Times each side and prints the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="checkpoints/ag_news")
    parser.add_argument("--data", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--memory-of", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    classifier = ICapsClassifier.load(options.model, device="cpu")
    source = open_source(resolve(options.data), "test")
    if options.memory_of:
        count_corpus(
            classifier, chain.from_iterable(map(_pairs, repeat(source, options.memory_of)))
        )
        print(peak())
        return
    rows = _measure(classifier, list(_pairs(source)), options.rounds)
    rows |= {f"peak memory, {n} x the texts, MB": _memory(options, n) for n in TIMES}
    if options.json:
        print(json.dumps(rows))
        return
    print("| what | value |\n|---|---|")
    for name, value in rows.items():
        print(f"| {name} | {value:,.2f} |")


def _measure(
    classifier: ICapsClassifier, pairs: list[tuple[str, str]], rounds: int
) -> dict[str, float]:
    sample = count_corpus(classifier, pairs).sample  # which warms up, too
    sides: dict[str, Callable[[], object]] = {
        "plain prediction": lambda: classifier.predict([text for text, _ in pairs]),
        "C and its by-products": lambda: _tally(classifier, pairs),
        "the knock-out table": lambda: _knock_out(classifier, pairs),
        "both in one pass": lambda: count_corpus(classifier, pairs),
        "the smallest set": lambda: smallest_set(classifier.network_.capsules, sample),
    }
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, run in sides.items():
            started = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - started)
    plain = median(times["plain prediction"])
    rows = {f"{name}, s": median(seconds) for name, seconds in times.items()}
    return rows | {f"{name}, x plain": median(s) / plain for name, s in times.items()}


def _tally(classifier: ICapsClassifier, pairs: list[tuple[str, str]]) -> None:
    tally = Tally.empty(len(classifier.classes_), classifier.network_.config.num_capsules)
    for batch in _passes(classifier, pairs):
        winners = find_winners(BatchAccount(classifier.network_, batch))
        tally.add(winners, int(batch.blank.sum()))


def _knock_out(classifier: ICapsClassifier, pairs: list[tuple[str, str]]) -> None:
    knock_out = CorpusCounts.empty(classifier).knock_out
    for batch in _passes(classifier, pairs):
        winners = find_winners(BatchAccount(classifier.network_, batch))
        knock_out.add(classifier.network_, batch, winners.capsules)


def _passes(classifier: ICapsClassifier, pairs: list[tuple[str, str]]) -> Iterator[Reading]:
    classes = [str(name) for name in classifier.classes_]
    return read_labelled(classifier.network_, classifier.vocabulary_, classes, pairs)


def _memory(options: argparse.Namespace, times: int) -> float:
    command = [sys.executable, "-m", "benchmarks.interpreting", "--model", options.model]
    command += ["--data", options.data, "--memory-of", str(times)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _pairs(source: Source) -> Iterator[tuple[str, str]]:
    return ((record.text, record.label) for record in source)


if __name__ == "__main__":
    main()
