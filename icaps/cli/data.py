"""`icaps data check`, `fetch` and `list`; options of all commands for reading texts."""

from __future__ import annotations

import argparse
import json
import math
import sys
from typing import TYPE_CHECKING, Any, Protocol

from icaps.cli.options import Commands
from icaps.errors import ConfigError

if TYPE_CHECKING:
    from icaps.cli.progress import Progress
    from icaps.data.problems import Problems
    from icaps.data.sample import Sample


class _Read(Protocol):
    """A source, or something else that was read."""

    @property
    def problems(self) -> Problems:
        """Returns its bad rows."""


def add_parser(commands: Commands) -> None:
    """Adds `icaps data` with its own commands."""
    data = commands.add_parser("data", help="check, fetch and list data sets")
    actions = data.add_subparsers(metavar="ACTION", required=True)

    _add_check(actions)
    fetch = actions.add_parser("fetch", help="download a data set, and print its folder")
    fetch.add_argument(
        "name", metavar="NAME", help="a name of icaps data list, or owner/name on the Hub"
    )
    fetch.set_defaults(command=_fetch)

    listing = actions.add_parser("list", help="list the data sets that have a name")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(command=_list)


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """Adds --text, --label, --encoding and --delimiter."""
    parser.add_argument(
        "--text",
        action="append",
        metavar="COLUMN",
        help="text column, by name, or by number in a file without a header; repeat it to join "
        "several with a space",
    )
    parser.add_argument("--label", metavar="COLUMN", help="label column")
    parser.add_argument(
        "--encoding", metavar="NAME", help="encoding of the text, such as utf-8 or cp1252"
    )
    parser.add_argument(
        "--delimiter",
        metavar="CHARACTER",
        type=lambda value: "\t" if value == r"\t" else value,
        help=r"character between the fields of a line; \t is a tab",
    )


def add_bad_rows_option(parser: argparse.ArgumentParser) -> None:
    """Adds --on-bad-rows."""
    parser.add_argument(
        "--on-bad-rows",
        choices=("strict", "skip"),
        default="strict",
        help="stop at a row that cannot be read, or leave such rows out and count them",
    )


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Adds --data, --part and the options for reading."""
    parser.add_argument(
        "--data",
        required=True,
        metavar="DATA",
        help="a file; or a folder or name, of which one part is read",
    )
    parser.add_argument("--part", default="test", help="part of a folder or name: test, train")
    add_reading_options(parser)
    add_bad_rows_option(parser)


def add_sample_options(parser: argparse.ArgumentParser, limit: int) -> None:
    """Adds --limit and --seed, for `draw_texts`."""
    parser.add_argument(
        "--limit",
        type=int,
        default=limit,
        metavar="N",
        help="number of texts, a random sample of the data",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the sample and of everything random"
    )


def draw_texts(options: argparse.Namespace, progress: Progress) -> Sample:
    """Draws a random sample of the data, and reports bad rows.

    Raises:
        ConfigError: --limit is below 1.
        DataError: The data cannot be read.
    """
    from icaps.data.resolve import resolve
    from icaps.data.sample import draw_sample
    from icaps.data.source import open_source

    if options.limit < 1:
        raise ConfigError(f"--limit is {options.limit}; it must be at least 1.")
    source = open_source(resolve(options.data, progress), options.part, **reading_options(options))
    sample = draw_sample(source, options.limit, math.inf, options.seed)
    say_problems(source, options.part)
    return sample


def reading_options(options: argparse.Namespace) -> dict[str, Any]:
    """Returns those of these options that the command has, as arguments of `open_source`."""
    names = ("text", "label", "encoding", "delimiter", "on_bad_rows")
    return {name: getattr(options, name) for name in names if hasattr(options, name)}


def say_problems(source: _Read, part: str) -> None:
    """Prints the rows that were left out."""
    for problems in source.problems.first.values():
        for problem in problems:
            print(f"left out: {problem}", file=sys.stderr)
    if source.problems:
        print(f"{part} rows left out: {source.problems.summary()}", file=sys.stderr)


def _add_check(commands: Commands) -> None:
    check = commands.add_parser(
        "check", help="check whether texts can be trained on; exit code 2 if not"
    )
    check.add_argument("data", metavar="DATA", help="as --data of icaps train")
    check.add_argument(
        "--test", metavar="PATH", help="test texts; by default those of a folder's test file"
    )
    check.add_argument("--json", action="store_true", help="print JSON")
    add_reading_options(check)
    check.set_defaults(command=_check)


def _check(options: argparse.Namespace) -> int:
    from icaps.cli.progress import Progress
    from icaps.data.check import check
    from icaps.data.part_files import has_part
    from icaps.data.resolve import resolve
    from icaps.data.source import open_source

    reading = reading_options(options)
    place = resolve(options.data, Progress(sys.stderr))
    train = open_source(place, "train", **reading)
    test = None
    if options.test or has_part(place, "test"):
        test = open_source(options.test or place, "test", **reading)
    report = check(train, test)
    print(json.dumps(report.to_dict()) if options.json else report.to_text())
    return 0 if report.usable else 2


def _fetch(options: argparse.Namespace) -> int:
    from icaps.cli.progress import Progress
    from icaps.data.resolve import by_name

    print(by_name(options.name, Progress(sys.stderr)))
    return 0


def _list(options: argparse.Namespace) -> int:
    from icaps.data.resolve import available

    rows = available()
    if options.json:
        print(json.dumps([row.to_dict() for row in rows]))
        return 0
    for row in rows:
        kind = "synthetic texts" if row.synthetic else "texts"
        counts = f"{row.train_rows:,} train, {row.test_rows:,} test {kind}"
        place = row.place or ("generated on request" if row.synthetic else "not here")
        print(f"{row.name:16} {len(row.classes):2} classes  {counts:38} {place}")
    return 0
