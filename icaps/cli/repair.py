"""The `icaps repair` command: makes words and capsules of a model neutral, or undoes that.

Beside it, a model is trained on texts without the words (`train.masking`), if that is asked for.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from icaps.cli.data_options import add_reading_options, find_leak, reading_options, say_problems
from icaps.cli.formatting import one_line
from icaps.cli.options import Commands, add_model
from icaps.cli.request import TrainRequest, read_arguments
from icaps.cli.train import run as run_training
from icaps.errors import ConfigError
from icaps.runs.folder import RunFolder

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
        "written. With --retrain, a second model is trained on texts without the words, and both "
        "are measured beside each other.",
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
        "--retrain",
        metavar="DIR",
        help="folder for a model that is trained as this one was, but reads each text that has one "
        "of the words without it as well. Without a request.json of the model, the training texts "
        "of --data are used, and the settings that suit them",
    )
    parser.add_argument(
        "--data",
        metavar="DATA",
        help="labelled texts on which the effect is measured; with --retrain by default those of "
        "the training",
    )
    parser.add_argument(
        "--part", default="test", help="part of the data, as in `icaps evaluate`; test by default"
    )
    add_reading_options(parser)
    parser.add_argument("--seed", type=int, default=0, help="seed of the control; 0 by default")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Edits a model, trains another one, measures both, and writes the edited model."""
    from icaps.classifier import ICapsClassifier

    classifier = ICapsClassifier.load(options.model)
    edited = classifier.edited(_edits(options, classifier))
    beside: dict[str, ICapsClassifier] = {}
    if options.retrain:
        request = _training(options)
        arguments = [*request.to_arguments(), "--out", options.retrain]
        training = read_arguments(request.to_arguments())
        training.out, training.given = options.retrain, arguments
        if code := run_training(training):
            return code
        if options.data is None:
            options.data = request.data
            vars(options).update(request.reading)
        beside = _retrained(options)
    effect = None if options.data is None else _measure(options, classifier, edited, beside)
    if options.out:
        edited.save(options.out)
    if options.json:
        facts = {
            "model": options.model,
            "out": options.out,
            "retrained": options.retrain,
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
        print("", *effect.table(), sep="\n")
    if options.out:
        print(f"The edited model is in {options.out}.")
    if options.retrain:
        print(f"The retrained model is in {options.retrain}.")
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


def _training(options: argparse.Namespace) -> TrainRequest:
    """The training of the model, with the words masked.

    Raises:
        ConfigError: There is no word, or no training data is known.
        RunError: The command of the model's training can't be read.
    """
    if not options.word:
        raise ConfigError("--retrain masks words; give at least one --word.")
    stored = RunFolder(Path(options.model)).request()
    if stored is not None and not stored.is_baseline:
        request = TrainRequest.from_arguments(stored.arguments)
        place = Path(stored.folder, request.data)
        data = str(place) if place.exists() else request.data
        words = dict.fromkeys([*request.masked, *options.word])
        return replace(request, data=data, masked=tuple(words))
    if options.data is None:
        raise ConfigError(
            f"{options.model} does not say on which texts it was trained; name them by --data."
        )
    reading = {
        name: value
        for name, value in reading_options(options).items()
        if value not in (None, "strict")
    }
    return TrainRequest(options.data, reading, "", {}, (), "", masked=tuple(options.word))


def _retrained(options: argparse.Namespace) -> dict[str, ICapsClassifier]:
    """The retrained model, and the same with the words made neutral besides."""
    from icaps.classifier import ICapsClassifier
    from icaps.interpret.edits import neutral_words

    model = ICapsClassifier.load(options.retrain)
    edits = [neutral_words(word, options.target) for word in dict.fromkeys(options.word)]
    return {"retrained": model, "retrained, neutral": model.edited(edits)}


def _measure(
    options: argparse.Namespace,
    before: ICapsClassifier,
    after: ICapsClassifier,
    beside: dict[str, ICapsClassifier],
) -> EditEffect:
    from icaps.cli.progress import Progress
    from icaps.data.resolve import resolve
    from icaps.evaluate.edit_effect import measure_edits
    from icaps.train.parts import open_part

    place = resolve(options.data, Progress(sys.stderr))
    source = open_part(place, options.part, reading_options(options), options.model)
    effect = measure_edits(before, after, source.pairs(), options.seed, beside)
    say_problems(source, options.part)
    find_leak(options.model, (text for text, _ in source.pairs()))
    return effect
