"""The `icaps baseline` command: trains a baseline in a run folder, as `icaps train` does."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import Any

from icaps.baselines.base import BASELINES, FASTTEXT, NETWORKS
from icaps.cli.data_options import (
    add_bad_rows_option,
    add_reading_options,
    reading_options,
    say_problems,
)
from icaps.cli.formatting import describe_test
from icaps.cli.options import Commands, add_queue
from icaps.runs.folder import RunFolder
from icaps.runs.logger import StatusWriter, logged_run
from icaps.train.checkpoint_files import BASELINE, check_writable


def add_parser(commands: Commands) -> None:
    """Adds `icaps baseline`."""
    parser = commands.add_parser(
        "baseline", help="train another text classifier to compare with, and write its folder"
    )
    names = ", ".join(BASELINES)
    parser.add_argument("name", metavar="NAME", choices=tuple(BASELINES), help=names)
    parser.add_argument("--data", required=True, metavar="DATA", help="as for icaps train")
    add_reading_options(parser)
    add_bad_rows_option(parser)
    parser.add_argument("--out", metavar="DIR", help="output folder; runs/NAME by default")
    parser.add_argument(
        "--held-out-of",
        metavar="DIR",
        help="a model that was trained on the same data: the texts that were held out of its "
        "training are held out here as well, so that both can be compared on --part held_out",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed")
    add_queue(parser)
    parser.add_argument("--json", action="store_true", help="print the metrics as JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Trains the baseline, tests it, and writes its folder."""
    folder = RunFolder(Path(options.out or Path("runs", options.name)))
    check_writable(folder.path, BASELINE)
    with logged_run(folder, options.given, options.queue) as status:
        _train(options, status)
        status.end(interrupted=False)
    return 0


def _train(options: argparse.Namespace, status: StatusWriter) -> None:
    from icaps.baselines.fasttext import import_fasttext
    from icaps.baselines.fit_baseline import SETTINGS, fit_baseline
    from icaps.baselines.storage import save_baseline
    from icaps.cli.progress import Progress
    from icaps.data.resolve import resolve
    from icaps.data.source import open_source, open_test
    from icaps.evaluate.scores import evaluate
    from icaps.train.text_hashes import load_hashes

    if options.name == FASTTEXT:
        import_fasttext()  # fails before the work where it is missing
    progress, folder = Progress(sys.stderr), status.folder.path
    place, reading = resolve(options.data, progress), reading_options(options)
    source = open_source(place, "train", **reading)
    held_out = load_hashes(options.held_out_of) if options.held_out_of else None
    test = open_test(place, progress.say, **reading)
    settings = dataclasses.replace(SETTINGS, seed=options.seed)
    if options.name not in NETWORKS:
        status.begin_training()
    baseline = fit_baseline(
        options.name,
        source,
        settings,
        callbacks=(progress, status),
        workers=os.cpu_count() or 1,
        held_out=held_out,
    )
    say_problems(source, "train")
    baseline.metrics_["data"] = options.data
    if options.corrections:
        baseline.metrics_["corrected_texts"] = source.corrected
    save_baseline(baseline, folder)  # before the test, which may fail
    if test is not None:
        baseline.metrics_["test"] = evaluate(baseline, test.pairs())
        if options.corrections:
            baseline.metrics_["corrected_test_texts"] = test.corrected
        say_problems(test, "test")
        save_baseline(baseline, folder)
    progress.say(f"saved to {folder}")
    print(json.dumps(baseline.metrics_) if options.json else _summary(baseline.metrics_))


def _summary(metrics: dict[str, Any]) -> str:
    lines = [f"validation accuracy {metrics['validation_accuracy']:.2%}"]
    if "validation_macro_f1" in metrics:  # several labels per text
        lines = [f"validation macro F1 {metrics['validation_macro_f1']:.2%}"]
    match metrics:
        case {"test": {"n": int(texts)}}:
            lines.append(f"{describe_test(metrics['test'])}, of {texts:,} texts")
    for part, name in (("training", "corrected_texts"), ("test", "corrected_test_texts")):
        if count := metrics.get(name, 0):
            lines.append(f"the labels of {count:,} {part} texts are corrected")
    return "\n".join(lines)
