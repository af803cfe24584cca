"""The `icaps evaluate` command: scores of a model on labelled texts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from icaps.cli.data_options import add_data_options, find_leak, reading_options, say_problems
from icaps.cli.formatting import one_line
from icaps.cli.options import Commands, add_model, add_mute, add_timeout

if TYPE_CHECKING:
    import pandas as pd

    from icaps.classifier import ICapsClassifier
    from icaps.evaluate.evaluation import AnyEvaluation
    from icaps.evaluate.report import EvaluationReport, MultilabelReport

_MISLEADING = 20  # words over all errors


def add_parser(commands: Commands) -> None:
    """Adds `icaps evaluate`."""
    parser = commands.add_parser("evaluate", help="score a model on labelled texts")
    add_model(parser)
    add_data_options(parser)
    parser.add_argument(
        "--slices",
        action="store_true",
        help="also score texts by length, by share of unknown words, and saved slices",
    )
    parser.add_argument(
        "--errors",
        type=int,
        default=0,
        metavar="N",
        help="print the N most confident errors, and the words that misled in all errors",
    )
    parser.add_argument(
        "--compare", metavar="DIR", help="a second model to compare with on the same texts"
    )
    parser.add_argument(
        "--runs", metavar="DIR", help="a folder of models: print their learning curves"
    )
    parser.add_argument("--csv", metavar="FILE", help="write the predictions of all texts")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_mute(parser)
    add_timeout(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Evaluates a model, unless the evaluation is cached, and prints its scores."""
    from icaps.classifier import ICapsClassifier
    from icaps.cli.progress import Progress
    from icaps.data.resolve import resolve
    from icaps.evaluate.evaluation import EvaluationData, evaluate_data
    from icaps.evaluate.leakage import unfair_models
    from icaps.evaluate.report import make_report
    from icaps.nn import distributed
    from icaps.train.checkpoint_files import weights_fingerprint

    progress = Progress(sys.stderr)
    with distributed.process_group("auto", options.timeout):
        classifier = ICapsClassifier.load(options.model).without(options.mute)
        place = resolve(options.data, progress)
        reading = reading_options(options)
        data = EvaluationData(place, options.part, reading, Path(options.model))
        weights = weights_fingerprint(options.model)
        report_to = progress.on_texts, progress.expect_texts
        evaluation = evaluate_data(classifier, weights, data, *report_to)
        second = None
        if options.compare:
            other = ICapsClassifier.load(options.compare)
            weights = weights_fingerprint(options.compare)
            second = evaluate_data(other, weights, data, *report_to)
        if distributed.rank():
            return 0
        say_problems(evaluation, options.part)
        names = [name for name in (options.model, options.compare) if name]
        leaks = {name: find_leak(name, evaluation.texts) for name in names}
        report = make_report(evaluation)
        if options.csv:
            report.write_csv(options.csv, classifier if options.errors > 0 else None)
            progress.say(f"wrote {options.csv}")
        extra = _extra(options, classifier, report, second)
        extra["leaks"] = {name: leak and leak.to_dict() for name, leak in leaks.items()}
        if second is not None and unfair_models(leaks):
            extra["comparison"]["p_value"] = None
        if options.json:
            print(json.dumps({**report.to_dict(), **extra}))
        else:
            print("\n".join([report.to_text(), *_lines(extra)]))
    return 0


def _extra(
    options: argparse.Namespace,
    classifier: ICapsClassifier,
    report: EvaluationReport | MultilabelReport,
    second: AnyEvaluation | None,
) -> dict[str, Any]:
    """The results beside the scores that the options select, as plain data."""
    from icaps.data.saved_slices import slices
    from icaps.evaluate.learning_curve import learning_points
    from icaps.evaluate.report import MultilabelReport, compare_evaluations

    extra: dict[str, Any] = {}
    if options.slices:
        parts = [*report.slices, *report.saved_slices(slices())]
        extra["slices"] = [part.to_dict() for part in parts]
    if second is not None:
        extra["comparison"] = compare_evaluations(report.evaluation, second).to_dict()
    if options.errors > 0:
        if isinstance(report, MultilabelReport):
            extra["errors"] = _wrong_sets(classifier, report, options.errors)
            extra["misleading"] = _misleading_of_sets(classifier, report)
        else:
            extra["errors"] = _errors(classifier, report, options.errors)
            extra["misleading"] = _misleading(classifier, report)
    if options.runs:
        folders = sorted(Path(options.runs).iterdir()) if Path(options.runs).is_dir() else []
        several = isinstance(report, MultilabelReport)
        points = learning_points(folders, report.predictions.classes, several)
        extra["learning"] = [point._asdict() for point in points]
    return extra


def _errors(
    classifier: ICapsClassifier, report: EvaluationReport, count: int
) -> list[dict[str, Any]]:
    """The most confident errors with the K-grams of their explanations and the misleading words."""
    from icaps.evaluate.misleading import misleading_words, word_contrasts

    table = report.table(report.predictions.errors[:count])
    texts = table["text"].tolist()
    explanations = classifier.explain(texts)
    words = misleading_words(word_contrasts(classifier, texts, table["class"].tolist()))
    return [
        {
            **row,
            "kgrams": [kgram.text for kgram in explanation.kgrams],
            "misled_by": _records(words[n], "text", "predicted") if n in words else [],
        }
        for n, (row, explanation) in enumerate(
            zip(table.to_dict("records"), explanations, strict=True)
        )
    ]


def _wrong_sets(
    classifier: ICapsClassifier, report: MultilabelReport, count: int
) -> list[dict[str, Any]]:
    """The texts whose label sets differ most, with their K-grams and the misleading words."""
    from icaps.evaluate.misleading import misleading_words, set_contrasts

    own = report.predictions
    rows = own.errors[:count]
    table = report.table(rows)[["text number", "text", "words", "unknown words"]]
    texts = table["text"].tolist()
    columns = own.labels[rows], own.predicted_of(rows), own.probabilities[rows]
    words = misleading_words(set_contrasts(classifier, texts, own.labels[rows]))
    errors = []
    for n, (facts, explanation, labels, predicted, chances) in enumerate(
        zip(table.to_dict("records"), classifier.explain(texts), *columns, strict=True)
    ):
        errors.append(
            {
                **facts,
                "class": own.names(labels),
                "predicted": own.names(predicted),
                "missed": own.names(labels & ~predicted),
                "extra": own.names(predicted & ~labels),
                "probabilities": dict(zip(own.classes, chances.tolist(), strict=True)),
                "kgrams": [kgram.text for kgram in explanation.kgrams],
                "misled_by": _records(words[n], "text") if n in words else [],
            }
        )
    return errors


def _misleading(classifier: ICapsClassifier, report: EvaluationReport) -> list[dict[str, Any]]:
    """The words that misled most, over all errors."""
    from icaps.evaluate.misleading import total_contrasts

    rows = report.predictions.errors
    texts = report.evaluation.texts.take(rows)
    labels = [report.predictions.classes[number] for number in report.predictions.labels[rows]]
    totals = total_contrasts(classifier, texts, labels)
    return _records(totals[totals["contrast"] > 0].head(_MISLEADING))


def _misleading_of_sets(
    classifier: ICapsClassifier, report: MultilabelReport
) -> list[dict[str, Any]]:
    """The words that misled most, over all texts with a missed or an extra class."""
    from icaps.evaluate.misleading import total_set_contrasts

    rows = report.predictions.errors
    texts, labels = report.evaluation.texts.take(rows), report.predictions.labels[rows]
    totals = total_set_contrasts(classifier, texts, labels)
    return _records(totals[totals["contrast"] > 0].head(_MISLEADING))


def _records(table: pd.DataFrame, *left_out: str) -> list[dict[str, Any]]:
    """The rows of a table as plain data, with underscores in its columns' names."""
    columns = table.drop(columns=list(left_out)).rename(columns=lambda name: name.replace(" ", "_"))
    return [{str(name): value for name, value in row.items()} for row in columns.to_dict("records")]


def _lines(extra: Mapping[str, Any]) -> Iterator[str]:
    """The results of `_extra` as lines for a terminal."""
    from icaps.evaluate.paired import NO_TEST
    from icaps.html import p_value as written_p

    for part in extra.get("slices", ()):
        low, high = part["random"]
        yield (
            f"{part['kind']}, {part['name']}: {part['texts']} texts, accuracy "
            f"{part['accuracy']:.2%}, {part['verdict']} ({100 * low:.2f} to {100 * high:.2f})"
        )
    if test := extra.get("comparison"):
        low, high = test["accuracy_interval"]
        p_value = test["p_value"]
        if "micro_f1" in test:
            yield f"the second model: {_differences(test)}"
        yield (
            f"the second model: accuracy {100 * test['accuracy']:+.2f} points ({100 * low:+.2f} "
            f"to {100 * high:+.2f}); only the second is right on {test['only_second']} texts, only "
            f"the first on {test['only_first']}, "
            + (NO_TEST if p_value is None else f"McNemar p {written_p(p_value)}")
        )
    for row in extra.get("errors", ()):
        if "missed" in row:
            parts = [f"{kind} {', '.join(row[kind])}" for kind in ("missed", "extra") if row[kind]]
            yield f"text {row['text number']}: {'; '.join(parts)}: {one_line(row['text'])}"
            if row["misled_by"]:
                words = (f"{_word(w)} ({w['class']} {w['kind']})" for w in row["misled_by"])
                yield f"   misled by {', '.join(words)}"
            continue
        predicted = row["predicted"] or "nothing"
        yield (
            f"text {row['text number']}: {row['class']}, predicted as {predicted} with "
            f"{row['probability']:.1%} by {' | '.join(row['kgrams'])}: {one_line(row['text'])}"
        )
        if row["misled_by"]:
            words = (_word(w) for w in row["misled_by"])
            yield f"   misled by {', '.join(words)}, for {predicted} rather than {row['class']}"
    if misleading := extra.get("misleading"):
        yield "words that misled most: what they add to the wrong class rather than the right one"
        for row in misleading:
            about = f"{row['class']} {row['kind']}" if "kind" in row else f"for {row['predicted']}"
            yield (
                f"  “{one_line(row['word'])}” {about}: {row['contrast']:+.2f} in {row['texts']} "
                "texts"
            )
    for point in extra.get("learning", ()):
        test = point["test_accuracy"]
        tested = "" if test is None else f", test {test:.2%} of {point['test_texts']}"
        yield (
            f"{point['curve']}: {point['training_texts']} texts, seed {point['seed']}, validation "
            f"{point['validation_accuracy']:.2%}{tested} ({point['name']})"
        )


def _word(row: Mapping[str, Any]) -> str:
    """A misleading word with its contrast."""
    return f"“{one_line(row['word'])}” {row['contrast']:+.2f}"


def _differences(test: Mapping[str, Any]) -> str:
    """The differences of the F1 scores of two models with several labels per text."""
    named = {
        "micro F1": "micro_f1",
        "macro F1": "macro_f1",
        "average precision": "average_precision",
    }
    return ", ".join(
        f"{label} {100 * test[name]:+.2f} points ({100 * low:+.2f} to {100 * high:+.2f})"
        for label, name in named.items()
        for low, high in [test[f"{name}_interval"]]
    )
