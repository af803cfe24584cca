"""The command `icaps label`: creates a task, shows it, and gives, takes back and exports labels."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from icaps.cli.data_options import add_bad_rows_option, add_reading_options, reading_options
from icaps.cli.formatting import one_line
from icaps.cli.options import Commands
from icaps.errors import ConfigError, DataError
from icaps.label.defaults import DEFAULT, HELD_OUT, ORDERS

if TYPE_CHECKING:
    from icaps.label.guesses import Guesses
    from icaps.label.queue import Item
    from icaps.label.task import LabelTask

_SHOWN = 100  # characters of a text


def add_parser(commands: Commands) -> None:
    """Adds `icaps label` with its subcommands."""
    label = commands.add_parser(
        "label",
        help="label texts: create a task, show it, import and export labels",
        description="A labelling task is a folder with texts, their classes, and the labels that "
        "people give, on the page Label or by import.",
    )
    actions = label.add_subparsers(metavar="ACTION", required=True)
    _add_create(actions)
    _add_action(actions, "status", "show how far a task is", _status)
    _add_next(actions)
    _add_accept(actions)
    undo = _add_action(actions, "undo", "take back labels that were given together", _undo)
    undo.add_argument(
        "--batch", metavar="NAME", help="what `accept` printed; by default the last labels"
    )
    _add_import(actions)
    export = _add_action(actions, "export", "write the labels to a file", _export)
    export.add_argument(
        "--out", required=True, metavar="FILE", help="the file: .csv, .jsonl or .parquet"
    )
    _add_action(
        actions,
        "data",
        "write the labels for `icaps train --data`, the held-out part as test part; print the "
        "folder",
        _data,
    )


def _add_action(commands: Commands, name: str, help: str, run: Any) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=help)
    parser.add_argument("folder", metavar="FOLDER", help="the folder of the task")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)
    return parser


def _add_create(commands: Commands) -> None:
    create = _add_action(commands, "create", "create a task from texts", _create)
    create.add_argument(
        "--data",
        required=True,
        metavar="DATA",
        help="texts, with or without labels: a file, a folder of which the train part is read, or "
        "a name; labels of some rows count as given",
    )
    create.add_argument(
        "--class",
        action="append",
        default=[],
        dest="classes",
        metavar="NAME",
        help="name of a class; repeat it. Those of the given labels are added",
    )
    create.add_argument("--several", action="store_true", help="a text may have several classes")
    create.add_argument(
        "--held-out",
        type=int,
        default=HELD_OUT,
        metavar="N",
        help="texts that are drawn at random, labelled first, and held out of training; "
        f"{HELD_OUT} by default, at most half of the texts",
    )
    create.add_argument("--seed", type=int, default=0, help="seed of the draw")
    add_reading_options(create)
    add_bad_rows_option(create)


def _add_next(commands: Commands) -> None:
    following = _add_action(commands, "next", "show the texts that come next, and why", _next)
    following.add_argument(
        "--order",
        choices=ORDERS,
        default=DEFAULT,
        help="; ".join(f"{name}: {text}" for name, text in ORDERS.items()),
    )
    following.add_argument("--model", metavar="DIR", help="folder of a trained model")
    following.add_argument("--capsule", type=int, metavar="NUMBER", help="for the order capsule")
    following.add_argument(
        "--search", default="", metavar="REGEX", help="a regular expression, for the order search"
    )
    following.add_argument("--limit", type=int, default=10, metavar="N", help="number of texts")


def _add_accept(commands: Commands) -> None:
    accept = _add_action(
        commands,
        "accept",
        "give texts without a label the class that a model is sure of; the labels are marked as "
        "the model's, and held-out texts get none",
        _accept,
    )
    accept.add_argument("--model", required=True, metavar="DIR", help="folder of a trained model")
    accept.add_argument(
        "--at-least",
        type=float,
        required=True,
        metavar="P",
        help="the least probability, such as 0.95",
    )
    accept.add_argument(
        "--dry-run", action="store_true", help="only show how many texts that are, and a sample"
    )
    accept.add_argument(
        "--show", type=int, default=10, metavar="N", help="texts of the sample (10)"
    )


def _add_import(commands: Commands) -> None:
    importing = _add_action(
        commands, "import", "give the labels in a file to the same texts of a task", _import
    )
    importing.add_argument("--data", required=True, metavar="DATA", help="labelled texts")
    importing.add_argument("--by", default="person", help="who gave them; 'person' by default")
    add_reading_options(importing)
    add_bad_rows_option(importing)


def _create(options: argparse.Namespace) -> int:
    from icaps.cli.progress import Progress
    from icaps.data.resolve import resolve
    from icaps.label.task import LabelTask

    progress = Progress(sys.stderr)
    task = LabelTask.create(
        options.folder,
        resolve(options.data, progress),
        options.classes,
        options.several,
        options.held_out,
        options.seed,
        reading_options(options),
        progress,
    )
    return _show(task, options.json)


def _status(options: argparse.Namespace) -> int:
    return _show(_open(options), options.json)


def _next(options: argparse.Namespace) -> int:
    from icaps.evaluate.predictions import load_scorer
    from icaps.label.order import Order

    task = _open(options)
    order = Order(options.order, options.capsule, options.search, max(options.limit, 1))
    model = load_scorer(options.model) if options.model else None
    items = task.queue(options.limit, order, model)
    if options.json:
        print(json.dumps([dataclasses.asdict(item) for item in items]))
    for item in [] if options.json else items:
        _print_item(item)
    return 0


def _accept(options: argparse.Namespace) -> int:
    from icaps.cli.progress import Progress
    from icaps.evaluate.predictions import load_scorer

    if not 0 <= options.at_least <= 1:
        raise ConfigError(f"--at-least is {options.at_least}; give a probability from 0 to 1.")
    task, model, progress = _open(options), load_scorer(options.model), Progress(sys.stderr)
    progress.expect_texts(len(task.unlabelled()))
    guesses = task.guesses(model, progress.on_texts)
    sure = guesses.from_probability(options.at_least)
    accept = len(sure) > 0 and not options.dry_run
    facts: dict[str, Any] = {
        "texts": len(guesses),
        "sure": len(sure),
        "accepted": len(sure) if accept else 0,
        "batch": task.accept(sure, Path(options.model).name) if accept else None,
        "by_class": sure.by_class(),
        "held_out_accuracy": task.check_guesses(model).accuracy(options.at_least).to_dict(),
    }
    if options.json:
        print(json.dumps(facts))
        return 0
    verb = "have got" if accept else "would get"
    print(
        f"{len(sure):,} of {len(guesses):,} texts {verb} a label of probability "
        f"{options.at_least:g} or more"
    )
    if (accuracy := facts["held_out_accuracy"])["value"] is not None:
        print(f"of such guesses for held-out texts, {accuracy['value']:.1%} are right")
    _print_guesses(task, sure.sample(max(options.show, 0)))
    if accept:
        print(f"to take them back: icaps label undo {options.folder} --batch {facts['batch']}")
    return 0


def _print_guesses(task: LabelTask, guesses: Guesses) -> None:
    from icaps.data.label_sets import shown_label

    ids = guesses.ids.tolist()
    rows = zip(ids, guesses.labels, guesses.probabilities, task.text(ids), strict=True)
    for n, label, probability, text in rows:
        print(f"{n}: {one_line(shown_label(label))} {probability:.1%}: {one_line(text, _SHOWN)}")


def _undo(options: argparse.Namespace) -> int:
    texts = len(_open(options).undo(options.batch))
    print(json.dumps({"undone": texts}) if options.json else f"{texts:,} labels are taken back")
    return 0


def _import(options: argparse.Namespace) -> int:
    from icaps.data.partly_labelled import partly_labelled
    from icaps.data.resolve import resolve

    task = _open(options)
    pairs = partly_labelled(resolve(options.data), reading_options(options))
    labelled = ((text, label) for text, label in pairs if label)
    given, unknown = task.import_labels(labelled, options.by)
    if options.json:
        print(json.dumps({"given": given, "unknown": unknown}))
        return 0
    print(f"{given:,} labels were given; {unknown:,} texts are not in the task")
    return 0


def _export(options: argparse.Namespace) -> int:
    path = Path(options.out)
    kind = path.suffix.lower().removeprefix(".")
    content = _open(options).export(kind)
    try:
        path.write_bytes(content)
    except OSError as error:
        raise DataError(f"{path} cannot be written ({error}).") from error
    return 0


def _data(options: argparse.Namespace) -> int:
    folder = str(_open(options).training_data())
    print(json.dumps({"folder": folder}) if options.json else folder)
    return 0


def _open(options: argparse.Namespace) -> LabelTask:
    from icaps.label.task import LabelTask

    return LabelTask.open(options.folder)


def _show(task: LabelTask, as_json: bool) -> int:
    progress, curve = task.progress(), task.curve()
    if as_json:
        points = [{**dataclasses.asdict(p), "accuracy": p.accuracy.value} for p in curve]
        print(json.dumps({**progress.to_dict(), "several": task.several, "curve": points}))
        return 0
    print(
        f"{progress.labelled:,} of {progress.texts:,} texts are labelled, {progress.skipped:,} "
        f"skipped, {progress.left:,} left"
    )
    if progress.by_models:
        print(f"of the labels, {progress.by_models:,} are accepted guesses of a model")
    print(f"held out: {progress.held_out_labelled:,} of {progress.held_out:,} texts are labelled")
    for name, count in progress.by_class.items():
        print(f"  {name}: {count:,}")
    for point in curve:
        print(
            f"{point.labels:,} labels: {point.accuracy.value:.1%} of {point.tested:,} ({point.run})"
        )
    return 0


def _print_item(item: Item) -> None:
    print(f"{item.id}: {one_line(item.text, _SHOWN)}")
    print(f"    {item.why}")
