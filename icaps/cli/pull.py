"""The `icaps pull` command: downloads a model from the Hugging Face Hub to a folder."""

from __future__ import annotations

import argparse

from icaps.cli.options import Commands


def add_parser(commands: Commands) -> None:
    """Adds `icaps pull`."""
    parser = commands.add_parser("pull", help="download a model from the Hugging Face Hub")
    parser.add_argument("repository", metavar="OWNER/NAME", help="the repository")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of the model")
    parser.add_argument("--revision", metavar="NAME", help="branch, tag or commit; main by default")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Downloads and checks the model, and prints its folder."""
    from icaps.sharing.hub_repository import pull

    pull(options.repository, options.out, revision=options.revision)
    print(options.out)
    return 0
