"""Detection of the text and the label column, by their names and by their content."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from icaps.data.column_evidence import ColumnEvidence, column_evidence, plain_value, sample_rows
from icaps.data.label_form import LabelOptions, label_form
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
_FEWEST_FLAGS = 3  # columns of 0 and 1 that are columns per class without a word from the user
_FEW = 10  # rows below which equal labels mean nothing
_LISTED = 12  # columns that a message names at most
_LONGEST_NAME = 40  # characters of a column's name in a message


@dataclass(frozen=True)
class ColumnChoice:
    """The text and label columns of a table.

    Attributes:
        text: The text columns.
        labels: The label column, or several columns of 0 or 1, each of which is a class.
        names: The class names if labels are numbers from `base`, else None.
        base: The label of the first class name.
        whole: Whether all labels are whole numbers, so that 0.0 is the class 0.
        class_first: Whether it has Zhang et al.'s layout; see `FileDescription`.
        multilabel, separator, lists, exclusive: See `label_form.LabelForm`.
        notes: What a user should know about the choice, as sentences.
    """

    text: tuple[str, ...]
    labels: tuple[str, ...]
    names: tuple[str, ...] | None = None
    base: int = 0
    whole: bool = False
    class_first: bool = False
    multilabel: bool = False
    separator: str | None = None
    lists: bool = False
    exclusive: bool = False
    notes: tuple[str, ...] = ()

    def described(self, about: FileDescription) -> FileDescription:
        """The description with this choice."""
        return replace(
            about,
            text=self.text,
            label=self.labels[0] if len(self.labels) == 1 else "",
            label_columns=self.labels if len(self.labels) > 1 else (),
            multilabel=self.multilabel,
            separator=self.separator,
            classes=self.names,
            class_first=self.class_first,
            notes=(*about.notes, *self.notes),
        )


@dataclass(frozen=True)
class _Roles:
    text: tuple[str, ...]
    labels: tuple[str, ...]
    class_first: bool = False
    notes: tuple[str, ...] = ()


def choose_columns(
    table: RawTable,
    text: Sequence[str],
    label: LabelOptions,
    folder: Path | None,
    train: FileDescription | None = None,
    before: FileDescription | None = None,
) -> ColumnChoice:
    """Chooses the text and label columns: the given ones, those of `train`, or by names and values.

    Several columns of 0 and 1 are chosen if there is no other column that may have the labels.
    Labels that are numbers get the names that the table has or that a `classes.txt` in `folder`
    lists: from 0, or from 1 in a file of Zhang et al.'s layout without a 0.

    Args:
        table: The table.
        text: The text columns that the user named; empty for none.
        label: What the user says about the labels.
        folder: Where a `classes.txt` may be.
        train: The training file of the same data set, if the table is of another part.
        before: The first file of the same part, if the table is of another file.

    Raises:
        UnclearColumnsError: The columns are unclear.
        NoLabelsError: No column can be that of the labels.
        UnclearLabelsError: The labels may have a separator.
        FileError: A given column does not exist.
    """
    about = table.about
    check_given(about, text, label.columns)
    text, labels = tuple(text), label.columns
    if train is not None:
        text, labels = _as_in_training(table, text, labels, train)
    roles = _Detector(table, text, labels).roles()
    form = label_form(table, roles.labels, label, train or before)
    notes = (*roles.notes, *form.notes)
    if len(roles.labels) > 1:
        return ColumnChoice(
            roles.text,
            roles.labels,
            multilabel=form.multilabel,
            exclusive=form.exclusive,
            notes=notes,
        )
    names, origin = _names_in(folder) if folder else None, "classes.txt"
    if names is None:
        names, origin = table.class_names(roles.labels[0]), ""
    numbers = form.numbers
    base = 1 if roles.class_first and numbers and "0" not in numbers else 0
    if names and numbers and origin and folder:
        notes = (*notes, _names_note(names, base, folder / origin))
    return ColumnChoice(
        roles.text,
        roles.labels,
        names if numbers is not None else None,
        base,
        numbers is not None,
        roles.class_first,
        form.multilabel,
        form.separator,
        form.lists,
        form.exclusive,
        notes,
    )


def choose_text(
    table: RawTable, text: Sequence[str], labels: Sequence[str] = ()
) -> tuple[FileDescription, tuple[str, ...]]:
    """Chooses the text columns of a table of which labels are not read.

    These are the only column, or those in `text` that the table has, or as in `choose_columns`.

    Returns:
        The table's description with these columns, and the columns of labels, as far as known.

    Raises:
        UnclearColumnsError: The columns are unclear.
    """
    about = table.about
    if len(about.columns) == 1:
        return replace(about, text=about.columns), ()
    given = tuple(name for name in text if name in about.columns)
    labels = tuple(name for name in labels if name in about.columns and name not in given)
    roles = _Detector(table, given, labels, labelled=False).roles()
    usual = any(_is_usual(name, _LABEL_NAMES) for name in roles.labels)
    known = roles.class_first or roles.labels == labels or usual
    about = replace(about, text=roles.text, class_first=roles.class_first)
    return about, roles.labels if known else ()


def check_given(about: FileDescription, text: Sequence[str], labels: Sequence[str] = ()) -> None:
    """Raises FileError if the table lacks a column that the user named, or has two of its name."""
    for name in (*text, *labels):
        if name not in about.columns:
            reason = f"it has no column {name!r}: {_listed(about)}."
            raise FileError("unclear columns", about.file, reason)
        _unique(name, about)
    if both := [name for name in labels if name in text]:
        reason = f"{both[0]!r} is named both as text and as label; name two columns."
        raise FileError("unclear columns", about.file, reason)


def _as_in_training(
    table: RawTable, text: tuple[str, ...], labels: tuple[str, ...], train: FileDescription
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of the training file, as far as the table has them and none are given.

    Raises:
        NoLabelsError: The table has the training file's columns but not its labels.
    """
    about = table.about
    numbered = about.header is False or train.header is False
    if numbered and (about.header != train.header or len(about.columns) != len(train.columns)):
        return text, labels
    if not text and all(name in about.columns for name in train.text):
        text = train.text
    if labels:
        return text, labels
    trained = train.label_columns or (train.label,)
    if all(name in about.columns for name in trained):
        if text and not set(trained) & set(text):
            _check_filled(table, trained)
            return text, trained
        return text, ()
    new = [name for name in about.columns if name not in train.columns]
    if text and not any(_is_usual(name, _LABEL_NAMES) for name in new):
        raise NoLabelsError(
            about.file,
            f"it has no labels: {_listed(about)}, and the labels of {train.file} are in "
            f"{', '.join(map(repr, trained))}. It is for prediction, not for scores; if a column "
            "has its labels, name it with --label (label=...).",
        )
    return text, ()


def _check_filled(table: RawTable, labels: Sequence[str]) -> None:
    """Raises NoLabelsError if label columns are empty, or -1 alone, as in many test parts."""
    values = [plain_value(cell) for _, _, row in sample_rows(table, labels) for cell in row]
    if values and set(values) <= {"", "-1", "?"}:
        what = repr(values[0]) if values[0] else "empty"
        raise NoLabelsError(
            table.about.file,
            f"it has no labels: all values of {', '.join(map(repr, labels))} are {what}. It is for "
            "prediction, not for scores.",
        )


class _Detector:
    """Detects the roles of the columns of one table."""

    def __init__(
        self,
        table: RawTable,
        text: tuple[str, ...],
        labels: tuple[str, ...],
        labelled: bool = True,
    ) -> None:
        self._about = about = table.about
        self._labelled = labelled
        self._text, self._labels = text, labels
        # Columns of one name cannot be told apart, so none of them is read.
        columns = [name for name in about.columns if about.columns.count(name) == 1]
        self._evidence = {item.name: item for item in column_evidence(table, columns)}

    def roles(self) -> _Roles:
        """The roles of the columns."""
        if len(self._labels) > 1:
            return self._beside(self._labels)
        about, text, label = self._about, self._text, next(iter(self._labels), None)
        if about.class_first and (roles := self._class_first(text, label)):
            return roles
        if not text and (name := self._usual(_TEXT_NAMES, label)):
            text = (name,)
        name = self._usual(_LABEL_NAMES, *text)
        if not label and name and not (self._labelled and self._evidence[name].identifies):
            label = name
        if not label and (flags := self._column_per_class(text)):
            return self._beside(flags)
        if not text and not label:
            text, label = self._both()
        elif not text:
            text = self._only_text(label)
        elif not label:
            label = self._only_label(text)
        if not text or (not label and self._labelled):
            self._unclear(text, label)
        notes = self._unread(text, label) if label and not self._text else ()
        return _Roles(text, (label,) if label else (), notes=notes)

    def _beside(self, labels: tuple[str, ...]) -> _Roles:
        """The roles if these are the columns of the classes."""
        text, name = self._text, self._usual(_TEXT_NAMES, *labels)
        if not text and name:
            text = (name,)
        text = text or self._only_text(*labels)
        if not text:
            self._unclear((), None, flags=labels)
        notes = () if self._text else self._unread(text, *labels)
        return _Roles(text, labels, notes=notes)

    def _column_per_class(self, text: tuple[str, ...]) -> tuple[str, ...]:
        """The columns of 0 and 1 if there are several beside one text, and nothing else."""
        flags = self._flags(text)
        if not self._labelled or len(flags) < _FEWEST_FLAGS or self._about.header is False:
            return ()
        others = [item for item in self._open(*text, *flags) if not item.counting]
        texts = [item for item in others if item.is_text]
        alone = not others if text else len(others) == len(texts) == 1
        return flags if alone else ()

    def _flags(self, text: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(item.name for item in self._open(*text) if item.flags)

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
        return _Roles(text, (label,), class_first=True)

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

    def _only_text(self, *labels: str | None) -> tuple[str, ...]:
        """The text columns when the label is known: the only other one, or the only texts."""
        others = self._open(*labels)
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

    def _unread(self, text: tuple[str, ...], *labels: str) -> tuple[str, ...]:
        """Notes on columns that are not read although their values are like texts or labels.

        Raises:
            UnclearColumnsError: One is a title, and the text may be its continuation.
        """
        others = self._open(*text, *labels)
        texts = [item.name for item in others if item.is_text and not item.is_label]
        titles = [name for name in texts if _is_usual(name, _TITLES)]
        if titles and len(text) == 1 and _is_usual(text[0], _BODIES):
            joined = tuple(name for name in self._about.columns if name in (*titles, *text))
            flags = labels if len(labels) > 1 else ()
            self._unclear((), None if flags else labels[0], (joined, text), flags)
        if not texts:
            return ()
        pair = _pair((*text, *texts), labels)
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
        flags: tuple[str, ...] = (),
    ) -> NoReturn:
        """Raises UnclearColumnsError with the likeliest choices.

        Args:
            text, label: The columns that are known.
            texts: The text columns to choose from.
            flags: The columns of the classes, if these are known.
        """
        items = list(self._evidence.values())
        text_names = [
            item.name
            for item in sorted(items, key=lambda item: item.text_rank, reverse=True)
            if item.name not in (label, *flags)
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
        choices = [_pair(names, flags) for names in texts] if flags else _two(choices)
        others = () if label or flags else self._flags(text)
        if self._labelled and len(others) > 1:  # perhaps they are the classes
            pairs = [_pair(names, others) for names in texts if not set(names) & set(others)]
            choices = [*choices[:1], *pairs[:1]]
        advice = "; or ".join(f"{pair.flags()} ({pair.keywords()})" for pair in choices)
        what = "the texts" if not self._labelled else "the texts and which the labels"
        if text:
            what = "the labels"
        elif label or flags:
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


def _pair(text: tuple[str, ...], labels: tuple[str, ...]) -> ColumnPair:
    return ColumnPair(text, labels if len(labels) > 1 else labels[0])


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
