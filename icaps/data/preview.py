"""The first rows of a data set, and which of its columns are taken: to choose others by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from icaps.data.encoding import known_encoding
from icaps.data.files import find_files
from icaps.data.formats.detect import open_table
from icaps.data.problems import FileError, Problem
from icaps.data.source import open_source
from icaps.errors import DataError

ROWS = 50
LOOKED_AT = 5_000  # rows, where bad ones are left out
LONGEST = 2_000  # characters of a text


@dataclass(frozen=True)
class Preview:
    """What is seen of a data set before it is read.

    Attributes:
        columns: Of its first file; all that it may have where that is unclear.
        text: The columns whose texts are taken; empty where that can't be told.
        label: The column of the class; empty likewise.
        rows: The first texts, of which a long one is cut, with the names of their classes.
        trouble: What is wrong with it, as a sentence; empty where nothing is.
    """

    columns: tuple[str, ...]
    text: tuple[str, ...]
    label: str
    rows: tuple[tuple[str, str], ...]
    trouble: str


def preview(place: str | Path, reading: Mapping[str, Any]) -> Preview:
    """A look at the training part of a data set.

    Args:
        place: As `open_source` takes it.
        reading: Its options.

    Raises:
        DataError: Nothing is there, or it is no file of texts.
    """
    source = open_source(place, "train", **reading)
    try:
        file = source.describe().files[0]
    except DataError as error:  # perhaps of the columns, of which others can be chosen
        return Preview(_columns(place, reading), (), "", (), str(error))
    skips = reading.get("on_bad_rows") == "skip"
    good: list[tuple[str, str]] = []
    trouble = ""
    for row in islice(source.scan(), LOOKED_AT if skips else ROWS):
        if not isinstance(row, Problem):
            good.append((row.text[:LONGEST], row.label))
        elif not skips:
            trouble = trouble or str(row)
        if len(good) == ROWS:
            break
    trouble = trouble or ("" if good else f"{file.file} holds no rows that can be read.")
    return Preview(file.columns, file.text, file.label, tuple(good), trouble)


def _columns(place: str | Path, reading: Mapping[str, Any]) -> tuple[str, ...]:
    """What columns there are: by name and by number where it is unclear which of these they have.

    Raises:
        FileError: It is no file of texts.
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
