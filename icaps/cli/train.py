"""The `icaps train` command: trains a model, tests it, and reports to its run folder."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from icaps.cli.data_options import (
    add_bad_rows_option,
    add_reading_options,
    reading_options,
    say_problems,
)
from icaps.cli.options import Commands, add_queue, add_timeout
from icaps.config import CLASS_WEIGHTS, ModelSettings, TrainSettings, read_settings
from icaps.errors import ConfigError
from icaps.runs.folder import RunFolder
from icaps.runs.logger import StatusWriter, logged_run
from icaps.train.checkpoint_files import LAST, check_resumable, check_writable

INTERRUPTED_CODE = 130


def add_parser(commands: Commands) -> None:
    """Adds `icaps train`."""
    train = commands.add_parser("train", help="train a model and write its folder")
    train.add_argument(
        "--data",
        required=True,
        metavar="DATA",
        help="a file of texts and labels (CSV, TSV, JSON, Parquet, Arrow, fastText), a folder with "
        "train and test files, a folder with a folder of texts per class, or a name: icaps data "
        "list",
    )
    add_reading_options(train)
    add_bad_rows_option(train)
    train.add_argument(
        "--unlabelled",
        metavar="DATA",
        help="texts without labels, which help where few texts have labels: a file of any format, "
        "with one text per line, or a folder; labels in it are not read",
    )
    train.add_argument(
        "--mask-word",
        action="append",
        default=[],
        metavar="WORD",
        help="a word, or a K-gram of several words: each text that has it is read without it as "
        "well, so that the model does not depend on it; may be repeated. See icaps repair",
    )
    train.add_argument("--out", required=True, metavar="DIR", help="folder of the new model")
    train.add_argument(
        "--preset",
        metavar="NAME",
        help="settings of the paper instead of the recipe, which chooses them by the number, "
        "lengths and classes of the texts; see icaps presets",
    )
    train.add_argument(
        "--vectors",
        action="append",
        metavar="PATH",
        help="'english' for the table of English words that comes with iCaps, 'texts' for vectors "
        "trained on the texts, a file of word vectors, or a gensim-data name; may be repeated, to "
        "concatenate several. By default 'english', and 'texts' if it has few of the words",
    )
    train.add_argument("--seed", type=int, metavar="N", help="random seed")
    train.add_argument(
        "--class-weight",
        choices=CLASS_WEIGHTS,
        help="balanced: a text of a rare class counts more, so that each class counts the same in "
        "the loss, and the epoch is chosen by macro F1; for unbalanced classes",
    )
    train.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    train.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="KEY=VALUE",
        help="a single setting, which replaces that of the recipe or the preset; may be repeated",
    )
    train.add_argument(
        "--resume", action="store_true", help="continue a training that was stopped in DIR"
    )
    train.add_argument(
        "--watch",
        default="",
        metavar="TEXT",
        help="store the explanation of this text after each epoch",
    )
    train.add_argument(
        "--log-to",
        action="append",
        default=[],
        metavar="PLACE",
        help="log losses, scores and settings to tensorboard:FOLDER, mlflow, or mlflow:URI; may be "
        "repeated. A tracker that fails does not end the training",
    )
    add_queue(train)
    add_timeout(train)
    train.set_defaults(command=run)


def given_settings(options: argparse.Namespace) -> dict[str, str]:
    """The values of --set, --seed and --class-weight, by the names of the settings.

    Raises:
        ConfigError: A --set has no value.
    """
    settings = dict(_setting(text) for text in options.settings)
    if options.seed is not None:
        settings["seed"] = str(options.seed)
    if options.class_weight is not None:
        settings["class_weight"] = options.class_weight
    return settings


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--set takes KEY=VALUE, such as --set dropout=0.2, not {text!r}.")
    return key.strip(), value.strip()


def run(options: argparse.Namespace) -> int:
    """Trains a model and tests it."""
    if int(os.environ.get("RANK", 0)):  # under torchrun only the first process reports
        return _train_in_group(options, None)
    folder = RunFolder(Path(options.out))
    check_writable(folder.path)  # before the work, not after it
    if options.resume:
        check_resumable(folder.path / LAST)
    with logged_run(folder, options.given, options.queue, options.resume) as status:
        code = _train_in_group(options, status)
        status.end(interrupted=code == INTERRUPTED_CODE)
        return code


def _train_in_group(options: argparse.Namespace, status: StatusWriter | None) -> int:
    # Before torch is imported, so that a wrong setting is reported at once.
    model, train = read_settings(options.preset or "", given_settings(options))
    from icaps.nn.distributed import process_group

    with process_group(options.device, options.timeout):
        return _fit_and_test(options, model, train, status)


def _fit_and_test(
    options: argparse.Namespace,
    model: ModelSettings,
    train: TrainSettings,
    status: StatusWriter | None,
) -> int:
    from icaps.classifier import ICapsClassifier
    from icaps.cli.formatting import describe_test
    from icaps.cli.progress import Progress
    from icaps.data.resolve import resolve
    from icaps.data.source import open_source, open_test
    from icaps.data.unlabelled import open_unlabelled, unlabelled_reading
    from icaps.evaluate.scores import evaluate
    from icaps.interpret.global_view import DataReference, make_view, save_view
    from icaps.nn import distributed
    from icaps.runs.snapshots import SnapshotWriter
    from icaps.train.callbacks import Callback
    from icaps.train.examples import choose_examples, save_examples
    from icaps.train.parts import HELD_OUT, open_part
    from icaps.train.resume import delete_state
    from icaps.train.tracking import open_tracker

    progress = Progress(sys.stderr)
    name = Path(options.out).resolve().name
    trackers = [open_tracker(tracker, name, progress.say) for tracker in options.log_to]
    place = resolve(options.data, progress)
    source = open_source(place, "train", **reading_options(options))
    for note in source.describe().notes if not distributed.rank() else ():
        progress.say(note)
    test = open_test(
        place,
        lambda line: None if distributed.rank() else progress.say(line),
        **reading_options(options),
    )
    for _ in test or ():  # a bad row is reported before the training, not after it
        pass
    unlabelled = None
    if options.unlabelled:
        unlabelled = open_unlabelled(
            resolve(options.unlabelled, progress),
            **unlabelled_reading(reading_options(options)),
            log=lambda line: None if distributed.rank() else progress.say(line),
        )
    callbacks: list[Callback] = [progress, *trackers]
    if status is not None:
        callbacks += [status, SnapshotWriter(status.folder, options.watch, options.resume)]
    classifier = ICapsClassifier(model, train, options.vectors, options.device, callbacks)
    state_folder = Path(options.out) / LAST
    classifier.fit_stream(
        source,
        os.cpu_count() or 1,
        unlabelled=() if unlabelled is None else unlabelled,
        masked=options.mask_word,
        state_folder=state_folder,
        resume=options.resume,
    )
    if options.corrections:
        classifier.metrics_["corrected_texts"] = source.corrected
    first = not distributed.rank()
    if first:
        say_problems(source, "train")
        if unlabelled is not None:
            say_problems(unlabelled, "unlabelled")
        classifier.save(options.out)  # before the test, which may fail
        progress.say(f"saved to {options.out}")
    if classifier.interrupted_:
        return INTERRUPTED_CODE
    if first:
        delete_state(state_folder)
    if test is not None:
        scores = classifier.metrics_["test"] = evaluate(classifier, test.pairs())
        if options.corrections:
            classifier.metrics_["corrected_test_texts"] = test.corrected
        if first:
            say_problems(test, "test")
            classifier.save(options.out)
            progress.say(describe_test(scores))
            for tracker in trackers:
                tracker.on_test(scores)
    if first:
        unseen = test or open_part(place, HELD_OUT, reading_options(options), options.out)
        classes = list(map(str, classifier.classes_))
        save_examples(choose_examples(unseen, classes), options.out)
    part = "train" if test is None else "test"
    if first:
        progress.say(f"counting what the capsules do with the {part} texts")
    data = DataReference(options.data, part, reading_options(options))
    counted = source if test is None else test
    view = make_view(classifier, options.out, data, counted, progress.on_texts)
    if first:
        save_view(view, options.out)
    return 0
