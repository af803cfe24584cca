"""The `icaps faithfulness` command."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from icaps.cli.data import add_data_options, add_sample_options, draw_texts
from icaps.cli.options import Commands, add_explain_options, read_explain_options
from icaps.config import CAPSULE_RANKINGS
from icaps.errors import ConfigError, DataError

if TYPE_CHECKING:
    from icaps.classifier import ICapsClassifier
    from icaps.faithfulness.word_scores import Texts


def add_parser(commands: Commands) -> None:
    """Adds `icaps faithfulness`."""
    parser = commands.add_parser(
        "faithfulness", help="measure whether the words shown as reasons are those that decide"
    )
    parser.add_argument("--model", required=True, metavar="DIR")
    add_data_options(parser)
    add_sample_options(parser, 500)
    parser.add_argument(
        "--rankings",
        metavar="A,B",
        help="of the words: routing (the paper's), contribution, attention-gradient, "
        "integrated-gradients, leave-one-out, lime, random; all that can be had without this",
    )
    parser.add_argument(
        "--removal", choices=("deletion", "unk"), help="how words are removed; both without this"
    )
    add_explain_options(parser, sizes_only=True)
    parser.add_argument(
        "--stability",
        action="store_true",
        help="explain again with a word changed that is none of the reasons",
    )
    parser.add_argument(
        "--sanity", action="store_true", help="explain again with layers of random weights"
    )
    parser.add_argument(
        "--other-model", metavar="DIR", help="of another seed, whose explanations are compared"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Measures the faithfulness of explanations on a sample of texts."""
    from icaps.classifier import ICapsClassifier
    from icaps.cli.progress import Progress
    from icaps.faithfulness import eraser, rankings, table
    from icaps.faithfulness.perturbation import REMOVALS
    from icaps.faithfulness.sanity import cascade
    from icaps.faithfulness.stability import CHANGES, after_a_change, between_models
    from icaps.stats import plain

    progress, seed = Progress(sys.stderr), options.seed
    left_out = () if options.rankings else rankings.missing()
    names = options.rankings.split(",") if options.rankings else rankings.RANKINGS
    names = [name for name in names if name not in left_out]
    rankings.check_rankings(names)
    classifier = ICapsClassifier.load(options.model)
    drawn = list(draw_texts(options, progress).drawn)
    texts = _read(classifier, drawn)
    others = _read(_other(options, classifier), drawn) if options.other_model else None
    shown = read_explain_options(options)
    measured = eraser.measure_rankings(
        texts,
        names,
        (options.removal,) if options.removal else REMOVALS,
        shown,
        seed,
        lambda name, removal: progress.say(f"{name}, {removal}"),
    )
    rows = table.make_rows(list(measured), seed)
    overlaps = []
    for name in CAPSULE_RANKINGS:
        own = replace(shown, ranking=name)
        if options.stability:
            for change in CHANGES:
                overlaps.append(after_a_change(texts, classifier.vocabulary_, change, own, seed))
        if others is not None:
            overlaps.append(between_models(texts, others, own, seed))
    sanity = list(cascade(texts, CAPSULE_RANKINGS, seed)) if options.sanity else []
    facts = {
        "model": options.model,
        "data": options.data,
        "seed": seed,
        "texts": len(texts),
        "blank": len(drawn) - len(texts),
        "left_out": list(left_out),
        "rows": [plain(row) for row in rows],
        "stability": [plain(overlap) for overlap in overlaps],
        "sanity": [plain(row) for row in sanity],
        "verdicts": table.verdicts(rows),
    }
    if options.json:
        print(json.dumps(facts))
        return 0
    print(f"{len(texts):,} texts (seed {seed}); {facts['blank']:,} without a known word")
    tables = [table.table(rows)]
    tables += [table.stability_table(overlaps)] if overlaps else []
    tables += [table.sanity_table(sanity)] if sanity else []
    for lines in tables:
        print("", *lines, sep="\n")
    print("", *table.verdicts(rows), sep="\n")
    if left_out:
        print(f"Left out: {' and '.join(left_out)}; for them run `{rankings.INSTALL}`.")
    return 0


def _read(classifier: ICapsClassifier, drawn: list[str]) -> Texts:
    """The texts that a model knows a word of, as it reads them."""
    from icaps.faithfulness.word_scores import Texts
    from icaps.inference import read_texts

    network, muted = classifier.network_, classifier.muted_
    batches = read_texts(network, classifier.vocabulary_, drawn, muted)
    texts = Texts.predicted(network, muted, tuple(chain.from_iterable(batches)))
    if not len(texts):
        raise DataError("The model knows no word of these texts; give it texts of its own kind.")
    return texts


def _other(options: argparse.Namespace, classifier: ICapsClassifier) -> ICapsClassifier:
    """The model that is compared.

    Raises:
        ConfigError: It has other classes.
    """
    from icaps.classifier import ICapsClassifier

    other = ICapsClassifier.load(options.other_model)
    if list(other.classes_) != list(classifier.classes_):
        raise ConfigError(
            f"{options.other_model} has other classes than {options.model}; compare models that "
            "were trained on the same data."
        )
    return other
