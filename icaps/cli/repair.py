"""The `icaps repair` command: makes words and capsules of a model neutral, or undoes that."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from icaps.cli.data_options import add_reading_options, find_leak, reading_options, say_problems
from icaps.cli.formatting import one_line
from icaps.cli.options import Commands, add_model
from icaps.errors import ConfigError

if TYPE_CHECKING:
    from icaps.classifier import ICapsClassifier
    from icaps.evaluate.edit_effect import EditEffect
    from icaps.interpret.edits import Edit


def add_parser(commands: Commands) -> None:
    """Adds `icaps repair`."""
    parser = commands.add_parser(
        "repair",
        help="make words or capsules of a model neutral, without training; or undo that",
        description="Leaves words, K-grams or capsules out of the scores, exactly and without "
        "training: what they add to the score of a class is not counted. Without --out nothing is "
        "written.",
    )
    add_model(parser)
    parser.add_argument(
        "--word",
        action="append",
        default=[],
        metavar="WORD",
        help="a word, or a K-gram of several words, as in texts; may be repeated",
    )
    parser.add_argument(
        "--capsule",
        action="append",
        default=[],
        type=int,
        metavar="N",
        help="the number of a capsule; may be repeated",
    )
    parser.add_argument(
        "--class",
        dest="target",
        metavar="CLASS",
        help="neutral for this class only; for all classes by default",
    )
    parser.add_argument("--name", default="", help="name of the edit; by default its words")
    parser.add_argument(
        "--undo", action="append", default=[], metavar="NAME", help="undo the edit of this name"
    )
    parser.add_argument("--out", metavar="DIR", help="folder for the edited model")
    parser.add_argument(
        "--data", metavar="DATA", help="labelled texts on which the effect is measured"
    )
    parser.add_argument(
        "--part", default="test", help="part of the data, as in `icaps evaluate`; test by default"
    )
    add_reading_options(parser)
    parser.add_argument("--seed", type=int, default=0, help="seed of the control; 0 by default")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Edits a model, measures the effect, and writes the edited model."""
    from icaps.classifier import ICapsClassifier

    classifier = ICapsClassifier.load(options.model)
    edited = classifier.edited(_edits(options, classifier))
    effect = None if options.data is None else _measure(options, classifier, edited)
    if options.out:
        edited.save(options.out)
    if options.json:
        facts = {
            "model": options.model,
            "out": options.out,
            "edits": [edit.to_dict() for edit in edited.edits_],
            "data": options.data,
            "effect": effect and effect.to_dict(),
        }
        print(json.dumps(facts))
        return 0
    for edit in edited.edits_:
        print(one_line(f"{edit.name}: {edit}"))
    if not edited.edits_:
        print("The model has no edits.")
    if effect is not None:
        print("", *effect.lines(), sep="\n")
    if options.out:
        print(f"The edited model is in {options.out}.")
    return 0


def _edits(options: argparse.Namespace, classifier: ICapsClassifier) -> list[Edit]:
    """The edits that the model is to have.

    Raises:
        ConfigError: There is no edit to undo, or --name is given for several.
    """
    from icaps.interpret.edits import neutral_capsule, neutral_words

    names = [edit.name for edit in classifier.edits_]
    for name in options.undo:
        if name not in names:
            known = ", ".join(names) or "none"
            raise ConfigError(f"The model has no edit {name!r}; it has {known}.")
    new = len(options.word) + len(options.capsule)
    if options.name and new != 1:
        raise ConfigError("--name names one edit; give one --word or one --capsule with it.")
    kept = [edit for edit in classifier.edits_ if edit.name not in options.undo]
    kept += [neutral_words(word, options.target, options.name) for word in options.word]
    kept += [neutral_capsule(n, options.target, options.name) for n in options.capsule]
    return kept


def _measure(
    options: argparse.Namespace, before: ICapsClassifier, after: ICapsClassifier
) -> EditEffect:
    from icaps.cli.progress import Progress
    from icaps.data.resolve import resolve
    from icaps.evaluate.edit_effect import measure_edits
    from icaps.train.text_hashes import open_part

    place = resolve(options.data, Progress(sys.stderr))
    source = open_part(place, options.part, reading_options(options), options.model)
    effect = measure_edits(before, after, source.pairs(), options.seed)
    say_problems(source, options.part)
    find_leak(options.model, (text for text, _ in source.pairs()))
    return effect
