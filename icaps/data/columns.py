"""Detection of the text and the label column, by their names or by their content."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from icaps.data.problems import FileError
from icaps.data.raw_table import FileDescription, RawTable, Row

TEXT_COLUMNS = ("text", "content", "document", "sentence", "description", "review")
LABEL_COLUMNS = ("label", "class", "category", "target", "topic")
_WHOLE_NUMBER = re.compile(r"-?[0-9]+")
_SAMPLE = 1000  # rows that determine the columns if their names do not
_ADVICE = "name them with --text and --label (text=..., label=...)"


@dataclass(frozen=True)
class ColumnChoice:
    """The text and label columns; `names` are the class names if labels are numbers from `base`."""

    text: tuple[str, ...]
    label: str
    names: tuple[str, ...] | None
    base: int = 0

    def described(self, about: FileDescription) -> FileDescription:
        """The description with this choice."""
        return replace(about, text=self.text, label=self.label, classes=self.names)


def choose_columns(
    table: RawTable, text: Sequence[str], label: str | None, folder: Path | None
) -> ColumnChoice:
    """Chooses the text and label columns: the given ones, those with usual names, or the only two.

    Labels that are numbers get the names that the table has or that a `classes.txt` in `folder`
    lists: from 0, or from 1 in a file of Zhang et al.'s layout without a 0.

    Raises:
        FileError: A given column does not exist, or the columns are unclear.
    """
    about = table.about
    texts, label = _text_and_label(table, tuple(text), label)
    if not label or not texts or label in texts:
        raise FileError("unclear columns", about.file, f"{_columns(about)}; {_ADVICE}.")
    names = (_names_in(folder) if folder else None) or table.class_names(label)
    numbers = _all_numbers(table, label) if names else None
    base = 1 if about.class_first and numbers and "0" not in numbers else 0
    return ColumnChoice(texts, label, names if numbers else None, base)


def choose_text(
    table: RawTable, text: Sequence[str], label: str | None = None
) -> tuple[tuple[str, ...], str]:
    """Chooses the text columns of a table of which labels are not read.

    These are the only column, or those in `text` that the table has, or as in `choose_columns`.

    Returns:
        The text columns, and the column of labels; empty if there is none.

    Raises:
        FileError: The columns are unclear.
    """
    about = table.about
    if len(about.columns) == 1:
        return about.columns, ""
    given = tuple(name for name in text if name in about.columns)
    label = label if label in about.columns and label not in given else None
    texts, column = _text_and_label(table, given, label)
    if not texts or column in texts:
        raise FileError(
            "unclear columns", about.file, f"{_columns(about)}; name that of the texts with --text."
        )
    known = about.class_first or column == label or (column or "").strip().lower() in LABEL_COLUMNS
    return texts, (column or "") if known else ""


def _text_and_label(
    table: RawTable, text: tuple[str, ...], label: str | None
) -> tuple[tuple[str, ...], str | None]:
    """The text columns and the label column; empty and None if they are unclear."""
    about = table.about
    for name in (*text, *([label] if label else [])):
        if name not in about.columns:
            reason = f"it has no column {name!r}: {_columns(about)}."
            raise FileError("unclear columns", about.file, reason)
        _unique(name, about)
    if about.class_first:
        label = label or next(name for name in about.columns if name not in text)
        return text or tuple(name for name in about.columns if name != label), label
    if not text and (column := _usual_column(TEXT_COLUMNS, about, label)):
        text = (column,)
    label = label or _usual_column(LABEL_COLUMNS, about, *text)
    if not text and not label:
        return _by_content(table)
    others = [column for column in about.columns if column not in (*text, label)]
    if not text and len(others) == 1:
        text = (others[0],)
    if not label and len(others) == 1:
        label = others[0]
    return text, label


def _unique(name: str, about: FileDescription) -> str:
    if about.columns.count(name) > 1:
        raise FileError(
            "unclear columns",
            about.file,
            f"{about.columns.count(name)} columns are called {name!r}; rename all but one.",
        )
    return name


def _usual_column(usual: Sequence[str], about: FileDescription, *taken: str | None) -> str | None:
    columns = [column for column in reversed(about.columns) if column not in taken]
    names = {column.strip().lower(): column for column in columns}
    column = next((names[name] for name in usual if name in names), None)
    return _unique(column, about) if column is not None else None


def _by_content(table: RawTable) -> tuple[tuple[str, ...], str | None]:
    """Text and label of two columns: the label has shorter values, which recur."""
    columns = table.about.columns
    rows = [list(map(str, values)) for _, _, values in _sample(table, columns)]
    if len(set(columns)) != 2 or len(columns) != 2 or not rows:
        return (), None
    variety = [len(set(column)) for column in zip(*rows, strict=True)]
    length = [sum(map(len, column)) for column in zip(*rows, strict=True)]
    for label, text in ((0, 1), (1, 0)):
        if variety[label] < variety[text] and length[label] < length[text]:
            return (columns[text],), columns[label]
    return (), None


def _sample(table: RawTable, columns: Sequence[str]) -> Iterable[Row]:
    return (row for row in islice(table.rows(columns), _SAMPLE) if isinstance(row, tuple))


def _all_numbers(table: RawTable, label: str) -> set[str] | None:
    """The labels of the first rows if all are whole numbers, else None."""
    seen = {str(values[0]).strip() for _, _, values in _sample(table, (label,))} - {"", "None"}
    return seen if all(_WHOLE_NUMBER.fullmatch(value) for value in seen) else None


def _names_in(folder: Path) -> tuple[str, ...] | None:
    names = folder / "classes.txt"
    if not names.is_file():
        return None
    try:
        text = names.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(
            "class names", str(names), f"it cannot be read as UTF-8 ({error})."
        ) from error
    classes = tuple(text.removesuffix("\n").split("\n"))
    if not all(map(str.strip, classes)) or len(set(classes)) < len(classes):
        raise FileError("class names", str(names), "a name is blank or occurs twice; fix that.")
    return classes


def _columns(about: FileDescription) -> str:
    names = ", ".join(about.columns)
    kind = "no header, so that its columns are" if about.header is False else "the columns"
    return f"it has {kind} {names}"
