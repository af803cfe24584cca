"""Files to share: their formats, the model that they name, and deterministic JSON and CSV."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from icaps.errors import ConfigError
from icaps.train.checkpoint_files import weights_fingerprint

DIGITS = 6  # digits after the point; rounding errors of two ways to compute a number come later
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # a cell that starts so may run in a spreadsheet


class FileFormat(NamedTuple):
    """The suffix and the media type of a file."""

    suffix: str
    mime: str


FILE_FORMATS = {
    "html": FileFormat("html", "text/html"),
    "markdown": FileFormat("md", "text/markdown"),
    "json": FileFormat("json", "application/json"),
    "csv": FileFormat("csv", "text/csv"),
}


class ModelName(NamedTuple):
    """The name of a model's folder, and the SHA-256 of its weights."""

    name: str
    weights: str


def model_name(folder: str | Path) -> ModelName:
    """The name of the model in a folder, which does not depend on where the folder lies.

    Raises:
        CheckpointError: The weights cannot be read.
    """
    return ModelName(Path(folder).resolve().name, weights_fingerprint(folder))


def check_format(name: str) -> None:
    """Raises ConfigError where `name` is not in FILE_FORMATS."""
    if name not in FILE_FORMATS:
        raise ConfigError(f"Unknown format {name!r}; choose one of {', '.join(FILE_FORMATS)}.")


def rounded(value: Any) -> Any:
    """Plain data for JSON, rounded to DIGITS; NaN, which JSON lacks, becomes None."""
    if isinstance(value, dict):
        return {str(key): rounded(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(part) for part in value]
    if isinstance(value, float):
        return None if value != value else round(value, DIGITS) + 0.0  # + 0.0 turns -0.0 into 0.0
    return value


def to_json(value: Any) -> bytes:
    """Plain data as JSON in ASCII, with sorted keys and rounded numbers."""
    return (json.dumps(rounded(value), sort_keys=True, indent=1) + "\n").encode("ascii")


def to_csv(frame: pd.DataFrame, header: bool = True) -> bytes:
    """CSV for a spreadsheet; a cell that could be read as a formula gets a quote (') in front.

    Args:
        frame: The table.
        header: Whether the names of the columns come first; without, to be added to a file.
    """
    # All strings are quoted, because pandas writes a lone \r unquoted, which ends the row.
    table = frame.map(_without_formula).to_csv(
        index=False, header=header, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n"
    )
    return bytes(table.encode("utf-8-sig" if header else "utf-8"))


def _without_formula(cell: str | float) -> str | float:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
