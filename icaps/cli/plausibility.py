"""The `icaps plausibility` command: compares rankings of words with words that people marked."""

from __future__ import annotations

import argparse
import json
import sys

from icaps.cli.options import Commands, add_model


def add_parser(commands: Commands) -> None:
    """Adds `icaps plausibility`."""
    parser = commands.add_parser(
        "plausibility", help="compare the words of explanations with words that people marked"
    )
    add_model(parser)
    parser.add_argument(
        "--words",
        required=True,
        metavar="FILE",
        help="JSON or JSON Lines: for each text its `words` and a `mask`, or `votes` of raters, or "
        "the sentiment of each word (`leaf`) with a `label`",
    )
    parser.add_argument(
        "--rankings",
        metavar="A,B",
        help="rankings of the words, as in `icaps faithfulness`, or kgrams (by the number of the "
        "paper's K-grams over a word); by default account, kgrams, routing, integrated-gradients "
        "and random",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="compare the first N texts only")
    parser.add_argument("--seed", type=int, default=0, help="seed of random orders; 0 by default")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Compares rankings of words with marked words, and prints a table or JSON."""
    from icaps.classifier import ICapsClassifier
    from icaps.cli.progress import Progress
    from icaps.config import ACCOUNT, ROUTING
    from icaps.errors import ConfigError
    from icaps.faithfulness.attributions import registry
    from icaps.faithfulness.plausibility import (
        KGRAMS,
        measure_plausibility,
        plausibility_lines,
        read_marked_words,
    )
    from icaps.stats import to_plain_dict

    if options.limit is not None and options.limit < 1:
        raise ConfigError("--limit must be at least 1.")
    default = [ACCOUNT, KGRAMS, ROUTING, "integrated-gradients", registry.RANDOM]
    names = options.rankings.split(",") if options.rankings else default
    registry.check_rankings([name for name in names if name != KGRAMS])
    classifier = ICapsClassifier.load(options.model)
    texts = read_marked_words(options.words)[: options.limit]
    progress, rows = Progress(sys.stderr), []
    for row in measure_plausibility(classifier, texts, names, options.seed):
        progress.say(row.ranking)
        rows.append(row)
    if options.json:
        print(json.dumps({row.ranking: _to_dict(to_plain_dict(row)) for row in rows}))
        return 0
    print("", *plausibility_lines(rows), sep="\n")
    return 0


def _to_dict(row: dict[str, object]) -> dict[str, object]:
    """A row with each mean as a number, and its interval beside it."""
    result: dict[str, object] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            result[name] = value["mean"]
            result[f"{name}_interval"] = [value["low"], value["high"]]
        elif name != "ranking":
            result[name] = value
    return result
