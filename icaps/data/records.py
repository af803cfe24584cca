"""Records: labelled texts from rows of values."""

from __future__ import annotations

import json
from ast import literal_eval
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from icaps.data.class_names import class_name
from icaps.data.columns import ColumnChoice
from icaps.data.problems import Problem
from icaps.data.raw_table import ABSENT, FileDescription

MISSING_LABEL = "missing label"  # kind of problem
_CACHED_CLASSES = 4096  # labels whose class is cached


class Record(NamedTuple):
    """A text, its class name, and their place: the file, and its line from 1.

    The text is unchanged. The name has no surrounding spaces, and U+FFFD in place of lone
    surrogates, which no file can hold. Formats without lines, and data in memory, have row numbers.
    """

    text: str
    label: str
    file: str
    line: int


class _Fault(NamedTuple):
    kind: str
    reason: str


def record_maker(
    about: FileDescription, choice: ColumnChoice, spellings: Counter[tuple[str, str]] | None = None
) -> Callable[[str, int, Sequence[Any]], Record | Problem]:
    """Makes the function from file, line and values (label, text, ...) to a record or problem.

    Class names that are spelled otherwise in the file, not only with spaces around them, are
    counted in `spellings` with the spelling.
    """
    spells = spellings is not None and choice.names is None

    @lru_cache(_CACHED_CLASSES, typed=True)
    def class_of(value: Any) -> str | _Fault:
        return _class_name(value, choice)

    def make(file: str, line: int, values: Sequence[Any]) -> Record | Problem:
        label = class_of(_plain(_single(values[0])))
        text = _joined(values[1:])
        if not isinstance(label, str):
            return Problem(label.kind, file, line, choice.label, label.reason, about.unit)
        if not isinstance(text, str):
            return _text_problem(text, file, line, choice.text, about)
        if spells and values[0] != label and (other := _other_spelling(values[0], label)):
            spellings[label, other] += 1  # type: ignore[index]
        return Record(_with_line_ends(text, about), label, file, line)

    return make


def _other_spelling(value: Any, label: str) -> str:
    """The spelling of a class name if it is text or a float that differs; else empty."""
    spelled = str(value).strip() if isinstance(value, (str, float)) else label
    return "" if spelled == label or spelled[:1] in ("[", "{") else spelled


def text_of(
    file: str, line: int, values: Sequence[Any], columns: Sequence[str], about: FileDescription
) -> str | Problem:
    """The text in the values of the text columns of a row, or its problem."""
    text = _joined(values)
    if not isinstance(text, str):
        return _text_problem(text, file, line, columns, about)
    return _with_line_ends(text, about)


def _joined(values: Sequence[Any]) -> str | _Fault:
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
    fault: _Fault, file: str, line: int, columns: Sequence[str], about: FileDescription
) -> Problem:
    return Problem(fault.kind, file, line, ", ".join(columns), fault.reason, about.unit)


def _plain(value: Any) -> Any:
    """The value as str, int, float or bool, None if it is missing, or any other type."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (str, int)):
        return value
    if value is None or value is ABSENT or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, float):
        return None if value != value else value
    return type(value)


def _single(value: Any) -> Any:
    """The label in a list or object as annotation tools export it; any other value as it is.

    It is the only item of a list, or of the list in an object of one key, such as "choices". A cell
    of a table that holds the JSON or the Python notation of such a value is read like it.
    """
    if isinstance(value, str):
        if value.lstrip()[:1] not in ("[", "{"):
            return value
        for parse in (json.loads, literal_eval):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                return _single(parse(value.strip()))
        return value
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    if isinstance(value, (list, tuple)):
        if len(value) == 1 and not isinstance(value[0], (list, tuple, dict)):
            return value[0]
        return None if not value else Labels(value)
    return value


class Labels(tuple[Any, ...]):
    """Several labels or marked spans of one text, of which none is the class."""


def _class_name(value: Any, choice: ColumnChoice) -> str | _Fault:
    if value is Labels:
        return _Fault(
            "several labels",
            "it has several labels or spans for one text; a text has one class. Choose one, or "
            "leave such rows out.",
        )
    if isinstance(value, type):
        return _wrong_type(value, "label")
    if isinstance(value, float) and choice.whole and value.is_integer():
        value = int(value)
    label = "" if value is None else class_name(str(value))
    if choice.whole and label.endswith(".0"):
        label = label.removesuffix(".0")
    if not label:
        return _Fault(MISSING_LABEL, "the row has no label; add one.")
    if "\n" in label or "\r" in label:
        return _Fault("line end in label", f"the class name {label!r} has a line end; rename it.")
    if choice.names is None:
        return label
    number = int(label) - choice.base if label.isascii() and label.isdecimal() else -1
    if 0 <= number < len(choice.names):
        return choice.names[number]
    return _Fault(
        "unknown class number",
        f"the label {label} has no name: the {len(choice.names)} names of classes are those of the "
        f"labels {choice.base} to {len(choice.names) - 1 + choice.base}. Fix it, or the names.",
    )


def _to_text(value: Any) -> str | _Fault:
    if value is ABSENT:
        return _Fault("missing text", "the row has no such field; an empty text is an empty field.")
    value = _plain(value)
    if isinstance(value, type):
        return _wrong_type(value, "text")
    return "" if value is None else str(value)


def _wrong_type(value_type: type, field: str) -> _Fault:
    return _Fault("wrong type", f"the {field} is {value_type.__name__}, not a string or number.")
