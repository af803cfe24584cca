"""Plain `icaps train` on other people's data sets, compared with three baselines, over seeds.

    python -m benchmarks.own_labels [--data NAME ...] [--systems NAME ...] [--seeds 0 1 2]
        [--unlabelled] [--results FILE] [--json]
    python -m benchmarks.own_labels --quick --json

`icaps train` and `icaps baseline` run as a user starts them, with --data, --out and --seed only,
each as a process on two cores with an empty cache; the seconds are those of the whole process, with
its start and its test. Logistic regression is that of `benchmarks.accuracy`, on the TF-IDF of the
SVM, and runs in this process. Each system is given the same training texts, of which it holds out a
part itself, and reads the test texts once, at the end.

A data set is the folder of its files, or "NAME:LABELS": as many of its training texts, a stratified
sample that differs by seed, as a CSV file with the names of the classes. With --unlabelled the
other training texts are given to one more `icaps train`, without their labels.

After each training its measurement is written to --results. A later call with the same file
continues there; measurements of another commit are reported as well, and --again repeats them.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from benchmarks.accuracy import fit_linear_pipeline, hold_out, take
from benchmarks.machine import machine
from benchmarks.own_labels_report import (
    AG_NEWS,
    FASTTEXT,
    ICAPS,
    LINEAR,
    LOGISTIC,
    NEWSGROUPS,
    TITLES,
    UNLABELLED,
    Measurement,
    Report,
    quick_figures,
)
from icaps.classifier import ICapsClassifier
from icaps.config import ExplainOptions
from icaps.data.atomic import read_json, write_json
from icaps.data.cache import FOLDER_SETTING
from icaps.data.sample import draw_sample
from icaps.data.source import LabelledTexts, open_source, read_part
from icaps.errors import ICapsError
from icaps.evaluate.scores import evaluate
from icaps.faithfulness.choices import covered_words, random_places
from icaps.faithfulness.eraser import measure
from icaps.faithfulness.texts import read_explained
from icaps.interpret.controls import alive, purity
from icaps.interpret.corpus import count_corpus
from icaps.train.checkpoint_files import METRICS

ROOT = Path(__file__).resolve().parents[1]
DATA = (
    "trec",
    "movie_reviews",
    "sst2",
    NEWSGROUPS,
    "dbpedia_10k",
    "yelp_5_10k",
    "clinc150",
    "movies_rationales",
    f"{AG_NEWS}:200",
    f"{AG_NEWS}:1000",
    f"{AG_NEWS}:10000",
    AG_NEWS,
)
QUICK = ("trec", "movie_reviews", NEWSGROUPS, "clinc150")
SYSTEMS = (ICAPS, LINEAR, LOGISTIC, FASTTEXT)
CORES = 2
TESTED_TEXTS = 300  # of which K-grams are compared with random words
STRENGTHS = (1.0, 3.0, 10.0, 30.0)  # values of C of logistic regression
SETTING = "ICAPS_BENCHMARK_DATA"  # environment variable: the folder of the data sets


class CommandError(Exception):
    """A command has failed; the message is the end of its output."""


def shared_folder() -> Path:
    """The folder of the data sets: SETTING, or `shared/data` in a folder above the repository."""
    if setting := os.environ.get(SETTING):
        return Path(setting).expanduser().resolve()
    places = [folder / "shared" / "data" for folder in ROOT.parents]
    return next((place for place in places if place.is_dir()), places[0])


def split_name(name: str) -> tuple[str, int | None]:
    """The data set, and the number of labels, of "NAME" or "NAME:LABELS".

    Raises:
        ValueError: The number of labels is not a positive integer.
    """
    data, colon, labels = name.partition(":")
    if colon and int(labels) < 1:
        raise ValueError(f"{name} has no labels")
    return data, int(labels) if colon else None


def draw_labels(train: LabelledTexts, count: int, seed: int) -> tuple[LabelledTexts, LabelledTexts]:
    """A stratified sample of `count` texts, and the other texts."""
    chosen, rest = train_test_split(
        np.arange(len(train.texts)), train_size=count, stratify=train.labels, random_state=seed
    )
    return take(train, chosen), take(train, rest)


def write_csv(path: Path, data: LabelledTexts, *, labels: bool = True) -> None:
    """Writes texts with the names of their classes, or without labels."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("text", "label") if labels else ("text",))
        writer.writerows(zip(data.texts, data.labels, strict=True) if labels else zip(data.texts))


_read_part = cache(read_part)


class Bench:
    """Trains and tests systems on the data sets of a folder.

    Args:
        folder: The folder of the data sets.
        scratch: An empty folder, for files that are not needed later.
        models: A folder in which the models of icaps stay; None deletes them.
        reasons: Whether K-grams are compared with random words.

    Attributes:
        code: The commit of the code.
    """

    def __init__(
        self, folder: Path, scratch: Path, models: Path | None = None, *, reasons: bool = True
    ) -> None:
        self._folder, self._scratch, self._models = folder, scratch, models
        self._reasons = reasons
        self.code = _commit()

    def measure(self, name: str, system: str, seed: int) -> Measurement:
        """Trains and tests a system.

        Raises:
            CommandError: A command has failed.
            ICapsError: The data cannot be read.
        """
        data, unlabelled = self._prepare(name, seed)
        with tempfile.TemporaryDirectory(dir=self._scratch) as place:
            model = Path(place) / "model"
            if self._models is not None and system in (ICAPS, UNLABELLED):
                model = self._models / f"{name}-{system}-{seed}".replace(" ", "")
            started = time.perf_counter()
            if system == LOGISTIC:
                test = _fit_logistic(data, seed)
            else:
                test = run_command(_arguments(system, unlabelled), data, model, seed)
            seconds = time.perf_counter() - started
            capsules = {}
            if system in (ICAPS, UNLABELLED):
                capsules = interpret(model, data, reasons=self._reasons)
        support = [row["support"] for row in test["per_class"].values()]
        return Measurement(
            data=name,
            system=system,
            seed=seed,
            texts=len(_read_part(data, "train").texts),
            classes=len(test["classes"]),
            test_texts=test["n"],
            most_frequent=max(support) / test["n"],
            accuracy=test["accuracy"],
            macro_f1=test["macro_f1"],
            seconds=seconds,
            code=self.code,
            **capsules,
        )

    def _prepare(self, name: str, seed: int) -> tuple[Path, Path | None]:
        """The folder of the data, and the file of unlabelled texts where labels are few."""
        data, labels = split_name(name)
        place = self._folder / data
        if labels is None:
            return place, None
        folder = self._scratch / f"{data}-{labels}-{seed}"
        unlabelled = folder.with_suffix(".csv")
        if not folder.exists():
            folder.mkdir()
            chosen, rest = draw_labels(_read_part(place, "train"), labels, seed)
            write_csv(folder / "train.csv", chosen)
            write_csv(folder / "test.csv", _read_part(place, "test"))
            write_csv(unlabelled, rest, labels=False)
        return folder, unlabelled


def _arguments(system: str, unlabelled: Path | None) -> list[str]:
    if system == ICAPS:
        return ["train"]
    if system == UNLABELLED:
        return ["train", "--unlabelled", str(unlabelled)]
    return ["baseline", system]


def run_command(arguments: Sequence[str], data: Path, model: Path, seed: int) -> dict[str, Any]:
    """Runs an `icaps` command that trains a model; returns its test scores.

    Raises:
        CommandError: The command has failed.
    """
    command = [sys.executable, "-m", "icaps", *arguments]
    command += ["--data", str(data), "--out", str(model), "--seed", str(seed)]
    with tempfile.TemporaryDirectory() as cache_folder, tempfile.TemporaryFile("w+") as log:
        environment = os.environ | {FOLDER_SETTING: cache_folder}
        process = subprocess.run(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        if process.returncode:
            log.seek(0)
            raise CommandError(" ".join(log.read().split("\n")[-4:]).strip())
    return dict(read_json(model / METRICS)["test"])


def _fit_logistic(data: Path, seed: int) -> dict[str, Any]:
    """Fits logistic regression on TF-IDF; returns its test scores."""
    train = _read_part(data, "train")
    kind = partial(LogisticRegression, max_iter=300)
    pipeline = fit_linear_pipeline(kind, STRENGTHS, train, *hold_out(train, seed))
    return evaluate(pipeline, open_source(data, "test").pairs())


def interpret(model: Path, data: Path, *, reasons: bool) -> dict[str, Any]:
    """The fields of `Measurement` on capsules and K-grams, of the test texts."""
    classifier = ICapsClassifier.load(model)
    source = open_source(data, "test")
    frequency = count_corpus(classifier, source.pairs()).tally.frequency  # (J, I)
    living = alive(frequency)
    facts = {
        "alive": int(living.sum()),
        "capsules": len(living),
        "capsule_classes": len(set(frequency.argmax(0)[living].tolist())),
        "purity": purity(frequency),
    }
    if reasons:
        texts = read_explained(classifier, draw_sample(source, TESTED_TEXTS, math.inf).texts)
        kgrams = covered_words(texts, ExplainOptions())
        for name, choices in (
            ("comprehensiveness", kgrams),
            ("random_comprehensiveness", random_places(kgrams, seed=0)),
        ):
            effects = measure(texts, choices, "deletion")
            facts[name] = float(effects.comprehensiveness.mean())
    return facts


def read_results(path: Path | None) -> list[Measurement]:
    """The measurements in a file; none if there is no such file."""
    if path is None or not path.exists():
        return []
    return [Measurement(**row) for row in read_json(path)["measurements"]]


def write_results(path: Path, measurements: Sequence[Measurement]) -> None:
    """Writes all measurements; the file is always whole, even if this process is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.part")
    write_json({"measurements": [asdict(run) for run in measurements]}, scratch)
    scratch.replace(path)


def cells(
    data: Sequence[str], systems: Sequence[str], seeds: Sequence[int], *, unlabelled: bool
) -> Iterator[tuple[str, str, int]]:
    """What is measured, in order: all data sets with the first seed, then with the next."""
    for seed in seeds:
        for name in data:
            for system in systems:
                yield name, system, seed
            if unlabelled and split_name(name)[1] is not None:
                yield name, UNLABELLED, seed


def _commit() -> str:
    """The commit of the code, with "-dirty" if files have changed; "" without git."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def measure_all(bench: Bench, options: argparse.Namespace) -> tuple[list[Measurement], bool]:
    """The measurements that the options select, in order, and whether none has failed."""
    repeated = {UNLABELLED if name == "unlabelled" else name for name in options.again}
    stored = {run.key: run for run in read_results(options.results)}
    wanted = list(
        cells(options.data, options.systems, options.seeds, unlabelled=options.unlabelled)
    )
    failed = False
    for key in wanted:
        name, system, seed = key
        if key in stored and (system not in repeated or stored[key].code == bench.code):
            continue
        try:
            run = stored[key] = bench.measure(name, system, seed)
        except (CommandError, ICapsError) as error:
            _say(f"{name}, {TITLES[system]}, seed {seed} failed: {error}")
            failed = True
            continue
        if options.results is not None:
            write_results(options.results, list(stored.values()))
        _say(f"{name}, {TITLES[system]}, seed {seed}: {run.accuracy:.2%}, {run.seconds:.0f} s")
    return [stored[key] for key in wanted if key in stored], not failed


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=shared_folder(), help="of the data sets")
    parser.add_argument(
        "--data", nargs="+", metavar="NAME[:LABELS]", help=f"by default {' '.join(DATA)}"
    )
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS)
    parser.add_argument("--seeds", nargs="+", type=int)
    parser.add_argument(
        "--unlabelled", action="store_true", help="also train with the texts beyond LABELS"
    )
    parser.add_argument(
        "--results",
        type=Path,
        metavar="FILE",
        help="file of the measurements, which the next call continues; by default "
        "runs/own_labels.json, with --quick none",
    )
    parser.add_argument(
        "--again",
        nargs="+",
        default=[],
        choices=(*SYSTEMS, "unlabelled"),
        help="measure these systems again where FILE has measurements of another commit",
    )
    parser.add_argument("--models", type=Path, metavar="DIR", help="a folder for the models")
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"{', '.join(QUICK)} with seed 0, icaps and SVM; --json prints shares",
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.data = options.data or (QUICK if options.quick else DATA)
    options.systems = options.systems or ((ICAPS, LINEAR) if options.quick else SYSTEMS)
    options.seeds = options.seeds or ([0] if options.quick else [0, 1, 2])
    if options.results is None and not options.quick:
        options.results = ROOT / "runs" / "own_labels.json"
    for name in options.data:
        try:
            data, _ = split_name(name)
        except ValueError:
            parser.error(f"{name} is not NAME or NAME:LABELS")
        if not (options.folder / data).is_dir():
            parser.error(f"{options.folder} has no folder {data}; set {SETTING} or --folder")
    return options


def main() -> int:
    """Measures, and prints the table, or JSON; 1 if something has failed."""
    options = _options()
    # So that a terminated benchmark ends the training that it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    with tempfile.TemporaryDirectory() as scratch:
        models = options.models and options.models.resolve()
        bench = Bench(options.folder.resolve(), Path(scratch), models, reasons=not options.quick)
        measurements, whole = measure_all(bench, options)
    report = Report(measurements)
    if options.quick and options.json:
        print(json.dumps(quick_figures(measurements)))
    elif options.json:
        print(json.dumps({"machine": machine(), **report.to_dict()}))
    else:
        print("\n".join(report.lines()))
        commits = sorted({run.code for run in measurements})
        print(f"\n{machine()}; code: {', '.join(commits)}")
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
