"""Options that several commands share: the model, explanations, muted capsules, waiting."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import TypeAlias

from icaps.config import KGRAM_RANKINGS, ExplainOptions
from icaps.errors import ConfigError

# The argument of `add_parser` of each command.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_model(parser: argparse.ArgumentParser) -> None:
    """Adds --model."""
    parser.add_argument(
        "--model",
        required=True,
        metavar="DIR",
        type=find_model,
        help="folder of a trained model, or the name of one that comes with the package",
    )


def add_models(parser: argparse.ArgumentParser) -> None:
    """Adds --model, which may be repeated; `model_folders` reads it."""
    parser.add_argument(
        "--model",
        action="append",
        required=True,
        metavar="DIR",
        type=find_model,
        help="folder of a trained model, or a shipped model's name; may be repeated",
    )


def model_folders(options: argparse.Namespace) -> dict[str, Path]:
    """The folders of `add_models` by their names; ConfigError if two have the same."""
    folders = {Path(folder).resolve().name: Path(folder) for folder in options.model}
    if len(folders) < len(options.model):
        raise ConfigError("Two models have the same name; rename one of their folders.")
    return folders


def find_model(model: str) -> str:
    """The folder of a model, by its path or by the name of a shipped model."""
    from icaps.shipped import model_folder

    return str(model_folder(model))


def add_explain_options(parser: argparse.ArgumentParser, *, sizes_only: bool = False) -> None:
    """Adds --top-capsules, --top-kgrams and --top-sentences, then --ranking and --target.

    `sizes_only` adds the first three alone.
    """
    defaults = ExplainOptions()
    for flag, default, metavar, text in (
        ("--top-capsules", defaults.top_capsules, "K1", "capsules that are shown"),
        ("--top-kgrams", defaults.top_kgrams, "K2", "K-grams per capsule and sentence"),
        ("--top-sentences", defaults.top_sentences, "N", "per capsule, for models of long texts"),
    ):
        help_text = f"{text}; {default} by default"
        parser.add_argument(flag, type=int, default=default, metavar=metavar, help=help_text)
    if sizes_only:
        return
    parser.add_argument(
        "--ranking",
        choices=KGRAM_RANKINGS,
        default=defaults.ranking,
        help="what K-grams are ranked by: routing of their capsules, as in the paper, contribution "
        "of these to the class, or account: what their own words add to the score",
    )
    parser.add_argument(
        "--target", metavar="CLASS", help="class to explain in place of the predicted one"
    )


def read_explain_options(options: argparse.Namespace) -> ExplainOptions:
    """The options of `add_explain_options` as an object; ConfigError if one is out of range."""
    names = {field.name for field in dataclasses.fields(ExplainOptions)}
    return ExplainOptions(**{name: n for name, n in vars(options).items() if name in names})


def add_mute(parser: argparse.ArgumentParser) -> None:
    """Adds --mute."""
    parser.add_argument(
        "--mute",
        action="append",
        type=int,
        default=[],
        metavar="CAPSULE",
        help="switch off the primary capsule of this number; may be repeated",
    )


def add_timeout(parser: argparse.ArgumentParser) -> None:
    """Adds --timeout."""
    parser.add_argument(
        "--timeout",
        type=float,
        default=600,
        metavar="SECONDS",
        help="under torchrun, how long a process waits for another before it fails",
    )


def add_queue(parser: argparse.ArgumentParser) -> None:
    """Adds --queue, by which `icaps.runs.jobs` limits the number of concurrent trainings."""
    parser.add_argument(
        "--queue",
        type=int,
        metavar="N",
        help="wait until fewer than N others train in the parent folder of DIR",
    )
