"""The command line of a training, as the dashboard writes it and reads it from request.json."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from icaps.cli.baseline import add_parser as add_baseline
from icaps.cli.data_options import reading_options
from icaps.cli.train import add_parser as add_train
from icaps.cli.train import given_settings
from icaps.config import ModelSettings, TrainSettings, read_settings
from icaps.errors import RunError

_MAY_BE_TAB = ("delimiter", "label_separator")


@dataclass(frozen=True)
class TrainRequest:
    """The options of an `icaps train`.

    Attributes:
        data: A path or a name.
        reading: Options of `open_source`.
        preset: The preset that the settings change; empty for the recipe.
        settings: Values of `--set`, by the names of the settings.
        vectors: Paths and names of word vectors; empty for `DEFAULT_SOURCES`.
        watch: The text whose explanation is stored after each epoch.
        unlabelled: A path or a name of texts without labels; empty for none.
        masked: Words without which the texts that have them are read as well.
    """

    data: str
    reading: Mapping[str, Any]
    preset: str
    settings: Mapping[str, str]
    vectors: tuple[str, ...]
    watch: str
    unlabelled: str = ""
    masked: tuple[str, ...] = ()

    def to_arguments(self) -> list[str]:
        """The arguments of `icaps`, without --out."""
        arguments = ["train", *option("data", self.data), *reading_arguments(self.reading)]
        if self.unlabelled:
            arguments += option("unlabelled", self.unlabelled)
        for word in self.masked:
            arguments += option("mask-word", word)
        if self.preset:
            arguments += ["--preset", self.preset]
        for name, value in self.settings.items():
            arguments += ["--set", f"{name}={value}"]
        for vectors in self.vectors:
            arguments += option("vectors", vectors)
        return arguments + (option("watch", self.watch) if self.watch else [])

    @classmethod
    def from_arguments(cls, arguments: Sequence[str]) -> TrainRequest:
        """The request in the arguments of an `icaps train`.

        Raises:
            RunError: This iCaps does not know the command.
            ConfigError: A --set has no value.
        """
        options = read_arguments(arguments)
        reading = reading_options(options)
        return cls(
            data=options.data,
            reading={n: value for n, value in reading.items() if value not in (None, "strict")},
            preset=options.preset or "",
            settings=given_settings(options),
            vectors=tuple(options.vectors or ()),
            watch=options.watch,
            unlabelled=options.unlabelled or "",
            masked=tuple(options.mask_word),
        )

    def given(self) -> tuple[ModelSettings, TrainSettings]:
        """The settings of the preset with the changes to it; without one, those of the recipe.

        Raises:
            ConfigError: There is no such preset or setting, or a value is out of its range.
        """
        return read_settings(self.preset, self.settings)


def option(name: str, value: str) -> list[str]:
    """An option of `icaps` with its value, which may start with a dash."""
    return [f"--{name}={value}"] if value.startswith("-") else [f"--{name}", value]


def reading_arguments(reading: Mapping[str, Any]) -> list[str]:
    """Options of `open_source` as options of `icaps`."""
    arguments: list[str] = []
    for name, value in reading.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            arguments.append(f"--{flag}" if value else f"--no-{flag}")
            continue
        for part in [value] if isinstance(value, str) else value:
            arguments += option(flag, r"\t" if part == "\t" and name in _MAY_BE_TAB else part)
    return arguments


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
