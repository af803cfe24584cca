"""The commands `icaps data check`, `icaps data fetch` and `icaps data list`."""

from __future__ import annotations

import argparse
import json
import sys

from icaps.cli.data_options import add_reading_options, reading_options
from icaps.cli.options import Commands


def add_parser(commands: Commands) -> None:
    """Adds `icaps data` with its subcommands."""
    data = commands.add_parser("data", help="check, fetch and list data sets")
    actions = data.add_subparsers(metavar="ACTION", required=True)

    _add_check(actions)
    fetch = actions.add_parser("fetch", help="download a data set, and print its folder")
    fetch.add_argument(
        "name", metavar="NAME", help="a name from icaps data list, or owner/name on the Hub"
    )
    fetch.set_defaults(command=_fetch)

    listing = actions.add_parser("list", help="list the data sets that have a name")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(command=_list)


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
