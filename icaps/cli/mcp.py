"""The `icaps mcp` command: tools for assistants by the Model Context Protocol, on stdio."""

from __future__ import annotations

import argparse
from importlib.util import find_spec

from icaps.cli.options import Commands, add_models, model_folders
from icaps.errors import ConfigError


def add_parser(commands: Commands) -> None:
    """Adds `icaps mcp`."""
    parser = commands.add_parser(
        "mcp",
        help="serve tools for assistants (Model Context Protocol) on standard input and output",
    )
    add_models(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Answers until standard input ends."""
    if not find_spec("mcp"):
        raise ConfigError("The package mcp is missing: pip install 'icaps[mcp]'.")
    from icaps.service.mcp_server import create_server

    folders = model_folders(options)
    create_server(folders).run("stdio")
    return 0
