"""The `icaps presets` command: lists the paper's settings."""

from __future__ import annotations

import argparse
import json

from icaps.cli.options import Commands
from icaps.config import PRESETS


def add_parser(commands: Commands) -> None:
    """Adds `icaps presets`."""
    parser = commands.add_parser("presets", help="list the paper's settings")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Prints each preset: its name, and the settings that differ from the defaults."""
    rows = [preset.to_dict() for preset in PRESETS.values()]
    if options.json:
        print(json.dumps(rows))
        return 0
    for row in rows:
        print(row.pop("name"), *(f"{key}={value}" for key, value in row.items()))
    return 0
