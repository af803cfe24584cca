"""Detection of the text and the label column, by their names and by their content."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from icaps.data.column_evidence import ColumnEvidence, column_evidence, plain_value, sample_rows
from icaps.data.problems import ColumnPair, FileError, NoLabelsError, UnclearColumnsError
from icaps.data.raw_table import FileDescription, RawTable

TEXT_COLUMNS = ("text", "content", "document", "sentence", "description", "review")
LABEL_COLUMNS = ("label", "class", "category", "target", "topic")
# Names that are as usual, but less certain, so that they do not make a first line a header.
_TEXT_NAMES = (*TEXT_COLUMNS, "tweet", "comment", "message", "utterance", "body")
_LABEL_NAMES = (
    *LABEL_COLUMNS,
    "labels",
    "classes",
    "class index",
    "class id",
    "class label",
    "label id",
    "category id",
    "sentiment",
    "intent",
    "emotion",
)
# Such a column is a part of the text beside one of these names.
_TITLES = ("title", "headline", "subject", "heading")
_BODIES = ("description", "content", "body")
_WHOLE_NUMBER = re.compile(r"-?[0-9]+(?:\.0+)?")
_FEW = 10  # rows below which equal labels mean nothing
_LISTED = 12  # columns that a message names at most
_LONGEST_NAME = 40  # characters of a column's name in a message


@dataclass(frozen=True)
class ColumnChoice:
    """The text and label columns of a table.

    Attributes:
        text: The text columns.
        label: The label column.
        names: The class names if labels are numbers from `base`, else None.
        base: The label of the first class name.
        whole: Whether all labels are whole numbers, so that 0.0 is the class 0.
        class_first: Whether it has Zhang et al.'s layout; see `FileDescription`.
        notes: What a user should know about the choice, as sentences.
    """

    text: tuple[str, ...]
    label: str
    names: tuple[str, ...] | None
    base: int = 0
    whole: bool = False
    class_first: bool = False
    notes: tuple[str, ...] = ()

    def described(self, about: FileDescription) -> FileDescription:
        """The description with this choice."""
        return replace(
            about,
            text=self.text,
            label=self.label,
            classes=self.names,
            class_first=self.class_first,
            notes=(*about.notes, *self.notes),
        )


@dataclass(frozen=True)
class _Roles:
    text: tuple[str, ...]
    label: str
    class_first: bool = False
    notes: tuple[str, ...] = ()


def choose_columns(
    table: RawTable,
    text: Sequence[str],
    label: str | None,
    folder: Path | None,
    train: FileDescription | None = None,
) -> ColumnChoice:
    """Chooses the text and label columns: the given ones, those of `train`, or by names and values.

    Labels that are numbers get the names that the table has or that a `classes.txt` in `folder`
    lists: from 0, or from 1 in a file of Zhang et al.'s layout without a 0.

    Args:
        table: The table.
        text, label: The columns that the user named; empty and None for none.
        folder: Where a `classes.txt` may be.
        train: The training file of the same data set, if the table is of another part.

    Raises:
        UnclearColumnsError: The columns are unclear.
        NoLabelsError: No column can be that of the labels.
        FileError: A given column does not exist.
    """
    about = table.about
    _check_given(about, text, label)
    text, label = tuple(text), label or None
    if train is not None:
        text, label = _as_in_training(table, text, label, train)
    roles = _Detector(table, text, label).roles()
    names, origin = _names_in(folder) if folder else None, "classes.txt"
    if names is None:
        names, origin = table.class_names(roles.label), ""
    numbers = _whole_labels(table, roles.label)
    notes = roles.notes
    base = 1 if roles.class_first and numbers and "0" not in numbers else 0
    if names and numbers and origin and folder:
        notes = (*notes, _names_note(names, base, folder / origin))
    return ColumnChoice(
        roles.text,
        roles.label,
        names if numbers is not None else None,
        base,
        numbers is not None,
        roles.class_first,
        notes,
    )


def choose_text(
    table: RawTable, text: Sequence[str], label: str | None = None
) -> tuple[FileDescription, str]:
    """Chooses the text columns of a table of which labels are not read.

    These are the only column, or those in `text` that the table has, or as in `choose_columns`.

    Returns:
        The table's description with these columns, and the column of labels; empty for none.

    Raises:
        UnclearColumnsError: The columns are unclear.
    """
    about = table.about
    if len(about.columns) == 1:
        return replace(about, text=about.columns), ""
    given = tuple(name for name in text if name in about.columns)
    label = label if label in about.columns and label not in given else None
    roles = _Detector(table, given, label, labelled=False).roles()
    known = roles.class_first or roles.label == label or _is_usual(roles.label, _LABEL_NAMES)
    about = replace(about, text=roles.text, class_first=roles.class_first)
    return about, roles.label if known else ""


def _check_given(about: FileDescription, text: Sequence[str], label: str | None) -> None:
    for name in (*text, *([label] if label else [])):
        if name not in about.columns:
            reason = f"it has no column {name!r}: {_listed(about)}."
            raise FileError("unclear columns", about.file, reason)
        _unique(name, about)
    if label and label in text:
        reason = f"{label!r} is named both as text and as label; name two columns."
        raise FileError("unclear columns", about.file, reason)


def _as_in_training(
    table: RawTable, text: tuple[str, ...], label: str | None, train: FileDescription
) -> tuple[tuple[str, ...], str | None]:
    """The columns of the training file, as far as the table has them and none are given.

    Raises:
        NoLabelsError: The table has the training file's columns but not its labels.
    """
    about = table.about
    numbered = about.header is False or train.header is False
    if numbered and (about.header != train.header or len(about.columns) != len(train.columns)):
        return text, label
    if not text and all(name in about.columns for name in train.text):
        text = train.text
    if label:
        return text, label
    if train.label in about.columns:
        if text and train.label not in text:
            _check_filled(table, train.label)
            return text, train.label
        return text, None
    new = [name for name in about.columns if name not in train.columns]
    if text and not any(_is_usual(name, _LABEL_NAMES) for name in new):
        raise NoLabelsError(
            about.file,
            f"it has no labels: {_listed(about)}, and the labels of {train.file} are in "
            f"{train.label!r}. It is for prediction, not for scores; if a column has its labels, "
            "name it with --label (label=...).",
        )
    return text, None


def _check_filled(table: RawTable, label: str) -> None:
    """Raises NoLabelsError if a label column is empty, or -1 alone, as in many test parts."""
    values = [plain_value(row[0]) for _, _, row in sample_rows(table, (label,))]
    if values and set(values) <= {"", "-1", "?"}:
        what = repr(values[0]) if values[0] else "empty"
        raise NoLabelsError(
            table.about.file,
            f"it has no labels: all values of {label!r} are {what}. It is for prediction, not for "
            "scores.",
        )


class _Detector:
    """Detects the roles of the columns of one table."""

    def __init__(
        self, table: RawTable, text: tuple[str, ...], label: str | None, labelled: bool = True
    ) -> None:
        self._table = table
        self._about = about = table.about
        self._labelled = labelled
        self._text, self._label = text, label
        # Columns of one name cannot be told apart, so none of them is read.
        columns = [name for name in about.columns if about.columns.count(name) == 1]
        self._evidence = {item.name: item for item in column_evidence(table, columns)}

    def roles(self) -> _Roles:
        """The roles of the columns."""
        about, text, label = self._about, self._text, self._label
        if about.class_first and (roles := self._class_first(text, label)):
            return roles
        if not text and (name := self._usual(_TEXT_NAMES, label)):
            text = (name,)
        name = self._usual(_LABEL_NAMES, *text)
        if not label and name and not (self._labelled and self._evidence[name].identifies):
            label = name
        if not text and not label:
            text, label = self._both()
        elif not text:
            text = self._only_text(label)
        elif not label:
            label = self._only_label(text)
        if not text or (not label and self._labelled):
            self._unclear(text, label)
        notes = self._unread(text, label) if label and not self._text else ()
        return _Roles(text, label or "", notes=notes)

    def _class_first(self, text: tuple[str, ...], label: str | None) -> _Roles | None:
        """The roles in Zhang et al.'s layout: the class, then texts alone; None if it is not."""
        columns = self._about.columns
        label = label or next(name for name in columns if name not in text)
        if not text:
            first, *others = (self._evidence[name] for name in columns)
            if label != first.name or first.identifies:
                return None
            if len(columns) > 2 and not all(map(_may_be_text, others)):
                return None
            text = tuple(item.name for item in others)
        return _Roles(text, label, class_first=True)

    def _usual(self, usual: Sequence[str], *taken: str | None) -> str | None:
        """The column with the first of some usual names."""
        columns = [name for name in self._about.columns if name not in taken]
        names = [(_normal(name), name) for name in columns]
        for wanted in usual:
            for normal, name in names:
                if normal == wanted:
                    return _unique(name, self._about)
        return None

    def _both(self) -> tuple[tuple[str, ...], str | None]:
        """Text and label if the values of exactly one column are like each."""
        open_ = self._open()
        if len(open_) == 2 and (pair := self._short_and_long(open_)):
            return pair
        texts = [item for item in open_ if item.is_text and not item.is_label]
        labels = [item for item in open_ if item.is_label and not item.is_text]
        if len(texts) == 1 and len(labels) == 1 and len(open_) == 2:
            return (texts[0].name,), labels[0].name
        if len(texts) == 1 and not labels and len(open_) == 1 and self._labelled:
            self._no_labels()
        if not self._labelled and len(texts) == 1:
            return (texts[0].name,), None
        return (), None

    def _short_and_long(
        self, open_: Sequence[ColumnEvidence]
    ) -> tuple[tuple[str, ...], str] | None:
        """Text and label of two columns: the label has shorter values, which recur."""
        for label, text in (open_, open_[::-1]):
            shorter = label.characters < text.characters and label.distinct < text.distinct
            if shorter and not label.moments:
                return (text.name,), label.name
        return None

    def _only_text(self, label: str | None) -> tuple[str, ...]:
        """The text columns when the label is known: the only other one, or the only texts."""
        others = self._open(label)
        texts = [item for item in others if item.is_text]
        titled = [item for item in texts if _is_usual(item.name, _TITLES)]
        if len(others) == 1 or (len(texts) == 1 and not titled):
            return ((texts or others)[0].name,)
        return ()

    def _only_label(self, text: tuple[str, ...]) -> str | None:
        """The label column when the text is known: the only other one, or the only like labels."""
        others = [item for name, item in self._evidence.items() if name not in text]
        open_ = self._open(*text)
        if not open_ and self._labelled:
            self._no_labels()
        if len(others) == 1 and open_:
            return others[0].name
        if len(open_) == 1 and not (open_[0].is_text or open_[0].moments):
            return open_[0].name
        return None

    def _open(self, *taken: str | None) -> list[ColumnEvidence]:
        """The columns that may have a role: neither taken, nor empty, nor numbers of rows."""
        return [
            item
            for name, item in self._evidence.items()
            if name not in taken and not item.empty and not item.identifies
        ]

    def _unread(self, text: tuple[str, ...], label: str) -> tuple[str, ...]:
        """Notes on columns that are not read although their values are like texts or labels.

        Raises:
            UnclearColumnsError: One is a title, and the text may be its continuation.
        """
        others = self._open(*text, label)
        texts = [item.name for item in others if item.is_text and not item.is_label]
        titles = [name for name in texts if _is_usual(name, _TITLES)]
        if titles and len(text) == 1 and _is_usual(text[0], _BODIES):
            joined = tuple(name for name in self._about.columns if name in (*titles, *text))
            self._unclear((), label, (joined, text))
        if not texts:
            return ()
        pair = ColumnPair((*text, *texts), label)
        names = ", ".join(map(repr, texts))
        was = f"{names} {'is' if len(texts) == 1 else 'are'} not read"
        return (f"the text is {text[0]!r}; {was}. To join them: {pair.flags()}.",)

    def _no_labels(self) -> NoReturn:
        about = self._about
        others = [item.name for item in self._evidence.values() if item.identifies]
        why = f" ({', '.join(map(repr, others))} only numbers or names its rows)" if others else ""
        raise NoLabelsError(
            about.file,
            f"it has no labels: {_listed(about)}{why}. It is for prediction, not for training or "
            "scores; if a column has its labels, name it with --label (label=...).",
        )

    def _unclear(
        self,
        text: tuple[str, ...],
        label: str | None,
        texts: Sequence[tuple[str, ...]] = (),
    ) -> NoReturn:
        """Raises UnclearColumnsError with the likeliest choices."""
        items = list(self._evidence.values())
        text_names = [
            item.name
            for item in sorted(items, key=lambda item: item.text_rank, reverse=True)
            if item.name != label
        ]
        label_names = [
            item.name
            for item in sorted(items, key=lambda item: item.label_rank, reverse=True)
            if item.name not in text
        ]
        choices = []
        texts = texts or ([text] if text else [(name,) for name in text_names[:2]])
        for names in texts:
            for name in [label] if label else label_names:
                if name not in names:
                    pair = ColumnPair(names, name if self._labelled else "")
                    choices += [] if pair in choices else [pair]
        # Texts first: with the likeliest text, the second likeliest label comes after the second
        # likeliest text, unless only the label is unclear.
        choices = _two(choices)
        advice = "; or ".join(f"{pair.flags()} ({pair.keywords()})" for pair in choices)
        what = "the texts" if not self._labelled else "the texts and which the labels"
        if text:
            what = "the labels"
        elif label:
            what = "the texts"
        raise UnclearColumnsError(
            self._about.file,
            f"{_listed(self._about)}; it is unclear which has {what}. Name them: {advice}.",
            self._about.columns,
            text_names,
            label_names,
            choices,
            {item.name: item.samples for item in items},
        )


def _may_be_text(item: ColumnEvidence) -> bool:
    """Whether a column may be one of several text columns; few rows say little."""
    if item.total < _FEW:
        return not (item.numbers or item.moments)
    return item.is_text or item.empty


def _two(choices: Sequence[ColumnPair]) -> list[ColumnPair]:
    """The first choice, and the first other one with another text if there is one."""
    first = list(choices[:1])
    second = [pair for pair in choices[1:] if first and pair.text != first[0].text] or choices[1:]
    return first + list(second[:1])


def _normal(name: str) -> str:
    """A name in lower case with single spaces in place of other separators."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return " ".join(re.split(r"[\s_.\-]+", words.strip().lower()))


def is_label_name(name: str) -> bool:
    """Whether a column has a usual name of labels, such as "label", "Class" or "sentiment"."""
    return _is_usual(name, _LABEL_NAMES)


def _is_usual(name: str | None, usual: Sequence[str]) -> bool:
    return name is not None and _normal(name) in usual


def _unique(name: str, about: FileDescription) -> str:
    if about.columns.count(name) > 1:
        raise FileError(
            "unclear columns",
            about.file,
            f"{about.columns.count(name)} columns are called {name!r}; rename all but one.",
        )
    return name


def _whole_labels(table: RawTable, label: str) -> set[str] | None:
    """The labels of the first rows if all are whole numbers, else None."""
    rows = sample_rows(table, (label,))
    seen = {plain_value(values[0]).removesuffix(".0") for _, _, values in rows} - {""}
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


def _names_note(names: Sequence[str], base: int, path: Path) -> str:
    """Where the names of numeric labels come from."""
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return f"the labels {base} to {len(names) - 1 + base} have the names in {path}: {shown}."


def _listed(about: FileDescription) -> str:
    """The columns of a file, at most `_LISTED` of them, as a clause."""
    columns = about.columns
    names = ", ".join(name[:_LONGEST_NAME] for name in columns[:_LISTED])
    names += f" and {len(columns) - _LISTED} more" if len(columns) > _LISTED else ""
    kind = "no header, so that its columns are" if about.header is False else "the columns"
    return f"it has {kind} {names}"
