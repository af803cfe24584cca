"""Records: labelled texts from rows of values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from icaps.data.columns import ColumnChoice
from icaps.data.label_values import plain
from icaps.data.problems import Problem
from icaps.data.raw_table import ABSENT, FileDescription
from icaps.data.row_labels import Fault, label_reader, wrong_type


class Record(NamedTuple):
    """A text, its class name, and their place: the file, and its line from 1.

    Of multilabel data, the name is a set of names; see `icaps.data.label_sets`. The text is
    unchanged. The name has no surrounding spaces, and U+FFFD in place of lone
    surrogates, which no file can hold. Formats without lines, and data in memory, have row numbers.
    """

    text: str
    label: str
    file: str
    line: int


def record_maker(
    about: FileDescription, choice: ColumnChoice, spellings: Counter[tuple[str, str]] | None = None
) -> Callable[[str, int, Sequence[Any]], Record | Problem]:
    """Makes the function from file, line and values (labels, texts) to a record or problem.

    Class names that are spelled otherwise in the file, not only with spaces around them, are
    counted in `spellings` with the spelling.
    """
    label_of = label_reader(choice, spellings)
    count = len(choice.labels)

    def make(file: str, line: int, values: Sequence[Any]) -> Record | Problem:
        label = label_of(values[:count])
        text = _joined(values[count:])
        if not isinstance(label, str):
            column = label.column or ", ".join(choice.labels)
            return Problem(label.kind, file, line, column, label.reason, about.unit)
        if not isinstance(text, str):
            return _text_problem(text, file, line, choice.text, about)
        return Record(_with_line_ends(text, about), label, file, line)

    return make


def text_of(
    file: str, line: int, values: Sequence[Any], columns: Sequence[str], about: FileDescription
) -> str | Problem:
    """The text in the values of the text columns of a row, or its problem."""
    text = _joined(values)
    if not isinstance(text, str):
        return _text_problem(text, file, line, columns, about)
    return _with_line_ends(text, about)


def _joined(values: Sequence[Any]) -> str | Fault:
    """The values of the text columns, joined by a space."""
    text = ""
    for value in values:
        part = value if type(value) is str else _to_text(value)
        if not isinstance(part, str):
            return part
        text = f"{text} {part}" if text and part else text or part
    return text


def _with_line_ends(text: str, about: FileDescription) -> str:
    """The text with its line ends, which Zhang et al.'s layout writes as a backslash and an n."""
    return text.replace("\\n", "\n") if about.class_first else text


def _text_problem(
    fault: Fault, file: str, line: int, columns: Sequence[str], about: FileDescription
) -> Problem:
    return Problem(fault.kind, file, line, ", ".join(columns), fault.reason, about.unit)


def _to_text(value: Any) -> str | Fault:
    if value is ABSENT:
        return Fault("missing text", "the row has no such field; an empty text is an empty field.")
    value = plain(value)
    if isinstance(value, type):
        return wrong_type(value, "text")
    return "" if value is None else str(value)
