"""The `icaps baseline` command, which tells its run folder how it goes, as `icaps train` does."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from icaps.baselines.kinds import FASTTEXT, KINDS, NETWORKS
from icaps.cli.data import add_bad_rows_option, add_reading_options, reading_options, say_problems
from icaps.cli.options import add_queue
from icaps.runs.folder import RunFolder
from icaps.runs.logger import StatusWriter, logged_run
from icaps.train.checkpoint_files import BASELINE, check_writable

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_parser(commands: Commands) -> argparse.ArgumentParser:
    """Adds `icaps baseline`."""
    parser = commands.add_parser(
        "baseline", help="train a plain classifier to compare with, and write its folder"
    )
    parser.add_argument("name", metavar="NAME", choices=tuple(KINDS), help=", ".join(KINDS))
    parser.add_argument("--data", required=True, metavar="DATA", help="as icaps train takes it")
    add_reading_options(parser)
    add_bad_rows_option(parser)
    parser.add_argument("--out", metavar="DIR", help="its folder; without it, runs/NAME")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of all random numbers")
    add_queue(parser)
    parser.add_argument("--json", action="store_true", help="print what came of it as JSON")
    parser.set_defaults(command=_baseline)
    return parser


def _baseline(options: argparse.Namespace) -> int:
    folder = RunFolder(Path(options.out or Path("runs", options.name)))
    check_writable(folder.path, BASELINE)
    with logged_run(folder, options.given, options.queue) as status:
        _train(options, status)
        status.end(interrupted=False)
    return 0


def _train(options: argparse.Namespace, status: StatusWriter) -> None:
    from icaps.baselines.fasttext import library
    from icaps.baselines.fit import SETTINGS, fit_baseline
    from icaps.baselines.folder import save_baseline
    from icaps.cli.progress import Progress
    from icaps.data.files import has_part
    from icaps.data.resolve import resolve
    from icaps.data.source import open_source
    from icaps.evaluate.metrics import evaluate

    if options.name == FASTTEXT:
        library()  # that it is missing is told before the work
    progress, folder = Progress(sys.stderr), status.folder.path
    place, reading = resolve(options.data, progress), reading_options(options)
    source = open_source(place, "train", **reading)
    settings = dataclasses.replace(SETTINGS, seed=options.seed)
    if options.name not in NETWORKS:
        status.begin_training()
    baseline = fit_baseline(
        options.name,
        source,
        settings,
        callbacks=(progress, status),
        workers=os.cpu_count() or 1,
    )
    say_problems(source, "train")
    baseline.metrics_["data"] = options.data
    save_baseline(baseline, folder)  # whatever becomes of the test
    if has_part(place, "test"):
        test = open_source(place, "test", **reading)
        baseline.metrics_["test"] = evaluate(baseline, test.pairs())
        say_problems(test, "test")
        save_baseline(baseline, folder)
    progress.say(f"saved to {folder}")
    print(json.dumps(baseline.metrics_) if options.json else _told(baseline.metrics_))


def _told(metrics: dict[str, object]) -> str:
    lines = [f"validation accuracy {metrics['validation_accuracy']:.2%}"]
    match metrics:
        case {"test": {"accuracy": float(accuracy), "n": int(texts)}}:
            lines.append(f"test accuracy {accuracy:.2%} of {texts:,} texts")
    return "\n".join(lines)
