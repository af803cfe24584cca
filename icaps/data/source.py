"""Labelled texts as a stream of records, from files or from memory."""

from __future__ import annotations

import copy
import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from icaps.data.columns import ColumnChoice, choose_columns
from icaps.data.encoding import known_encoding
from icaps.data.formats.csv import check_delimiter
from icaps.data.formats.detect import open_table
from icaps.data.formats.memory import memory_table
from icaps.data.label_file import load_corrections
from icaps.data.label_form import LabelOptions
from icaps.data.label_sets import classes_of
from icaps.data.part_files import find_files, has_part
from icaps.data.problems import FileError, NoLabelsError, Problem, Problems
from icaps.data.raw_table import FileDescription, RawTable, Row
from icaps.data.records import Record, record_maker, text_of
from icaps.data.row_labels import MISSING_LABEL, corrected_label
from icaps.data.text_hash import text_hash
from icaps.errors import ConfigError, DataError

ON_BAD_ROWS = ("strict", "skip")


@dataclasses.dataclass(frozen=True)
class Description:
    """Format and columns of each file of a source, in reading order."""

    files: tuple[FileDescription, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about how the files are read, each after the file's name."""
        return tuple(f"{file.file}: {note}" for file in self.files for note in file.notes)

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The class names that all files give to numeric labels; None if they do not."""
        names = {file.classes for file in self.files}
        return names.pop() if len(names) == 1 else None

    @property
    def multilabel(self) -> bool:
        """Whether a text may have any number of labels; see `icaps.data.label_sets`."""
        return any(file.multilabel for file in self.files)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dataclasses.asdict(self)


class Source:
    """A stream of labelled texts that is read anew in each iteration, in bounded memory.

    Created by `open_source`. `spellings` counts the class names that were spelled in another way,
    by name and spelling. `problems` has the bad rows of the current or last iteration, and
    `corrected` counts the texts whose label a correction replaced by another one.
    """

    def __init__(
        self,
        tables: Sequence[Callable[[], RawTable]],
        folders: Sequence[Path | None],
        text: Sequence[str],
        label: LabelOptions,
        on_bad_rows: str,
        corrections: Mapping[int, str] = MappingProxyType({}),
        train: Callable[[], FileDescription | None] = lambda: None,
    ) -> None:
        self.problems = Problems()
        self.spellings = Counter[tuple[str, str]]()
        self.corrected = 0
        self._corrections = corrections
        self._strict = on_bad_rows == "strict"
        self._keep: Callable[[str], bool] = lambda _: True
        self._nothing = ""
        self._count = len(tables)

        @cache
        def plan(number: int) -> tuple[RawTable, ColumnChoice]:
            table = tables[number]()
            before = self._described(0) if number else None
            return table, choose_columns(table, text, label, folders[number], train(), before)

        self._plan = plan

    def __iter__(self) -> Iterator[Record]:
        """Yields the records in order.

        Raises:
            DataError: A file cannot be read, or there is no record. If strict, also for a bad row;
                the rest is then read to count such rows, without yielding records.
        """
        self.problems = problems = Problems()
        silent = False
        good = 0
        for item in self.scan():
            if isinstance(item, Problem):
                problems.add(item)
                silent = self._strict
                continue
            good += 1
            if not silent:
                yield item
        if silent:
            raise problems.error(good)
        if not good:
            raise self.empty_error()

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yields the text and the class name of each record of `__iter__`."""
        return ((record.text, record.label) for record in self)

    def scan(self, unlabelled: bool = False) -> Iterator[Record | Problem]:
        """Yields records and the problems of bad rows, whatever `on_bad_rows` is.

        Args:
            unlabelled: Whether a row without a label is a record with an empty one, not a problem.

        Raises:
            FileError: A file cannot be read, or not to its end.
        """
        self.spellings = spellings = Counter[tuple[str, str]]()
        self.corrected = 0
        for number in range(self._count):
            table, choice = self._plan(number)
            record = record_maker(choice.described(table.about), choice, spellings)
            for row in table.rows((*choice.labels, *choice.text)):
                item = row if isinstance(row, Problem) else record(*row)
                if unlabelled and isinstance(item, Problem) and item.kind == MISSING_LABEL:
                    item = _without_label(row, choice, choice.described(table.about))
                if isinstance(item, Record):
                    if not self._keep(item.text):
                        continue
                    if self._corrections:
                        label = self._corrections.get(text_hash(item.text), item.label)
                        label = corrected_label(label, choice.multilabel)
                        self.corrected += label != item.label
                        item = item._replace(label=label)
                yield item

    def filtered(self, keep: Callable[[str], bool], nothing: str) -> Source:
        """The same source without the records whose text is not wanted; bad rows remain.

        Args:
            keep: Whether a text is wanted.
            nothing: The message of the error if no record is.
        """
        other = copy.copy(self)
        other._keep, other._nothing = keep, nothing
        return other

    def empty_error(self) -> DataError:
        """The error that no record can be read, or is wanted."""
        files = ", ".join(file.file for file in self.describe().files[:3])
        return DataError(
            self._nothing or f"{files} holds no rows that can be read; add texts with labels."
        )

    def describe(self) -> Description:
        """Format and columns of the files.

        Raises:
            FileError: A file cannot be read.
        """
        return Description(tuple(map(self._described, range(self._count))))

    def _described(self, number: int) -> FileDescription:
        table, choice = self._plan(number)
        return choice.described(table.about)


def open_source(
    path_or_data: Any,
    part: str = "train",
    *,
    text: str | Sequence[str] | None = None,
    label: str | Sequence[str] | None = None,
    label_separator: str | None = None,
    multilabel: bool | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    on_bad_rows: str = "strict",
    corrections: str | Path | None = None,
    train: Source | None = None,
) -> Source:
    """Opens a source of labelled texts.

    Args:
        path_or_data: A file, a folder, a pattern, or several of them (`part_files.find_files`); or
            a DataFrame, a tuple (texts, labels) or a data set (`formats.memory.memory_table`).
        part: Part of a folder or a mapping.
        text: The text column, or several, whose texts are joined by a space. A file without a
            header has the columns "1", "2" and so on. None detects it, as for the options up to
            `delimiter`, of which a separator is never assumed.
        label: The label column; or several columns of 0 or 1, each of which is a class.
        label_separator: What is between the labels in a cell, if a text may have several.
        multilabel: Whether a text may have any number of labels; see `icaps.data.label_sets`.
        encoding: Encoding of the files' text.
        delimiter: Character between the fields of a line.
        on_bad_rows: "strict" raises an error for a bad row; "skip" leaves it out and counts it in
            `Source.problems`.
        corrections: A file of labels (`label_file`) that replace those of the same texts here.
        train: The training texts of the same data, if these are others: columns that are not
            given are those of its first file. For a folder, its train part is found.

    Raises:
        DataError: The data or the corrections do not exist. What is wrong inside a file is raised
            while reading it.
        ConfigError: There is no such encoding or option, the delimiter is not one character, or
            the options on labels contradict each other.
    """
    if on_bad_rows not in ON_BAD_ROWS:
        raise ConfigError(f"on_bad_rows is {on_bad_rows!r}; it must be 'strict' or 'skip'.")
    check_delimiter(delimiter)
    encoding = known_encoding(encoding) if encoding else None
    texts = (text,) if isinstance(text, str) else tuple(text or ())
    labels = _label_options(label, label_separator, multilabel)
    corrected = load_corrections(corrections) if corrections else {}
    table = memory_table(path_or_data, part)
    if table is not None:
        trained = _columns_of(train)
        return Source([lambda: table], [None], texts, labels, on_bad_rows, corrected, trained)
    files = find_files(path_or_data, part)
    wanted = (*texts, *labels.columns)
    tables = [_opener(file, encoding, delimiter, wanted, multilabel is True) for file in files]
    folders = [None if file.is_dir() else file.parent for file in files]
    if train is None and part != "train" and has_part(path_or_data, "train"):
        train = open_source(
            path_or_data,
            "train",
            text=text,
            label=label,
            label_separator=label_separator,
            multilabel=multilabel,
            encoding=encoding,
            delimiter=delimiter,
        )
    return Source(tables, folders, texts, labels, on_bad_rows, corrected, _columns_of(train))


def open_test(place: str | Path, log: Callable[[str], None], **options: Any) -> Source | None:
    """Opens the test part of a folder; None if it has none, or one without labels.

    Args:
        place: A file, a folder or a pattern; files and patterns have no test part.
        log: Called with a line if the test part has no labels.
        options: Those of `open_source`.

    Raises:
        DataError: The test part cannot be read.
    """
    if not has_part(place, "test"):
        return None
    test = open_source(place, "test", **options)
    try:
        test.describe()
    except NoLabelsError as error:
        log(f"the test part is not scored: {error}")
        return None
    return test


def _without_label(
    row: Row | Problem, choice: ColumnChoice, about: FileDescription
) -> Record | Problem:
    """The record of a row whose label is missing, with an empty one."""
    if isinstance(row, Problem):  # of a format that cannot tell the text without a label
        return row
    file, line, values = row
    text = text_of(file, line, values[len(choice.labels) :], about.text, about)
    return Record(text, "", file, line) if isinstance(text, str) else text


def _columns_of(train: Source | None) -> Callable[[], FileDescription | None]:
    """A function that describes the first file of a source; None if there is none, or unclear."""

    @cache
    def describe() -> FileDescription | None:
        try:
            return None if train is None else train.describe().files[0]
        except FileError:  # the columns of another part may be clear
            return None

    return describe


def _label_options(
    label: str | Sequence[str] | None, separator: str | None, multilabel: bool | None
) -> LabelOptions:
    columns = (label,) if isinstance(label, str) else tuple(dict.fromkeys(label or ()))
    columns = tuple(name for name in columns if name)
    if separator is not None and (not separator or "\n" in separator or "\r" in separator):
        raise ConfigError(f"The label separator is {separator!r}; it must be text, such as ';'.")
    if separator and multilabel is False:
        raise ConfigError(
            "A label separator is between several labels of a text, which --no-multilabel "
            "(multilabel=False) rules out; leave out one of them."
        )
    if separator and len(columns) > 1:
        raise ConfigError(
            "A label separator is between the labels in one column, and several label columns are "
            "named; leave out one of them."
        )
    return LabelOptions(columns, separator, multilabel)


def _opener(
    file: Path,
    encoding: str | None,
    delimiter: str | None,
    wanted: Sequence[str],
    several: bool,
) -> Callable[[], RawTable]:
    return lambda: open_table(file, encoding, delimiter, wanted, several)


@dataclasses.dataclass(frozen=True)
class LabelledTexts:
    """Texts in memory with their labels; `classes` are all names of classes, in order."""

    texts: list[str]
    labels: list[str]
    classes: tuple[str, ...]

    @classmethod
    def from_source(cls, source: Source) -> LabelledTexts:
        """Reads all records of a source; classes without an order are sorted as by `classes_of`.

        Raises:
            DataError: A file cannot be read, a row is bad, or there is none.
        """
        pairs = list(source.pairs())
        texts = [text for text, _ in pairs]
        labels = [label for _, label in pairs]
        return cls(texts, labels, source.describe().classes or classes_of(labels))


def read_part(path: str | Path, part: str, **options: Any) -> LabelledTexts:
    """Reads the texts of a file, or of a part ("train", "test") of a folder, into memory.

    `options` are those of `open_source`.

    Raises:
        DataError: The file is missing, its columns are ambiguous, or a row is bad.
    """
    return LabelledTexts.from_source(open_source(path, part, **options))
