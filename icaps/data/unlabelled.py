"""Texts without labels as a stream, from files of any format; labels in them are not read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from icaps.data.columns import TEXT_COLUMNS, check_given, choose_text
from icaps.data.encoding import detect_encoding, known_encoding
from icaps.data.fingerprint import fingerprint_files
from icaps.data.formats.csv import check_delimiter
from icaps.data.formats.detect import open_table
from icaps.data.formats.plain import FolderTable, LinesTable, has_texts
from icaps.data.part_files import find_files, has_part
from icaps.data.problems import FileError, Problem, Problems
from icaps.data.raw_table import ABSENT, FileDescription, RawTable
from icaps.data.records import text_of
from icaps.data.streams import data_file
from icaps.errors import DataError

_DELIMITED = ("CSV", "TSV")
_OF_LINES = (".txt", "")  # suffixes of files that have one text per line, unless a header says more


class TextRows(NamedTuple):
    """The first texts of a file or a folder, with all that its rows hold.

    Attributes:
        texts: The texts.
        columns: The values of all columns per row, as strings; empty for values that are missing.
        text: The columns that the texts are from.
        more: Whether there are more texts.
        problems: Rows that cannot be read and are left out.
    """

    texts: tuple[str, ...]
    columns: dict[str, tuple[str, ...]]
    text: tuple[str, ...]
    more: bool
    problems: Problems


class TextRow(NamedTuple):
    """A row of a file: its text, or why there is none.

    Attributes:
        file, line: The place; of formats without lines the row.
        text: The text, or the problem of a row that cannot be read.
        others: The values of other columns as strings; None for values that are missing.
    """

    file: str
    line: int | None
    text: str | Problem
    others: tuple[str | None, ...]


class UnlabelledTexts:
    """A stream of texts without labels that is read anew in each iteration, in bounded memory.

    Created by `open_unlabelled`.

    Attributes:
        problems: The bad rows of the current or last iteration.
    """

    def __init__(
        self,
        files: Sequence[Path],
        text: Sequence[str],
        labels: Sequence[str],
        strict: bool,
        log: Callable[[str], None],
        encoding: str | None = None,
        delimiter: str | None = None,
    ) -> None:
        self.problems = Problems()
        self._files, self._text, self._labels, self._strict = files, text, labels, strict
        self._log, self._encoding, self._delimiter = log, encoding, delimiter

    def __iter__(self) -> Iterator[str]:
        """Yields the texts in order.

        Raises:
            DataError: A file cannot be read, its text column is unclear, or there is no text. If
                strict, also for a bad row; the rest is then read to count such rows.
        """
        self.problems = problems = Problems()
        good = 0
        for item in self._scan():
            if isinstance(item, Problem):
                problems.add(item)
                continue
            good += 1
            if not (self._strict and problems):
                yield item
        if self._strict and problems:
            raise problems.error(good)
        if not good:
            raise DataError(f"{self._files[0]} holds no text that can be read; add some.")

    def first_rows(self, limit: int) -> TextRows:
        """Reads the first texts of the first file with all columns of their rows.

        Raises:
            DataError: The file cannot be read, or its text column is unclear.
        """
        table, about, _ = self._opened(self._files[0])
        names = [name for name in dict.fromkeys(about.columns) if about.columns.count(name) == 1]
        places = [names.index(name) for name in about.text]
        texts: list[str] = []
        rows: list[list[str]] = []
        problems, more = Problems(), False
        for row in table.rows(names):
            if len(texts) == limit:
                more = True
                break
            if not isinstance(row, Problem):
                file, line, values = row
                text = text_of(file, line, [values[n] for n in places], about.text, about)
                if isinstance(text, str):
                    texts.append(text)
                    rows.append([_to_string(value) or "" for value in values])
                    continue
                row = text
            problems.add(row)
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
        return TextRows(
            tuple(texts), dict(zip(names, columns, strict=True)), about.text, more, problems
        )

    def rows(self, others: Sequence[str] = ()) -> Iterator[TextRow]:
        """Yields every row in order, also those that cannot be read.

        Args:
            others: Columns whose values are read besides.

        Raises:
            FileError: A file cannot be read, its text column is unclear, or it lacks one of the
                text columns that were given, or of `others`.
        """
        for file in self._files:
            table, about, _ = self._opened(file)
            check_given(about, (*self._text, *others))
            texts = len(about.text)
            for row in table.rows((*about.text, *others)):
                if isinstance(row, Problem):
                    yield TextRow(row.file, row.line, row, (None,) * len(others))
                    continue
                name, line, values = row
                text = text_of(name, line, values[:texts], about.text, about)
                yield TextRow(name, line, text, tuple(map(_to_string, values[texts:])))

    def describe(self) -> tuple[FileDescription, ...]:
        """Format and text columns of each file.

        Raises:
            FileError: A file cannot be read, or its text column is unclear.
        """
        return tuple(self._opened(file)[1] for file in self._files)

    def fingerprint(self) -> str:
        """The fingerprint of the files as they are now, by path, size and modification time.

        Raises:
            DataError: A folder cannot be read.
        """
        files: list[Path] = []
        for file in self._files:
            files += sorted(file.rglob("*")) if file.is_dir() else [file]
        return fingerprint_files(file.resolve() for file in files)

    def _scan(self) -> Iterator[str | Problem]:
        for file in self._files:
            table, about, labels = self._opened(file)
            if labels and not _is_folder_of_texts(file):
                self._log(f"{file}: its labels ({', '.join(map(repr, labels))}) are not read")
            for row in table.rows(about.text):
                yield row if isinstance(row, Problem) else text_of(*row, about.text, about)

    def _opened(self, file: Path) -> tuple[RawTable, FileDescription, tuple[str, ...]]:
        """A file as a table, with the choice of its text columns, and its columns of labels."""
        table = _open_table(file, self._text, self._encoding, self._delimiter)
        return table, *choose_text(table, self._text, self._labels)


def open_unlabelled(
    path: str | Path,
    *,
    part: str = "train",
    text: str | Sequence[str] | None = None,
    label: str | Sequence[str] | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    on_bad_rows: str = "strict",
    log: Callable[[str], None] = lambda line: None,
) -> UnlabelledTexts:
    """Opens texts without labels.

    A file is of any format of `source.open_source`, with a single column or more, or has one text
    per line. A folder has text files, or is a data set, of which a part is read. What is not given
    is detected.

    Args:
        path: A file, a folder or a pattern.
        part: Part of a folder that is a data set.
        text: Text columns, as for labelled texts; those that a file lacks are ignored.
        label: The label column of labelled texts, or several; they are not read.
        encoding: Encoding of the files' text.
        delimiter: Character between the fields of a line.
        on_bad_rows: "strict" or "skip", see `source.open_source`.
        log: Called while reading, with a line for each file that has labels.

    Raises:
        DataError: The data does not exist. What is wrong inside a file is raised while reading it.
        ConfigError: There is no such encoding, or the delimiter is not one character.
    """
    check_delimiter(delimiter)
    encoding = known_encoding(encoding) if encoding else None
    texts = (text,) if isinstance(text, str) else tuple(text or ())
    labels = (label,) if isinstance(label, str) else tuple(label or ())
    folder = Path(path)
    if _is_folder_of_texts(folder) and not has_part(folder, part):
        files = [folder]
    else:
        files = find_files(path, part)
    strict = on_bad_rows == "strict"
    return UnlabelledTexts(files, texts, labels, strict, log, encoding, delimiter)


def unlabelled_reading(reading: Mapping[str, Any]) -> dict[str, Any]:
    """Those options of `source.open_source` for labelled texts that `open_unlabelled` has too."""
    names = ("text", "label", "on_bad_rows")
    return {name: reading[name] for name in names if name in reading}


def _to_string(value: Any) -> str | None:
    return None if value is None or value is ABSENT else str(value)


def _is_folder_of_texts(path: Path) -> bool:
    return path.is_dir() and has_texts(path)


def _open_table(
    path: Path, text: Sequence[str], encoding: str | None, delimiter: str | None
) -> RawTable:
    """Opens a file as a table, or as lines of text if it has no columns.

    Raises:
        FileError: It is empty or of none of the supported formats.
    """
    if _is_folder_of_texts(path):
        return FolderTable(path, encoding, groups=[path])
    names = {*TEXT_COLUMNS, *(name.lower() for name in text)}
    try:
        table = open_table(path, encoding, delimiter, text, several=True)
    except FileError as error:
        suffix = data_file(path).suffix
        of_lines = suffix in (*_OF_LINES, ".csv", ".tsv")
        if error.problem.kind == "unknown format" and of_lines:
            return _lines(path, names, encoding)
        if error.problem.kind == "unclear header" and suffix in _OF_LINES:
            return _lines(path, names, encoding)
        raise
    about = table.about
    if about.format not in _DELIMITED or data_file(path).suffix not in _OF_LINES:
        return table
    named = about.header and names & {column.lower() for column in about.columns}
    return table if named else _lines(path, names, encoding)


def _lines(path: Path, names: set[str], encoding: str | None) -> LinesTable:
    file = data_file(path)
    return LinesTable(file, encoding or detect_encoding(file), names)
