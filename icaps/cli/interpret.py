"""The `icaps interpret` command: the matrix C of a model over a corpus."""

from __future__ import annotations

import argparse
import json
import sys

from icaps.cli.data_options import add_data_options, reading_options, say_problems
from icaps.cli.options import Commands, add_model, add_timeout
from icaps.errors import CheckpointError


def add_parser(commands: Commands) -> None:
    """Adds `icaps interpret`."""
    parser = commands.add_parser(
        "interpret", help="show what a model has learnt: the matrix C, its words, the queries"
    )
    add_model(parser)
    add_data_options(parser)
    parser.add_argument(
        "--out", metavar="DIR", help="folder for CSV, JSON, PNG, SVG and an HTML report"
    )
    parser.add_argument(
        "--no-texts",
        action="store_true",
        help="store no excerpts of texts with the model; else up to nine per capsule, of 300 "
        "characters at most, unless the data set has a name",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_timeout(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Computes the global view of a model, unless it is stored, and prints or writes it."""
    from icaps.classifier import ICapsClassifier
    from icaps.cli.progress import Progress
    from icaps.data.resolve import resolve
    from icaps.interpret.global_view import DataReference, make_view, save_view
    from icaps.nn import distributed
    from icaps.reports.global_report import GlobalReport
    from icaps.train.parts import open_part

    progress = Progress(sys.stderr)
    with distributed.process_group("auto", options.timeout):
        classifier = ICapsClassifier.load(options.model)
        reading = reading_options(options)
        source = open_part(resolve(options.data, progress), options.part, reading, options.model)
        data = DataReference(options.data, options.part, reading)
        view = make_view(
            classifier,
            options.model,
            data,
            source,
            progress.on_texts,
            on_total=progress.expect_texts,
            texts=not options.no_texts,
        )
        if distributed.rank():
            return 0
        try:
            save_view(view, options.model)
        except CheckpointError as error:  # such as a read-only folder; the report is still printed
            progress.say(str(error))
        say_problems(source, options.part)
        report = GlobalReport(classifier, view)
        if options.out:
            report.write(options.out)
            progress.say(f"wrote {options.out}")
        print(json.dumps(report.facts) if options.json else report.to_text())
    return 0
