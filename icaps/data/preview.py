"""Preview of a data set: its first rows, its columns, and the detected text and label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from icaps.data.encoding import known_encoding
from icaps.data.formats.detect import open_table
from icaps.data.part_files import find_files
from icaps.data.problems import (
    ColumnPair,
    FileError,
    Problem,
    SeparatorCandidate,
    UnclearColumnsError,
    UnclearLabelsError,
)
from icaps.data.raw_table import RawTable
from icaps.data.source import open_source
from icaps.errors import DataError

ROWS = 50
MOST_READ = 5_000  # rows that are read at most if bad ones are left out
LONGEST = 2_000  # characters of a text that are shown at most
_SHOWN = 5  # rows of which all columns are shown, if these have to be chosen
_UNCLEAR_HEADER = "unclear header"
UNCLEAR = (_UNCLEAR_HEADER, "unclear columns")  # kinds of problems


@dataclass(frozen=True)
class UnclearColumns:
    """What a user needs to choose the text and the label column.

    Attributes:
        text: The likeliest text columns: that of the longest values; empty without rows.
        label: The likeliest label column: that of the fewest values; empty without rows.
        label_columns: The columns of 0 or 1, if each may be a class.
        rows: The first rows, with a value per column of `names`; long ones are cut.
        names: The columns of the rows.
    """

    text: tuple[str, ...]
    label: str
    rows: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    label_columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Preview:
    """The start of a data set.

    Attributes:
        columns: Columns of its first file; by name and by number if it is unclear whether it has a
            header.
        text: The text columns; empty if they are unclear.
        label: The label column; empty if it is unclear, or if each class has a column.
        label_columns: The columns of the classes, if each has one.
        multilabel: Whether a text may have any number of labels.
        rows: The first texts with their class names; a long text is cut.
        trouble: The first problem, as a sentence; empty if there is none.
        unclear: Set if the problem is that the columns have to be chosen, and none is given.
        separators: What may be between the labels of a text, if a user has to say.
    """

    columns: tuple[str, ...]
    text: tuple[str, ...]
    label: str
    rows: tuple[tuple[str, str], ...]
    trouble: str
    unclear: UnclearColumns | None = None
    label_columns: tuple[str, ...] = ()
    multilabel: bool = False
    separators: tuple[SeparatorCandidate, ...] = ()


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
        columns, unclear = _columns(place, reading), None
        given = reading.get("text") or reading.get("label")
        if isinstance(error, FileError) and error.problem.kind in UNCLEAR and not given:
            unclear = _likeliest(place, reading)
            if isinstance(error, UnclearColumnsError) and error.choices:
                unclear = _chosen(unclear, error.choices)
        separators = error.candidates if isinstance(error, UnclearLabelsError) else ()
        return Preview(columns, (), "", (), str(error), unclear, separators=separators)
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
    return Preview(
        file.columns,
        file.text,
        file.label,
        tuple(good),
        trouble,
        label_columns=file.label_columns,
        multilabel=file.multilabel,
    )


def _chosen(unclear: UnclearColumns, choices: Sequence[ColumnPair]) -> UnclearColumns:
    """The likeliest choices: one column of labels if there is one, and columns of classes."""
    flags = next((pair.labels for pair in choices if len(pair.labels) > 1), ())
    label = choices[0].label
    one = label if isinstance(label, str) else ""
    return replace(unclear, text=choices[0].text, label=one, label_columns=flags)


def _columns(place: str | Path, reading: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns; both by name and by number if it is unclear whether they have names.

    Raises:
        FileError: It is not a file of texts.
    """
    try:
        return _open(place, reading, ()).about.columns
    except FileError as error:
        if error.problem.kind != _UNCLEAR_HEADER:
            raise
    table = _open(place, reading, ("1",))
    first = next(row for row in table.rows(table.about.columns) if not isinstance(row, Problem))
    return (*(str(name).strip() for name in first[2]), *table.about.columns)


def _open(place: str | Path, reading: Mapping[str, Any], wanted: Sequence[str]) -> RawTable:
    encoding = reading.get("encoding")
    options = known_encoding(encoding) if encoding else None, reading.get("delimiter")
    return open_table(find_files(place, "train")[0], *options, wanted)


def _likeliest(place: str | Path, reading: Mapping[str, Any]) -> UnclearColumns:
    """The likeliest columns, by the lengths and the variety of the first values.

    If it is unclear whether there is a header, the first line is taken as one if its value in the
    label column is none of the labels after it.
    """
    try:
        table, sure = _open(place, reading, ()), True
    except FileError:  # the header is unclear
        table, sure = _open(place, reading, ("1",)), False
    names = tuple(dict.fromkeys(table.about.columns))
    found = islice(table.rows(names), ROWS)
    rows = [tuple(str(v)[:LONGEST] for v in row[2]) for row in found if isinstance(row, tuple)]
    body = rows if sure else rows[1:]
    if not body:
        return UnclearColumns((), "", tuple(rows), names)
    columns = list(zip(*body, strict=True))
    text = max(range(len(names)), key=lambda n: sum(map(len, columns[n])))
    variety = {n: len(set(column)) for n, column in enumerate(columns) if n != text}
    label = min(variety, key=lambda n: (variety[n] < 2, variety[n]))
    if not sure:
        first = tuple(name.strip() for name in rows[0])
        if first[label] not in columns[label] and len(set(first)) == len(first) and all(first):
            names = first
        else:
            body = rows
    return UnclearColumns((names[text],), names[label], tuple(body[:_SHOWN]), names)
