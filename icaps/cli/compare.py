"""The `icaps compare` command."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from icaps.cli.data import add_data_options, reading_options, say_problems
from icaps.errors import ConfigError

if TYPE_CHECKING:
    from icaps.evaluate.comparison_report import CompareReport

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_WIDTH = 70  # characters of a text in a line


def add_parser(commands: Commands) -> argparse.ArgumentParser:
    """Adds `icaps compare`."""
    parser = commands.add_parser(
        "compare", help="several models and baselines on the same texts: scores, reasons, speed"
    )
    parser.add_argument(
        "--model",
        action="append",
        required=True,
        metavar="DIR",
        help="a model or a baseline; repeated, and the first is what the others are compared with",
    )
    add_data_options(parser)
    parser.add_argument(
        "--limit", type=int, metavar="N", help="N texts alone, drawn at random with seed 0"
    )
    parser.add_argument(
        "--reasons",
        type=int,
        default=200,
        metavar="N",
        help="texts that are explained by the first two capsule networks (200)",
    )
    parser.add_argument(
        "--show", type=int, default=5, metavar="N", help="texts that are listed of each kind (5)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=_compare)
    return parser


def _compare(options: argparse.Namespace) -> int:
    from icaps.cli.progress import Progress
    from icaps.data.resolve import resolve
    from icaps.data.source import open_source
    from icaps.evaluate.answers import load_scorer, read_texts
    from icaps.evaluate.comparison_report import CompareReport

    folders = {name: Path(name) for name in options.model}
    if len(folders) < 2:
        raise ConfigError("Give two or more different models, each with --model.")
    for name in ("limit", "reasons", "show"):
        value = getattr(options, name)
        if value is not None and value < 0:
            raise ConfigError(f"--{name} is {value}; it must be at least 0.")
    scorers = {name: load_scorer(folder) for name, folder in folders.items()}
    place = resolve(options.data, Progress(sys.stderr))
    source = open_source(place, options.part, **reading_options(options))
    classes = [str(name) for name in next(iter(scorers.values())).classes_]
    asked = read_texts(source.pairs(), classes, options.limit)
    say_problems(source, options.part)
    report = CompareReport.make(scorers, folders, asked, options.reasons)
    found = report.to_dict(options.show, options.data)
    print(json.dumps(found) if options.json else "\n".join(_lines(report, found)))
    return 0


def _lines(report: CompareReport, found: dict[str, Any]) -> Iterator[str]:
    yield f"{found['texts']:,} texts; differences are to {found['scores'][0]['model']}"
    for row in found["scores"]:
        yield (
            f"{row['model']}: accuracy {row['accuracy']:.2%} ({row['low']:.2%} to "
            f"{row['high']:.2%}; by chance {row['chance']:.2%}), macro F1 {row['macro_f1']:.2%}"
        )
        if row["p_value"] is not None:
            yield (
                f"  difference {row['difference']:+.2%} ({row['difference_low']:+.2%} to "
                f"{row['difference_high']:+.2%}), McNemar p {row['p_value']:.3g}"
            )
    for row in found["agreements"]:
        yield (
            f"{row['one']} and {row['other']} agree on {row['same']:.2%} (by chance "
            f"{row['chance']:.2%}), {row['both_wrong']:,} of them wrong"
        )
    for row in found["sizes"]:
        yield (
            f"{row['model']}: {row['texts_per_second']:,.0f} texts a second, "
            f"{row['megabytes']:,.1f} MB, {row['weights']:,} weights"
        )
    yield f"{found['disagreeing']:,} texts are not predicted alike"
    names = [row["model"] for row in found["scores"]]
    for row in found["disagreements"]:
        said = ", ".join(f"{name}: {row[name]}" for name in names)
        yield f"  [{row['class']}] {said}: {_short(row['text'])}"
    if report.reasons:
        one, other = found["reasons"]["models"]
        yield (
            f"{one} and {other}, where they agree, share {found['reasons']['overlap']:.1%} of the "
            f"words of their K-grams (at random places {found['reasons']['random']:.1%})"
        )
        for row in found["reasons"]["texts"]:
            yield (
                f"  {row['overlap']:.0%} {row['predicted']}: {' | '.join(row['one'])} // "
                f"{' | '.join(row['other'])}"
            )
    if "published" in found:
        yield f"published accuracies on {found['data']}, in percent"
        for row in found["published"]:
            yield f"  {row['model']}: {row['accuracy']:g} ({row['reference']}; {row['source']})"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"
