"""The first rows of a data set, and which of its columns are taken: to choose others by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from icaps.data.formats import open_table
from icaps.data.places import find_files
from icaps.data.problems import Problem
from icaps.data.source import open_source
from icaps.errors import DataError

ROWS = 50


@dataclass(frozen=True)
class Preview:
    """What is seen of a data set before it is read.

    Attributes:
        columns: Of its first file.
        text: The columns whose texts are taken; empty where that can't be told.
        label: The column of the class; empty likewise.
        rows: The first texts with the names of their classes.
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
    options = reading.get("encoding"), reading.get("delimiter")
    columns = open_table(find_files(place, "train")[0], *options, ()).about.columns
    source = open_source(place, "train", **reading)
    try:
        file = source.describe().files[0]
    except DataError as error:  # the columns can be chosen
        return Preview(columns, (), "", (), str(error))
    rows = list(islice(source.scan(), ROWS))
    problems = [str(row) for row in rows if isinstance(row, Problem)]
    good = tuple((row.text, row.label) for row in rows if not isinstance(row, Problem))
    trouble = problems[0] if problems else "" if good else f"{file.file} holds no rows."
    return Preview(columns, file.text, file.label, good, trouble)
