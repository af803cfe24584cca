"""The `icaps mcp` command: tools for assistants by the Model Context Protocol, on stdio."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path

from icaps.cli.options import Commands, find_model
from icaps.errors import ConfigError


def add_parser(commands: Commands) -> None:
    """Adds `icaps mcp`."""
    parser = commands.add_parser(
        "mcp",
        help="serve tools for assistants (Model Context Protocol) on standard input and output",
    )
    parser.add_argument(
        "--model",
        action="append",
        required=True,
        metavar="DIR",
        type=find_model,
        help="folder of a trained model, or a shipped model's name; may be repeated",
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Answers until standard input ends."""
    if not find_spec("mcp"):
        raise ConfigError("The package mcp is missing: pip install 'icaps[mcp]'.")
    from icaps.service.mcp_server import create_server

    folders = {Path(folder).resolve().name: Path(folder) for folder in options.model}
    if len(folders) < len(options.model):
        raise ConfigError("Two models have the same name; rename one of their folders.")
    create_server(folders).run("stdio")
    return 0
