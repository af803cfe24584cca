"""The `icaps mcp` command: tools for assistants by the Model Context Protocol, on stdio."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path

from icaps.cli.options import Commands, add_models, model_folders
from icaps.errors import ConfigError


def add_parser(commands: Commands) -> None:
    """Adds `icaps mcp`."""
    parser = commands.add_parser(
        "mcp",
        help="serve tools for assistants (Model Context Protocol) on standard input and output",
    )
    add_models(parser)
    parser.add_argument(
        "--data",
        action="append",
        default=[],
        metavar="FOLDER",
        help="folder whose files the assistant may evaluate on and check; may be repeated. Without "
        "it only data sets with a name are read",
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Answers until standard input ends."""
    if not find_spec("mcp"):
        raise ConfigError("The package mcp is missing: pip install 'icaps[mcp]'.")
    from icaps.service.mcp_server import create_server

    folders = model_folders(options)
    data = [Path(folder) for folder in options.data]
    if missing := [str(folder) for folder in data if not folder.is_dir()]:
        raise ConfigError(f"--data is {missing[0]}, which is no folder.")
    create_server(folders, data).run("stdio")
    return 0
