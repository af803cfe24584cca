"""`icaps explain --format`, which writes a report on a text, and the `icaps card` command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from icaps.cli.data import add_data_options, reading_options, say_problems
from icaps.cli.explain_options import read_explain_options
from icaps.errors import ConfigError, DataError

if TYPE_CHECKING:
    from icaps.classifier import ICapsClassifier
    from icaps.results import Explanation

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

TEXT = "text"
_KINDS = ("html", "markdown", "json", "csv")


def add_report_options(parser: argparse.ArgumentParser) -> None:
    """Adds --format and --out to `icaps explain`."""
    parser.add_argument(
        "--format",
        choices=(TEXT, *_KINDS),
        help="lines for a terminal, which is the default, or a report on one text",
    )
    parser.add_argument(
        "--out", metavar="FILE", help="write the report there; its name may tell the format"
    )


def wants_report(options: argparse.Namespace) -> bool:
    """Whether `icaps explain` was asked for a report, not for lines."""
    return options.out is not None or options.format not in (None, TEXT)


def write_text_report(
    options: argparse.Namespace,
    classifier: ICapsClassifier,
    texts: Iterator[str],
    check: Callable[[Explanation], dict[str, Any] | None] | None,
) -> int:
    """Writes the report on a text.

    Args:
        options: Of `icaps explain`.
        classifier: With capsules switched off.
        texts: One.
        check: What is checked of the explanation, where that was asked for.

    Raises:
        ConfigError: The options don't go together.
        DataError: There is not one text, or the file can't be written.
    """
    from icaps.reports.naming import model_name
    from icaps.reports.text_report import TextReport, asked

    kind = _kind(options)
    given = list(islice(texts, 2))
    if len(given) != 1:
        raise DataError("A report is on one text; give one, or print lines of many with --json.")
    how = read_explain_options(options)
    (explanation,) = classifier.explain(given, how)
    report = TextReport(
        explanation,
        model_name(options.model),
        asked(how, mute=options.mute),
        None if check is None else check(explanation),
    )
    _deliver(report.to_bytes(kind), options.out)
    return 0


def add_parser(commands: Commands) -> argparse.ArgumentParser:
    """Adds `icaps card`."""
    parser = commands.add_parser(
        "card", help="write the card of a model: scores, capsules, reasons, limits, data"
    )
    parser.add_argument("--model", required=True, metavar="DIR")
    add_data_options(parser)
    parser.add_argument(
        "--out", metavar="DIR", help="folder for the card as HTML, Markdown, JSON and CSV"
    )
    parser.add_argument(
        "--format", choices=_KINDS, help="print it so; without this and --out as Markdown"
    )
    parser.add_argument(
        "--faithfulness", metavar="FILE", help="what icaps faithfulness --json has printed"
    )
    parser.add_argument(
        "--limit", type=int, metavar="N", help="measure faithfulness on N random texts"
    )
    parser.set_defaults(command=_card)
    return parser


def _card(options: argparse.Namespace) -> int:
    from icaps.classifier import ICapsClassifier
    from icaps.cli.progress import Progress
    from icaps.data.resolve import resolve
    from icaps.evaluate.cache import Evaluation, evaluate_kept
    from icaps.evaluate.report import EvaluationReport
    from icaps.interpret.global_view import load_view, weights_fingerprint
    from icaps.reports import measured_faithfulness, model_card
    from icaps.reports.global_report import Report

    if options.faithfulness and options.limit is not None:
        raise ConfigError("Give --faithfulness or --limit, not both.")
    progress = Progress(sys.stderr)
    told = (
        measured_faithfulness.read_measured(options.faithfulness) if options.faithfulness else None
    )
    classifier = ICapsClassifier.load(options.model)
    evaluation = Evaluation(
        weights_fingerprint(options.model),
        [str(name) for name in classifier.classes_],
        resolve(options.data, progress),
        options.part,
        reading_options(options),
    )
    found = evaluate_kept(classifier, evaluation, progress.on_texts)
    say_problems(found, options.part)
    if options.limit is not None:
        told = measured_faithfulness.measured(classifier, found, options.limit)
    shape = len(classifier.classes_), classifier.network_.config.num_capsules
    view = load_view(options.model, *shape)
    card = model_card.make_card(
        classifier,
        options.model,
        model_card.source_of(options.data, evaluation.place, options.part, EvaluationReport(found)),
        None if view is None else Report(classifier, view),
        told,
    )
    if options.out:
        card.write(options.out)
        progress.say(f"wrote {options.out}")
    if options.format or not options.out:
        _deliver(card.to_bytes(options.format or "markdown"), None)
    return 0


def _kind(options: argparse.Namespace) -> str:
    """The format of a report, given or told by the name of its file."""
    suffixes = {"html": "html", "htm": "html", "md": "markdown", "json": "json", "csv": "csv"}
    if options.json:
        raise ConfigError("Give --json, which prints a line a text, or a report, not both.")
    kind = options.format or suffixes.get(Path(options.out).suffix.lower().lstrip("."))
    if kind in (None, TEXT):
        raise ConfigError(f"Name the format of the report: --format {', '.join(_KINDS)}.")
    return str(kind)


def _deliver(content: bytes, path: str | None) -> None:
    """Writes a file, or prints it.

    Raises:
        DataError: The file can't be written.
    """
    if path is None:
        print(content.decode("utf-8"), end="")
        return
    try:
        Path(path).write_bytes(content)
    except OSError as error:
        raise DataError(f"{path} can't be written ({error}); name another file.") from error
