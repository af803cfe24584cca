"""The `icaps card` command: writes the model card of a trained model."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from icaps.cli.data_options import add_data_options, find_leak, reading_options, say_problems
from icaps.cli.explain import REPORT_FORMATS
from icaps.cli.options import Commands, add_model
from icaps.errors import ConfigError

if TYPE_CHECKING:
    from icaps.classifier import ICapsClassifier
    from icaps.cli.progress import Progress
    from icaps.reports.model_card import ModelCard


def add_parser(commands: Commands) -> None:
    """Adds `icaps card`."""
    parser = commands.add_parser(
        "card", help="write a model card: scores, capsules, faithfulness, limits, data"
    )
    add_model(parser)
    add_data_options(parser)
    parser.add_argument(
        "--out", metavar="DIR", help="folder for the card as HTML, Markdown, JSON and CSV"
    )
    parser.add_argument(
        "--format",
        choices=REPORT_FORMATS,
        help="print the card in this format; without --out, Markdown is printed",
    )
    add_faithfulness_options(parser)
    parser.set_defaults(command=run)


def add_faithfulness_options(parser: argparse.ArgumentParser) -> None:
    """Adds --faithfulness and --limit."""
    parser.add_argument(
        "--faithfulness", metavar="FILE", help="the output of icaps faithfulness --json"
    )
    parser.add_argument(
        "--limit", type=int, metavar="N", help="measure faithfulness on N random texts"
    )


def run(options: argparse.Namespace) -> int:
    """Evaluates the model, unless the evaluation is cached, and writes its card."""
    from icaps.classifier import ICapsClassifier
    from icaps.cli.progress import Progress

    progress = Progress(sys.stderr)
    card = evaluated_card(ICapsClassifier.load(options.model), options, progress)
    if options.out:
        card.write(options.out)
        progress.say(f"wrote {options.out}")
    if options.format or not options.out:
        print(card.to_bytes(options.format or "markdown").decode("utf-8"), end="")
    return 0


def evaluated_card(
    classifier: ICapsClassifier, options: argparse.Namespace, progress: Progress
) -> ModelCard:
    """The card of a model, by the options of its data and of faithfulness.

    Raises:
        ConfigError: Both --faithfulness and --limit are given.
        DataError: The texts cannot be read.
    """
    from icaps.data.resolve import resolve
    from icaps.evaluate.evaluation import EvaluationData, evaluate_data
    from icaps.evaluate.report import make_report
    from icaps.interpret.global_view import load_view
    from icaps.reports.card_faithfulness import measure_faithfulness, read_faithfulness
    from icaps.reports.global_report import GlobalReport
    from icaps.reports.model_card import evaluated_data, make_card
    from icaps.train.checkpoint_files import weights_fingerprint

    if options.faithfulness and options.limit is not None:
        raise ConfigError("Give --faithfulness or --limit, not both.")
    faithfulness = read_faithfulness(options.faithfulness) if options.faithfulness else None
    place = resolve(options.data, progress)
    texts = EvaluationData(place, options.part, reading_options(options), Path(options.model))
    weights = weights_fingerprint(options.model)
    evaluation = evaluate_data(classifier, weights, texts, progress.on_texts)
    say_problems(evaluation, options.part)
    leak = find_leak(options.model, evaluation.texts)
    if options.limit is not None:
        faithfulness = measure_faithfulness(classifier, evaluation, options.limit)
    shape = len(classifier.classes_), classifier.network_.config.num_capsules
    view = load_view(options.model, *shape)
    report = make_report(evaluation)
    data = evaluated_data(options.data, place, options.part, report, leak, options.corrections)
    return make_card(
        classifier,
        options.model,
        data,
        None if view is None else GlobalReport(classifier, view),
        faithfulness,
    )
