"""The `icaps train` command, which tells its run folder how it goes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from icaps.cli.baseline import add_parser as add_baseline
from icaps.cli.data import add_bad_rows_option, add_reading_options, reading_options, say_problems
from icaps.config import ModelConfig, TrainConfig, get_preset, override
from icaps.errors import ConfigError, RunError
from icaps.runs.folder import RunFolder
from icaps.runs.jobs import add_queue
from icaps.runs.logger import Recorder, recorded
from icaps.train.checkpoint_files import LAST, check_resumable, check_writable

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

INTERRUPTED_CODE = 130


def add_parser(commands: Commands) -> None:
    """Adds `icaps train`."""
    train = commands.add_parser("train", help="train a model and write its folder")
    train.add_argument(
        "--data",
        required=True,
        metavar="DATA",
        help="a file of texts and labels (CSV, TSV, JSON, Parquet, Arrow, fastText), a folder with "
        "train and test files, one with a folder of texts a class, or a name: icaps data list",
    )
    add_reading_options(train)
    add_bad_rows_option(train)
    train.add_argument("--out", required=True, metavar="DIR", help="folder of the new model")
    train.add_argument("--preset", metavar="NAME", help="settings from the paper: icaps presets")
    train.add_argument(
        "--vectors",
        action="append",
        metavar="PATH",
        help="file of word vectors, or a gensim-data name, or 'texts' for vectors trained on the "
        "texts, which is the default; repeated, they stand side by side",
    )
    train.add_argument("--seed", type=int, metavar="N", help="of all random numbers")
    train.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    train.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="KEY=VALUE",
        help="any single setting; may be repeated",
    )
    train.add_argument(
        "--resume", action="store_true", help="go on with a training that was stopped in DIR"
    )
    train.add_argument(
        "--watch", default="", metavar="TEXT", help="keep how this text is explained, each epoch"
    )
    add_queue(train)
    add_timeout(train)
    train.set_defaults(command=_train)


def add_timeout(parser: argparse.ArgumentParser) -> None:
    """Adds --timeout."""
    parser.add_argument(
        "--timeout",
        type=float,
        default=600,
        metavar="SECONDS",
        help="under torchrun, how long a process waits for another before it gives up",
    )


class _Reader(argparse.ArgumentParser):
    """Raises what is wrong, and neither prints it nor ends the process."""

    def error(self, message: str) -> NoReturn:
        raise RunError(f"The command can't be read ({message}).")


def read_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command that trains a model or a baseline, as a run folder keeps it.

    Raises:
        RunError: It is no command that this iCaps knows.
    """
    parser: argparse.ArgumentParser = _Reader()
    commands = parser.add_subparsers(required=True)
    add_parser(commands)
    add_baseline(commands)
    # The one that a job is asked for with has no --out yet.
    given = [*arguments[:1], "--out", "", *arguments[1:]]
    try:
        options, unknown = parser.parse_known_args(given)
    except SystemExit as error:  # --help
        raise RunError("The command can't be read, as it asks for help.") from error
    if unknown:
        raise RunError(f"icaps {arguments[0]} has no option {unknown[0]}.")
    return options


def _train(options: argparse.Namespace) -> int:
    if int(os.environ.get("RANK", 0)):  # under torchrun the first process tells of all
        return _train_configured(options, None)
    folder = RunFolder(Path(options.out))
    check_writable(folder.path)  # before the work, not after it
    if options.resume:
        check_resumable(folder.path / LAST)
    with recorded(folder, options.given, options.queue, options.resume) as recorder:
        code = _train_configured(options, recorder)
        recorder.end(interrupted=code == INTERRUPTED_CODE)
        return code


def _train_configured(options: argparse.Namespace, recorder: Recorder | None) -> int:
    model, train = settings_of(options)
    from icaps.nn.distributed import process_group

    with process_group(options.device, options.timeout):
        return _train_together(options, model, train, recorder)


def settings_of(options: argparse.Namespace) -> tuple[ModelConfig, TrainConfig]:
    """The settings that the arguments of `icaps train` come to.

    Raises:
        ConfigError: There is no such preset or setting, or a value is out of its range.
    """
    model, train = ModelConfig(), TrainConfig()
    if options.preset:
        preset = get_preset(options.preset)
        model, train = preset.model, preset.train
    settings = dict(_setting(text) for text in options.settings)
    if options.seed is not None:
        settings["seed"] = str(options.seed)
    return override(model, train, settings)


def _train_together(
    options: argparse.Namespace,
    model: ModelConfig,
    train: TrainConfig,
    recorder: Recorder | None,
) -> int:
    from icaps.classifier import ICapsClassifier
    from icaps.cli.progress import Progress
    from icaps.data.files import has_part
    from icaps.data.resolve import resolve
    from icaps.data.source import open_source
    from icaps.evaluate.metrics import evaluate
    from icaps.nn import distributed
    from icaps.runs.snapshots import Follower
    from icaps.train.resume import forget

    progress = Progress(sys.stderr)
    place = resolve(options.data, progress)
    source = open_source(place, "train", **reading_options(options))
    test = None
    if has_part(place, "test"):
        test = open_source(place, "test", **reading_options(options))
        for _ in test:  # a bad row is found before the training, not after it
            pass
    last = Path(options.out) / LAST
    classifier = ICapsClassifier(
        model,
        train,
        options.vectors,
        options.device,
        (progress,) if recorder is None else (progress, recorder),
        progress.say,
        last,
        options.resume,
        None if recorder is None else Follower(recorder.folder, options.watch, options.resume),
    )
    classifier.fit_stream(source, workers=os.cpu_count() or 1)
    first = not distributed.rank()
    if first:
        say_problems(source, "train")
        classifier.save(options.out)  # whatever becomes of the test
        progress.say(f"saved to {options.out}")
    if classifier.interrupted_:
        return INTERRUPTED_CODE
    if first:
        forget(last)
    if test is not None:
        scores = classifier.metrics_["test"] = evaluate(classifier, test.pairs())
        if first:
            say_problems(test, "test")
            classifier.save(options.out)
            progress.say(f"test accuracy {scores['accuracy']:.2%}")
    return 0


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--set takes KEY=VALUE, such as --set dropout=0.2, not {text!r}.")
    return key.strip(), value.strip()
