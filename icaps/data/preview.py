"""Preview of a data set: its first rows, its columns, and the detected text and label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from icaps.data.encoding import known_encoding
from icaps.data.formats.detect import open_table
from icaps.data.part_files import find_files
from icaps.data.problems import FileError, Problem
from icaps.data.source import open_source
from icaps.errors import DataError

ROWS = 50
MOST_READ = 5_000  # rows that are read at most if bad ones are left out
LONGEST = 2_000  # characters of a text that are shown at most


@dataclass(frozen=True)
class Preview:
    """The start of a data set.

    Attributes:
        columns: Columns of its first file; by name and by number if it is unclear whether it has a
            header.
        text: The text columns; empty if they are unclear.
        label: The label column; empty if it is unclear.
        rows: The first texts with their class names; a long text is cut.
        trouble: The first problem, as a sentence; empty if there is none.
    """

    columns: tuple[str, ...]
    text: tuple[str, ...]
    label: str
    rows: tuple[tuple[str, str], ...]
    trouble: str


def preview(place: str | Path, reading: Mapping[str, Any]) -> Preview:
    """Reads the first rows of the training part of a data set.

    Args:
        place: Path of the data, as for `open_source`.
        reading: Options of `open_source`.

    Raises:
        DataError: It does not exist, or is not a file of texts.
    """
    source = open_source(place, "train", **reading)
    try:
        file = source.describe().files[0]
    except DataError as error:  # perhaps about columns, and the user can choose others
        return Preview(_columns(place, reading), (), "", (), str(error))
    skips = reading.get("on_bad_rows") == "skip"
    good: list[tuple[str, str]] = []
    trouble = ""
    for row in islice(source.scan(), MOST_READ if skips else ROWS):
        if not isinstance(row, Problem):
            good.append((row.text[:LONGEST], row.label))
        elif not skips:
            trouble = trouble or str(row)
        if len(good) == ROWS:
            break
    trouble = trouble or ("" if good else f"{file.file} holds no rows that can be read.")
    return Preview(file.columns, file.text, file.label, tuple(good), trouble)


def _columns(place: str | Path, reading: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns; both by name and by number if it is unclear whether they have names.

    Raises:
        FileError: It is not a file of texts.
    """
    path = find_files(place, "train")[0]
    encoding = reading.get("encoding")
    options = known_encoding(encoding) if encoding else None, reading.get("delimiter")
    try:
        return open_table(path, *options, ()).about.columns
    except FileError as error:
        if error.problem.kind != "unclear header":
            raise
    table = open_table(path, *options, ("1",))
    first = next(row for row in table.rows(table.about.columns) if not isinstance(row, Problem))
    return (*(str(name).strip() for name in first[2]), *table.about.columns)
