"""The `icaps faithfulness` command."""

from __future__ import annotations

import argparse
import json
import math
import sys
from itertools import chain
from typing import TYPE_CHECKING

from icaps.data.commands import (
    add_bad_rows_option,
    add_reading_options,
    reading_options,
    say_problems,
)
from icaps.errors import ConfigError, DataError

if TYPE_CHECKING:
    from icaps.classifier import ICapsClassifier
    from icaps.interpret.word_scores import Texts
    from icaps.progress import Progress

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_parser(commands: Commands) -> None:
    """Adds `icaps faithfulness`."""
    parser = commands.add_parser(
        "faithfulness", help="measure whether the words shown as reasons are those that decide"
    )
    parser.add_argument("--model", required=True, metavar="DIR")
    parser.add_argument(
        "--data",
        required=True,
        metavar="DATA",
        help="a file, or a folder or a name of which a part is taken",
    )
    parser.add_argument("--part", default="test", help="of a folder or name: test, train")
    add_reading_options(parser)
    add_bad_rows_option(parser)
    parser.add_argument(
        "--limit", type=int, default=500, metavar="N", help="texts, a random sample of the data"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the sample and all that is random")
    parser.add_argument(
        "--rankings",
        metavar="A,B",
        help="of the words: routing (the paper's), contribution, attention-gradient, "
        "integrated-gradients, leave-one-out, lime, random; all that can be had without this",
    )
    parser.add_argument(
        "--removal", choices=("deletion", "unk"), help="how words are removed; both without this"
    )
    parser.add_argument("--top-capsules", type=int, default=2, metavar="K1")
    parser.add_argument("--top-kgrams", type=int, default=2, metavar="K2")
    parser.add_argument(
        "--top-sentences", type=int, default=1, metavar="N", help="for models of long texts"
    )
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
    parser.set_defaults(command=_faithfulness)


def _faithfulness(options: argparse.Namespace) -> int:
    from icaps.classifier import ICapsClassifier
    from icaps.interpret import faithfulness, faithfulness_table, rankings
    from icaps.interpret.bootstrap import plain
    from icaps.interpret.local import CAPSULE_RANKINGS, Top
    from icaps.interpret.removal import REMOVALS
    from icaps.interpret.sanity import cascade
    from icaps.interpret.stability import CHANGES, after_a_change, between_models
    from icaps.progress import Progress

    progress, seed = Progress(sys.stderr), options.seed
    left_out = () if options.rankings else rankings.missing()
    names = options.rankings.split(",") if options.rankings else rankings.RANKINGS
    names = [name for name in names if name not in left_out]
    rankings.check_rankings(names)
    classifier = ICapsClassifier.load(options.model)
    drawn = _sample(options, progress)
    texts = _read(classifier, drawn)
    others = _read(_other(options, classifier), drawn) if options.other_model else None
    top = Top(options.top_capsules, options.top_kgrams, options.top_sentences)
    measured = faithfulness.measure_rankings(
        texts,
        names,
        (options.removal,) if options.removal else REMOVALS,
        top,
        seed,
        lambda name, removal: progress.say(f"{name}, {removal}"),
    )
    rows = faithfulness_table.make_rows(list(measured), seed)
    overlaps = []
    for name in CAPSULE_RANKINGS:
        own = top._replace(ranking=name)
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
        "verdicts": faithfulness_table.verdicts(rows),
    }
    if options.json:
        print(json.dumps(facts))
        return 0
    print(f"{len(texts):,} texts (seed {seed}); {facts['blank']:,} without a known word")
    tables = [faithfulness_table.table(rows)]
    tables += [faithfulness_table.stability_table(overlaps)] if overlaps else []
    tables += [faithfulness_table.sanity_table(sanity)] if sanity else []
    for lines in tables:
        print("", *lines, sep="\n")
    print("", *faithfulness_table.verdicts(rows), sep="\n")
    if left_out:
        print(f"Left out: {' and '.join(left_out)}; for them run `{rankings.INSTALL}`.")
    return 0


def _sample(options: argparse.Namespace, progress: Progress) -> list[str]:
    """The texts that are measured."""
    from icaps.data.names import resolve
    from icaps.data.sample import draw_sample
    from icaps.data.source import open_source

    if options.limit < 1:
        raise ConfigError(f"--limit is {options.limit}; it must be at least 1.")
    place = resolve(options.data, progress)
    source = open_source(place, options.part, **reading_options(options))
    drawn = draw_sample(source, options.limit, math.inf, options.seed).drawn
    say_problems(source, options.part)
    return list(drawn)


def _read(classifier: ICapsClassifier, drawn: list[str]) -> Texts:
    """The texts that a model knows a word of, as it reads them."""
    from icaps.inference import read_texts
    from icaps.interpret.word_scores import Texts

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
