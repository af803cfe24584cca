"""Labels in the values of rows: plain ones, lists, and the notation of lists in cells of tables."""

from __future__ import annotations

import json
import re
from ast import literal_eval
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from icaps.data.raw_table import ABSENT

SEPARATORS = (";", "|", ",")  # that are looked for between the labels of a text
_MISSING = ("NAType", "NaTType")  # of pandas, which is not imported for this
_FLAGS = {"0": False, "0.0": False, "false": False, "1": True, "1.0": True, "true": True}
_DECIMAL = re.compile(r"-?\d+,\d+")
# As NumPy writes arrays, without commas.
_BETWEEN_STRINGS = re.compile(r"(?<=['\"])\s+(?=['\"])")
_NUMBERS = re.compile(r"\[[-.\d\s]*\]")


class Spans:
    """The type of a list of objects or lists, such as marked spans; none of them is a class."""


def label_value(value: Any) -> Any:
    """A label in a form that can be compared: a string or number, or several.

    A list is a tuple of strings, whatever its length, and so is the list in an object of one key,
    such as "choices", as annotation tools export it. A cell of a table that holds the JSON or the
    Python notation of such a value is read like it.

    Returns:
        A string, int, float or bool; None if it is missing; a tuple of strings; or the type of any
        other value, `Spans` for a list of objects.
    """
    if isinstance(value, str):
        if value.lstrip()[:1] not in ("[", "{"):
            return value
        parsed = _parse(value.strip())
        return value if isinstance(parsed, str) else label_value(parsed)
    if hasattr(value, "tolist"):  # an array of NumPy
        value = value.tolist()
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=str)
    if isinstance(value, (list, tuple)):
        items = [plain(item) for item in value]
        if any(isinstance(item, type) for item in items):
            return Spans
        return tuple("" if item is None else str(item) for item in items)
    return plain(value)


def plain(value: Any) -> Any:
    """The value as str, int, float or bool, None if it is missing, or any other type."""
    if isinstance(value, (str, int)):
        return value
    if hasattr(value, "tolist"):  # a scalar of NumPy
        value = value.tolist()
    if is_missing(value):
        return None
    if isinstance(value, (str, int)):
        return value
    return value if isinstance(value, float) else type(value)


def is_missing(value: Any) -> bool:
    """Whether it stands for no value: None, NaN, or pandas' NA or NaT."""
    if value is None or value is ABSENT or type(value).__name__ in _MISSING:
        return True
    return isinstance(value, float) and value != value


def flag(value: Any) -> bool | None:
    """Whether a text has the class of a column with 0 or 1 per text; None for other values."""
    return _FLAGS.get(str(plain(value)).strip().lower())


def find_separators(values: Sequence[str]) -> dict[str, str]:
    """The separators that may be between labels in these cells, each with such a cell.

    A separator may be one if the names around it recur: if they are not more than the different
    cells, and half of those beside a separator are in another cell as well. So "Sci, Tech" is a
    name, and "a, b" beside "a" and "b" may be two.
    """
    distinct = {value for value in map(str.strip, values) if value}
    found: dict[str, str] = {}
    for separator in SEPARATORS:
        joined = sorted(value for value in distinct if separator in value)
        if not joined or (separator == "," and all(map(_DECIMAL.fullmatch, distinct))):
            continue
        cells = Counter(name for value in distinct for name in set(split_labels(value, separator)))
        beside = {name for value in joined for name in split_labels(value, separator)}
        shared = [name for name in beside if cells[name] > 1]
        if 2 <= len(cells) <= len(distinct) and 2 * len(shared) >= len(beside):
            found[separator] = joined[0]
    return found


def split_labels(cell: str, separator: str) -> list[str]:
    """The labels in a cell; what is blank between two separators is none."""
    return [name.strip() for name in cell.split(separator) if name.strip()]


def _parse(cell: str) -> Any:
    """The list or object whose notation a cell holds; the cell itself if it holds none."""
    spaced = _BETWEEN_STRINGS.sub(", ", cell)
    if _NUMBERS.fullmatch(cell):
        spaced = re.sub(r"(?<=[\d.])\s+", ", ", cell.replace(" ]", "]"))
    for parse, text in ((json.loads, cell), (literal_eval, spaced)):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return parse(text)
    return cell
