"""The `icaps evaluate` command."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from icaps.cli.data import add_data_options, reading_options, say_problems
from icaps.cli.options import add_mute, add_timeout

if TYPE_CHECKING:
    from icaps.classifier import ICapsClassifier
    from icaps.cli.progress import Progress
    from icaps.evaluate.cache import Evaluated
    from icaps.evaluate.report import EvaluationReport

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_WIDTH = 100  # characters of a text in a line for a person


def add_parser(commands: Commands) -> argparse.ArgumentParser:
    """Adds `icaps evaluate`."""
    parser = commands.add_parser("evaluate", help="score a model on labelled texts")
    parser.add_argument("--model", required=True, metavar="DIR")
    add_data_options(parser)
    parser.add_argument(
        "--slices",
        action="store_true",
        help="by length, by share of unknown words, and of the slices that icaps explore saved",
    )
    parser.add_argument(
        "--errors", type=int, default=0, metavar="N", help="tell the N most confident errors"
    )
    parser.add_argument("--compare", metavar="DIR", help="a second model, on the same texts")
    parser.add_argument(
        "--runs", metavar="DIR", help="a folder of models: how they learn from more texts"
    )
    parser.add_argument("--csv", metavar="FILE", help="write what is said of each text")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_mute(parser)
    add_timeout(parser)
    parser.set_defaults(command=_evaluate)
    return parser


def _evaluate(options: argparse.Namespace) -> int:
    from icaps.classifier import ICapsClassifier
    from icaps.cli.progress import Progress
    from icaps.data.resolve import resolve
    from icaps.evaluate.report import EvaluationReport
    from icaps.nn import distributed

    progress = Progress(sys.stderr)
    with distributed.process_group("auto", options.timeout):
        classifier = ICapsClassifier.load(options.model).without(options.mute)
        place = resolve(options.data, progress)
        found = _judged(classifier, options.model, place, options, progress)
        other = None
        if options.compare:
            second = ICapsClassifier.load(options.compare)
            other = _judged(second, options.compare, place, options, progress)
        if distributed.rank():
            return 0
        say_problems(found, options.part)
        report = EvaluationReport(found)
        if options.csv:
            report.write_csv(options.csv)
            progress.say(f"wrote {options.csv}")
        extra = _extra(options, classifier, report, other)
        if options.json:
            print(json.dumps({**report.to_dict(), **extra}))
        else:
            print("\n".join([report.to_text(), *_lines(extra)]))
    return 0


def _judged(
    classifier: ICapsClassifier,
    model: str,
    place: Path,
    options: argparse.Namespace,
    progress: Progress,
) -> Evaluated:
    from icaps.evaluate.cache import Evaluation, evaluate_kept
    from icaps.interpret.global_view import weights_fingerprint

    evaluation = Evaluation(
        weights_fingerprint(model),
        [str(name) for name in classifier.classes_],
        place,
        options.part,
        reading_options(options),
        classifier.muted_,
    )
    return evaluate_kept(classifier, evaluation, progress.on_texts)


def _extra(
    options: argparse.Namespace,
    classifier: ICapsClassifier,
    report: EvaluationReport,
    other: Evaluated | None,
) -> dict[str, Any]:
    """What was asked for beside the scores, as plain data."""
    from icaps.evaluate.compare import compare
    from icaps.evaluate.learning_curve import learning_points
    from icaps.explore.saved_slices import slices

    extra: dict[str, Any] = {}
    if options.slices:
        parts = [*report.slices, *report.saved_slices(slices())]
        extra["slices"] = [part.to_dict() for part in parts]
    if other is not None:
        extra["comparison"] = compare(report.predictions, other.predictions).to_dict()
    if options.errors > 0:
        extra["errors"] = _errors(classifier, report, options.errors)
    if options.runs:
        folders = sorted(Path(options.runs).iterdir()) if Path(options.runs).is_dir() else []
        points = learning_points(folders, report.predictions.classes)
        extra["learning"] = [point._asdict() for point in points]
    return extra


def _errors(
    classifier: ICapsClassifier, report: EvaluationReport, count: int
) -> list[dict[str, Any]]:
    """The most confident errors with the K-grams that decided."""
    table = report.table(report.predictions.errors[:count])
    reasons = classifier.explain(table["text"].tolist())
    return [
        {**row, "kgrams": [kgram.text for kgram in explanation.kgrams]}
        for row, explanation in zip(table.to_dict("records"), reasons, strict=True)
    ]


def _lines(extra: Mapping[str, Any]) -> Iterator[str]:
    """The same for a terminal."""
    for part in extra.get("slices", ()):
        low, high = part["random"]
        yield (
            f"{part['kind']}, {part['name']}: {part['texts']} texts, accuracy "
            f"{part['accuracy']:.2%}, {part['verdict']} ({100 * low:.2f} to {100 * high:.2f})"
        )
    if found := extra.get("comparison"):
        low, high = found["accuracy_interval"]
        yield (
            f"the second model: accuracy {100 * found['accuracy']:+.2f} points ({100 * low:+.2f} "
            f"to {100 * high:+.2f}); it alone is right in {found['only_second']} texts, the first "
            f"alone in {found['only_first']}, McNemar p = {found['p_value']:.3g}"
        )
    for row in extra.get("errors", ()):
        said = row["predicted"] or "nothing"
        yield (
            f"text {row['text number']}: {row['class']}, taken for {said} at "
            f"{row['probability']:.1%} by {' | '.join(row['kgrams'])}: {_short(row['text'])}"
        )
    for point in extra.get("learning", ()):
        test = point["test_accuracy"]
        told = "" if test is None else f", test {test:.2%} of {point['test_texts']}"
        yield (
            f"{point['curve']}: {point['training_texts']} texts, seed {point['seed']}, validation "
            f"{point['validation_accuracy']:.2%}{told} ({point['name']})"
        )


def _short(text: str) -> str:
    shown = " ".join(text[: 2 * _WIDTH].split())
    return shown[:_WIDTH] + ("..." if len(shown) > _WIDTH else "")
