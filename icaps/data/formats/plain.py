"""Plain text: fastText's labelled lines, lines without labels, and folders of text files."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from icaps.data.encoding import (
    LONGEST,
    bom_encoding,
    damage,
    detect_encoding,
    is_binary,
    lines,
    text_blocks,
)
from icaps.data.formats.csv_rows import CsvRows
from icaps.data.problems import FileError, Problem
from icaps.data.raw_table import FileDescription, Row
from icaps.data.streams import COMPRESSED_SUFFIXES, DataFile, data_file, is_hidden

PREFIX = "__label__"
_NO_CLASS = ("unsup", "unsupervised", "unlabelled", "unlabeled")  # folders beside those of classes
_COLUMNS = ("label", "text")
_NO_DELIMITER = "\x1f"  # a control character that stands for "no delimiter" of the csv module


class FastTextTable:
    """A file with one text per line, after its label or labels: `__label__X text`.

    Args:
        file: The file.
        encoding: Encoding of its text.
        several: Whether a line may have any number of labels, which are then a list.
    """

    def __init__(self, file: DataFile, encoding: str, several: bool = False) -> None:
        self._file = file
        self._several = several
        self._name = str(file.path)
        self.about = FileDescription(
            self._name, "fastText", _COLUMNS, compression=file.compression, encoding=encoding
        )

    def rows(self, columns: Sequence[str]) -> Iterator[Row | Problem]:
        """Yields the values of `columns` per line in order, or the problem of a bad one.

        Raises:
            FileError: The rest of the file cannot be read.
        """
        order = [_COLUMNS.index(column) for column in columns]
        blocks = text_blocks(self._file, self.about.encoding or "")
        for number, line in enumerate(lines(blocks, self._name, newline="\n"), 1):
            if line.strip():
                values = self._split(line.removesuffix("\n").removesuffix("\r"), number)
                if isinstance(values, tuple):
                    yield self._name, number, [values[place] for place in order]
                else:
                    yield values

    def class_names(self, column: str) -> None:
        """None: such a file has no names for numbers."""

    def _split(self, line: str, number: int) -> tuple[str | list[str], str] | Problem:
        if problem := damage(line, self._name, number):
            return problem
        if self._several:
            return _labels(line)
        label, text = _first_label(line)
        if not label:
            reason = f"the line has no label; start it with {PREFIX} and the class."
            return Problem("missing label", self._name, number, 1, reason)
        if text.startswith(PREFIX):
            reason = (
                "the line has several labels; leave only one, or, if a text may have any number, "
                "say so with --multilabel (multilabel=True)."
            )
            column = len(PREFIX) + len(label) + 2
            return Problem("several labels", self._name, number, column, reason)
        return label, text


def _labels(line: str) -> tuple[list[str], str]:
    """The labels at the start of a line, and the text after them."""
    labels: list[str] = []
    text = line
    while True:
        label, rest = _first_label(text)
        if not label:
            return labels, text
        labels.append(label)
        text = rest


def _first_label(line: str) -> tuple[str, str]:
    """The label at the start of a line, empty if there is none, and what is after it."""
    label, _, text = line.partition(" ")
    if "\t" in label:
        label, _, text = line.partition("\t")
    return (label.removeprefix(PREFIX), text) if label.startswith(PREFIX) else ("", line)


class LinesTable:
    """A file with one text per line, or a CSV file with a single column, which may be quoted.

    Args:
        file: The file.
        encoding: Encoding of its text.
        names: Names of a text column, in lower case; a first line with one of them is a header.
    """

    def __init__(self, file: DataFile, encoding: str, names: Collection[str]) -> None:
        self._file = file
        self._name = str(file.path)
        self._quoted = file.suffix in (".csv", ".tsv")
        self._names = names
        self.about = FileDescription(
            self._name, "lines of text", ("text",), compression=file.compression, encoding=encoding
        )

    def rows(self, columns: Sequence[str]) -> Iterator[Row | Problem]:
        """Yields the text of each line in order, or the problem of a bad one.

        Raises:
            FileError: The rest of the file cannot be read.
        """
        text = lines(text_blocks(self._file, self.about.encoding or ""), self._name)
        first = True
        for item in CsvRows(text, self._name, _NO_DELIMITER, self._quoted):
            if isinstance(item, Problem):
                yield item
                continue
            number, cells = item
            line = _NO_DELIMITER.join(cells)
            if not (first and line.strip().lower() in self._names):
                yield self._name, number, [line] * len(columns)
            first = False

    def class_names(self, column: str) -> None:
        """None: such a file has no labels."""


class FolderTable:
    """A folder whose subfolders are the classes, with one file per text.

    Args:
        folder: The folder.
        encoding: Encoding of all files; None to detect that of each.
        groups: The folders of the files; None: the subfolders of `folder`.
    """

    def __init__(
        self, folder: Path, encoding: str | None, groups: Sequence[Path] | None = None
    ) -> None:
        self._folder = folder
        self._encoding = encoding
        self._groups = groups
        left_out = unlabelled_folders(folder) if groups is None else []
        self.about = FileDescription(
            str(folder),
            "folder of texts by class",
            _COLUMNS,
            encoding=encoding,
            notes=tuple(
                f"its folder {group.name!r} has texts without a class and is left out; to train "
                f"with them too: --unlabelled {shlex.quote(str(group))}"
                for group in left_out
            ),
        )

    def rows(self, columns: Sequence[str]) -> Iterator[Row | Problem]:
        """Yields the values of `columns` per file, sorted by class and name, or its problem.

        Raises:
            FileError: The folder cannot be read.
        """
        order = [_COLUMNS.index(column) for column in columns]
        groups = class_folders(self._folder) if self._groups is None else self._groups
        for group in groups:
            for path in sorted(_visible(group)):
                text = self._text(path)
                if isinstance(text, Problem):
                    yield text
                else:
                    values = (group.name, text)
                    yield str(path), 1, [values[place] for place in order]

    def class_names(self, column: str) -> None:
        """None: the subfolders have the names of their classes."""

    def _text(self, path: Path) -> str | Problem:
        name = str(path)
        if path.is_dir():
            reason = "a class has a subfolder; move its files up."
            return Problem("folder in a class", name, None, None, reason)
        try:
            file = data_file(path)
            head = file.head()
            if not self._encoding and is_binary(head):
                return Problem("binary file", name, None, None, "it is not text; remove it.")
            encoding = self._encoding or bom_encoding(head) or detect_encoding(file)
            text = _whole(text_blocks(file, encoding), name)
        except FileError as error:  # of one row, not of the whole folder
            return error.problem
        return damage(text, name) or text


def has_texts(folder: Path) -> bool:
    """Whether a folder has text files, and no subfolder."""
    files = list(_visible(folder))
    return any(map(_is_text, files)) and not any(file.is_dir() for file in files)


def class_folders(folder: Path) -> list[Path]:
    """The subfolders that hold the texts of one class each; empty for any other folder.

    These are all subfolders that are not empty, provided that each has a `.txt` file, compressed
    or not, or a file without a suffix. Folders of texts without a class are left out, see
    `unlabelled_folders`.
    """
    groups = sorted(path for path in _visible(folder) if path.is_dir())
    filled = [group for group in groups if any(True for _ in _visible(group))]
    if not all(any(map(_is_text, _visible(group))) for group in filled):
        return []
    labelled = [group for group in filled if group.name.lower() not in _NO_CLASS]
    return labelled if len(labelled) > 1 else filled


def unlabelled_folders(folder: Path) -> list[Path]:
    """The subfolders beside those of classes whose texts have no class, by their names."""
    classes = class_folders(folder)
    return [
        path
        for path in sorted(_visible(folder))
        if classes and path not in classes and path.is_dir() and path.name.lower() in _NO_CLASS
    ]


def _whole(blocks: Iterable[str], name: str) -> str:
    text = ""
    for block in blocks:
        text += block
        if len(text) > LONGEST:
            raise FileError("too long", name, f"it is longer than {LONGEST:,} characters.")
    return text


def _visible(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if not is_hidden(Path(path.name)))


def _is_text(path: Path) -> bool:
    if path.suffix.lower() in COMPRESSED_SUFFIXES:
        path = path.with_suffix("")
    return path.suffix.lower() in (".txt", "") and not path.is_dir()
