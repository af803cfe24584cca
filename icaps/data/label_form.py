"""How labels are written in a table: one per text, lists, with a separator, a column per class."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from icaps.data.column_evidence import sample_rows
from icaps.data.label_values import find_separators, flag, label_value, split_labels
from icaps.data.problems import FileError, SeparatorCandidate, UnclearLabelsError
from icaps.data.raw_table import FileDescription, RawTable

_WHOLE_NUMBER = re.compile(r"-?[0-9]+(?:\.0+)?")
_SHOWN = 4  # classes of a cell in a message


@dataclass(frozen=True)
class LabelOptions:
    """What a user says about the labels.

    Attributes:
        columns: The column of the labels, or a column of 0 or 1 per class; empty to detect them.
        separator: What is between the labels in a cell; None if nothing is.
        multilabel: Whether a text may have any number of labels; None to detect it.
    """

    columns: tuple[str, ...] = ()
    separator: str | None = None
    multilabel: bool | None = None


@dataclass(frozen=True)
class LabelForm:
    """How labels are written.

    Attributes:
        multilabel: Whether a text may have any number of labels.
        separator: What is between the labels in a cell.
        lists: Whether all labels must be lists, as it was detected by these.
        exclusive: Whether the user said that a text has one label.
        numbers: The labels of the first rows if all are whole numbers, else None.
        notes: What a user should know about it, as sentences.
    """

    multilabel: bool = False
    separator: str | None = None
    lists: bool = False
    exclusive: bool = False
    numbers: frozenset[str] | None = None
    notes: tuple[str, ...] = ()


def label_form(
    table: RawTable,
    columns: Sequence[str],
    options: LabelOptions,
    known: FileDescription | None = None,
) -> LabelForm:
    """How the labels in the chosen columns of a table are written, by the first rows.

    Several labels are lists of which one in the first rows has several items, or columns of which
    one of the first rows has several or none set. A separator is never assumed.

    Args:
        table: The table.
        columns: The column of the labels, or those of the classes.
        options: What the user says.
        known: The description of another file of the same data, which has the same form.

    Raises:
        UnclearLabelsError: The labels may have a separator.
        FileError: A column per class has another value than 0 or 1 in each of the first rows.
    """
    rows = [values for _, _, values in sample_rows(table, columns)]
    if len(columns) > 1:
        return _form_of_flags(table, columns, rows, options, known)
    values = [label_value(row[0]) for row in rows]
    if options.multilabel is False:
        form = LabelForm(exclusive=True)
    elif options.separator:
        form = LabelForm(True, options.separator)
    elif known is not None:
        form = LabelForm(known.multilabel, known.separator)
    else:
        said = options.multilabel or table.about.multilabel
        form = _detected(table.about.file, columns[0], values, said)
    return LabelForm(
        form.multilabel, form.separator, form.lists, form.exclusive, _whole_numbers(values, form)
    )


def _detected(file: str, column: str, values: Sequence[Any], said: bool) -> LabelForm:
    """The form by the values of one column; `said` if several labels per text are known."""
    lists = [value for value in values if isinstance(value, tuple)]
    others = [value for value in values if isinstance(value, (str, int, float))]
    if not lists and (separators := find_separators(list(map(str, others)))):
        _ask_separator(file, column, separators, said)
    if said:
        return LabelForm(True)
    several = any(len(value) > 1 for value in lists) and not others
    return LabelForm(several, lists=several)


def _form_of_flags(
    table: RawTable,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    options: LabelOptions,
    known: FileDescription | None,
) -> LabelForm:
    flags = [[flag(value) for value in row] for row in rows]
    for number, column in enumerate(columns):
        if flags and all(row[number] is None for row in flags):
            raise FileError(
                "unclear columns",
                table.about.file,
                f"the column {column!r} has values such as {rows[0][number]!r}. Of several label "
                "columns, each is a class, and has 1 where a text is of the class, else 0. Name "
                "one column if it has the labels themselves.",
            )
    if options.multilabel is not None:
        return LabelForm(options.multilabel, exclusive=not options.multilabel)
    if known is not None:
        return LabelForm(known.multilabel)
    if any(sum(map(bool, row)) != 1 for row in flags):
        return LabelForm(True)
    note = (
        "each text has 1 in one of the columns of classes, so that its label is that class. If a "
        "text may have any number of classes: --multilabel (multilabel=True)."
    )
    return LabelForm(notes=(note,))


def _whole_numbers(values: Sequence[Any], form: LabelForm) -> frozenset[str] | None:
    """The labels among these values if all are whole numbers, else None."""
    seen = set[str]()
    for value in values:
        if isinstance(value, type):
            return None
        items = value if isinstance(value, tuple) else ("" if value is None else str(value),)
        if form.separator:
            items = tuple(part for item in items for part in split_labels(item, form.separator))
        spelled = [item.strip() for item in items if item.strip()]
        if not all(map(_WHOLE_NUMBER.fullmatch, spelled)):
            return None
        seen.update(item.removesuffix(".0") for item in spelled)
    return frozenset(seen)


def _ask_separator(file: str, column: str, separators: dict[str, str], said: bool) -> NoReturn:
    candidates = [
        SeparatorCandidate(separator, cell, tuple(split_labels(cell, separator)))
        for separator, cell in separators.items()
    ]
    ways = "; or ".join(
        f"--label-separator {shlex.quote(one.separator)} (label_separator={one.separator!r}) for "
        f"{' and '.join(map(repr, one.classes[:_SHOWN]))}"
        for one in candidates
    )
    single = "" if said else " If each is one class: --no-multilabel (multilabel=False)."
    raise UnclearLabelsError(
        file,
        f"the labels in {column!r} may be several per text, such as {candidates[0].sample!r}. If "
        f"so, name what is between them: {ways}.{single}",
        column,
        candidates,
    )
