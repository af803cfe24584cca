"""The `icaps compare` command: models and baselines on the same texts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from icaps.cli.data_options import add_data_options, reading_options, say_leak, say_problems
from icaps.cli.formatting import one_line
from icaps.cli.options import Commands
from icaps.errors import ConfigError


def add_parser(commands: Commands) -> None:
    """Adds `icaps compare`."""
    parser = commands.add_parser(
        "compare", help="compare models and baselines on the same texts: scores, reasons, speed"
    )
    parser.add_argument(
        "--model",
        action="append",
        required=True,
        metavar="DIR",
        help="a model or a baseline; repeat it: the others are compared with the first",
    )
    add_data_options(parser)
    parser.add_argument(
        "--limit", type=int, metavar="N", help="use a random sample of N texts (seed 0)"
    )
    parser.add_argument(
        "--reasons",
        type=int,
        default=200,
        metavar="N",
        help="texts to explain with the first two capsule networks (200)",
    )
    parser.add_argument(
        "--show", type=int, default=5, metavar="N", help="texts to list of each kind (5)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Scores several classifiers on the same texts."""
    from icaps.cli.progress import Progress
    from icaps.data.resolve import resolve
    from icaps.evaluate.compare_report import CompareReport
    from icaps.evaluate.comparison_texts import sample_texts
    from icaps.evaluate.predictions import load_scorer
    from icaps.train.parts import open_part

    folders = {name: Path(name) for name in options.model}
    if len(folders) < 2:
        raise ConfigError("Give two or more different models, each with --model.")
    for name in ("limit", "reasons", "show"):
        value = getattr(options, name)
        if value is not None and value < 0:
            raise ConfigError(f"--{name} is {value}; it must be at least 0.")
    classifiers = {name: load_scorer(folder) for name, folder in folders.items()}
    place = resolve(options.data, Progress(sys.stderr))
    source = open_part(place, options.part, reading_options(options), options.model[0])
    first = next(iter(classifiers.values()))
    classes = [str(name) for name in first.classes_]
    sample = sample_texts(source.pairs(), classes, options.limit, multilabel=first.multilabel_)
    say_problems(source, options.part)
    report = CompareReport.make(classifiers, folders, sample, options.reasons)
    for name, leak in report.leaks.items():
        say_leak(name, leak)
    facts = report.to_dict(options.show, options.data)
    print(json.dumps(facts) if options.json else "\n".join(_lines(facts)))
    return 0


def _lines(facts: dict[str, Any]) -> Iterator[str]:
    from icaps.evaluate.paired import NO_TEST
    from icaps.html import p_value as written_p

    yield f"{facts['texts']:,} texts; differences are from {facts['scores'][0]['model']}"
    for row in facts["scores"]:
        interval = f"({row['low']:.2%} to {row['high']:.2%}; by chance {row['chance']:.2%})"
        if "micro_f1" in row:  # several labels per text
            yield (
                f"{row['model']}: macro F1 {row['macro_f1']:.2%} {interval}, micro F1 "
                f"{row['micro_f1']:.2%}, average precision {row['average_precision']:.2%}, subset "
                f"accuracy {row['subset_accuracy']:.2%}, Hamming loss {row['hamming_loss']:.2%}"
            )
        else:
            yield (
                f"{row['model']}: accuracy {row['accuracy']:.2%} {interval}, macro F1 "
                f"{row['macro_f1']:.2%}"
            )
        if (leak := facts["leaks"][row["model"]]) and leak["warning"]:
            yield f"  {leak['warning']}"
        if row["difference"] is not None:
            p_value = row["p_value"]
            test = NO_TEST if p_value is None else f"McNemar p {written_p(p_value)}"
            yield (
                f"  difference {row['difference']:+.2%} ({row['difference_low']:+.2%} to "
                f"{row['difference_high']:+.2%}), {test}"
            )
    for row in facts["agreements"]:
        if "same_classes" in row:
            yield (
                f"{row['one']} and {row['other']} predict the same classes for {row['same']:.2%} "
                f"of the texts, {row['both_wrong']:,} of them not all right, and agree on "
                f"{row['same_classes']:.2%} of all pairs of a text and a class (by chance "
                f"{row['chance']:.2%})"
            )
            continue
        yield (
            f"{row['one']} and {row['other']} agree on {row['same']:.2%} (by chance "
            f"{row['chance']:.2%}), {row['both_wrong']:,} of them wrong"
        )
    for row in facts["sizes"]:
        yield (
            f"{row['model']}: {row['texts_per_second']:,.0f} texts per second, "
            f"{row['megabytes']:,.1f} MB, {row['weights']:,} weights"
        )
    yield f"{facts['disagreeing']:,} texts have different predictions"
    names = [row["model"] for row in facts["scores"]]
    for row in facts["disagreements"]:
        predicted = ", ".join(f"{name}: {row[name]}" for name in names)
        yield f"  [{row['class']}] {predicted}: {one_line(row['text'], width=70)}"
    if "reasons" in facts:
        one, other = facts["reasons"]["models"]
        reasons = facts["reasons"]
        yield (
            f"{one} and {other}, where they agree, have {reasons['common']:.1%} of what words add "
            f"to the score in common (shuffled {reasons['random_common']:.1%}), and share "
            f"{reasons['overlap']:.1%} of the words of their K-grams (at random places "
            f"{reasons['random']:.1%})"
        )
        for row in reasons["texts"]:
            yield (
                f"  {row['common']:.0%} {row['predicted']}: {' | '.join(row['one'])} // "
                f"{' | '.join(row['other'])}"
            )
    if "published" in facts:
        yield f"published accuracies on {facts['data']}, in percent"
        for row in facts["published"]:
            yield f"  {row['model']}: {row['accuracy']:g} ({row['reference']}; {row['source']})"
