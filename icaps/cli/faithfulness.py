"""The `icaps faithfulness` command: measures rankings of words, stability and sanity."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from icaps.cli.data_options import add_data_options, add_sample_options, draw_texts, find_leak
from icaps.cli.options import Commands, add_explain_options, add_model, read_explain_options
from icaps.config import KGRAM_RANKINGS
from icaps.errors import ConfigError

if TYPE_CHECKING:
    from icaps.classifier import ICapsClassifier
    from icaps.faithfulness.stability import Overlap
    from icaps.faithfulness.texts import ExplainedTexts


def add_parser(commands: Commands) -> None:
    """Adds `icaps faithfulness`."""
    parser = commands.add_parser(
        "faithfulness", help="measure how much predictions depend on the words of explanations"
    )
    add_model(parser)
    add_data_options(parser)
    add_sample_options(parser, 500)
    parser.add_argument(
        "--rankings",
        metavar="A,B",
        help="rankings of the words: routing (the paper's), contribution, account (what each word "
        "adds to the score), account-passes (the same, read again as words go), "
        "attention-gradient, integrated-gradients, leave-one-out, lime, random; by default all "
        "that are installed",
    )
    parser.add_argument(
        "--removal", choices=("deletion", "unk"), help="how words are removed; both by default"
    )
    add_explain_options(parser, sizes_only=True)
    parser.add_argument(
        "--stability",
        action="store_true",
        help="explain again after replacing a word that is not part of the explanation",
    )
    parser.add_argument(
        "--normalised",
        action="store_true",
        help="on short texts also relative to the best and the worst order of removing the words; "
        "takes half a second per text",
    )
    parser.add_argument(
        "--sanity", action="store_true", help="explain again with layers of random weights"
    )
    parser.add_argument(
        "--other-model", metavar="DIR", help="compare with this model, such as one of another seed"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Measures rankings of words, and prints them as tables or as JSON."""
    from icaps.classifier import ICapsClassifier
    from icaps.cli.progress import Progress
    from icaps.faithfulness.attributions import registry
    from icaps.faithfulness.eraser import make_rows, measure_rankings, ranking_lines, verdicts
    from icaps.faithfulness.normalised import measure_normalised, normalised_lines
    from icaps.faithfulness.perturbation import REMOVALS
    from icaps.faithfulness.sanity import cascade, sanity_lines
    from icaps.faithfulness.stability import stability_lines
    from icaps.faithfulness.texts import read_explained
    from icaps.faithfulness.word_agreement import agreement_lines, word_agreement
    from icaps.stats import to_plain_dict

    progress, seed = Progress(sys.stderr), options.seed
    left_out = () if options.rankings else registry.missing_rankings()
    names = options.rankings.split(",") if options.rankings else registry.RANKINGS
    names = [name for name in names if name not in left_out]
    registry.check_rankings(names)
    classifier = ICapsClassifier.load(options.model)
    sample = list(draw_texts(options, progress).texts)
    leak = find_leak(options.model, sample)
    texts = read_explained(classifier, sample)
    others = None
    if options.other_model:
        others = read_explained(_load_other(options, classifier), sample)
    removals = (options.removal,) if options.removal else REMOVALS
    results = measure_rankings(
        texts,
        names,
        removals,
        read_explain_options(options),
        seed,
        lambda name, removal: progress.say(f"{name}, {removal}"),
    )
    rows = make_rows(list(results), seed)
    normalised = []
    if options.normalised:
        progress.say("normalised")
        normalised = list(measure_normalised(texts, names, removals, seed))
    overlaps = _measure_overlaps(options, classifier, texts, others)
    agreement = [] if others is None else list(word_agreement(texts, others, names, seed))
    sanity = list(cascade(texts, KGRAM_RANKINGS, seed)) if options.sanity else []
    multilabel = classifier.network_.thresholds is not None
    if options.json:
        facts = {
            "model": options.model,
            "data": options.data,
            "seed": seed,
            "texts": len(texts),
            "blank": texts.blank,
            **({"undecided": texts.undecided} if multilabel else {}),
            "leak": leak and leak.to_dict(),
            "left_out": list(left_out),
            "rows": [to_plain_dict(row) for row in rows],
            "normalised": [to_plain_dict(row) for row in normalised],
            "stability": [to_plain_dict(overlap) for overlap in overlaps],
            "word_agreement": [to_plain_dict(row) for row in agreement],
            "sanity": [to_plain_dict(row) for row in sanity],
            "verdicts": verdicts(rows),
        }
        print(json.dumps(facts))
        return 0
    explained = f"{len(texts):,} texts (seed {seed}); {texts.blank:,} without a known word"
    if multilabel:
        explained = (
            f"{len(texts):,} predicted classes of {len(sample) - texts.blank - texts.undecided:,} "
            f"texts (seed {seed}); {texts.undecided:,} texts without a predicted class, "
            f"{texts.blank:,} without a known word"
        )
    print(explained)
    print("", *ranking_lines(rows), sep="\n")
    if normalised:
        print("", *normalised_lines(normalised), sep="\n")
    if overlaps:
        print("", *stability_lines(overlaps), sep="\n")
    if agreement:
        print("", *agreement_lines(agreement), sep="\n")
    if sanity:
        print("", *sanity_lines(sanity), sep="\n")
    print("", *verdicts(rows), sep="\n")
    if left_out:
        print(f"Left out: {' and '.join(left_out)}; for them run `{registry.INSTALL}`.")
    return 0


def _measure_overlaps(
    options: argparse.Namespace,
    classifier: ICapsClassifier,
    texts: ExplainedTexts,
    others: ExplainedTexts | None,
) -> list[Overlap]:
    """The stability of each ranking of K-grams, as far as the options select it.

    `others` are the texts as another model reads them.
    """
    from icaps.faithfulness.stability import (
        CHANGES,
        overlap_after_replacement,
        overlap_between_models,
    )

    vocabulary, seed, overlaps = classifier.vocabulary_, options.seed, []
    for name in KGRAM_RANKINGS:
        ranked = replace(read_explain_options(options), ranking=name)
        if options.stability:
            overlaps += [
                overlap_after_replacement(texts, vocabulary, change, ranked, seed)
                for change in CHANGES
            ]
        if others is not None:
            overlaps.append(overlap_between_models(texts, others, ranked, seed))
    return overlaps


def _load_other(options: argparse.Namespace, classifier: ICapsClassifier) -> ICapsClassifier:
    """The model to compare with.

    Raises:
        ConfigError: It has other classes, or gives a text another number of labels.
    """
    other = classifier.load(options.other_model)
    if list(other.classes_) != list(classifier.classes_):
        raise ConfigError(
            f"{options.other_model} has other classes than {options.model}; compare models that "
            "were trained on the same data."
        )
    if (other.network_.thresholds is None) != (classifier.network_.thresholds is None):
        raise ConfigError(
            f"One of {options.other_model} and {options.model} gives a text several labels, and "
            "the other one label; compare models of one kind."
        )
    return other
