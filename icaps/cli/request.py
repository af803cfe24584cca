"""The command of a run, read back from its request.json."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from icaps.cli.baseline import add_parser as add_baseline
from icaps.cli.train import add_parser as add_train
from icaps.errors import RunError


class _Parser(argparse.ArgumentParser):
    """Raises an error instead of printing it and ending the process."""

    def error(self, message: str) -> NoReturn:
        raise RunError(f"The command cannot be read ({message}).")


def read_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command that trains a model or a baseline, as a run folder stores it.

    Raises:
        RunError: This iCaps does not know the command.
    """
    parser: argparse.ArgumentParser = _Parser()
    commands = parser.add_subparsers(required=True)
    add_train(commands)
    add_baseline(commands)
    # The request of a job has no --out yet.
    with_out = [*arguments[:1], "--out", "", *arguments[1:]]
    try:
        options, unknown = parser.parse_known_args(with_out)
    except SystemExit as error:  # --help
        raise RunError("The command cannot be read, as it asks for help.") from error
    if unknown:
        raise RunError(f"icaps {arguments[0]} has no option {unknown[0]}.")
    return options
