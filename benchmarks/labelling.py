"""Labelling simulated with known labels: accuracy by number of labels, for orders of texts.

    python -m benchmarks.labelling [--data NAME ...] [--seeds 0 1 2] [--quick]
        [--results FILE] [--json]

Of each data set a random part of the training texts, another one per seed, is a labelling task
(`icaps.label`). The file's labels are given in the default order of texts, or in random order, and
the network is trained on the labels so far, at some numbers of labels; the SVM on those in random
order. The accuracy is that on a fixed part of the test texts. "Labels to reach" a target are
interpolated between two numbers of labels, on the mean over seeds.

With --quick the logistic regression by which the default order finds uncertain texts takes the
network's place; it is trained in milliseconds. Its features are of the task's and the test's texts.

A class with a single label so far is left out of a training, which needs two of each.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import machine
from benchmarks.own_labels import shared_folder
from icaps.baselines.linear import fit_linear
from icaps.classifier import ICapsClassifier
from icaps.data.source import LabelledTexts, read_part
from icaps.label.defaults import DEFAULT, RANDOM
from icaps.label.features import text_features
from icaps.label.informative import ComparedTexts
from icaps.label.order import Order
from icaps.label.task import LabelTask

POOL, TESTED = 3_000, 2_000  # texts of a task, and test texts, at most
STEP = 20  # labels that are given at a time
ICAPS_OURS, ICAPS_RANDOM, SVM_RANDOM = "icaps, our order", "icaps, random", "SVM, random"
QUICK_OURS, QUICK_RANDOM = "quick model, our order", "quick model, random"
SYSTEMS = (ICAPS_OURS, ICAPS_RANDOM, SVM_RANDOM)
QUICK_SYSTEMS = (QUICK_OURS, QUICK_RANDOM)
QUICK_SIZES = (40, 60, 80, 100, 140, 180, 220, 260, 300, 360, 420, 500, 600, 700)
SVM_SIZES = (100, 200, 400, 800, 1_200, 1_600, 2_000, 2_700)


@dataclass(frozen=True)
class Setting:
    """What is measured of a data set.

    Attributes:
        target: The accuracy to reach.
        ours, random: Numbers of labels at which the network is trained, in our and random order.
        model, train: Settings of the network and its training that replace those of the recipe.
        step: Labels that are given at a time.
    """

    target: float
    ours: tuple[int, ...]
    random: tuple[int, ...]
    model: dict[str, Any]
    train: dict[str, Any]
    step: int = STEP


# The targets of trec and newsgroups are 80% of the accuracy with all labels (benchmarks/README.md).
SETTINGS = {
    "trec": Setting(0.8 * 0.924, (50, 75, 110), (110, 150, 200), {}, {}),
    "ag_news": Setting(0.85, (100, 150, 220), (220, 300, 440), {}, {}),
    "newsgroups_5k": Setting(
        0.8 * 0.662, (225, 310), (450, 620), {"max_words": 150}, {"epochs": 15}, 45
    ),
}


@dataclass(frozen=True)
class Measurement:
    """The accuracy of one model."""

    data: str
    system: str
    seed: int
    labels: int
    accuracy: float


def pool_of(train: LabelledTexts, seed: int) -> dict[str, str]:
    """The texts of a task with their labels: `POOL` training texts, without repeated ones."""
    chosen = np.random.default_rng(seed).permutation(len(train.texts))[:POOL]
    return {train.texts[n]: train.labels[n] for n in chosen if train.texts[n].strip()}


def label_in_order(
    task: LabelTask, labels: dict[str, str], order: str, sizes: Sequence[int], step: int
) -> Iterator[list[tuple[str, str]]]:
    """Gives labels up to each size in turn; yields the labelled texts."""
    for size in sizes:
        while (left := size - task.progress().labelled) > 0:
            count = min(step, left)
            items = task.queue(count, Order(order, batch=count))
            task.give_many([(item.id, labels[item.text]) for item in items])
        known = list(task.labels())
        yield list(
            zip(task.text(one.id for one in known), (one.label for one in known), strict=True)
        )


def with_two(labelled: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Texts and labels of the classes that have two labels or more."""
    counts = Counter(label for _, label in labelled)
    pairs = [(text, label) for text, label in labelled if counts[label] > 1]
    return [text for text, _ in pairs], [label for _, label in pairs]


def fit_svm(texts: Sequence[str], labels: Sequence[str], seed: int) -> Any:
    """The SVM of `icaps baseline linear`, on nine tenths, its strength by the last tenth."""
    classes, numbers = np.unique(np.array(labels, dtype=object), return_inverse=True)
    places = np.random.default_rng(seed).permutation(len(texts))
    held_out, training = np.split(places, [len(texts) // 10])
    seen = np.unique(numbers[training])
    held_out = held_out[np.isin(numbers[held_out], seen)]
    return fit_linear(
        classes[seen],
        ([texts[n] for n in training], np.searchsorted(seen, numbers[training])),
        ([texts[n] for n in held_out], np.searchsorted(seen, numbers[held_out])),
        seed,
        lambda _: None,
    )


def measure(name: str, system: str, seed: int, folder: Path) -> Iterator[Measurement]:
    """Simulates the labelling of a data set, and yields the accuracy at each size."""
    setting = SETTINGS[name]
    labels = pool_of(read_part(folder / name, "train"), seed)
    test = read_part(folder / name, "test")
    tested = np.random.default_rng(0).permutation(len(test.texts))[:TESTED]
    texts, truth = [test.texts[n] for n in tested], np.array([test.labels[n] for n in tested])
    order = DEFAULT if system in (ICAPS_OURS, QUICK_OURS) else RANDOM
    own = {ICAPS_OURS: setting.ours, ICAPS_RANDOM: setting.random, SVM_RANDOM: SVM_SIZES}
    sizes = own.get(system, QUICK_SIZES)
    compared = None
    if system in QUICK_SYSTEMS:
        compared = ComparedTexts.from_features(text_features([*labels, *texts], seed))
    sizes = [size for size in sizes if size <= len(labels)]
    with tempfile.TemporaryDirectory() as scratch:
        classes = sorted(set(labels.values()))
        task = LabelTask.create(f"{scratch}/task", list(labels), classes, held_out=0, seed=seed)
        for labelled in label_in_order(task, labels, order, sizes, setting.step):
            known, names = with_two(labelled)
            if compared is not None:
                accuracy = quick_accuracy(compared, list(labels), known, names, truth)
                yield Measurement(name, system, seed, len(labelled), accuracy)
                continue
            if system == SVM_RANDOM:
                model: Any = fit_svm(known, names, seed)
            else:
                train = {**setting.train, "seed": seed}
                model = ICapsClassifier(setting.model, train).fit(known, names)
            accuracy = float((model.predict(texts) == truth).mean())
            yield Measurement(name, system, seed, len(labelled), accuracy)


def quick_accuracy(
    compared: ComparedTexts,
    texts: list[str],
    known: Sequence[str],
    names: Sequence[str],
    truth: NDArray[Any],
) -> float:
    """The accuracy of the quick model on the test texts, which follow those of the task."""
    place = {text: n for n, text in enumerate(texts)}
    tested = np.arange(len(texts), len(texts) + len(truth))
    scores = compared.quick_scores(np.array([place[text] for text in known]), names, tested)
    assert scores is not None
    predicted = np.array(scores.classes, dtype=object)[scores.probabilities.argmax(1)]
    return float((predicted == truth).mean())


def mean_curve(runs: Sequence[Measurement]) -> list[tuple[int, float]]:
    """The mean accuracy by number of labels, where all seeds were measured."""
    seeds = len({run.seed for run in runs})
    sizes = sorted({run.labels for run in runs})
    by_size = {n: [run.accuracy for run in runs if run.labels == n] for n in sizes}
    return [(n, float(np.mean(values))) for n, values in by_size.items() if len(values) == seeds]


def labels_to_reach(curve: Sequence[tuple[int, float]], target: float) -> float | None:
    """The number of labels at which a curve reaches a target; None if it does not.

    A curve that begins above it gives its first number, an upper bound.
    """
    before: tuple[int, float] | None = None
    for size, accuracy in curve:
        if accuracy >= target:
            if before is None:
                return float(size)
            share = (target - before[1]) / (accuracy - before[1])
            return before[0] + share * (size - before[0])
        before = size, accuracy
    return None


def report(runs: Sequence[Measurement]) -> dict[str, Any]:
    """Curves and labels to reach the target, by data set and system."""
    result: dict[str, Any] = {}
    for name, setting in SETTINGS.items():
        rows: dict[str, Any] = {}
        for system in (*SYSTEMS, *QUICK_SYSTEMS):
            own = [run for run in runs if (run.data, run.system) == (name, system)]
            if own:
                curve = mean_curve(own)
                rows[system] = {
                    "seeds": sorted({run.seed for run in own}),
                    "curve": curve,
                    "labels": labels_to_reach(curve, setting.target),
                }
        if rows:
            result[name] = {"target": setting.target, "systems": rows}
    return result


def lines(result: dict[str, Any]) -> Iterator[str]:
    """The report as lines of text."""
    for name, facts in result.items():
        yield f"{name}: labels to reach {facts['target']:.1%}"
        for system, row in facts["systems"].items():
            reached = "not reached" if row["labels"] is None else f"{row['labels']:.0f}"
            curve = ", ".join(f"{n}: {accuracy:.1%}" for n, accuracy in row["curve"])
            yield f"  {system}: {reached} ({curve}; seeds {row['seeds']})"


def main() -> int:
    """Measures what FILE does not have yet, and prints the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=shared_folder(), help="of the data sets")
    parser.add_argument("--data", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--quick", action="store_true", help="the quick model, not the network")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--results", type=Path, metavar="FILE", help="continued by the next call")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    runs: list[Measurement] = []
    if options.results and options.results.exists():
        rows = options.results.read_text().splitlines()
        runs = [Measurement(**json.loads(row)) for row in rows]
    for name in options.data:
        for seed in options.seeds:
            for system in QUICK_SYSTEMS if options.quick else options.systems:
                if any((r.data, r.system, r.seed) == (name, system, seed) for r in runs):
                    continue
                started = time.monotonic()
                new = []
                for run in measure(name, system, seed, options.folder):
                    new.append(run)
                    seconds = time.monotonic() - started
                    print(f"{run} after {seconds:.0f} s", file=sys.stderr, flush=True)
                runs += new
                if options.results:
                    with options.results.open("a") as file:
                        file.writelines(json.dumps(asdict(run)) + "\n" for run in new)
    result = report(runs)
    print(json.dumps(result) if options.json else "\n".join([*lines(result), machine()]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
