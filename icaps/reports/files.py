"""Files to share: their kinds, and JSON and CSV that are the same for the same content."""

from __future__ import annotations

import csv
import json
from typing import Any, NamedTuple

import pandas as pd

from icaps.errors import ConfigError

DIGITS = 6  # after the point: what two ways to compute the same may differ in comes later
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


class Kind(NamedTuple):
    """A kind of file: the end of its name, and its media type."""

    suffix: str
    mime: str


KINDS = {
    "html": Kind("html", "text/html"),
    "markdown": Kind("md", "text/markdown"),
    "json": Kind("json", "application/json"),
    "csv": Kind("csv", "text/csv"),
}


def check_kind(name: str) -> None:
    """Raises ConfigError where there is no such kind of file."""
    if name not in KINDS:
        raise ConfigError(f"There is no format {name!r}; choose of {', '.join(KINDS)}.")


def rounded(value: Any) -> Any:
    """Plain data for JSON, with DIGITS after the point; no NaN, which JSON lacks, but None."""
    if isinstance(value, dict):
        return {str(key): rounded(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(part) for part in value]
    if isinstance(value, float):
        return None if value != value else round(value, DIGITS) + 0.0  # and no -0.0
    return value


def to_json(value: Any) -> bytes:
    """Plain data as JSON, sorted by key and rounded, that any reader of ASCII can read."""
    return (json.dumps(rounded(value), sort_keys=True, indent=1) + "\n").encode("ascii")


def to_csv(frame: pd.DataFrame) -> bytes:
    """CSV for a spreadsheet; a cell that it might take for a formula gets a ' in front."""
    # Every text is quoted: left to itself, pandas lets a bare \r end the row.
    table = frame.map(_harmless).to_csv(
        index=False, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n"
    )
    return bytes(table.encode("utf-8-sig"))


def _harmless(cell: str | float) -> str | float:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
