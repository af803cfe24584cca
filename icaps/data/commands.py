"""The `icaps data` commands, and the options that say how a file of texts is read."""

from __future__ import annotations

import argparse
import json
from typing import Any


def add_parser(commands: Any) -> None:
    """Adds `icaps data` to the subparsers of the command line."""
    data = commands.add_parser("data", help="look into data before training on it")
    kinds = data.add_subparsers(metavar="COMMAND", required=True)
    _add_check(kinds)


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """Adds --text, --label, --encoding and --delimiter."""
    parser.add_argument(
        "--text",
        action="append",
        metavar="COLUMN",
        help="column of the text, by name, or by number in a file without a header; may be "
        "repeated, to join several with a space",
    )
    parser.add_argument("--label", metavar="COLUMN", help="column of the class")
    parser.add_argument("--encoding", metavar="NAME", help="of the text, such as utf-8 or cp1252")
    parser.add_argument(
        "--delimiter",
        metavar="CHARACTER",
        type=lambda given: "\t" if given == r"\t" else given,
        help=r"between the fields of a line; \t is a tab",
    )


def add_bad_rows_option(parser: argparse.ArgumentParser) -> None:
    """Adds --on-bad-rows."""
    parser.add_argument(
        "--on-bad-rows",
        choices=("strict", "skip"),
        default="strict",
        help="stop at a row that can't be read, or leave such rows out and count them",
    )


def reading_options(options: argparse.Namespace) -> dict[str, Any]:
    """What was given of those options, as `open_source` takes it."""
    names = ("text", "label", "encoding", "delimiter", "on_bad_rows")
    return {name: getattr(options, name) for name in names if hasattr(options, name)}


def _add_check(commands: Any) -> None:
    check = commands.add_parser(
        "check", help="say whether texts can be trained on; exit code 2 where they can't"
    )
    check.add_argument("path", metavar="PATH", help="what --data of icaps train takes")
    check.add_argument(
        "--test", metavar="PATH", help="test texts; without it those of a folder's test file"
    )
    check.add_argument("--json", action="store_true", help="print JSON")
    add_reading_options(check)
    check.set_defaults(command=_check)


def _check(options: argparse.Namespace) -> int:
    from icaps.data.check import check
    from icaps.data.places import has_part
    from icaps.data.source import open_source

    reading = reading_options(options)
    train = open_source(options.path, "train", **reading)
    test = None
    if options.test or has_part(options.path, "test"):
        test = open_source(options.test or options.path, "test", **reading)
    report = check(train, test)
    print(json.dumps(report.to_dict()) if options.json else report.to_text())
    return 0 if report.usable else 2
