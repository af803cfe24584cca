"""The `icaps data` commands."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_parser(commands: Commands) -> None:
    """Adds `icaps data` with its own commands."""
    data = commands.add_parser("data", help="fetch and list data sets")
    actions = data.add_subparsers(metavar="ACTION", required=True)

    fetch = actions.add_parser("fetch", help="bring a data set to this machine, print its folder")
    fetch.add_argument("name", metavar="NAME", help="of icaps data list, or owner/name at the Hub")
    fetch.set_defaults(command=_fetch)

    listing = actions.add_parser("list", help="list the data sets that have a name")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(command=_list)


def _fetch(options: argparse.Namespace) -> int:
    from icaps.data.names import by_name
    from icaps.progress import Progress

    print(by_name(options.name, Progress(sys.stderr)))
    return 0


def _list(options: argparse.Namespace) -> int:
    from icaps.data.names import available

    rows = available()
    if options.json:
        print(json.dumps([row.to_dict() for row in rows]))
        return 0
    for row in rows:
        kind = "synthetic texts" if row.synthetic else "texts"
        counts = f"{row.train_rows:,} train, {row.test_rows:,} test {kind}"
        place = row.place or ("made when asked for" if row.synthetic else "not here")
        print(f"{row.name:16} {len(row.classes):2} classes  {counts:38} {place}")
    return 0
